//! Shards for tests, written without a suite.

use gage_core::{Outcome, ROWS_PER_BATCH, RecordedForm, Shard};
use gage_figures::test_records;
use gage_record::format::LOCK_FILE;
use gage_record::{
    AnswerEntry, JournalEntry, JournalWriter, Manifest, RunFolder, RunIdentity, RunStatus, SampleTiming,
    Scores, ScoresEntry, ShardOfRun, ShardedTask, journal_digests, shards_folder,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// A shard of the run `run`.
#[derive(Clone)]
pub(super) struct TestShard {
    /// The shard that its folder has the name of.
    pub(super) shard: Shard,
    /// Its description in its manifest.
    pub(super) of_run: Option<ShardOfRun>,
    pub(super) identity: RunIdentity,
    pub(super) task_id: &'static str,
    /// The indices of its records.
    pub(super) indices: Vec<u64>,
    /// The indices of scored records, each with the number of records that were scored together.
    pub(super) scored: Vec<(u64, u32)>,
    /// The costs of its backends.
    pub(super) costs: BTreeMap<String, f64>,
    /// The text of its lock, if it has ended and has one.
    pub(super) lock: Option<&'static str>,
    /// True if it has ended.
    pub(super) has_ended: bool,
}

impl TestShard {
    /// Creates a shard that has ended, with some records of the task `t`.
    pub(super) fn new(number: u64, count: u64, indices: impl IntoIterator<Item = u64>) -> TestShard {
        let of_run = ShardOfRun {
            run_id: "run".to_owned(),
            number,
            count,
            rows_per_batch: ROWS_PER_BATCH,
            max_samples: None,
            tasks: vec![ShardedTask { task_id: "t".to_owned(), records: None }],
        };
        TestShard {
            shard: Shard::new(number, count).expect("a shard"),
            of_run: Some(of_run),
            identity: RunIdentity::default(),
            task_id: "t",
            indices: indices.into_iter().collect(),
            scored: Vec::new(),
            costs: BTreeMap::new(),
            lock: None,
            has_ended: true,
        }
    }

    /// Sets the number of records that a task has in all shards.
    pub(super) fn with_total(mut self, task_id: &str, total: u64) -> TestShard {
        let of_run = self.of_run.iter_mut();
        of_run.for_each(|of_run| {
            of_run.tasks = vec![ShardedTask { task_id: task_id.to_owned(), records: Some(total) }];
        });
        self
    }

    /// Kills the process of the shard before it has written what it knows at its end.
    pub(super) fn killed(self) -> TestShard {
        TestShard { of_run: self.of_run.map(ShardOfRun::without_records), has_ended: false, ..self }
    }

    fn write(&self, run: &Path) {
        let name = self.shard.folder_name();
        let folder = RunFolder::create(&shards_folder(run), &name).expect("a folder");
        let mut manifest = Manifest::new(&name, "0.1.0", self.identity.clone());
        manifest.shard = self.of_run.clone();
        manifest.costs = self.costs.clone();
        manifest.write(&folder).expect("written");
        let mut writer = JournalWriter::open(&folder).expect("a journal").writer;
        for index in &self.indices {
            let record = test_records::failed(self.task_id, *index, Outcome::InvalidSample);
            writer.append_batch([JournalEntry::FinishedWithoutScores(&record)]).expect("written");
        }
        for (index, together) in &self.scored {
            let answer = JournalEntry::Answer(AnswerEntry {
                task_id: self.task_id,
                index: *index,
                sample_id: "s",
                row_digest: "00",
                outcome: Outcome::Scored,
                sample: RecordedForm((&Value::Null).into()),
                support_output: None,
                model_output: (&Value::Null).into(),
                judge_output: None,
                timing: SampleTiming::default(),
                awaits_scores: true,
                awaits_judges: false,
            });
            let scores = ScoresEntry {
                task_id: self.task_id.into(),
                index: *index,
                sample_id: "s".into(),
                row_digest: "00".into(),
                outcome: Outcome::Scored,
                scores: Scores { scored_together: *together, ..Scores::default() },
            };
            writer.append_batch([answer, JournalEntry::Scores(&scores)]).expect("written");
        }
        writer.finish().expect("written");
        if self.has_ended {
            manifest.files = journal_digests(&folder).expect("digests");
            if let Some(lock) = self.lock {
                let written = folder.write_atomically(LOCK_FILE, lock.as_bytes()).expect("written");
                manifest.files.insert(LOCK_FILE.to_owned(), written);
            }
            manifest.finish(RunStatus::Complete);
            manifest.write(&folder).expect("written");
        }
    }
}

/// Writes shards below a run folder, which is deleted when it is dropped.
pub(super) fn write_shards(shards: &[TestShard]) -> tempfile::TempDir {
    let run = tempfile::tempdir().expect("a folder");
    shards.iter().for_each(|shard| shard.write(run.path()));
    run
}
