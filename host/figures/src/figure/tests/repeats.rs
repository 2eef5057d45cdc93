//! Repeated, sliced and clustered samples.

use super::*;

fn repeated(repeat: u64) -> TaskDescription {
    TaskDescription { repeat, ..task("t") }
}

#[test]
fn repeats_are_averaged_before_a_sample_counts() {
    // Two samples of three repeats; one repeat of the second failed.
    let mut records = scores(&[1.0, 0.0, 1.0, 0.0, 0.0]);
    records.push(failed("t", 5, Outcome::BackendError));
    let figure = of_task(&repeated(3), Aggregation::Mean, &records);
    assert_eq!(figure.value, Some(1.0 / 3.0));
    assert_eq!((figure.n, figure.total, figure.repeats, figure.coverage), (2, 2, 3, 5.0 / 6.0));
    assert_eq!(figure.outcomes, BTreeMap::from([(Outcome::Scored, 5), (Outcome::BackendError, 1)]));
    assert_eq!(figure.interval.unwrap().method, IntervalMethod::Wilson);
    assert!((figure.stderr.unwrap() - 1.0 / 3.0).abs() < 1e-15);

    let most = of_task(&repeated(3), Aggregation::Max, &records);
    assert_eq!(most.value, Some(2.0 / 3.0));
    let graded = of_task(&repeated(3), Aggregation::Mean, &scores(&[0.5, 0.5, 0.5, 1.0, 1.0, 1.0]));
    assert!(graded.interval.is_none_or(|interval| interval.method == IntervalMethod::Hall));
    assert_eq!(of_task(&repeated(0), Aggregation::Mean, &records).total, 6);
}

/// Five repeats that disagree are worth more than one trial, and five equal ones are one.
#[test]
fn interval_of_repeats_follows_their_variance() {
    let width = |samples: &[[f64; 5]]| {
        let figure = of_task(&repeated(5), Aggregation::Mean, &scores(samples.as_flattened()));
        let interval = figure.interval.unwrap();
        assert!(figure.value.is_some_and(|value| (value - 0.6).abs() < 1e-12), "{figure:?}");
        assert_eq!(interval.method, IntervalMethod::Wilson);
        interval.high - interval.low
    };
    let once = wilson_interval(60, 100).map(|interval| interval.high - interval.low).unwrap();
    let [right, wrong] = [[1.0; 5], [0.0; 5]];
    let equal = width(&[vec![right; 60], vec![wrong; 40]].concat());
    let mixed = width(&[[1.0, 1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 0.0]].repeat(50));
    let some = width(&[vec![[1.0, 1.0, 1.0, 0.0, 0.0]; 50], vec![right; 30], vec![wrong; 20]].concat());
    assert!((equal - once).abs() < 1e-12, "{equal} {once}");
    assert!(mixed < some && some < equal && mixed > once / 2.4, "{mixed} {some} {equal}");
}

#[test]
fn sub_scores_and_weights_are_averaged_alike() {
    let record = |index, weight: f64, f1: Option<f64>| {
        with_card(index, |card| {
            card.primary_score = f1.map(|_| 1.0);
            card.detail = json!({"weight": weight}).into();
            card.sub_scores = f1.map_or_else(Default::default, |f1| object(json!({"f1": f1})));
        })
    };
    let records = [
        record(0, 2.0, Some(1.0)),
        record(1, 4.0, Some(0.0)),
        record(2, 1.0, Some(1.0)),
        record(3, 9.0, None),
    ];
    let figure = of_task(&repeated(2), Aggregation::WeightedMean, &records);
    // The first sample has 0.5 with a weight of 3, the second 1 with a weight of 1.
    let f1 = &figure.sub_scores[0];
    assert_eq!((f1.value, f1.n), (Some(0.625), 2));
}

#[test]
fn repeats_that_are_missing_leave_the_others_in_their_places() {
    let all = scores(&[1.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    let some: Vec<SampleRecord> = [0, 3, 4, 5].map(|index: usize| all[index].clone()).to_vec();
    let figure = of_task(&repeated(2), Aggregation::Mean, &some);
    assert_eq!((figure.n, figure.total, figure.value), (3, 3, Some(2.0 / 3.0)));
}

#[test]
fn clusters_widen_the_error_of_samples_that_agree() {
    let task = TaskDescription { cluster_by: Some("metadata.text".to_owned()), ..task("t") };
    let of_text = |index: u64, score: f64| {
        of_document(index, score, json!({"metadata": {"text": format!("text {}", index / 2)}}))
    };
    let records: Vec<SampleRecord> =
        (0..).zip([1.0, 1.0, 0.0, 0.0, 1.0, 0.0]).map(|(index, score)| of_text(index, score)).collect();
    let found = of_task(&task, Aggregation::Mean, &records);
    let expected = (1.5 * 2.0 / 36.0_f64).sqrt();
    assert!((found.stderr.unwrap() - expected).abs() < 1e-15);
    assert_eq!(found.clusters, Some(3));
    let interval = found.interval.unwrap();
    // Three clusters leave two degrees of freedom: t is 4.3.
    assert_eq!(interval.method, IntervalMethod::Cluster);
    assert!(interval.low < 0.1 && interval.high > 0.9, "{interval:?}");

    let one = of_task(&task, Aggregation::Mean, &records[..2]);
    assert_eq!((one.stderr, one.interval, one.clusters, one.value), (None, None, Some(1), Some(1.0)));
    let median = of_task(&task, Aggregation::Median, &records[..2]);
    assert_eq!((median.stderr, median.interval), (None, None));
    let passed: Vec<SampleRecord> = records
        .into_iter()
        .map(|mut record| {
            record.metrics[0].card.as_mut().unwrap().pass = Some(record.index % 2 == 0);
            record
        })
        .collect();
    let rate = of_task(&task, Aggregation::PassRate, &passed);
    // Each cluster passes one of two, so clusters do not vary.
    assert_eq!((rate.stderr, rate.interval), (Some(0.0), wilson_of_proportion(0.5, 3.0, Z_95)));
}

#[test]
fn equal_clusters_have_the_interval_of_their_effective_trials() {
    // Size of each cluster, number right in it, effective number of trials, and number of repeats.
    for (clusters, trials, repeat) in [
        (vec![(1, 1); 12], 12.0, 1),
        (vec![(2, 2); 5], 5.0, 1),
        (vec![(2, 0); 5], 5.0, 1),
        (vec![(2, 1); 5], 5.0, 1),
        (vec![(3, 1); 7], 7.0, 1),
        (vec![(6, 2), (3, 1), (3, 1)], 144.0 / 54.0, 1),
        (vec![(9, 9), (1, 1)], 100.0 / 82.0, 1),
        // One of two repeats of each sample is right.
        (vec![(4, 2); 6], 6.0, 2),
        (vec![(1, 1); 400], 400.0, 1),
    ] {
        let records: Vec<SampleRecord> = clusters
            .iter()
            .zip(0..)
            .flat_map(|((size, right), cluster)| {
                (0..*size).map(move |number| {
                    let is_right = if repeat == 2 { number % 2 == 0 } else { number < *right };
                    (f64::from(u8::from(is_right)), json!({"metadata": {"text": cluster}}))
                })
            })
            .zip(0..)
            .map(|((score, document), index)| {
                let mut record = of_document(index, score, document);
                record.metrics[0].card.as_mut().unwrap().pass = Some(score == 1.0);
                record
            })
            .collect();
        let task = TaskDescription { cluster_by: Some("metadata.text".to_owned()), repeat, ..task("t") };
        for aggregation in [Aggregation::Mean, Aggregation::PassRate] {
            let found = of_task(&task, aggregation.clone(), &records);
            let interval = found.interval.unwrap();
            let expected = wilson_of_proportion(found.value.unwrap(), trials, Z_95).unwrap();
            assert_eq!((found.stderr, interval.method), (Some(0.0), IntervalMethod::Wilson), "{clusters:?}");
            let difference = (interval.low - expected.low).abs().max((interval.high - expected.high).abs());
            assert!(
                difference < 1e-12 && interval.low < interval.high,
                "{aggregation} {clusters:?} {interval:?}"
            );
        }
    }
    // A single sample that differs gives a spread.
    let records: Vec<SampleRecord> = (0..6)
        .map(|index| {
            let score = f64::from(u8::from(index > 0));
            of_document(index, score, json!({"metadata": {"text": index / 2}}))
        })
        .collect();
    let task = TaskDescription { cluster_by: Some("metadata.text".to_owned()), ..task("t") };
    let found = of_task(&task, Aggregation::Mean, &records);
    assert_eq!(found.interval.unwrap().method, IntervalMethod::Cluster);
}

#[test]
fn slices_are_figures_of_their_own_in_the_order_of_the_paths() {
    let task =
        TaskDescription { slices: vec!["metadata.subject".to_owned(), "data_tag".to_owned()], ..task("t") };
    let documents = [
        json!({"metadata": {"subject": "physics"}, "data_tag": ["hard", "new"]}),
        json!({"metadata": {"subject": "algebra"}, "data_tag": ["hard"]}),
        json!({"metadata": {"subject": "physics"}}),
        json!({"metadata": {"subject": "physics"}}),
    ];
    let mut records: Vec<SampleRecord> = (0..)
        .zip(documents)
        .zip([1.0, 0.0, 0.0, 0.0])
        .map(|((index, document), score)| of_document(index, score, document))
        .collect();
    records[3].metrics.clear();
    records[3].outcome = Outcome::Truncated;
    let figure = of_task(&task, Aggregation::Mean, &records);
    let found: Vec<_> = figure
        .slices
        .iter()
        .map(|slice| (slice.by.as_str(), slice.key.as_str(), slice.value, slice.n, slice.total))
        .collect();
    let expected = [
        ("metadata.subject", "algebra", Some(0.0), 1, 1),
        ("metadata.subject", "physics", Some(0.5), 2, 3),
        ("data_tag", "(none)", Some(0.0), 1, 2),
        ("data_tag", "hard", Some(0.5), 2, 2),
        ("data_tag", "new", Some(1.0), 1, 1),
    ];
    assert_eq!(found, expected);
    let physics = &figure.slices[1];
    assert_eq!((physics.coverage, physics.interval), (2.0 / 3.0, wilson_interval(1, 2)));
}

#[test]
fn slices_beyond_the_limit_are_counted_together() {
    let task = TaskDescription { slices: vec!["id".to_owned()], ..task("t") };
    let most = crate::slicing::MAX_SLICES as u64;
    let records: Vec<SampleRecord> =
        (0..most + 3).map(|index| of_document(index, 1.0, json!({"id": format!("s{index}")}))).collect();
    let figure = of_task(&task, Aggregation::Mean, &records);
    assert_eq!(figure.slices.len() as u64, most + 1);
    let other = figure.slices.iter().find(|slice| slice.key == "(other)").unwrap();
    assert_eq!((other.n, other.total), (3, 3));
}
