//! Flip rate: how often scores change by chance. It compares consecutive runs of the same suite, model and data,
//! sample by sample.

use crate::checksum::checksum;
use crate::refresh::unserializable;
use crate::{History, HistoryError, HistoryRun};
use gage_core::{MetricResult, Outcome};
use gage_record::{RecordError, RunReader, SampleLine};
use rusqlite::OptionalExtension as _;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::iter::Peekable;
use std::path::{Path, PathBuf};

/// Flip rate of a metric: how often a binary score changes in the next run of the same suite and model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlipRate {
    /// The models under test.
    pub model: Option<String>,
    /// The task.
    pub task_id: String,
    /// The metric.
    pub metric_id: String,
    /// Number of pairs: each run and the next one with the same `gage.lock`.
    pub pairs: u64,
    /// Number of answers that are scored in both runs of a pair.
    pub compared: u64,
    /// Number of those whose scores differ.
    pub flips: u64,
    /// `flips` over `compared`.
    pub rate: f64,
}

/// Counts of a pair, by task and metric; `None` if a score was neither 0 nor 1.
type FlipCounts = BTreeMap<(String, String), Option<(u64, u64)>>;

/// Counts of a pair: task, metric, compared answers and flips.
type PairCounts = Vec<(String, String, u64, u64)>;

/// Pairs of runs of a suite whose scores are compared.
#[derive(Debug)]
pub struct RunPairs {
    pairs: Vec<RunPair>,
}

#[derive(Debug)]
struct RunPair {
    model: Option<String>,
    /// Folder of each run, and the digest of its samples.
    base: (PathBuf, String),
    new: (PathBuf, String),
    /// The counts, unless the samples are still to be read.
    counts: Option<PairCounts>,
    /// Whether the index has the counts.
    is_stored: bool,
}

impl RunPairs {
    /// Reads the samples of the pairs whose counts are not known. They may be from others, and large. The index is not used
    /// meanwhile.
    ///
    /// # Errors
    /// Fails if samples cannot be read.
    pub fn count(&mut self) -> Result<(), RecordError> {
        for pair in self.pairs.iter_mut().filter(|pair| pair.counts.is_none()) {
            let counts = compare(&pair.base.0, &pair.new.0)?.into_iter();
            let binary = counts.filter_map(|((task_id, metric_id), found)| {
                found.map(|(compared, flips)| (task_id, metric_id, compared, flips))
            });
            pair.counts = Some(binary.collect());
        }
        Ok(())
    }
}

impl History {
    /// Returns the flip rates of a suite, by model, task and metric. Only metrics with binary scores have one. The
    /// samples of each pair are read once, and the counts are cached in the index.
    ///
    /// # Errors
    /// Fails if no run belongs to the suite, samples cannot be read, or the index fails.
    pub fn flip_rate(&self, suite: &str) -> Result<Vec<FlipRate>, HistoryError> {
        let mut pairs = self.run_pairs(suite)?;
        pairs.count()?;
        self.flip_rate_of(&pairs)
    }

    /// Returns the pairs of runs of a suite: the first step of [`History::flip_rate`]. [`RunPairs::count`] is the second
    /// one, and [`History::flip_rate_of`] the last.
    ///
    /// # Errors
    /// Fails if no run belongs to the suite, or the index fails.
    pub fn run_pairs(&self, suite: &str) -> Result<RunPairs, HistoryError> {
        let runs = self.runs_of(suite)?;
        let mut pairs = Vec::new();
        for (base, new) in equal_pairs(&runs) {
            let (Some(before), Some(now)) = (&base.samples_digest, &new.samples_digest) else { continue };
            let known: Option<String> = self.index.read(|connection| {
                let sql = "SELECT counts FROM flips WHERE base = ?1 AND new = ?2";
                connection.query_row(sql, [before, now], |row| row.get(0)).optional()
            })?;
            let counts: Option<PairCounts> = known.and_then(|counts| serde_json::from_str(&counts).ok());
            pairs.push(RunPair {
                model: new.model.clone(),
                base: (base.path.clone(), before.clone()),
                new: (new.path.clone(), now.clone()),
                is_stored: counts.is_some(),
                counts,
            });
        }
        Ok(RunPairs { pairs })
    }

    /// Returns the flip rates of pairs, by model, task and metric, and stores their counts in the index.
    ///
    /// # Errors
    /// Fails if the index fails.
    pub fn flip_rate_of(&self, pairs: &RunPairs) -> Result<Vec<FlipRate>, HistoryError> {
        let mut sums: BTreeMap<(Option<String>, String, String), [u64; 3]> = BTreeMap::new();
        for pair in &pairs.pairs {
            for (task_id, metric_id, compared, flips) in pair.counts.iter().flatten() {
                let key = (pair.model.clone(), task_id.clone(), metric_id.clone());
                let sum = sums.entry(key).or_default();
                sum.iter_mut().zip([1, *compared, *flips]).for_each(|(sum, more)| *sum += more);
            }
            self.store_counts(pair)?;
        }
        let compared = sums.into_iter().filter(|(_, [_, compared, _])| *compared > 0);
        let rates = compared.map(|((model, task_id, metric_id), [pairs, compared, flips])| {
            // Far below 2^53.
            let rate = flips as f64 / compared as f64;
            FlipRate { model, task_id, metric_id, pairs, compared, flips, rate }
        });
        Ok(rates.collect())
    }

    /// Stores the counts of a pair in the index, unless it has them.
    fn store_counts(&self, pair: &RunPair) -> Result<(), HistoryError> {
        let Some(counts) = pair.counts.as_ref().filter(|_| !pair.is_stored) else { return Ok(()) };
        let (before, now) = (&pair.base.1, &pair.new.1);
        self.index.write(|changes| {
            let text = serde_json::to_string(counts).map_err(unserializable)?;
            let sql = "INSERT OR REPLACE INTO flips (base, new, counts, checksum) VALUES (?1, ?2, ?3, ?4)";
            let checksum = checksum([before, now, &text].map(|column| Some(column.as_bytes())));
            changes.execute(sql, [before, now, &text, &checksum]).map(drop)
        })
    }
}

/// Pairs each finished run with the next one that has the same lock. Rescored runs are excluded: they called no
/// model.
fn equal_pairs(runs: &[HistoryRun]) -> Vec<(&HistoryRun, &HistoryRun)> {
    let mut last: HashMap<&str, &HistoryRun> = HashMap::new();
    let mut pairs = Vec::new();
    for run in runs.iter().filter(|run| run.has_ended() && run.parent_run.is_none()) {
        let Some(lock) = run.lock_digest.as_deref() else { continue };
        // A copied folder is not a separate run, and shows nothing about chance.
        if last.get(lock).is_some_and(|before| before.is_copy_of(run)) {
            continue;
        }
        pairs.extend(last.insert(lock, run).map(|before| (before, run)));
    }
    pairs
}

/// Compares the samples of two runs, with one of each in memory at a time.
fn compare(base: &Path, new: &Path) -> Result<FlipCounts, RecordError> {
    let (base, new) = (RunReader::open(base)?, RunReader::open(new)?);
    let order = task_order(&new);
    let place = |line: &SampleLine| (order.get(&line.task_id).copied().unwrap_or(usize::MAX), line.index);
    let mut counts = FlipCounts::new();
    let (mut before, mut now) = (base.samples()?.peekable(), new.samples()?.peekable());
    while let (Some(one), Some(other)) = (next_place(&mut before, place)?, next_place(&mut now, place)?) {
        // Skips a sample that only one of the runs has.
        if one < other {
            before.next();
        } else if other < one {
            now.next();
        } else if let (Some(mut one), Some(mut other)) = (before.next().transpose()?, now.next().transpose()?)
            && one.sample_id == other.sample_id
        {
            add(&mut counts, &mut one, &mut other);
        }
    }
    Ok(counts)
}

/// Returns the position of the next line, or its error.
fn next_place<I: Iterator<Item = Result<SampleLine, RecordError>>>(
    lines: &mut Peekable<I>,
    place: impl Fn(&SampleLine) -> (usize, u64),
) -> Result<Option<(usize, u64)>, RecordError> {
    match lines.peek() {
        Some(Ok(line)) => Ok(Some(place(line))),
        Some(Err(_)) => lines.next().transpose().map(|_| None),
        None => Ok(None),
    }
}

/// Returns the order of the tasks in a run's files.
fn task_order(run: &RunReader) -> HashMap<String, usize> {
    let summary: Value = run.summary().ok().flatten().unwrap_or_default();
    let tasks = summary["tasks"].as_array().into_iter().flatten();
    tasks.filter_map(|task| task["task_id"].as_str().map(str::to_owned)).zip(0..).collect()
}

fn add(counts: &mut FlipCounts, one: &mut SampleLine, other: &mut SampleLine) {
    let others = other.take_results();
    for before in &one.take_results() {
        let Some(now) = others.iter().find(|result| result.metric_id == before.metric_id) else {
            continue;
        };
        if before.outcome != Outcome::Scored || now.outcome != Outcome::Scored {
            continue;
        }
        let key = (one.task_id.clone(), before.metric_id.to_string());
        let found = counts.entry(key).or_insert(Some((0, 0)));
        *found = match (*found, binary_score(before), binary_score(now)) {
            (Some((compared, flips)), Some(before), Some(now)) => {
                Some((compared + 1, flips + u64::from(before != now)))
            }
            _ => None,
        };
    }
}

/// Returns true if the sample passed according to the scorer, or else its score if that is 0 or 1.
fn binary_score(result: &MetricResult) -> Option<bool> {
    let card = result.card.as_ref()?;
    card.pass.or(match card.primary_score {
        Some(1.0) => Some(true),
        Some(0.0) => Some(false),
        _ => None,
    })
}
