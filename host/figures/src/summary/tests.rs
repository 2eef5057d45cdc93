//! Contents of a summary.

use super::*;
use crate::no_custom_aggregators;
use crate::test_records::{failed, sample, task};
use gage_record::SampleRecord;
use gage_recorded_messages::RecordedError as _;
use proptest::prelude::*;
use serde_json::json;

fn summary(records: &[SampleRecord]) -> Summary {
    let mut builder = SummaryBuilder::new(&[task("a"), task("b")], &no_custom_aggregators);
    records.iter().for_each(|record| builder.add(record).unwrap());
    builder.finish(&Completeness::new())
}

#[test]
fn figures_are_kept_by_task_and_for_the_run() {
    let summary = summary(&[
        sample("a", 0, 1.0, 5.0),
        sample("a", 1, 0.0, 5.0),
        failed("a", 2, Outcome::Truncated),
        sample("b", 0, 0.5, 5.0),
    ]);
    assert_eq!((summary.samples.total, summary.samples.coverage), (4, 0.75));
    let a = &summary.tasks[0];
    assert_eq!((a.task_id.as_str(), a.dataset_id.as_str(), a.samples.total), ("a", "data", 3));
    assert_eq!(a.samples.outcomes, BTreeMap::from([(Outcome::Scored, 2), (Outcome::Truncated, 1)]));
    assert_eq!(a.usage, TokenFigures { prompt_tokens: 20, completion_tokens: 4 });
    assert_eq!((a.metrics[0].value, a.metrics[0].n, a.metrics[0].total), (Some(0.5), 2, 3));
    let global: Vec<_> =
        summary.metrics.iter().map(|figure| (figure.task_id.as_str(), figure.metric_id.as_str())).collect();
    assert_eq!(global, [("a", "m"), ("b", "m")]);
}

#[test]
fn a_run_without_samples_has_figures_without_values() {
    let summary = summary(&[]);
    assert_eq!((summary.samples.total, summary.samples.coverage), (0, 0.0));
    assert_eq!((summary.tasks[1].metrics[0].value, summary.tasks[1].metrics[0].coverage), (None, 0.0));
}

#[test]
fn coverage_of_a_stopped_run_is_of_what_it_planned() {
    let records = [sample("a", 0, 1.0, 5.0), sample("a", 1, 0.0, 5.0), failed("a", 2, Outcome::Truncated)];
    let of = |reach: TaskCompleteness| {
        let mut builder = SummaryBuilder::new(&[task("a"), task("b")], &no_custom_aggregators);
        records.iter().for_each(|record| builder.add(record).unwrap());
        builder.finish(&Completeness::from([("a".to_owned(), reach)]))
    };
    for (reach, total, coverage, is_least) in [
        (TaskCompleteness::Whole, 3, 2.0 / 3.0, false),
        (TaskCompleteness::Of(8), 8, 0.25, false),
        // A planned number below the existing one has no effect.
        (TaskCompleteness::Of(2), 3, 2.0 / 3.0, false),
        (TaskCompleteness::Unknown, 3, 2.0 / 3.0, true),
    ] {
        let summary = of(reach);
        for samples in [&summary.samples, &summary.tasks[0].samples] {
            assert_eq!(
                (samples.total, samples.coverage, samples.total_is_least),
                (total, coverage, is_least)
            );
            assert_eq!((samples.not_reached, samples.reached()), (total - 3, 3));
        }
        let figure = &summary.tasks[0].metrics[0];
        assert_eq!((figure.n, figure.total, figure.coverage), (2, total, coverage), "{reach:?}");
        assert_eq!((figure.value, figure.total_is_least), (Some(0.5), is_least));
        let wanted = if total == 3 && !is_least { TaskCompleteness::Whole } else { reach };
        assert_eq!(summary.tasks[0].completeness(), wanted);
    }
    // A repeated sample counts once, even if the run was stopped amid its repeats.
    let repeated = TaskDescription { repeat: 3, ..task("a") };
    let mut builder = SummaryBuilder::new(&[repeated], &no_custom_aggregators);
    (0..4).for_each(|index| builder.add(&sample("a", index, 1.0, 5.0)).unwrap());
    let figure = &builder.finish(&Completeness::from([("a".to_owned(), TaskCompleteness::Of(9))])).metrics[0];
    assert_eq!((figure.n, figure.total, figure.coverage), (2, 3, 4.0 / 9.0));
}

#[test]
fn what_was_not_described_is_refused() {
    let mut builder = SummaryBuilder::new(&[task("a")], &no_custom_aggregators);
    let error = builder.add(&sample("c", 0, 1.0, 1.0)).unwrap_err().recorded("figures");
    assert!(error.contains("task 'c'") && error.ends_with("its tasks are: a"), "{error}");
    let mut record = sample("a", 0, 1.0, 1.0);
    record.metrics[0].metric_id = "other".into();
    let error = builder.add(&record).unwrap_err().recorded("figures");
    assert!(error.contains("has a result of metric"), "{error}");
}

#[test]
fn a_summary_is_read_back_and_a_newer_one_is_refused() {
    let summary = summary(&[sample("a", 0, 0.1, 5.0), sample("a", 1, 0.2, 5.0), sample("a", 2, 0.3, 5.0)]);
    let text = summary.to_json().unwrap();
    assert!(text.ends_with("}\n"));
    assert!(text.contains("\"value\": 0.2,"), "{text}");
    assert_eq!(Summary::from_value(serde_json::from_str(&text).unwrap()).unwrap(), summary);
    let error = Summary::from_value(json!({"format_version": 2})).unwrap_err().recorded("figures");
    assert!(error.contains("summary.json") && error.contains("use a newer gage-host"), "{error}");
}

#[test]
fn bytes_do_not_depend_on_clocks() {
    let (fast, slow) = (summary(&[sample("a", 0, 1.0, 1.0)]), summary(&[sample("a", 0, 1.0, 999.0)]));
    assert_eq!(fast.to_json().unwrap(), slow.to_json().unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// Records that were finished in any order and in batches of any size, and then sorted into
    /// dataset order, give the same bytes.
    #[test]
    fn figures_do_not_depend_on_how_samples_were_batched(
        scores in prop::collection::vec(-1e3..1e3, 1..60),
        size in 1_usize..20,
        turn in any::<prop::sample::Index>(),
    ) {
        let records: Vec<SampleRecord> =
            (0..).zip(&scores).map(|(index, score)| sample("a", index, *score, 1.0)).collect();
        let expected = summary(&records).to_json().unwrap();

        let mut shuffled = records;
        let turn = turn.index(shuffled.len());
        shuffled.rotate_left(turn);
        let mut batches: Vec<Vec<SampleRecord>> = shuffled.chunks(size).map(<[_]>::to_vec).collect();
        batches.reverse();
        let mut ordered = batches.concat();
        ordered.sort_by_key(|record| record.index);
        prop_assert_eq!(summary(&ordered).to_json().unwrap(), expected);
    }
}

#[test]
fn slices_of_many_paths_share_a_limit() {
    let paths = (1..500).map(|number| format!("metadata.k{number}"));
    let slices = std::iter::once("id".to_owned()).chain(paths).collect();
    let described = TaskDescription { slices, ..task("a") };
    let mut builder = SummaryBuilder::new(&[described], &no_custom_aggregators);
    for index in 0..105 {
        let document = json!({"id": format!("s{index}")});
        let record = SampleRecord { sample: document.into(), ..sample("a", index, 1.0, 5.0) };
        builder.add(&record).unwrap();
    }
    let summary = builder.finish(&Completeness::new());
    let task = &summary.tasks[0];
    // 500 paths and two metrics leave 100 slices for each path.
    assert_eq!(task.metrics[0].slices.iter().filter(|slice| slice.by == "id").count(), 101);
    let other = task.metrics[0].slices.iter().find(|slice| slice.key == OTHER_LABEL).unwrap();
    assert_eq!((other.by.as_str(), other.total), ("id", 5));
    let messages = task.crowded_slices();
    assert_eq!(messages.len(), 1);
    assert!(messages[0].starts_with("`id` (slices) has more than 100 values; "), "{}", messages[0]);
}
