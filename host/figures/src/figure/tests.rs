//! Figures of a task's records.

use super::*;
use crate::statistics::{wilson_interval, wilson_of_proportion};
use crate::test_records::{description, failed, sample, scored, task};
use crate::{
    AggregationRow, CustomAggregator, IntervalMethod, MetricDescription, TaskCompleteness, TaskDescription,
    Z_95, no_custom_aggregators,
};
use gage_core::{MetricResult, ScoreCard};
use gage_record::SampleRecord;
use serde_json::{Value, json};

mod properties;
mod repeats;

const MAX_NAMES: usize = counts::MAX_NAMES;

fn of_task(task: &TaskDescription, aggregation: Aggregation, records: &[SampleRecord]) -> MetricFigure {
    let metric = MetricDescription { aggregation, ..description("m") };
    let mut set = FigureSet::new(task, &[metric], &no_custom_aggregators);
    records.iter().for_each(|record| set.add(&record.metrics, record).unwrap());
    set.finish(TaskCompleteness::Whole).remove(0)
}

fn figure(aggregation: Aggregation, records: &[SampleRecord]) -> MetricFigure {
    of_task(&task("t"), aggregation, records)
}

fn scores(numbers: &[f64]) -> Vec<SampleRecord> {
    (0..).zip(numbers).map(|(index, number)| sample("t", index, *number, 1.0)).collect()
}

fn with_card(index: u64, change: impl FnOnce(&mut ScoreCard)) -> SampleRecord {
    let mut record = sample("t", index, 1.0, 1.0);
    change(record.metrics[0].card.as_mut().unwrap());
    record
}

fn of_document(index: u64, score: f64, document: Value) -> SampleRecord {
    SampleRecord { sample: document.into(), ..sample("t", index, score, 1.0) }
}

fn object(value: Value) -> gage_core::Object {
    value.as_object().unwrap().clone()
}

#[test]
fn what_failed_is_not_a_wrong_answer() {
    let mut records = scores(&[1.0, 0.0, 1.0]);
    records.push(failed("t", 3, Outcome::BackendError));
    records.push(with_card(4, |card| card.primary_score = None));
    records.push(with_card(5, |card| card.primary_score = Some(f64::NAN)));
    let timed_out = MetricResult { outcome: Outcome::PluginTimeout, card: None, ..scored("m", 0.0) };
    records.push(SampleRecord {
        outcome: Outcome::PluginTimeout,
        metrics: vec![timed_out],
        ..sample("t", 6, 0.0, 1.0)
    });

    let figure = figure(Aggregation::Mean, &records);
    assert_eq!(figure.value, Some(2.0 / 3.0));
    assert_eq!((figure.n, figure.total, figure.coverage), (3, 7, 3.0 / 7.0));
    let outcomes = [
        (Outcome::Scored, 3),
        (Outcome::BackendError, 1),
        (Outcome::PluginTimeout, 1),
        (Outcome::Skipped, 2),
    ];
    assert_eq!(figure.outcomes, BTreeMap::from(outcomes));
}

#[test]
fn a_length_of_one_is_no_proportion() {
    let length = MetricDescription { is_proportion: false, ..description("m") };
    let task = task("t");
    let mut set = FigureSet::new(&task, &[length], &no_custom_aggregators);
    scores(&[1.0; 10]).iter().for_each(|record| set.add(&record.metrics, record).unwrap());
    let found = set.finish(TaskCompleteness::Whole).remove(0);
    assert_eq!((found.value, found.stderr, found.interval), (Some(1.0), None, None));
}

/// The figure of scores on a scale with these weights, optionally in clusters of a given size.
fn on_scale(
    aggregation: &str,
    scale: Option<[f64; 2]>,
    cluster: Option<u64>,
    scored: &[(f64, f64)],
) -> MetricFigure {
    let metric = MetricDescription {
        aggregation: Aggregation::parse(aggregation).unwrap(),
        is_proportion: scale == Some([0.0, 1.0]),
        scales: scale.map(|scale| (description("m").value_name, scale)).into_iter().collect(),
        ..description("m")
    };
    let task = TaskDescription { cluster_by: cluster.map(|_| "metadata.text".to_owned()), ..task("t") };
    let mut set = FigureSet::new(&task, &[metric], &no_custom_aggregators);
    for (index, (score, weight)) in (0..).zip(scored) {
        let document = json!({"metadata": {"text": index / cluster.unwrap_or(1)}});
        let mut record = of_document(index, *score, document);
        record.metrics[0].card.as_mut().unwrap().detail = json!({"weight": weight}).into();
        set.add(&record.metrics, &record).unwrap();
    }
    set.finish(TaskCompleteness::Whole).remove(0)
}

#[test]
fn equal_scores_are_bounded_by_their_scale_or_by_nothing() {
    let (one, ten) = (Some([0.0, 1.0]), Some([0.0, 10.0]));
    let equal = |score: f64, count: usize| vec![(score, 1.0); count];
    let tenfold = |trials: f64| {
        wilson_of_proportion(0.5, trials, Z_95).map(|found| (10.0 * found.low, 10.0 * found.high))
    };
    let plain = |trials: f64| wilson_of_proportion(0.5, trials, Z_95).map(|found| (found.low, found.high));
    for (aggregation, scale, cluster, scored, expected) in [
        ("mean", one, None, equal(0.5, 4), plain(4.0)),
        ("mean", ten, None, equal(5.0, 4), tenfold(4.0)),
        ("mean", None, None, equal(5.0, 4), None),
        ("mean", None, None, equal(0.0, 4), None),
        ("mean", ten, Some(2), equal(5.0, 8), tenfold(4.0)),
        // Scores vary within clusters but not between them.
        ("mean", ten, Some(2), [(1.0, 1.0), (9.0, 1.0)].repeat(3), tenfold(3.0)),
        ("mean", None, Some(2), [(1.0, 1.0), (9.0, 1.0)].repeat(3), None),
        ("weighted_mean", one, None, equal(0.5, 4), plain(4.0)),
        // (1 + 1 + 2)² / (1 + 1 + 4)
        ("weighted_mean", ten, None, vec![(5.0, 1.0), (5.0, 1.0), (5.0, 2.0)], tenfold(16.0 / 6.0)),
        ("weighted_mean", ten, Some(2), equal(5.0, 8), tenfold(4.0)),
        ("weighted_mean", None, None, equal(0.1, 7), None),
        // Each of three clusters has the weighted mean 5 and the weight 4, so the result equals the mean's.
        ("weighted_mean", ten, Some(2), [(2.0, 1.0), (6.0, 3.0)].repeat(3), tenfold(3.0)),
        ("weighted_mean", None, Some(2), [(2.0, 1.0), (6.0, 3.0)].repeat(3), None),
        // Scores without weight do not change the figure.
        ("weighted_mean", ten, None, vec![(5.0, 1.0), (5.0, 1.0), (9.0, 0.0)], tenfold(2.0)),
        ("mean", one, None, equal(0.5, 1), None),
        ("mean", one, Some(9), equal(0.5, 4), None),
    ] {
        let found = on_scale(aggregation, scale, cluster, &scored);
        let near = |(one, two): (f64, f64)| (one - two).abs() < 1e-12;
        let shown = format!("{aggregation} {scale:?} {cluster:?} {scored:?}: {found:?}");
        match (found.interval, expected) {
            (Some(interval), Some((low, high))) => {
                assert!(near((interval.low, low)) && near((interval.high, high)), "{shown}");
                assert_eq!((interval.method, found.stderr), (IntervalMethod::Wilson, Some(0.0)), "{shown}");
            }
            (interval, expected) => {
                assert_eq!((interval, found.stderr, expected), (None, None, None), "{shown}");
            }
        }
    }
}

#[test]
fn an_interval_does_not_leave_the_scale_of_its_scores() {
    let scored = [(1.0, 1.0), (1.0, 1.0), (0.7, 1.0)];
    for cluster in [None, Some(1)] {
        let interval = on_scale("mean", Some([0.0, 1.0]), cluster, &scored).interval.unwrap();
        assert!(interval.high == 1.0 && interval.low < 0.9, "{interval:?}");
    }
}

#[test]
fn scores_without_a_scale_need_fifty_samples() {
    let scored =
        |count: usize| -> Vec<(f64, f64)> { (0..count).map(|number| (number as f64, 1.0)).collect() };
    for (aggregation, cluster, count, has_interval) in [
        ("mean", None, 49, false),
        ("mean", None, 50, true),
        ("mean", Some(2), 98, false),
        ("mean", Some(2), 100, true),
        ("weighted_mean", None, 49, false),
        ("weighted_mean", None, 50, true),
    ] {
        let found = on_scale(aggregation, None, cluster, &scored(count));
        assert_eq!(found.interval.is_some(), has_interval, "{aggregation} {cluster:?} {count}");
        assert!(found.stderr.is_some());
    }
}

#[test]
fn scores_of_0_and_1_have_a_wilson_interval_at_every_size() {
    for (right, count) in [(222, 296), (299, 300), (225, 300), (1, 1_000), (4_997, 5_000)] {
        let binary: Vec<f64> = (0..count).map(|number| f64::from(u8::from(number < right))).collect();
        for aggregation in [Aggregation::Mean, Aggregation::PassRate] {
            let mut records = scores(&binary);
            for record in &mut records {
                let card = record.metrics[0].card.as_mut().unwrap();
                card.pass = Some(card.primary_score == Some(1.0));
            }
            let found = figure(aggregation, &records);
            assert_eq!(found.interval, wilson_interval(right, count), "{right} of {count}");
        }
    }
    let graded = on_scale("mean", Some([0.0, 1.0]), None, &[(0.0, 1.0), (1.0, 1.0), (0.5, 1.0)]);
    assert_eq!(graded.interval.unwrap().method, IntervalMethod::Hall);
}

/// With 299 of 300 right, the interval by Student's t is 0.9901 to 1.0, narrower at its lower end than for 298 of 299.
#[test]
fn one_more_right_answer_does_not_halve_the_interval() {
    let width = |count: u64| {
        let binary: Vec<f64> = (0..count).map(|number| f64::from(u8::from(number > 0))).collect();
        let interval = figure(Aggregation::Mean, &scores(&binary)).interval.unwrap();
        interval.high - interval.low
    };
    let (before, after) = (width(299), width(300));
    assert!(before * 0.99 < after && after < before, "{before} {after}");
}

#[test]
fn fewer_than_two_scores_have_no_error() {
    let aggregations = ["mean", "weighted_mean", "median", "p90", "pass_rate", "sum"];
    for aggregation in aggregations.map(|name| Aggregation::parse(name).unwrap()) {
        let one = figure(aggregation.clone(), &[with_card(0, |card| card.pass = Some(true))]);
        assert_eq!((one.value, one.stderr, one.interval), (Some(1.0), None, None), "{aggregation}");
        let none = figure(aggregation.clone(), &[]);
        assert_eq!((none.value, none.stderr, none.interval), (None, None, None), "{aggregation}");
        assert_eq!((none.n, none.total, none.coverage), (0, 0, 0.0));
    }
}

#[test]
fn quantiles_have_an_interval_and_other_figures_have_none() {
    let numbers: Vec<f64> = (0..40).map(|number| f64::from(number * 7 % 40)).collect();
    let equal = vec![7.0; 20];
    for (name, numbers, expected) in [
        ("median", &numbers, Some((13.0, 26.0))),
        ("p90", &numbers, Some((31.0, 39.0))),
        ("p99", &numbers, None),
        // Most of them are equal, whatever the distribution is.
        ("median", &equal, Some((7.0, 7.0))),
    ] {
        let figure = figure(Aggregation::parse(name).unwrap(), &scores(numbers));
        let found = figure.interval.map(|interval| (interval.low, interval.high));
        assert_eq!((found, figure.stderr), (expected, None), "{name}");
    }
    let values = [
        ("min", Some(0.0)),
        ("max", Some(39.0)),
        ("sum", Some(780.0)),
        ("count", Some(40.0)),
        ("identity", None),
    ];
    for (name, value) in values {
        let figure = figure(Aggregation::parse(name).unwrap(), &scores(&numbers));
        assert_eq!(
            (figure.value, figure.stderr, figure.interval, figure.n),
            (value, None, None, 40),
            "{name}"
        );
    }
}

#[test]
fn weights_sub_scores_and_tags_come_from_the_card() {
    let cards = [
        (1.0, json!({"f1": 1.0, "note": "text"}), json!({"weight": 3}), vec![]),
        (0.0, json!({"f1": 0.5, "hit": true}), json!({"weight": "heavy"}), vec!["wrong_unit", "late"]),
        (0.0, json!({"hit": false}), json!({"weight": -1}), vec!["late", "early"]),
    ];
    let records: Vec<SampleRecord> = (0..)
        .zip(cards)
        .map(|(index, (score, sub_scores, detail, tags))| {
            with_card(index, |card| {
                card.primary_score = Some(score);
                card.sub_scores = object(sub_scores);
                card.detail = detail.into();
                card.error_tags = tags.into_iter().map(str::to_owned).collect();
            })
        })
        .collect();
    let figure = figure(Aggregation::WeightedMean, &records);
    assert_eq!(figure.value, Some(0.6));
    let sub_scores: Vec<_> =
        figure.sub_scores.iter().map(|sub| (sub.name.as_str(), sub.value, sub.n)).collect();
    assert_eq!(sub_scores, [("f1", Some(0.875), 2), ("hit", Some(0.5), 2)]);
    let tags: Vec<_> = figure.error_tags.iter().map(|tag| (tag.tag.as_str(), tag.count)).collect();
    assert_eq!(tags, [("late", 2), ("early", 1), ("wrong_unit", 1)]);
}

#[test]
fn a_scorer_that_makes_up_names_cannot_fill_the_memory() {
    let record = |number: usize| {
        with_card(number as u64, |card| {
            card.error_tags = vec![format!("tag-{number}")];
            card.sub_scores.insert(format!("sub-{number}"), json!(1));
            card.detail = json!({"category": format!("category-{number}")}).into();
        })
    };
    let records: Vec<_> = (0..MAX_NAMES + 7).map(record).collect();
    let figure = figure(Aggregation::Categorical, &records);
    assert_eq!(figure.error_tags[0], TagCount { tag: "(other)".to_owned(), count: 7 });
    assert_eq!((figure.error_tags.len(), figure.sub_scores.len()), (MAX_NAMES + 1, MAX_NAMES));
    assert_eq!(figure.categories.len(), MAX_NAMES + 1);
    let other = figure.categories.last().unwrap();
    assert_eq!((other.name.as_str(), other.count, other.share), ("(other)", 7, 7.0 / 1_007.0));
}

#[test]
fn a_pass_rate_is_of_the_cards_that_draw_a_line() {
    let passes = [Some(true), Some(false), None, Some(true)];
    let records: Vec<_> =
        (0..).zip(passes).map(|(index, pass)| with_card(index, |card| card.pass = pass)).collect();
    let figure = figure(Aggregation::PassRate, &records);
    assert_eq!((figure.value, figure.n, figure.total), (Some(2.0 / 3.0), 3, 4));
    assert_eq!(figure.outcomes, BTreeMap::from([(Outcome::Scored, 3), (Outcome::Skipped, 1)]));
    assert_eq!(figure.interval, wilson_interval(2, 3));
}

#[test]
fn categories_are_counted_and_named_by_the_card() {
    let details = [
        (json!({"category": "yes", "prediction": "no"}), Some(1.0)),
        (json!({"prediction": "no"}), Some(0.0)),
        (json!({"category": null, "prediction": " yes "}), Some(1.0)),
        (json!({}), Some(0.5)),
        (json!({}), Some(1.0)),
        (json!({"category": 1}), None),
        (json!({"prediction": "no"}), None),
    ];
    let records: Vec<_> = (0..)
        .zip(details)
        .map(|(index, (detail, score))| {
            let mut record = with_card(index, |card| {
                card.detail = detail.into();
                card.primary_score = score;
            });
            if score.is_none() {
                record.metrics[0].outcome = Outcome::Skipped;
            }
            record
        })
        .collect();
    let figure = figure(Aggregation::Categorical, &records);
    let found: Vec<_> =
        figure.categories.iter().map(|category| (category.name.as_str(), category.count)).collect();
    assert_eq!(found, [("1", 2), ("yes", 2), ("0.5", 1), ("no", 1)]);
    assert_eq!((figure.categories[0].share, figure.value), (2.0 / 6.0, None));
    assert_eq!((figure.n, figure.total), (6, 7));
    assert_eq!(figure.outcomes[&Outcome::Skipped], 1);
}

#[test]
fn a_value_beyond_all_numbers_is_an_error() {
    let figure = figure(Aggregation::Sum, &scores(&[f64::MAX, f64::MAX]));
    assert_eq!(figure.value, None);
    assert!(figure.error.unwrap().contains("beyond 1.7976931348623157e308"));
}

/// Returns the sum of all weights and the number of rows; fails at a score of -1.
#[derive(Default)]
struct Weights {
    sum: f64,
    rows: u64,
}

impl CustomAggregator for Weights {
    fn add(&mut self, row: AggregationRow<'_>) -> Result<(), String> {
        if row.card.primary_score == Some(-1.0) {
            return Err(format!("sample '{}' is refused", row.sample_id));
        }
        self.sum += row.weight;
        self.rows += 1;
        Ok(())
    }

    fn counts_unscored(&self, card: &ScoreCard) -> bool {
        card.detail.member("weight").is_some()
    }

    fn finish(&mut self) -> Result<Vec<NamedFigure>, String> {
        // If all rows have the same weight, they do not vary.
        let stderr = Some(if self.sum == self.rows as f64 { 0.0 } else { 0.5 });
        let figure = |name: &str, value| NamedFigure {
            name: name.to_owned(),
            value,
            stderr,
            interval: None,
            n: self.rows,
        };
        match self.rows {
            3 => Ok(vec![figure("sum", self.sum), figure("rows", self.rows as f64)]),
            2 => Ok(vec![figure("sum", f64::NAN)]),
            _ => Ok(Vec::new()),
        }
    }
}

fn folded(records: &[SampleRecord], has_fold: bool) -> MetricFigure {
    let metric =
        MetricDescription { aggregation: Aggregation::Custom("weights".to_owned()), ..description("m") };
    let folds = |task_id: &str, metric_id: &str| -> Option<Box<dyn CustomAggregator>> {
        assert_eq!((task_id, metric_id), ("t", "m"));
        has_fold.then(|| Box::new(Weights::default()) as Box<dyn CustomAggregator>)
    };
    let task = TaskDescription { slices: vec!["data_tag".to_owned()], ..task("t") };
    let mut set = FigureSet::new(&task, &[metric], &folds);
    records.iter().for_each(|record| set.add(&record.metrics, record).unwrap());
    set.finish(TaskCompleteness::Whole).remove(0)
}

#[test]
fn a_component_makes_the_figures_of_the_task_and_of_its_slices() {
    let mut records = scores(&[1.0, 0.5, 0.0]);
    records[0].metrics[0].card.as_mut().unwrap().detail = json!({"weight": 2.5}).into();
    records.push(failed("t", 3, Outcome::Truncated));
    let figure = folded(&records, true);
    assert_eq!((figure.value, figure.stderr, figure.interval), (Some(4.5), Some(0.5), None));
    assert_eq!((figure.n, figure.total, figure.error), (3, 4, None));
    let names: Vec<_> =
        figure.figures.iter().map(|named| (named.name.as_str(), named.value, named.n)).collect();
    assert_eq!(names, [("sum", 4.5, 3), ("rows", 3.0, 3)]);
    assert_eq!((figure.slices[0].value, figure.slices[0].key.as_str()), (Some(4.5), "(none)"));
    let alike = folded(&scores(&[1.0, 1.0, 1.0]), true);
    assert_eq!((alike.value, alike.stderr, alike.slices[0].stderr), (Some(3.0), None, None));
    assert!(alike.figures.iter().all(|named| named.stderr.is_none()), "{:?}", alike.figures);
}

#[test]
fn a_card_without_a_score_counts_if_the_component_reads_it() {
    let mut records = scores(&[1.0, 0.5, 0.0, 1.0]);
    for (index, detail) in [(1, json!({"weight": 2.0})), (3, json!({"other": 2.0}))] {
        let card = records[index].metrics[0].card.as_mut().unwrap();
        *card = ScoreCard { primary_score: None, detail: detail.into(), ..card.clone() };
        records[index].metrics[0].outcome = Outcome::Skipped;
    }
    let figure = folded(&records, true);
    assert_eq!((figure.value, figure.n, figure.total, figure.coverage), (Some(4.0), 3, 4, 0.75));
    assert_eq!((figure.outcomes[&Outcome::Scored], figure.outcomes[&Outcome::Skipped]), (3, 1));
}

#[test]
fn an_aggregator_that_fails_gives_a_reason_and_no_value() {
    let cases = [
        (scores(&[1.0, -1.0, 1.0]), true, "sample 's-1' is refused"),
        (scores(&[1.0, 1.0]), true, "the figure 'sum' a value or an error that is not a number"),
        (scores(&[1.0]), true, "no figure"),
        (scores(&[1.0]), false, "there is no aggregator 'weights'"),
    ];
    for (records, has_fold, expected) in cases {
        let figure = folded(&records, has_fold);
        assert_eq!((figure.value, figure.stderr, figure.figures.len()), (None, None, 0));
        let error = figure.error.unwrap();
        assert!(error.contains(expected), "{error}");
        assert_eq!(figure.slices[0].error, Some(error));
    }
    let none = folded(&[failed("t", 0, Outcome::Refused)], true);
    assert_eq!((none.value, none.error), (None, None));
}
