//! Live view of a run in progress: completed samples, speed, and the figures so far.

mod event_feed;
mod tally;

use crate::listing::{describe, error_text, is_live};
use crate::refusal::Refusal;
use event_feed::EventFeed;
use gage_record::format::{EVENTS_FILE, MANIFEST_FILE};
use gage_record::{JournalId, JournalTail, Manifest, RecordError, TailRead, unix_milliseconds};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tally::Tally;

/// Readers of one run within this time get the same snapshot.
const MAX_SNAPSHOT_AGE: Duration = Duration::from_millis(250);
/// Maximum number of runs followed at once. Another one replaces the least recently requested.
const MAX_FOLLOWED_RUNS: usize = 16;

/// Followers of runs: one for each run, regardless of its number of readers.
#[derive(Debug, Default)]
pub(crate) struct Followers(Mutex<HashMap<PathBuf, FollowedRun>>);

#[derive(Debug)]
struct FollowedRun {
    asked: Instant,
    follower: Arc<Mutex<Follower>>,
}

impl Followers {
    /// Returns the current state of a run. The first call may read much of its journal.
    ///
    /// # Errors
    /// When the run cannot be read.
    pub(crate) fn snapshot_of(&self, folder: &Path) -> Result<Arc<str>, RecordError> {
        let follower = self.of(folder);
        let snapshot = follower.lock().snapshot();
        let has_ended = matches!(&snapshot, Ok(snapshot) if !snapshot.is_live);
        if has_ended || snapshot.is_err() {
            self.0.lock().remove(folder);
        }
        snapshot.map(|snapshot| snapshot.text)
    }

    fn of(&self, folder: &Path) -> Arc<Mutex<Follower>> {
        let mut followed = self.0.lock();
        if !followed.contains_key(folder) && followed.len() >= MAX_FOLLOWED_RUNS {
            let oldest = followed.iter().min_by_key(|(_, one)| one.asked).map(|(path, _)| path.clone());
            oldest.map(|oldest| followed.remove(&oldest));
        }
        let begin = || FollowedRun {
            asked: Instant::now(),
            follower: Arc::new(Mutex::new(Follower::new(folder.to_owned()))),
        };
        let one = followed.entry(folder.to_owned()).or_insert_with(begin);
        one.asked = Instant::now();
        Arc::clone(&one.follower)
    }
}

#[derive(Clone, Debug)]
struct Snapshot {
    is_live: bool,
    text: Arc<str>,
}

/// Follows one run.
#[derive(Debug)]
struct Follower {
    folder: PathBuf,
    journal: Option<JournalTail>,
    event_feed: EventFeed,
    tally: Tally,
    last: Option<(Instant, Snapshot)>,
}

impl Follower {
    fn new(folder: PathBuf) -> Follower {
        let event_feed = EventFeed::new(folder.join(EVENTS_FILE));
        Follower { folder, journal: None, event_feed, tally: Tally::default(), last: None }
    }

    fn snapshot(&mut self) -> Result<Snapshot, RecordError> {
        if let Some((when, snapshot)) = &self.last
            && when.elapsed() < MAX_SNAPSHOT_AGE
        {
            return Ok(snapshot.clone());
        }
        // Checked before reading the files, so that the final files of a run are present once it is reported as
        // ended.
        let is_live = is_live(&self.folder);
        let manifest = Manifest::read(&self.folder)?;
        self.read_journal(manifest.journal_id)?;
        self.event_feed.read_new();
        let value = self.value(is_live, &manifest);
        let snapshot = Snapshot { is_live, text: value.to_string().into() };
        self.last = Some((Instant::now(), snapshot.clone()));
        Ok(snapshot)
    }

    fn read_journal(&mut self, journal_id: JournalId) -> Result<(), RecordError> {
        // A run that was deleted and begun again, or merged again, has another journal.
        if self.journal.as_ref().is_some_and(|journal| journal.journal_id() != journal_id) {
            self.journal = None;
            self.tally = Tally::default();
        }
        let journal = self.journal.get_or_insert_with(|| JournalTail::new(&self.folder, journal_id));
        // Read twice if the journal became shorter.
        for _ in 0..2 {
            let tally = &mut self.tally;
            match journal.read_new(|entry| tally.add(entry))? {
                TailRead::Added(_) => break,
                TailRead::Restarted => self.tally = Tally::default(),
            }
        }
        Ok(())
    }

    fn value(&self, is_live: bool, manifest: &Manifest) -> Value {
        let now = unix_milliseconds();
        let began = self.event_feed.began;
        let mut value = json!({
            "is_live": is_live,
            "run": describe(manifest),
            "now": now,
            "began": began,
            "events": self.event_feed.recent(),
        });
        let order: Vec<&str> = manifest.identity.task_ids().collect();
        self.tally.describe(&order, &self.event_feed, now, &mut value);
        value
    }
}

/// Explains why a run cannot be followed, without its folder's path.
pub(crate) fn refusal(error: &RecordError, folder: &Path) -> Refusal {
    match error {
        RecordError::Io { .. } if !folder.join(MANIFEST_FILE).exists() => gone(),
        error => Refusal::Failed(error_text(error, folder)),
    }
}

/// Returns the refusal for a run that has just disappeared.
pub(crate) fn gone() -> Refusal {
    Refusal::Unknown("the run no longer exists".to_owned())
}

#[cfg(test)]
mod tests;
