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

impl History {
    /// Returns the flip rates of a suite, by model, task and metric. Only metrics with binary scores have one. The
    /// samples of each pair are read once, and the counts are cached in the index.
    ///
    /// # Errors
    /// Fails if no run belongs to the suite, samples cannot be read, or the index fails.
    pub fn flip_rate(&self, suite: &str) -> Result<Vec<FlipRate>, HistoryError> {
        let runs = self.runs_of(suite)?;
        let mut sums: BTreeMap<(Option<String>, String, String), [u64; 3]> = BTreeMap::new();
        for (base, new) in equal_pairs(&runs) {
            for (task_id, metric_id, compared, flips) in self.flips_of(base, new)? {
                let sum = sums.entry((new.model.clone(), task_id, metric_id)).or_default();
                sum.iter_mut().zip([1, compared, flips]).for_each(|(sum, more)| *sum += more);
            }
        }
        let compared = sums.into_iter().filter(|(_, [_, compared, _])| *compared > 0);
        let rates = compared.map(|((model, task_id, metric_id), [pairs, compared, flips])| {
            // Far below 2^53.
            let rate = flips as f64 / compared as f64;
            FlipRate { model, task_id, metric_id, pairs, compared, flips, rate }
        });
        Ok(rates.collect())
    }

    /// Returns the counts of one pair, from the index or from the samples.
    fn flips_of(
        &self,
        base: &HistoryRun,
        new: &HistoryRun,
    ) -> Result<Vec<(String, String, u64, u64)>, HistoryError> {
        let (Some(before), Some(now)) = (&base.samples_digest, &new.samples_digest) else {
            return Ok(Vec::new());
        };
        let known: Option<String> = self.index.read(|connection| {
            let sql = "SELECT counts FROM flips WHERE base = ?1 AND new = ?2";
            connection.query_row(sql, [before, now], |row| row.get(0)).optional()
        })?;
        if let Some(counts) = known.and_then(|counts| serde_json::from_str(&counts).ok()) {
            return Ok(counts);
        }
        let counts: Vec<(String, String, u64, u64)> = compare(base, new)?
            .into_iter()
            .filter_map(|((task_id, metric_id), found)| {
                found.map(|(compared, flips)| (task_id, metric_id, compared, flips))
            })
            .collect();
        self.index.write(|changes| {
            let text = serde_json::to_string(&counts).map_err(unserializable)?;
            let sql = "INSERT OR REPLACE INTO flips (base, new, counts, checksum) VALUES (?1, ?2, ?3, ?4)";
            let checksum = checksum([before, now, &text].map(|column| Some(column.as_bytes())));
            changes.execute(sql, [before, now, &text, &checksum])
        })?;
        Ok(counts)
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
fn compare(base: &HistoryRun, new: &HistoryRun) -> Result<FlipCounts, RecordError> {
    let (base, new) = (RunReader::open(&base.path)?, RunReader::open(&new.path)?);
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
