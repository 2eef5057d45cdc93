//! Layout of a table.

use super::*;
use crate::test_records::{description, failed, sample, task};
use crate::{
    Aggregation, AggregationRow, Completeness, CustomAggregator, CustomAggregators, Machine,
    MetricDescription, NamedFigure, Phases, SummaryBuilder, TaskCompleteness, TaskDescription,
    TimingsBuilder, no_custom_aggregators,
};
use gage_core::MetricResult;
use gage_record::SampleRecord;
use proptest::prelude::*;
use std::time::Duration;

const PLAIN: TableOptions<'static> =
    TableOptions { width: 100, colour: false, run_folder: Some("runs/one"), is_merged: false };

fn table(tasks: &[TaskDescription], records: &[SampleRecord], options: &TableOptions<'_>) -> String {
    table_with(tasks, records, options, &no_custom_aggregators)
}

fn table_with(
    tasks: &[TaskDescription],
    records: &[SampleRecord],
    options: &TableOptions<'_>,
    aggregators: CustomAggregators<'_>,
) -> String {
    let mut summary = SummaryBuilder::new(tasks, aggregators);
    let mut timings = TimingsBuilder::new(tasks, aggregators);
    for record in records {
        summary.add(record).unwrap();
        timings.add(record).unwrap();
    }
    let count = records.len() as u64;
    let phases = Phases {
        wall: Duration::from_secs(2),
        samples: count,
        finished: count,
        retries: records.iter().map(|record| u64::from(record.timing.retries())).sum(),
        ..Phases::default()
    };
    let machine = Machine { cores: 2, os: "linux".to_owned(), arch: "x86_64".to_owned() };
    let whole = Completeness::new();
    render_table(&summary.finish(&whole), &timings.finish(&phases, machine, &whole), options)
}

fn arithmetic() -> Vec<SampleRecord> {
    let mut records: Vec<SampleRecord> =
        (0..10).map(|index| sample("arithmetic", index, f64::from(u8::from(index < 8)), 20.0)).collect();
    records.push(failed("arithmetic", 10, Outcome::Truncated));
    records.push(failed("arithmetic", 11, Outcome::BackendError));
    records
}

#[test]
fn a_run_is_a_table_its_ends_and_its_times() {
    let tasks = [task("arithmetic"), task("empty")];
    insta::assert_snapshot!(table(&tasks, &arithmetic(), &PLAIN), @r"
      task        metric    value     95% interval  scored  coverage
      ──────────────────────────────────────────────────────────────
      arithmetic  m        0.8000  0.4902 – 0.9433   10/12     83.3%
                  latency      20                –   10/12     83.3%
      empty       m             –                –     0/0         –
                  latency       –                –     0/0         –

      arithmetic: 1 truncated, 1 backend_error

      6.0 samples/s · 2.0 s in all · model calls p50 20 ms, p95 20 ms · 6 retries
      runs/one
    ");
}

#[test]
fn plugins_that_failed_differently_are_counted_by_metric() {
    let names = ["m", "one", "two", "three"];
    let tasks = [TaskDescription { metrics: names.map(description).to_vec(), ..task("arithmetic") }];
    let mut records = arithmetic();
    for (place, record) in records.iter_mut().take(10).enumerate() {
        let result = |metric_id: &str, outcome| MetricResult {
            metric_id: metric_id.into(),
            outcome,
            card: (outcome == Outcome::Scored).then(|| record.metrics[0].card.clone()).flatten(),
            ..record.metrics[0].clone()
        };
        let three = if place < 4 { Outcome::PluginTimeout } else { Outcome::Scored };
        let results = [("one", Outcome::PluginError), ("two", Outcome::PluginError), ("three", three)];
        let results = results.map(|(metric_id, outcome)| result(metric_id, outcome));
        record.metrics.extend(results);
        record.outcome = Outcome::PluginError;
    }
    let text = table(&tasks, &records, &PLAIN);
    let line =
        "arithmetic: 1 truncated, 1 backend_error, 10 plugin_error (one, two), 4 plugin_timeout (three)";
    assert!(text.contains(line), "{text}");
}

#[test]
fn what_a_run_that_was_stopped_did_not_come_to_counts() {
    for (reach, wanted) in [
        (
            TaskCompleteness::Of(40),
            ["10/40     25.0%", "arithmetic: 1 truncated, 1 backend_error, 28 not reached"],
        ),
        (
            TaskCompleteness::Unknown,
            [
                "10/12+    ≤83.3%",
                "arithmetic: 1 truncated, 1 backend_error, it was stopped early, and the number of remaining samples",
            ],
        ),
    ] {
        let tasks = [task("arithmetic")];
        let mut summary = SummaryBuilder::new(&tasks, &no_custom_aggregators);
        let mut timings = TimingsBuilder::new(&tasks, &no_custom_aggregators);
        let reach = Completeness::from([("arithmetic".to_owned(), reach)]);
        for record in &arithmetic() {
            summary.add(record).unwrap();
            timings.add(record).unwrap();
        }
        let machine = Machine { cores: 2, os: "linux".to_owned(), arch: "x86_64".to_owned() };
        let timings = timings.finish(&Phases::default(), machine, &reach);
        let text = render_table(&summary.finish(&reach), &timings, &PLAIN);
        assert_eq!(text.matches(wanted[0]).count(), 2, "{text}");
        let unbroken = text.replace("\n    ", " ");
        assert!(unbroken.contains(wanted[1]), "{text}");
    }
}

#[test]
fn a_run_that_went_on_says_whose_the_rates_are() {
    let mut timings = TimingsBuilder::new(&[task("arithmetic")], &no_custom_aggregators);
    arithmetic().iter().for_each(|record| timings.add(record).unwrap());
    let phases = Phases { wall: Duration::from_secs(2), samples: 3, finished: 5, ..Phases::default() };
    let machine = Machine { cores: 2, os: "linux".to_owned(), arch: "x86_64".to_owned() };
    let timings = timings.finish(&phases, machine, &Completeness::new());
    let options = TableOptions { width: 200, ..PLAIN };
    let lines = time_lines(&timings, &options);
    assert_eq!(lines.len(), 1);
    assert!(lines[0].contains("3 of 12 samples asked now · 1.5 samples/s · 2.0 s in all"), "{}", lines[0]);
    // A merge asks nothing.
    let merged = time_lines(&timings, &TableOptions { is_merged: true, ..options });
    assert!(merged[0].trim_start().starts_with("2.0 s in all") && !merged[0].contains("/s"), "{}", merged[0]);
}

#[test]
fn colours_change_nothing_but_colours() {
    let options = TableOptions { colour: true, ..PLAIN };
    let coloured = table(&[task("arithmetic")], &arithmetic(), &options);
    let plain = table(&[task("arithmetic")], &arithmetic(), &PLAIN);
    assert!(coloured.contains("\x1b[33m") && !plain.contains('\x1b'));
    let mut stripped = String::new();
    for (position, part) in coloured.split('\x1b').enumerate() {
        stripped.push_str(if position == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    assert_eq!(stripped, plain);
}

#[test]
fn names_from_outside_cannot_steer_the_terminal() {
    let name = "evil\x1b[2J\u{202e}\n";
    let metric = MetricDescription { metric_id: format!("m{name}"), ..description("m") };
    let tasks = [TaskDescription { metrics: vec![metric], ..task(name) }];
    let records = [failed(name, 0, Outcome::Refused)];
    let options = TableOptions { run_folder: Some("runs/\x1b[0m"), ..PLAIN };
    let text = table(&tasks, &records, &options);
    assert!(!text.chars().any(
        |character| character != '\n' && printable_line(&character.to_string()) != character.to_string()
    ));
    assert!(text.contains("evil\\u{1b}[2J\\u{202e}\\n: 1 refused"), "{text}");
    assert!(text.contains("runs/\\u{1b}[0m"), "{text}");
}

#[test]
fn long_names_are_cut_to_the_width() {
    let long = "a_task_with_a_name_that_is_far_too_long_for_any_terminal";
    let metric =
        MetricDescription { metric_id: "m".repeat(80), aggregation: Aggregation::Median, ..description("m") };
    let tasks = [TaskDescription { metrics: vec![metric], timing_metrics: Vec::new(), ..task(long) }];
    let text = table(&tasks, &[], &TableOptions { width: 80, ..PLAIN });
    let widths: Vec<usize> = text.lines().take(3).map(width_of).collect();
    assert_eq!(widths, [80, 80, 80], "{text}");
    assert!(text.contains('…'));
}

#[test]
fn a_run_without_metrics_says_so() {
    let text = table(&[], &[], &TableOptions { run_folder: None, ..PLAIN });
    assert_eq!(text, "  no metrics\n\n  0.0 samples/s · 2.0 s in all\n");
}

#[test]
fn parts_of_a_metric_stand_below_it() {
    let metric = |metric_id: &str, aggregation: &str| MetricDescription {
        aggregation: Aggregation::parse(aggregation).unwrap_or(Aggregation::Custom(aggregation.to_owned())),
        ..description(metric_id)
    };
    let tasks = [TaskDescription {
        metrics: vec![metric("m", "mean"), metric("verdict", "categorical"), metric("bleu", "corpus_bleu")],
        timing_metrics: vec![metric("latency", "p90")],
        slices: vec!["data_tag".to_owned()],
        ..task("arithmetic")
    }];
    let records: Vec<SampleRecord> = arithmetic()
        .into_iter()
        .map(|mut record| {
            record.sample =
                serde_json::json!({"data_tag": if record.index < 7 { "train" } else { "test" }}).into();
            let result = record.metrics.first().cloned();
            for metric_id in ["verdict", "bleu"] {
                let result =
                    result.clone().map(|result| MetricResult { metric_id: metric_id.into(), ..result });
                record.metrics.extend(result);
            }
            record
        })
        .collect();
    insta::assert_snapshot!(table_with(&tasks, &records, &PLAIN, &precisions), @r"
      task        metric                  value     95% interval  scored  coverage
      ────────────────────────────────────────────────────────────────────────────
      arithmetic  m                      0.8000  0.4902 – 0.9433   10/12     83.3%
                    data_tag=test        0.3333  0.0615 – 0.7923     3/5     60.0%
                    data_tag=train       1.0000  0.6457 – 1.0000     7/7      100%
                    mean of 2 data_tag   0.6667  0.0000 – 1.0000
                  verdict (categorical)       –                –   10/12     83.3%
                    1                     80.0%                        8
                    0                     20.0%                        2
                    data_tag=test             –                –     3/5     60.0%
                    data_tag=train            –                –     7/7      100%
                  bleu (corpus_bleu)      31.25                –   10/12     83.3%
                    precision_1           62.50                       10
                    precision_2              40                       10
                    data_tag=test         31.25                –     3/5     60.0%
                    data_tag=train        31.25                –     7/7      100%
                    mean of 2 data_tag    31.25                –
                  latency (p90)              20                –   10/12     83.3%
                    data_tag=test            20                –     3/5     60.0%
                    data_tag=train           20                –     7/7      100%
                    mean of 2 data_tag       20                –

      arithmetic: 1 truncated, 1 backend_error

      6.0 samples/s · 2.0 s in all · model calls p50 20 ms, p95 20 ms · 6 retries
      runs/one
    ");
    insta::assert_snapshot!(table(&tasks, &records[..1], &PLAIN), @r"
      task        metric                  value  95% interval  scored  coverage
      ─────────────────────────────────────────────────────────────────────────
      arithmetic  m                      1.0000             –     1/1      100%
                    data_tag=train       1.0000             –     1/1      100%
                  verdict (categorical)       –             –     1/1      100%
                    1                      100%                     1
                    data_tag=train            –             –     1/1      100%
                  bleu (corpus_bleu)          –             –     1/1      100%
                    data_tag=train            –             –     1/1      100%
                  latency (p90)              20             –     1/1      100%
                    data_tag=train           20             –     1/1      100%

      arithmetic: bleu: there is no aggregator 'corpus_bleu'; name one of the host's, or a component
        that is loaded

      0.5 samples/s · 2.0 s in all · model calls p50 20 ms, p95 20 ms
      runs/one
    ");
    let coloured = table_with(&tasks, &records, &TableOptions { colour: true, ..PLAIN }, &precisions);
    assert!(coloured.contains("\x1b[2m  data_tag=train"), "{coloured:?}");
}

/// Returns a run of two tasks with a graded metric of 100 points, a latency, and samples that failed.
fn measured() -> (Vec<TaskDescription>, Vec<SampleRecord>) {
    let metric = |metric_id: &str, value_name: &str, scale: [f64; 2]| MetricDescription {
        value_name: value_name.to_owned(),
        is_proportion: false,
        scales: vec![(value_name.to_owned(), scale)],
        bounds: scale,
        ..description(metric_id)
    };
    let latency = MetricDescription { value_name: "latency_ms".to_owned(), ..description("latency") };
    let tasks = ["translation_of_news", "arithmetic"].map(|task_id| TaskDescription {
        metrics: vec![metric("m", "bleu", [0.0, 100.0])],
        timing_metrics: vec![latency.clone()],
        ..task(task_id)
    });
    let mut records: Vec<SampleRecord> =
        (0..60).map(|index| sample("translation_of_news", index, 31.25 + (index % 7) as f64, 20.5)).collect();
    records
        .extend((0..10).map(|index| sample("arithmetic", index, if index < 8 { 100.0 } else { 0.0 }, 20.0)));
    records.push(failed("arithmetic", 10, Outcome::Truncated));
    (tasks.to_vec(), records)
}

#[test]
fn a_run_fits_60_80_and_110_columns() {
    let (tasks, records) = measured();
    for width in [60, 80, 110] {
        let text = table(&tasks, &records, &TableOptions { width, ..PLAIN });
        insta::assert_snapshot!(format!("{width}_columns"), text);
        assert!(text.contains("points") && text.contains(" ms "), "{text}");
    }
}

#[test]
fn several_runs_fit_their_columns() {
    let (tasks, records) = measured();
    let mut summary = SummaryBuilder::new(&tasks, &no_custom_aggregators);
    records.iter().for_each(|record| summary.add(record).unwrap());
    let summary = summary.finish(&Completeness::new());
    let runs = [("openai:gpt-4.1-mini · brief", &summary), ("local", &summary)];
    for width in [40, 60, 80, 110] {
        let text = render_side_by_side(&runs, &TableOptions { width, ..PLAIN });
        assert!(text.lines().all(|line| width_of(line) <= width), "{width}\n{text}");
        assert_eq!(text.matches("points").count(), 4, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_line_is_wider_than_the_terminal(
        width in 60_usize..140, task_id in ".{1,60}", metric_id in "[a-z_]{1,60}", score in 0.0..1e6
    ) {
        let metric = MetricDescription { is_proportion: false, ..description(&metric_id) };
        let tasks = [TaskDescription { metrics: vec![metric], ..task(&task_id) }];
        let mut records: Vec<SampleRecord> = (0..60)
            .map(|index| {
                let mut record = sample(&task_id, index, score + index as f64, 1.0);
                record.metrics.iter_mut().for_each(|one| one.metric_id = metric_id.as_str().into());
                record
            })
            .collect();
        records.push(failed(&task_id, 60, Outcome::BackendError));
        let text = table(&tasks, &records, &TableOptions { width, run_folder: None, ..PLAIN });
        for line in text.lines() {
            prop_assert!(width_of(line) <= width, "{width}: {line}");
        }
    }
}

#[test]
fn many_parts_are_cut() {
    let task = TaskDescription { slices: vec!["id".to_owned()], timing_metrics: Vec::new(), ..task("t") };
    let records: Vec<SampleRecord> = (0..85)
        .map(|index| {
            let document = serde_json::json!({"id": format!("{index:02}\u{1b}")});
            SampleRecord {
                sample: document.into(),
                timing_metrics: Vec::new(),
                ..sample("t", index, 1.0, 1.0)
            }
        })
        .collect();
    let text = table(&[task], &records, &PLAIN);
    assert_eq!(text.matches("id=").count(), 60, "{text}");
    assert!(
        text.contains("… 25 more") && text.contains("id=59\\u{1b}") && !text.contains('\u{1b}'),
        "{text}"
    );
}

struct Precisions(u64);

impl CustomAggregator for Precisions {
    fn add(&mut self, _: AggregationRow<'_>) -> Result<(), String> {
        self.0 += 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<NamedFigure>, String> {
        let figure = |name: &str, value| NamedFigure {
            name: name.to_owned(),
            value,
            stderr: None,
            interval: None,
            n: self.0,
        };
        Ok(vec![figure("bleu", 31.25), figure("precision_1", 62.5), figure("precision_2", 40.0)])
    }
}

fn precisions(_: &str, metric_id: &str) -> Option<Box<dyn CustomAggregator>> {
    (metric_id == "bleu").then(|| Box::new(Precisions(0)) as Box<dyn CustomAggregator>)
}
