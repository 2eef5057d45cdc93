//! What a table looks like.

use super::*;
use crate::test_records::{description, failed, sample, task};
use crate::{
    Aggregation, Machine, MetricDescription, Phases, SummaryBuilder, TaskDescription, TimingsBuilder,
};
use gage_record::SampleRecord;
use std::time::Duration;

const PLAIN: TableOptions<'static> = TableOptions { width: 100, colour: false, run_folder: Some("runs/one") };

fn table(tasks: &[TaskDescription], records: &[SampleRecord], options: &TableOptions<'_>) -> String {
    let mut summary = SummaryBuilder::new(tasks);
    let mut timings = TimingsBuilder::new(tasks);
    for record in records {
        summary.add(record).unwrap();
        timings.add(record).unwrap();
    }
    let phases = Phases { wall: Duration::from_secs(2), samples: records.len() as u64, ..Phases::default() };
    let machine = Machine { cores: 2, os: "linux".to_owned(), arch: "x86_64".to_owned() };
    render_table(&summary.finish(), &timings.finish(&phases, machine), options)
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
                  latency      20    20.00 – 20.00   10/12     83.3%
      empty       m             –                –     0/0         –
                  latency       –                –     0/0         –

      arithmetic: 1 truncated, 1 backend_error

      6.0 samples/s · 2.0 s in all · model calls p50 20 ms, p95 20 ms · 6 retries
      runs/one
    ");
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
