//! Pushes to and fetches from a bucket in memory.

use crate::bucket::Bucket;
use crate::fetch::{Fetched, fetch, restore};
use crate::layout::ShardObjects;
use crate::other_shard::find;
use crate::push::{Push, push};
use crate::transfer::{TransferCount, TransferCounter, TransferObserver, run};
use crate::{ObjectUrl, StorageError, push_shard};
use futures::StreamExt as _;
use gage_core::Shard;
use gage_record::format::{
    CONFIG_FILE, EXPORTS_FOLDER, MANIFEST_FILE, MEDIA_FOLDER, NOTES_FILE, PAGE_FOLDER, REPORT_FILE,
    SAMPLES_FILE,
};
use gage_record::{
    FileDigest, Manifest, MediaFolder, RunFolder, RunIdentity, RunStatus, journal_digests, read_run_file,
};
use gage_recorded_messages::RecordedError as _;
use object_store::memory::InMemory;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore as _, ObjectStoreExt as _};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SHARD: &str = "01-of-02";

/// Size from which files are written in parts.
const PART_BYTES: usize = 64;

/// A bucket, and the folder of a machine.
struct Machine {
    store: Arc<InMemory>,
    bucket: Bucket,
    root: tempfile::TempDir,
}

impl Machine {
    fn new() -> Machine {
        Machine::with_store(Arc::new(InMemory::new()))
    }

    fn with_store(store: Arc<InMemory>) -> Machine {
        let bucket = Bucket::new(store.clone(), "runs", PART_BYTES);
        Machine { store, bucket, root: tempfile::tempdir().unwrap() }
    }

    /// Returns another machine, with the same bucket.
    fn other(&self) -> Machine {
        Machine::with_store(self.store.clone())
    }

    /// Writes a finished run, in a folder of any name.
    fn write(&self, name: &str, answer: &str) -> PathBuf {
        self.write_with(name, answer, |manifest| manifest.finish(RunStatus::Complete))
    }

    fn write_with(&self, name: &str, answer: &str, change: impl Fn(&mut Manifest)) -> PathBuf {
        let folder = RunFolder::create(self.root.path(), name).unwrap();
        let mut manifest = Manifest::new(name, "0.1.0", RunIdentity::default());
        // Longer than a part.
        let samples = folder.write_atomically(SAMPLES_FILE, answer.repeat(PART_BYTES).as_bytes()).unwrap();
        manifest.files.insert(SAMPLES_FILE.to_owned(), samples);
        let config = folder.write_atomically(CONFIG_FILE, b"small").unwrap();
        manifest.files.insert(CONFIG_FILE.to_owned(), config);
        MediaFolder::of(&folder).store(answer.as_bytes(), "png").unwrap();
        let media = MediaFolder::digest(folder.path()).unwrap().unwrap();
        manifest.files.insert(MEDIA_FOLDER.to_owned(), media);
        manifest.files.extend(journal_digests(&folder).unwrap());
        change(&mut manifest);
        manifest.write(&folder).unwrap();
        folder.path().to_owned()
    }

    fn push(&self, shard: &str, folder: &Path) -> Result<Push, StorageError> {
        let objects = ShardObjects::new(&ObjectPath::from("team/nightly"), shard).unwrap();
        run(&(), push(&self.bucket, &objects, folder, &TransferCounter::new(&())))
    }

    fn fetch(&self) -> Result<Fetched, StorageError> {
        let url = ObjectUrl::parse("s3://runs/team/nightly").unwrap();
        run(&(), fetch(&self.bucket, &url, &self.run(), &TransferCounter::new(&())))
    }

    /// Folder of the run whose shards are fetched.
    fn run(&self) -> PathBuf {
        self.root.path().join("nightly")
    }

    fn shard(&self, name: &str) -> PathBuf {
        self.run().join("shards").join(name)
    }

    /// Returns the paths of all objects below the run.
    fn objects(&self) -> Vec<ObjectPath> {
        let listed = self.store.list(Some(&ObjectPath::from("team/nightly")));
        let objects = run(&(), async { Ok(listed.collect::<Vec<_>>().await) }).unwrap();
        objects.into_iter().map(|object| object.unwrap().location).collect()
    }

    fn object(&self, end: &str) -> ObjectPath {
        self.objects().into_iter().find(|object| object.as_ref().ends_with(end)).unwrap()
    }

    fn delete(&self, object: &ObjectPath) {
        run(&(), async { Ok(self.store.delete(object).await) }).unwrap().unwrap();
    }

    fn put(&self, object: &ObjectPath, content: &[u8]) {
        run(&(), async { Ok(self.store.put(object, content.to_vec().into()).await) }).unwrap().unwrap();
    }
}

/// Returns the files below a folder, with their content.
fn files_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => {
                    let name = entry.path().strip_prefix(folder).unwrap().to_owned();
                    files.insert(name, fs::read(entry.path()).unwrap());
                }
            }
        }
    }
    files
}

fn count_of(push: Push) -> u64 {
    match push {
        Push::Pushed(count) => count.files,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_shard_comes_back_as_it_was_pushed() {
    let machine = Machine::new();
    let folder = machine.write("a", "one");
    let written = files_below(&folder);
    for extra in [PAGE_FOLDER, EXPORTS_FOLDER] {
        fs::create_dir(folder.join(extra)).unwrap();
        fs::write(folder.join(extra).join("x"), "x").unwrap();
    }
    for extra in [REPORT_FILE, NOTES_FILE, ".lock"] {
        fs::write(folder.join(extra), "x").unwrap();
    }
    let pushed = machine.push(SHARD, &folder).unwrap();
    // The manifest is the mark, and no file of the count.
    assert_eq!(count_of(pushed), written.len() as u64 - 1);
    assert_eq!(machine.objects().len(), written.len());

    let fetched = machine.fetch().unwrap();
    assert_eq!(fetched.downloaded, [SHARD]);
    assert_eq!(files_below(&machine.shard(SHARD)), written);
    assert_eq!(files_below(&machine.run()).len(), written.len(), "nothing else is left");
}

#[test]
fn a_repeated_push_or_fetch_does_nothing() {
    let machine = Machine::new();
    let folder = machine.write("a", "one");
    machine.push(SHARD, &folder).unwrap();
    let objects = machine.objects();
    assert_eq!(machine.push(SHARD, &folder).unwrap(), Push::AlreadyThere);
    machine.fetch().unwrap();
    let again = machine.fetch().unwrap();
    assert_eq!((again.present, again.count), (vec![SHARD.to_owned()], TransferCount::default()));
    assert_eq!((machine.objects(), again.downloaded.len()), (objects, 0));
}

/// The command of a finished shard writes its manifest again, with another time and longer events.
#[test]
fn finished_shard_that_ran_again_is_the_same() {
    let machine = Machine::new();
    let folder = machine.write("01-of-02", "one");
    machine.push(SHARD, &folder).unwrap();
    machine.fetch().unwrap();
    for path in [machine.shard(SHARD), folder.clone()] {
        let run = RunFolder::resume(path.parent().unwrap(), SHARD).unwrap();
        let mut manifest = Manifest::read(&path).unwrap();
        let config = run.write_atomically(CONFIG_FILE, b"other").unwrap();
        manifest.files.insert(CONFIG_FILE.to_owned(), config);
        manifest.finished_at = Some("2999-01-01T00:00:00Z".to_owned());
        manifest.write(&run).unwrap();
    }
    assert_eq!(machine.push(SHARD, &folder).unwrap(), Push::AlreadyThere);
    assert_eq!(machine.fetch().unwrap().present, [SHARD]);
}

#[test]
fn pushed_shard_is_restored_on_a_new_disk() {
    let machine = Machine::new();
    let restored = |machine: &Machine| {
        let url = ObjectUrl::parse("s3://runs/team/nightly").unwrap();
        let counter = TransferCounter::new(&());
        run(&(), restore(&machine.bucket, &url, SHARD, &machine.run(), &counter)).unwrap()
    };
    assert!(!restored(&machine) && !machine.run().exists(), "it was not pushed");
    let folder = machine.write("a", "one");
    machine.push(SHARD, &folder).unwrap();
    let other = machine.other();
    assert!(restored(&other));
    assert_eq!(files_below(&other.shard(SHARD)), files_below(&folder));
    assert!(!restored(&other), "it is there");
}

#[test]
fn the_first_of_two_machines_counts() {
    let first = Machine::new();
    let second = first.other();
    let folder = first.write("a", "one");
    first.push(SHARD, &folder).unwrap();
    assert_eq!(second.push(SHARD, &second.write("a", "two")).unwrap(), Push::Superseded);
    second.fetch().unwrap();
    assert_eq!(files_below(&second.shard(SHARD)), files_below(&folder));
}

/// Both machines find no manifest, and upload. Only then does one of them create its manifest.
#[test]
fn files_of_simultaneous_pushes_do_not_mix() {
    let (first, folder) = (Machine::new(), "a");
    let second = first.other();
    let winner = first.write(folder, "one");
    second.push(SHARD, &second.write(folder, "two")).unwrap();
    first.delete(&first.object("01-of-02/manifest.json"));
    first.push(SHARD, &winner).unwrap();
    assert_eq!(first.objects().len(), 2 * files_below(&winner).len() - 1);
    second.fetch().unwrap();
    assert_eq!(files_below(&second.shard(SHARD)), files_below(&winner));
}

#[test]
fn a_torn_push_is_no_shard_until_it_is_repeated() {
    let machine = Machine::new();
    let folder = machine.write("a", "one");
    machine.push(SHARD, &folder).unwrap();
    machine.push("02-of-02", &machine.write("b", "two")).unwrap();
    machine.delete(&machine.object("01-of-02/manifest.json"));
    machine.delete(&machine.object(SAMPLES_FILE));
    let fetched = machine.fetch().unwrap();
    assert_eq!(
        (fetched.incomplete, fetched.downloaded),
        (vec![SHARD.to_owned()], vec!["02-of-02".to_owned()])
    );
    assert!(!machine.shard(SHARD).exists());

    assert!(matches!(machine.push(SHARD, &folder).unwrap(), Push::Pushed(_)));
    assert_eq!(machine.fetch().unwrap().downloaded, [SHARD]);
    assert_eq!(files_below(&machine.shard(SHARD)), files_below(&folder));
}

#[test]
fn an_object_of_an_earlier_push_has_its_size() {
    for name in [SAMPLES_FILE, CONFIG_FILE] {
        let machine = Machine::new();
        let folder = machine.write("a", "one");
        machine.push(SHARD, &folder).unwrap();
        machine.delete(&machine.object("01-of-02/manifest.json"));
        machine.put(&machine.object(name), b"x");
        let message = machine.push(SHARD, &folder).unwrap_err().recorded("storage");
        assert!(message.contains(name) && message.contains("delete it"), "{message}");
    }
}

#[test]
fn damaged_objects_are_not_fetched() {
    for (end, content, reason) in [
        (SAMPLES_FILE, None, "it is gone, and the manifest of its shard names it"),
        (SAMPLES_FILE, Some("two".repeat(PART_BYTES)), "its digest is not the one of its manifest"),
        (SAMPLES_FILE, Some("x".to_owned()), "it has 1 bytes, and 192 according to its manifest"),
        (".png", Some("two".to_owned()), "its digest is not the one of its manifest"),
        (".png", Some("longer".to_owned()), "it has more files than its manifest"),
        (".png", None, "these are not the files of its manifest"),
        ("01-of-02/manifest.json", Some("{}".to_owned()), "format_version"),
    ] {
        let machine = Machine::new();
        machine.push(SHARD, &machine.write("a", "one")).unwrap();
        let object = machine.object(end);
        match &content {
            Some(content) => machine.put(&object, content.as_bytes()),
            None => machine.delete(&object),
        }
        let error = machine.fetch().unwrap_err();
        let message = error.recorded("storage");
        assert!(message.contains(reason), "{end}: {message}");
        assert!(error.is_mismatch(), "{end}");
        assert_eq!(files_below(&machine.run()).len(), 0, "{end}: nothing is left");
    }
}

/// The other files are in a folder that is named after the manifest.
#[test]
fn shard_with_a_replaced_manifest_is_not_fetched() {
    let machine = Machine::new();
    machine.push(SHARD, &machine.write("a", "one")).unwrap();
    let other = read_run_file(&machine.write("b", "two"), MANIFEST_FILE).unwrap();
    machine.put(&machine.object("01-of-02/manifest.json"), &other);
    let error = machine.fetch().unwrap_err();
    assert!(error.is_mismatch() && error.to_string().contains("the manifest was replaced"), "{error}");
}

#[test]
fn another_shard_of_the_same_division_is_found() {
    let machine = Machine::new();
    let url = ObjectUrl::parse("s3://runs/team/nightly").unwrap();
    let found = |number, count| {
        let shard = Shard::new(number, count).unwrap();
        run(&(), find(&machine.bucket, &url, shard)).map(|found| found.map(|manifest| manifest.run_id))
    };
    assert_eq!(found(1, 2).unwrap(), None, "nothing was pushed");
    machine.push("02-of-02", &machine.write("second", "two")).unwrap();
    assert_eq!(found(2, 2).unwrap(), None, "it is the only one");
    assert_eq!(found(1, 2).unwrap().as_deref(), Some("second"));
    let error = found(1, 3).unwrap_err();
    let message = error.recorded("storage");
    assert!(message.contains("nightly belongs to a run of 2 shards, and this is shard 1/3;"), "{message}");
    assert!(!error.is_mismatch() && !error.is_temporary());
    // Its push has not ended.
    machine.delete(&machine.object("02-of-02/manifest.json"));
    assert_eq!(found(1, 2).unwrap(), None);
    assert!(matches!(found(1, 3), Err(StorageError::OtherDivision { count: 2, .. })));
}

#[test]
fn names_in_a_manifest_cannot_leave_the_folder() {
    for name in ["../x", "/tmp/x", "journal/../../x", "journal//x", ".lock", "a\\b", MANIFEST_FILE] {
        let machine = Machine::new();
        let samples = FileDigest { digest: gage_core::Digest::of_bytes(b"x"), bytes: 1 };
        let folder = machine.write_with("a", "one", |manifest| {
            manifest.files.insert(name.to_owned(), samples);
            manifest.finish(RunStatus::Complete);
        });
        let message = machine.push(SHARD, &folder).unwrap_err().recorded("storage");
        assert!(message.contains("names a file that a run cannot have"), "{name}: {message}");
        machine.put(
            &ObjectPath::from("team/nightly/shards/01-of-02/manifest.json"),
            &read_run_file(&folder, MANIFEST_FILE).unwrap(),
        );
        let message = machine.fetch().unwrap_err().to_string();
        assert!(message.contains("names a file that a run cannot have"), "{name}: {message}");
        assert!(!machine.shard(SHARD).exists());
    }
}

#[test]
fn media_with_other_names_are_not_fetched() {
    let machine = Machine::new();
    machine.push(SHARD, &machine.write("a", "one")).unwrap();
    let medium = machine.object(".png");
    let folder = medium.parent().unwrap();
    for name in ["x.png", "folder/x.png"] {
        let object = ObjectPath::from(format!("{folder}/{name}"));
        machine.put(&object, b"x");
        let message = machine.fetch().unwrap_err().to_string();
        assert!(message.contains("it is not named after the digest of a medium"), "{name}: {message}");
        machine.delete(&object);
    }
    machine.fetch().unwrap();
}

#[test]
fn only_folders_with_the_name_of_a_shard_are_read() {
    let machine = Machine::new();
    let empty = machine.fetch().unwrap_err().recorded("storage");
    assert!(empty.contains("s3://runs/team/nightly has no shards"), "{empty}");
    for name in ["notes.txt", "x/manifest.json", "3-of-16/manifest.json", "17-of-16/manifest.json"] {
        machine.put(&ObjectPath::from(format!("team/nightly/shards/{name}")), b"x");
    }
    assert!(matches!(machine.fetch(), Err(StorageError::NoShards { .. })));
}

#[test]
fn a_folder_of_another_shard_is_never_replaced() {
    let machine = Machine::new();
    machine.push(SHARD, &machine.write("a", "one")).unwrap();
    fs::create_dir_all(machine.shard(SHARD)).unwrap();
    let message = machine.fetch().unwrap_err().recorded("storage");
    assert!(message.contains("move the folder away to fetch the shard"), "{message}");
    assert_eq!(files_below(&machine.run()).len(), 0);
    fs::remove_dir(machine.shard(SHARD)).unwrap();
    fs::rename(machine.write("b", "two"), machine.shard(SHARD)).unwrap();
    let before = files_below(&machine.shard(SHARD));
    assert!(matches!(machine.fetch(), Err(StorageError::OtherShard { .. })));
    assert_eq!(files_below(&machine.shard(SHARD)), before);
}

#[test]
fn rest_of_a_killed_fetch_is_replaced() {
    let machine = Machine::new();
    machine.push(SHARD, &machine.write("a", "one")).unwrap();
    let rest = machine.shard(&format!(".{SHARD}.fetch"));
    fs::create_dir_all(&rest).unwrap();
    fs::write(rest.join(MANIFEST_FILE), "half").unwrap();
    assert_eq!(machine.fetch().unwrap().downloaded, [SHARD]);
    assert!(!rest.exists());
}

#[test]
fn one_process_fetches_to_a_folder_at_a_time() {
    let machine = Machine::new();
    machine.push(SHARD, &machine.write("a", "one")).unwrap();
    let shards = machine.run().join("shards");
    fs::create_dir_all(&shards).unwrap();
    let other = File::open(&shards).unwrap();
    other.lock().unwrap();
    let message = machine.fetch().unwrap_err().recorded("storage");
    assert!(message.contains("another process is fetching shards"), "{message}");
    drop(other);
    machine.fetch().unwrap();
}

#[test]
fn only_finished_and_unchanged_shards_are_pushed() {
    let machine = Machine::new();
    let stopped = machine.write_with("stopped", "one", |manifest| manifest.finish(RunStatus::Interrupted));
    let budget = machine.write_with("budget", "one", |manifest| {
        manifest.ended_by = Some("budget: max_time".to_owned());
        manifest.finish(RunStatus::Incomplete);
    });
    // Some rows have no record: too many were invalid, or `fail_fast` ended a task.
    let incomplete = machine.write_with("incomplete", "one", |one| one.finish(RunStatus::Incomplete));
    for folder in [stopped, budget, incomplete] {
        let message = machine.push(SHARD, &folder).unwrap_err().recorded("storage");
        assert!(message.contains("only finished shards are pushed"), "{message}");
    }
    let changes: [(&str, fn(&Path)); 4] = [
        ("size", |folder| fs::write(folder.join(SAMPLES_FILE), "x").unwrap()),
        ("content", |folder| fs::write(folder.join(SAMPLES_FILE), "two".repeat(PART_BYTES)).unwrap()),
        ("small", |folder| fs::write(folder.join(CONFIG_FILE), "other").unwrap()),
        ("media", |folder| fs::remove_dir_all(folder.join(MEDIA_FOLDER)).unwrap()),
    ];
    for (name, change) in changes {
        let folder = machine.write(name, "one");
        change(&folder);
        let message = machine.push(SHARD, &folder).unwrap_err().recorded("storage");
        assert!(message.contains("differs from what the manifest says"), "{name}: {message}");
    }
    let edited = machine.write("edited", "one");
    let manifest = fs::read_to_string(edited.join(MANIFEST_FILE)).unwrap();
    fs::write(edited.join(MANIFEST_FILE), manifest.replace("0.1.0", "0.1.1")).unwrap();
    let message = machine.push(SHARD, &edited).unwrap_err().recorded("storage");
    assert!(message.contains("cannot be trusted: it was edited"), "{message}");
    assert!(machine.objects().iter().all(|object| !object.as_ref().ends_with("01-of-02/manifest.json")));
}

#[test]
fn names_of_runs_and_shards_are_checked() {
    let target = ObjectUrl::parse("s3://runs/team").unwrap();
    let push = |run_id, shard| push_shard(&target, run_id, shard, Path::new("none"), &()).unwrap_err();
    let message = push("nightly", "3-of-16").recorded("storage");
    assert!(message.contains("'3-of-16' is not the name of a shard"), "{message}");
    assert!(push("../x", SHARD).to_string().starts_with("run id "));
}

/// Cancels a transfer after some files.
struct Canceller {
    after: u64,
    files: Cell<u64>,
}

impl TransferObserver for Canceller {
    fn progress(&self, count: TransferCount) {
        self.files.set(count.files);
    }

    fn is_cancelled(&self) -> bool {
        self.files.get() >= self.after
    }
}

#[test]
fn a_cancelled_push_can_be_repeated() {
    let machine = Machine::new();
    let folder = machine.write("a", "one");
    let objects = ShardObjects::new(&ObjectPath::from("team/nightly"), SHARD).unwrap();
    let observer = Canceller { after: 0, files: Cell::new(0) };
    let counter = TransferCounter::new(&observer);
    let error = run(&observer, push(&machine.bucket, &objects, &folder, &counter)).unwrap_err();
    assert!(error.recorded("storage").contains("the transfer was stopped"), "{error}");
    assert_eq!(machine.objects().len(), 0);

    let observer = Canceller { after: u64::MAX, files: Cell::new(0) };
    let counter = TransferCounter::new(&observer);
    let pushed = run(&observer, push(&machine.bucket, &objects, &folder, &counter)).unwrap();
    assert_eq!(count_of(pushed), observer.files.get());
}

#[test]
fn transfers_from_asynchronous_code_are_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let refused = runtime.block_on(async { run(&(), async { Ok(()) }) });
    assert!(refused.unwrap_err().recorded("storage").contains("from asynchronous code"));
}
