//! Columns of the small data of some thousand samples: what lists, filters and plots need.

use gage_core::{MetricResult, Outcome};
use gage_record::{SampleRecord, SampleStage};
use serde::Serialize;
use serde_json::Value;

/// The columns of a run of samples. Names are numbers into lists of their own, so that a block can be read
/// without the others.
#[derive(Debug, Default, Serialize)]
pub(super) struct Columns {
    /// Which run of the page.
    run: usize,
    tasks: Vec<String>,
    /// How the samples ended, or what those await that have not.
    outcomes: Vec<&'static str>,
    metrics: Vec<String>,
    tags: Vec<String>,
    /// How many samples each block of texts holds that came before this one.
    texts: Vec<u32>,
    task: Vec<usize>,
    outcome: Vec<usize>,
    index: Vec<u64>,
    id: Vec<String>,
    /// What tells whether two samples of one id are the same; empty where there is one run.
    content: Vec<String>,
    /// Milliseconds; null where the model was not asked, and where its last call failed before it answered.
    latency: Vec<Option<f64>>,
    /// Milliseconds since 1970; null where it is not known. The first as it is, each later one as the
    /// difference to the one before it that is known.
    finished: Vec<Option<i64>>,
    /// Tokens of the answer; null where nobody counted them.
    tokens: Vec<Option<u64>>,
    /// For each metric the primary scores of the samples.
    scores: Vec<Vec<Option<f64>>>,
    /// For each metric whether the samples passed: 1, 0, or null where it does not say.
    pass: Vec<Vec<Option<u8>>>,
    /// Numbers of a sample in this block and of a tag.
    tagged: Vec<(usize, usize)>,
    #[serde(skip)]
    last_finished: i64,
}

impl Columns {
    pub(super) fn new(run: usize) -> Columns {
        Columns { run, ..Columns::default() }
    }

    /// Returns how many samples it holds.
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    /// Adds a sample and how far it came; `content` as in [`Columns::content`].
    pub(super) fn add(&mut self, record: &SampleRecord, stage: SampleStage, content: Option<u64>) {
        let number = self.len();
        self.task.push(place(&mut self.tasks, record.task_id.as_str()));
        self.outcome.push(place(&mut self.outcomes, end_of(record.outcome, stage)));
        self.index.push(record.index);
        self.id.push(record.sample_id.clone());
        // Half of it tells two rows of one id apart.
        self.content.extend(content.map(|content| format!("{:08x}", content >> 32)));
        let timing = &record.timing;
        let is_known = timing.attempts > 0 && timing.latency_ms > 0.0;
        self.latency.push(is_known.then(|| rounded(timing.latency_ms)));
        let finished = self.finished_after(timing.finished_unix_ms);
        self.finished.push(finished);
        let tokens = record.model_output.as_ref().map(|output| &output["usage"]["completion_tokens"]);
        self.tokens.push(tokens.and_then(Value::as_u64));
        self.scores.iter_mut().for_each(|column| column.push(None));
        self.pass.iter_mut().for_each(|column| column.push(None));
        for result in &record.metrics {
            self.add_result(number, result);
        }
    }

    fn add_result(&mut self, number: usize, result: &MetricResult) {
        let metric = place(&mut self.metrics, result.metric_id.as_str());
        if self.scores.len() <= metric {
            self.scores.push(vec![None; number + 1]);
            self.pass.push(vec![None; number + 1]);
        }
        let card = result.card.as_ref().filter(|_| result.outcome == Outcome::Scored);
        let Some(card) = card else { return };
        if let Some(score) = self.scores.get_mut(metric).and_then(|column| column.get_mut(number)) {
            *score = card.primary_score;
        }
        if let Some(pass) = self.pass.get_mut(metric).and_then(|column| column.get_mut(number)) {
            *pass = card.pass.map(u8::from);
        }
        for tag in &card.error_tags {
            let pair = (number, place(&mut self.tags, tag.as_str()));
            // Several metrics may give one reason.
            if !self.tagged.iter().rev().take_while(|(of, _)| *of == number).any(|other| *other == pair) {
                self.tagged.push(pair);
            }
        }
    }

    /// Notes that a block of texts ended behind so many samples.
    pub(super) fn end_texts(&mut self, count: u32) {
        self.texts.push(count);
    }

    fn finished_after(&mut self, unix_ms: u64) -> Option<i64> {
        let finished = i64::try_from(unix_ms).ok().filter(|finished| *finished > 0)?;
        let difference = finished - self.last_finished;
        self.last_finished = finished;
        Some(difference)
    }
}

/// The name of an outcome; a sample that has not ended has none, and a reader is told what it awaits.
fn end_of(outcome: Outcome, stage: SampleStage) -> &'static str {
    match stage {
        SampleStage::Ended => outcome.name(),
        SampleStage::AwaitsJudges => "not_judged_yet",
        SampleStage::AwaitsScores => "not_scored_yet",
    }
}

/// Tenths of a millisecond below a hundred, else milliseconds.
fn rounded(milliseconds: f64) -> f64 {
    if milliseconds < 100.0 { (milliseconds * 10.0).round() / 10.0 } else { milliseconds.round() }
}

/// The place of a name in a list of few, to which it is added where it is new.
fn place<T: From<N> + PartialEq<N>, N: Copy>(known: &mut Vec<T>, name: N) -> usize {
    known.iter().position(|other| *other == name).unwrap_or_else(|| {
        known.push(name.into());
        known.len() - 1
    })
}
