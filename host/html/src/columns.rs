//! Columns with the small data of some thousand samples, for lists, filters and plots.

use super::metadata::MetadataColumns;
use gage_core::{JsonView, MetricResult, OTHER_LABEL, Outcome, shortened};
use gage_record::{RecordView, SampleStage, Stage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;

/// Maximum number of distinct error tags in a block; further ones count as `(other)`.
const MAX_TAGS: usize = 1_000;
/// Maximum number of distinct errors in a block; the messages of further ones are `(other)`.
const MAX_ERRORS: usize = 500;
/// Maximum number of characters of an error's message; the texts of the sample have all.
const MAX_ERROR_CHARS: usize = 400;

/// An error of samples, or of one metric of them.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct ErrorGroup {
    stage: Stage,
    /// Kind of failure; of a metric its outcome.
    kind: String,
    message: String,
    /// The metric, if only it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    metric: Option<String>,
}

/// Samples that a metric did not score for the same reason.
#[derive(Debug, Serialize)]
pub(super) struct UnscoredSamples {
    /// Index of the metric in the block.
    metric: usize,
    outcome: &'static str,
    /// Indexes of the samples in the block.
    samples: Vec<usize>,
}

/// Columns of a run of samples. Names are indexes into the block's own lists, so that it can be read without other
/// blocks.
#[derive(Debug, Default, Serialize)]
pub(super) struct Columns {
    /// Index of the run in the page.
    run: usize,
    /// Of every so many samples of the run, the first has its texts in the page.
    texts_every: u64,
    /// Indexes in this block of further samples whose texts are in the page: failed ones.
    further_texts: Vec<usize>,
    pub(super) tasks: Vec<String>,
    /// Outcomes of the samples, or the next stage of unfinished ones.
    pub(super) outcomes: Vec<&'static str>,
    pub(super) metrics: Vec<String>,
    pub(super) tags: Vec<String>,
    /// Number of samples in each text block that precedes this block.
    texts: Vec<u32>,
    pub(super) task: Vec<usize>,
    pub(super) outcome: Vec<usize>,
    pub(super) index: Vec<u64>,
    pub(super) id: Vec<String>,
    /// Content digests, which distinguish samples with the same id; empty if the page has only one run.
    content: Vec<String>,
    /// Milliseconds; null if the model was not called, or its last call failed before the response.
    pub(super) latency: Vec<Option<f64>>,
    /// Milliseconds since 1970; null if unknown. The first value is absolute; later ones are differences from the
    /// previous known one.
    pub(super) finished: Vec<Option<i64>>,
    /// Tokens of the answer; null if they were not counted.
    pub(super) tokens: Vec<Option<u64>>,
    /// Primary scores of the samples, by metric.
    pub(super) scores: Vec<Vec<Option<f64>>>,
    /// Pass marks of the samples, by metric: 1 if passed, 0 if not, null if unknown.
    pub(super) pass: Vec<Vec<Option<u8>>>,
    /// Pairs of a sample's index in this block and a tag's index.
    pub(super) tagged: Vec<(usize, usize)>,
    pub(super) errors: Vec<ErrorGroup>,
    /// Pairs of a failed sample's index in this block and an error's index. A sample may have several errors.
    pub(super) failed: Vec<(usize, usize)>,
    /// Samples that reached a metric and have no score of it. Skipped ones are left out.
    pub(super) unscored: Vec<UnscoredSamples>,
    /// Pairs of a sample's index in this block and the price of its judges' replies.
    pub(super) judge_cost: Vec<(usize, f64)>,
    /// Tokens of the prompts and of the replies of the block's judges.
    pub(super) judge_tokens: [u64; 2],
    pub(super) metadata: MetadataColumns,
    /// Index of each tag, and the index of the last sample that has it.
    #[serde(skip)]
    last_tagged: HashMap<String, (usize, usize)>,
    #[serde(skip)]
    last_finished: i64,
}

impl Columns {
    pub(super) fn new(run: usize, texts_every: u64) -> Columns {
        Columns { run, texts_every, ..Columns::default() }
    }

    /// Returns the number of samples.
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    /// Adds a sample and its stage; `content` as in [`Columns::content`].
    pub(super) fn add(&mut self, record: &RecordView<'_>, stage: SampleStage, content: Option<u64>) {
        let number = self.len();
        self.task.push(place(&mut self.tasks, record.task_id));
        self.outcome.push(place(&mut self.outcomes, end_of(record.outcome, stage)));
        self.index.push(record.index);
        self.id.push(record.sample_id.to_owned());
        // Half of it is enough to distinguish two rows with the same id.
        self.content.extend(content.map(|content| format!("{:08x}", content >> 32)));
        let timing = &record.timing;
        let is_known = timing.attempts > 0 && timing.latency_ms > 0.0;
        self.latency.push(is_known.then(|| rounded(timing.latency_ms)));
        let finished = self.finished_after(timing.finished_unix_ms);
        self.finished.push(finished);
        self.tokens.push(completion_tokens_of(record.model_output));
        self.scores.iter_mut().for_each(|column| column.push(None));
        self.pass.iter_mut().for_each(|column| column.push(None));
        for result in record.metrics {
            self.add_result(number, result);
        }
        self.add_errors(number, record);
        let cost = record.judge_output.and_then(judge_cost_of);
        self.judge_cost.extend(cost.map(|cost| (number, cost)));
        let tokens = record.judge_output.map(judge_tokens_of).unwrap_or_default();
        for (sum, tokens) in self.judge_tokens.iter_mut().zip(tokens) {
            *sum = sum.saturating_add(tokens);
        }
        record.sample.visit_metadata(|key, value| self.metadata.add(number, key, value));
    }

    fn add_result(&mut self, number: usize, result: &MetricResult) {
        let metric = place(&mut self.metrics, result.metric_id.as_str());
        if self.scores.len() <= metric {
            self.scores.push(vec![None; number + 1]);
            self.pass.push(vec![None; number + 1]);
        }
        if is_unscored(result.outcome) {
            self.add_unscored(number, metric, result.outcome.name());
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
            self.add_tag(number, tag);
        }
    }

    /// Adds a tag of a sample. Several metrics may add the same tag.
    fn add_tag(&mut self, number: usize, tag: &str) {
        let is_known = self.last_tagged.len() < MAX_TAGS || self.last_tagged.contains_key(tag);
        let tag = if is_known { tag } else { OTHER_LABEL };
        if let Some((place, last)) = self.last_tagged.get_mut(tag) {
            if *last != number {
                *last = number;
                self.tagged.push((number, *place));
            }
            return;
        }
        let place = self.tags.len();
        self.tags.push(tag.to_owned());
        self.tagged.push((number, place));
        self.last_tagged.insert(tag.to_owned(), (place, number));
    }

    fn add_unscored(&mut self, number: usize, metric: usize, outcome: &'static str) {
        let known = self.unscored.iter_mut().find(|known| (known.metric, known.outcome) == (metric, outcome));
        match known {
            Some(known) => known.samples.push(number),
            None => self.unscored.push(UnscoredSamples { metric, outcome, samples: vec![number] }),
        }
    }

    /// Adds the errors of a sample, without their places in the row. The error of a sample that was being scored is that of
    /// one metric, so the metrics are asked.
    fn add_errors(&mut self, number: usize, record: &RecordView<'_>) {
        let Some(error) = record.error else { return };
        let group = |kind: &str, message: &str, metric: Option<&str>| ErrorGroup {
            stage: error.stage,
            kind: kind.to_owned(),
            message: shortened(message, MAX_ERROR_CHARS).into_owned(),
            metric: metric.map(str::to_owned),
        };
        let of_metric = |result: &MetricResult| {
            let message = result.error.as_deref().unwrap_or_default();
            group(result.outcome.name(), message, Some(result.metric_id.as_str()))
        };
        let results = record.metrics.iter().chain(record.timing_metrics);
        let failed = results.filter(|result| error.stage == Stage::Scoring && is_unscored(result.outcome));
        let mut errors: Vec<ErrorGroup> = failed.map(of_metric).collect();
        if errors.is_empty() {
            errors.push(group(&error.kind, &error.message_without_secrets(), None));
        }
        for error in errors {
            self.add_error(number, error);
        }
    }

    fn add_error(&mut self, number: usize, mut error: ErrorGroup) {
        let is_known = self.errors.contains(&error);
        if !is_known && self.errors.len() >= MAX_ERRORS {
            error.message = OTHER_LABEL.to_owned();
        }
        self.failed.push((number, place(&mut self.errors, error)));
    }

    /// Records that the texts of the next sample are in the page though it is not one of every so many.
    pub(super) fn expect_texts(&mut self) {
        self.further_texts.push(self.len());
    }

    /// Records the end of a text block with this number of samples.
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

/// Returns whether an outcome is that of a metric that has no score although it had something to score.
fn is_unscored(outcome: Outcome) -> bool {
    !matches!(outcome, Outcome::Scored | Outcome::Skipped)
}

/// Returns the price of the replies of a sample's judges, as far as the suite has prices.
fn judge_cost_of(output: &Value) -> Option<f64> {
    if let Some(cost) = output.get("cost") {
        return cost.as_f64();
    }
    let judges = output.get("judges")?.as_object()?;
    judges.values().filter_map(|judge| judge.get("cost")?.as_f64()).reduce(|sum, cost| sum + cost)
}

/// Returns the tokens of the prompts and of the replies of a sample's judges, as far as they were counted.
fn judge_tokens_of(output: &Value) -> [u64; 2] {
    let of_one = |judge: &Value| {
        ["prompt_tokens", "completion_tokens"].map(|key| judge["usage"][key].as_u64().unwrap_or_default())
    };
    let each = output["judges"].as_object().into_iter().flat_map(|judges| judges.values());
    each.map(of_one).fold(of_one(output), |[prompts, replies], [prompt, reply]| {
        [prompts.saturating_add(prompt), replies.saturating_add(reply)]
    })
}

/// Returns the number of tokens of an answer, if they were counted. Builds nothing of an output that is only text.
fn completion_tokens_of(output: JsonView<'_>) -> Option<u64> {
    match output {
        JsonView::Lazy(json) => json.read::<CountedOutput>().ok()?.usage?.completion_tokens,
        other => other.get("usage")?.get("completion_tokens")?.as_u64(),
    }
}

/// The part of an output that is shown in lists.
#[derive(Deserialize)]
struct CountedOutput {
    usage: Option<CountedUsage>,
}

#[derive(Deserialize)]
struct CountedUsage {
    completion_tokens: Option<u64>,
}

/// Returns the name of an outcome, or for an unfinished sample what it is waiting for.
fn end_of(outcome: Outcome, stage: SampleStage) -> &'static str {
    match stage {
        SampleStage::Ended => outcome.name(),
        SampleStage::AwaitsJudges => "not_judged_yet",
        SampleStage::AwaitsScores => "not_scored_yet",
    }
}

/// Rounds to tenths of a millisecond below 100 ms, or else to milliseconds.
fn rounded(milliseconds: f64) -> f64 {
    if milliseconds < 100.0 { (milliseconds * 10.0).round() / 10.0 } else { milliseconds.round() }
}

/// Returns the index of a name in a short list, and adds it if it is new.
fn place<T: From<N> + PartialEq<N>, N>(known: &mut Vec<T>, name: N) -> usize {
    known.iter().position(|other| *other == name).unwrap_or_else(|| {
        known.push(name.into());
        known.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_figures::test_records::{failed, sample};
    use gage_record::ErrorNote;
    use serde_json::json;

    #[test]
    fn further_tags_of_a_block_are_counted_together() {
        let mut columns = Columns::new(0, 1);
        for number in 0..2 {
            for tag in (0..MAX_TAGS + 10).chain([0]) {
                columns.add_tag(number, &format!("tag-{tag}"));
            }
        }
        assert_eq!(columns.tags.len(), MAX_TAGS + 1);
        assert_eq!(columns.tags.last().map(String::as_str), Some(OTHER_LABEL));
        let expected: Vec<(usize, usize)> =
            (0..2).flat_map(|number| (0..=MAX_TAGS).map(move |tag| (number, tag))).collect();
        assert_eq!(columns.tagged, expected);
    }

    #[test]
    fn further_errors_of_a_block_are_counted_together() {
        let mut columns = Columns::new(0, 1);
        for number in (0..MAX_ERRORS + 10).chain([0]) {
            let mut record = failed("t", 0, Outcome::BackendError);
            record.error = Some(ErrorNote {
                stage: Stage::Inference,
                kind: "timeout".to_owned(),
                message: format!("call {number}: {}", "x".repeat(1_000)),
                pointer: Some(format!("/{number}")),
            });
            columns.add_errors(number, &(&record).into());
        }
        assert_eq!(columns.errors.len(), MAX_ERRORS + 1);
        assert_eq!(columns.errors[0].message.chars().count(), MAX_ERROR_CHARS);
        assert_eq!(columns.errors[MAX_ERRORS].message, OTHER_LABEL);
        let known = columns.failed.last().copied();
        assert_eq!((known, columns.failed[MAX_ERRORS + 9]), (Some((0, 0)), (MAX_ERRORS + 9, MAX_ERRORS)));
    }

    #[test]
    fn each_failed_metric_has_its_error_and_its_outcome() {
        let mut record = sample("t", 0, 1.0, 1.0);
        record.outcome = Outcome::PluginError;
        record.error = Some(ErrorNote {
            stage: Stage::Scoring,
            kind: "plugin_error".to_owned(),
            message: "b: x".to_owned(),
            pointer: None,
        });
        for (metric_id, outcome, error) in [
            ("b", Outcome::PluginError, Some("x")),
            ("c", Outcome::PluginTimeout, Some("out of fuel")),
            ("d", Outcome::Skipped, None),
        ] {
            let mut result = record.metrics[0].clone();
            (result.metric_id, result.outcome) = (metric_id.into(), outcome);
            (result.card, result.error) = (None, error.map(str::to_owned));
            record.metrics.push(result);
        }
        let mut columns = Columns::new(0, 1);
        columns.add(&(&record).into(), SampleStage::Ended, None);
        // Without the results of metrics, the error of the sample counts.
        record.metrics.truncate(1);
        columns.add(&(&record).into(), SampleStage::Ended, None);
        let shown = serde_json::to_value(&columns).unwrap();
        assert_eq!(shown["metrics"], json!(["m", "b", "c", "d"]));
        assert_eq!(
            shown["unscored"],
            json!([
                {"metric": 1, "outcome": "plugin_error", "samples": [0]},
                {"metric": 2, "outcome": "plugin_timeout", "samples": [0]},
            ])
        );
        assert_eq!(
            shown["errors"],
            json!([
                {"stage": "scoring", "kind": "plugin_error", "message": "x", "metric": "b"},
                {"stage": "scoring", "kind": "plugin_timeout", "message": "out of fuel", "metric": "c"},
                {"stage": "scoring", "kind": "plugin_error", "message": "b: x"},
            ])
        );
        assert_eq!(shown["failed"], json!([[0, 0], [0, 1], [1, 2]]));
    }

    #[test]
    fn the_price_of_judges_is_that_of_all_of_them() {
        assert_eq!(judge_cost_of(&json!({"cost": 0.5, "judges": {"a": {"cost": 0.25}}})), Some(0.5));
        let of_each = json!({"judges": {"a": {"cost": 0.25}, "b": {"cost": 0.5}, "c": {}}});
        assert_eq!(judge_cost_of(&of_each), Some(0.75));
        assert_eq!(judge_cost_of(&json!({"judges": {"a": {}}})), None);
    }

    #[test]
    fn the_tokens_of_judges_are_those_of_all_of_them() {
        let usage = |prompt: u64, completion: u64| {
            let tokens = json!({"prompt_tokens": prompt, "completion_tokens": completion});
            json!({"usage": tokens})
        };
        assert_eq!(judge_tokens_of(&usage(5, 2)), [5, 2]);
        assert_eq!(
            judge_tokens_of(&json!({"judges": {"a": usage(5, 2), "b": usage(7, 1), "c": {}}})),
            [12, 3]
        );
        assert_eq!(judge_tokens_of(&json!("no judge")), [0, 0]);
    }
}
