use super::*;
use crate::merge::test_shards::{TestShard, write_shards};
use gage_record::shards_folder;
use gage_recorded_messages::RecordedError as _;

const TASK: &str = "t";

/// Opens the shards of the run `run`, and checks their records.
fn checked(run: &Path) -> Result<(ShardSet, Vec<TaskRecords>), RunnerError> {
    let shards = ShardSet::open(run, "run")?;
    let tasks = shards.check_records(&[TASK])?;
    Ok((shards, tasks))
}

/// Returns the lines about what the shards lack.
fn missing(run: &Path) -> Vec<String> {
    let (shards, tasks) = checked(run).unwrap_or_else(|error| panic!("{error}"));
    shards.missing(&tasks).iter().map(ToString::to_string).collect()
}

fn refusal(run: &Path) -> String {
    checked(run).err().expect("a refusal").recorded("shards")
}

/// Both shards of a run with 70 records.
fn both() -> [TestShard; 2] {
    [TestShard::new(1, 2, (0..32).chain(64..70)), TestShard::new(2, 2, 32..64)]
        .map(|shard| shard.with_total(TASK, 70))
}

#[test]
fn complete_shards_lack_nothing() {
    let root = write_shards(&both());
    let (shards, tasks) = checked(root.path()).unwrap_or_else(|error| panic!("{error}"));
    let [task] = &tasks[..] else { panic!("{} tasks", tasks.len()) };
    assert_eq!((task.total, task.end, &task.ended[..]), (Some(70), 70, &[38, 32][..]));
    assert_eq!((task.missing(), shards.missing(&tasks)), (Some(0), Vec::new()));
    assert_eq!(task.batches, [(0, 0), (1, 1), (2, 0)]);
    let folders: Vec<_> = shards.folders().map(Path::to_owned).collect();
    let expected = ["01-of-02", "02-of-02"].map(|name| shards_folder(root.path()).join(name));
    assert_eq!(folders, expected);
}

#[test]
fn batches_with_scores_of_two_passes_are_not_complete() {
    for (together, expected) in [
        ([3, 3, 3], vec![]),
        // The process that scored the batch again was killed.
        ([3, 2, 3], vec!["shard 1/1 was stopped and lacks 3 records"]),
        ([2, 2, 2], vec!["shard 1/1 was stopped and lacks 3 records"]),
    ] {
        let scored = (32..35).zip(together).collect();
        let shard = TestShard { scored, ..TestShard::new(1, 1, 0..32).with_total(TASK, 35) };
        let root = write_shards(&[shard]);
        assert_eq!(missing(root.path()), expected, "{together:?}");
    }
}

#[test]
fn missing_records_are_counted_by_shard() {
    let [first, second] = both();
    for (shards, expected) in [
        (vec![first.clone()], vec!["shard 2/2 was not started and lacks 32 records"]),
        (vec![second.clone()], vec!["shard 1/2 was not started and lacks 38 records"]),
        (
            vec![TestShard { indices: (0..32).chain(65..70).collect(), ..first.clone() }, second.clone()],
            vec!["shard 1/2 was stopped and lacks 1 record"],
        ),
        // No shard has read the dataset to its end.
        (vec![first.clone().killed()], vec!["shard 1/2 was stopped", "shard 2/2 was not started"]),
        (vec![first.clone().killed(), second], vec![]),
    ] {
        let root = write_shards(&shards);
        assert_eq!(missing(root.path()), expected);
    }
}

/// The number of batches is that of the records, and not that of their indices.
#[test]
fn large_index_of_a_shard_costs_nothing() {
    let root = write_shards(&[TestShard::new(1, 2, [0, 1 << 52]).killed()]);
    let (_, tasks) = checked(root.path()).unwrap_or_else(|error| panic!("{error}"));
    let [task] = &tasks[..] else { panic!("{} tasks", tasks.len()) };
    assert_eq!(task.batches, [(0, 0), (1 << 47, 0)]);
}

#[test]
fn locks_of_all_shards_are_compared() {
    let shard = |number, lock| TestShard { lock, ..TestShard::new(number, 3, []) };
    let [first, second] = [shard(1, None).killed(), shard(2, Some("lock: 1"))];
    let root = write_shards(&[first.clone(), second.clone(), shard(3, Some("lock: 2"))]);
    let error = refusal(root.path());
    assert!(error.contains("shard 3/3 was made from other inputs than shard 2/3:\n  gage.lock"), "{error}");
    let root = write_shards(&[first, second]);
    assert!(checked(root.path()).is_ok());
    let path = shards_folder(root.path()).join("02-of-03").join(LOCK_FILE);
    std::fs::write(path, "lock: 2").expect("written");
    let error = refusal(root.path());
    assert!(error.contains("cannot be trusted: gage.lock changed after the shard ended"), "{error}");
}

#[test]
fn shard_that_is_written_says_so() {
    let root = write_shards(&[TestShard::new(1, 2, 0..3)]);
    let _writer = RunFolder::resume(&shards_folder(root.path()), "01-of-02").expect("resumed");
    assert_eq!(missing(root.path()), ["shard 1/2 is running", "shard 2/2 was not started"]);
}

#[test]
fn records_in_the_wrong_place_are_refused() {
    let [first, second] = both();
    let with = |indices: Vec<u64>| TestShard { indices, ..first.clone() };
    for (shards, expected) in [
        (
            vec![with(vec![0, 32]), second.clone()],
            "shard 1/2 has record 32 of the task `t`, which belongs to another shard",
        ),
        (
            vec![with(vec![69, 70]), second.clone()],
            "shard 1/2 has record 70 of the task `t`, and the dataset ends before it",
        ),
        (
            vec![TestShard { task_id: "u", ..with(vec![5]) }, second.clone()],
            "shard 1/2 has record 5 of the task `u`, and the suite has no such task",
        ),
        (
            vec![first.clone(), second.clone().with_total(TASK, 71)],
            "the dataset of the task `t` had 70 records for shard 1/2, and 71 for shard 2/2",
        ),
    ] {
        let root = write_shards(&shards);
        let error = refusal(root.path());
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn shards_that_do_not_belong_together_are_refused() {
    let [first, second] = both();
    let mut of_other_run = second.clone();
    of_other_run.of_run.as_mut().expect("a shard").run_id = "other".to_owned();
    let mut renamed = second.clone();
    renamed.of_run.as_mut().expect("a shard").number = 1;
    let mut other_batches = second.clone();
    other_batches.of_run.as_mut().expect("a shard").rows_per_batch = 64;
    let mut other_inputs = second.clone();
    other_inputs.identity.host.scoring_version = 1;
    let other_division = TestShard::new(2, 3, 32..64);
    for (other, expected) in [
        (of_other_run, "02-of-02 is not this shard of the run: it is a shard of the run `other`"),
        (renamed, "02-of-02 is not this shard of the run: its manifest says shard 1/2"),
        (TestShard { of_run: None, ..second.clone() }, "it is a whole run"),
        (other_batches, "it was divided by batches of 64 rows, and this program uses 32"),
        (
            other_inputs,
            "shard 2/2 was made from other inputs than shard 1/2:\n  host.scoring_version: 0 before, 1 now",
        ),
        (other_division, "the shards are not of one division: there is 1/2, and 2/3"),
    ] {
        let root = write_shards(&[first.clone(), other]);
        let error = refusal(root.path());
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn run_without_a_started_shard_has_none() {
    let root = tempfile::tempdir().expect("a folder");
    assert!(refusal(root.path()).contains("has no shards"));
    // A shard that is just starting.
    std::fs::create_dir_all(shards_folder(root.path()).join("01-of-02")).expect("a folder");
    assert!(refusal(root.path()).contains("has no shards"));
}

#[test]
fn changed_files_of_a_shard_are_refused() {
    for (file, from, to, expected) in [
        ("journal/000001.jsonl", "\"index\":33,", "\"index\":35,", "the checksum does not match"),
        (
            "manifest.json",
            "\"scoring_version\": 0",
            "\"scoring_version\": 5",
            "02-of-02 cannot be trusted: its manifest: ",
        ),
    ] {
        let root = write_shards(&both());
        let path = shards_folder(root.path()).join("02-of-02").join(file);
        let text = std::fs::read_to_string(&path).expect("a file");
        let edited = text.replacen(from, to, 1);
        assert_ne!(edited, text, "{file}");
        std::fs::write(&path, edited).expect("written");
        let error = refusal(root.path());
        assert!(error.contains(expected), "{file}: {error}");
    }
}
