//! Properties that hold for all records.

use super::*;
use proptest::prelude::*;

/// Scores, subjects, and whether a record failed.
fn rows() -> impl Strategy<Value = Vec<(f64, u8, bool)>> {
    prop::collection::vec((-1e3..1e3, 0_u8..4, prop::bool::weighted(0.2)), 1..60)
}

fn records(rows: &[(f64, u8, bool)]) -> Vec<SampleRecord> {
    let record = |(index, (score, subject, has_failed)): (u64, &(f64, u8, bool))| {
        let record =
            if *has_failed { failed("t", index, Outcome::Refused) } else { sample("t", index, *score, 1.0) };
        SampleRecord { sample: json!({"metadata": {"subject": subject}}).into(), ..record }
    };
    (0..).zip(rows).map(record).collect()
}

fn described(repeat: u64, is_clustered: bool) -> TaskDescription {
    let path = "metadata.subject".to_owned();
    TaskDescription {
        slices: vec![path.clone()],
        cluster_by: is_clustered.then_some(path),
        repeat,
        ..task("t")
    }
}

fn any_aggregation() -> impl Strategy<Value = Aggregation> {
    let names = prop::sample::select(<Aggregation as strum::VariantNames>::VARIANTS.to_vec());
    let named = names.prop_filter_map("a name", Aggregation::parse);
    prop_oneof![named, (1_u8..=99).prop_map(Aggregation::Percentile)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn a_mean_does_not_depend_on_the_order(rows in rows(), turn in any::<prop::sample::Index>()) {
        let mut turned = rows.clone();
        turned.rotate_left(turn.index(rows.len()));
        turned.reverse();
        let (one, two) = (figure(Aggregation::Mean, &records(&rows)), figure(Aggregation::Mean, &records(&turned)));
        match (one.value, two.value) {
            (Some(one), Some(two)) => prop_assert!((one - two).abs() <= 1e-12 * one.abs().max(1.0), "{one} {two}"),
            (one, two) => prop_assert_eq!(one, two),
        }
        prop_assert_eq!((one.n, one.total, one.coverage), (two.n, two.total, two.coverage));
    }

    #[test]
    fn outcomes_and_slices_add_up(
        rows in rows(),
        aggregation in any_aggregation(),
        repeat in 1_u64..4,
        is_clustered in any::<bool>(),
    ) {
        let records = records(&rows);
        let found = of_task(&described(repeat, is_clustered), aggregation.clone(), &records);
        prop_assert_eq!(found.outcomes.values().sum::<u64>(), records.len() as u64);
        let scored = found.outcomes.get(&Outcome::Scored).copied().unwrap_or(0);
        prop_assert_eq!(found.coverage, scored as f64 / records.len() as f64);
        prop_assert_eq!(found.total, (records.len() as u64).div_ceil(repeat));
        prop_assert!(found.n <= found.total && scored <= found.n * repeat);
        // A subject is one value, so every sample is in one slice.
        prop_assert_eq!(found.slices.iter().map(|slice| slice.n).sum::<u64>(), found.n);
        prop_assert_eq!(found.slices.iter().map(|slice| slice.total).sum::<u64>(), found.total);
        let keys: Vec<&str> = found.slices.iter().map(|slice| slice.key.as_str()).collect();
        prop_assert!(keys.is_sorted());
        if aggregation == Aggregation::Sum && found.n > 0 {
            let sum: f64 = found.slices.iter().filter_map(|slice| slice.value).sum();
            prop_assert!((sum - found.value.unwrap()).abs() < 1e-9);
        }
    }

    #[test]
    fn figures_are_the_same_each_time_and_come_back_from_json(
        rows in rows(),
        aggregation in any_aggregation(),
        is_clustered in any::<bool>(),
    ) {
        let task = described(1, is_clustered);
        let once = of_task(&task, aggregation.clone(), &records(&rows));
        let text = serde_json::to_string(&once).unwrap();
        prop_assert_eq!(&text, &serde_json::to_string(&of_task(&task, aggregation, &records(&rows))).unwrap());
        prop_assert_eq!(serde_json::from_str::<MetricFigure>(&text).unwrap(), once);
    }

    #[test]
    fn an_interval_of_a_mean_holds_the_mean(rows in rows(), is_clustered in any::<bool>(), is_binary in any::<bool>()) {
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(score, subject, failed)| (if is_binary { f64::from(u8::from(score > 0.0)) } else { score }, subject, failed))
            .collect();
        let found = of_task(&described(1, is_clustered), Aggregation::Mean, &records(&rows));
        if let Some(interval) = found.interval {
            prop_assert!(found.n >= 2);
            prop_assert!((interval.low..=interval.high).contains(&found.value.unwrap()), "{interval:?}");
        }
        if found.n < 2 {
            prop_assert_eq!(found.stderr, None);
        }
    }
}
