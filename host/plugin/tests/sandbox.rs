//! The sandbox, tested with a component that executes its input.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use gage_config::PluginLimits;
use gage_core::{EvalContext, Outcome};
use gage_plugin::{
    HostOptions, InstanceSetup, Metric, MetricComponent, MetricItem, PluginHost, without_counting,
};
use serde_json::{Value, json};
use std::sync::Arc;

fn metric(limits: PluginLimits) -> Metric {
    let host = PluginHost::new(&HostOptions::default()).expect("an engine");
    let component = MetricComponent::load(
        &host,
        "hostile",
        gage_test_guests::HOSTILE,
        &InstanceSetup::with_limits(limits),
    )
    .expect("loads");
    let found = Arc::new(component).configure(Some("obedient"), json!({}));
    found.unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn item(metric: &Metric, deed: &str) -> MetricItem {
    let output = json!({"answer": deed});
    let roots = EvalContext {
        sample: (&Value::Null).into(),
        model_output: (&output).into(),
        judge_output: &Value::Null,
        support_output: &Value::Null,
    };
    metric.resolve(deed, roots)
}

/// Returns the score of each deed, or its error.
fn score(metric: &Metric, deeds: &[&str]) -> Vec<Result<f64, (Outcome, String)>> {
    let items = deeds.iter().map(|deed| item(metric, deed)).collect();
    let results = metric.score(items).results;
    results
        .into_iter()
        .map(|result| match result {
            Ok(card) => Ok(card.primary_score.unwrap_or(f64::NAN)),
            Err(error) => Err((error.outcome, error.message)),
        })
        .collect()
}

#[test]
fn promise_5_nothing_is_kept_from_one_batch_to_the_next() {
    let metric = metric(PluginLimits::default());
    for _ in 0..3 {
        assert_eq!(score(&metric, &["state", "state", "state"]), [Ok(0.0), Ok(1.0), Ok(2.0)]);
    }
}

#[test]
fn how_an_item_ends_does_not_depend_on_its_batch() {
    let metric = metric(PluginLimits { fuel_per_item: Some(300_000_000), ..PluginLimits::default() });
    let deeds = ["fine", "loop", "trap", "fine", "memory", "error", "nan", "log", "fine", "loop"];
    let alone: Vec<_> = deeds.iter().flat_map(|deed| score(&metric, &[deed])).collect();
    assert_eq!(score(&metric, &deeds), alone);
    let mut reversed = deeds;
    reversed.reverse();
    let mut backwards = score(&metric, &reversed);
    backwards.reverse();
    assert_eq!(backwards, alone);
    let outcomes: Vec<Option<Outcome>> =
        alone.iter().map(|end| end.as_ref().err().map(|(outcome, _)| *outcome)).collect();
    let (error, timeout) = (Some(Outcome::PluginError), Some(Outcome::PluginTimeout));
    assert_eq!(outcomes, [None, timeout, error, None, error, error, error, None, None, timeout]);
}

#[test]
fn time_ends_what_fuel_does_not() {
    let metric = metric(PluginLimits {
        fuel_per_item: Some(u64::MAX),
        wall_time: Some(std::time::Duration::from_millis(300)),
        ..PluginLimits::default()
    });
    let ends = score(&metric, &["loop", "fine"]);
    assert_eq!(ends[0], Err((Outcome::PluginTimeout, "did not end within 0.3 s".to_owned())));
    assert_eq!(ends[1], Ok(1.0));
}

#[test]
fn memory_is_bounded_in_total() {
    let small = PluginLimits { memory_bytes: Some(4 << 20), ..PluginLimits::default() };
    let ends = score(&metric(small), &["memory"]);
    assert_eq!(
        ends[0],
        Err((Outcome::PluginError, "needed more than its 4194304 bytes of memory".to_owned()))
    );
}

#[test]
fn components_beyond_the_limit_are_refused_unread() {
    let host = PluginHost::new(&HostOptions::default()).expect("an engine");
    let setup =
        InstanceSetup::with_limits(PluginLimits { component_bytes: Some(1_000), ..PluginLimits::default() });
    let error = MetricComponent::load(&host, "hostile", gage_test_guests::HOSTILE, &setup).err();
    let error = error.expect("refused");
    assert!(error.to_string().contains("at most 1000 are allowed"), "{error}");
}

#[cfg(unix)]
#[test]
fn compiled_components_are_kept_where_only_the_user_can_write() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join("components");
    for _ in 0..2 {
        let host =
            PluginHost::new(&HostOptions { cache_folder: Some(cache.clone()), ..HostOptions::default() })
                .expect("an engine");
        MetricComponent::load(&host, "hostile", gage_test_guests::HOSTILE, &InstanceSetup::default())
            .expect("loads");
    }
    let mode = std::fs::metadata(&cache).expect("a folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(std::fs::read_dir(&cache).expect("a folder").next().is_some(), "nothing was kept");
}

/// Previews of figures once counted among the costs of plugins in timings.json.
#[test]
fn scores_that_are_only_displayed_are_not_counted() {
    let metric = metric(PluginLimits::default());
    let before = metric.work();
    let shown = without_counting(|| score(&metric, &["fine"]));
    assert_eq!(metric.work(), before);
    assert_eq!(score(&metric, &["fine"]), shown);
    assert_eq!((metric.work().items, metric.work().calls), (before.items + 1, before.calls + 1));
}

#[test]
fn promise_6_batches_cost_the_same_on_any_number_of_threads() {
    let deeds = ["fine", "error", "log", "a longer answer", "nan", "trap", "fine", "state"];
    let batches: Vec<Vec<&str>> = (0..48)
        .map(|number| deeds.iter().cycle().skip(number).take(1 + number % 11).copied().collect())
        .collect();
    let mut seen: Vec<(Vec<Vec<Result<f64, (Outcome, String)>>>, u64)> = Vec::new();
    for _ in 0..3 {
        for threads in [1, 16] {
            let metric = metric(PluginLimits::default());
            let before = metric.work().fuel;
            let next = std::sync::atomic::AtomicUsize::new(0);
            let results = std::sync::Mutex::new(vec![Vec::new(); batches.len()]);
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        loop {
                            let place = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                            let Some(batch) = batches.get(place) else { return };
                            let found = score(&metric, batch);
                            results.lock().expect("no panic")[place] = found;
                        }
                    });
                }
            });
            let results = results.into_inner().expect("no panic");
            seen.push((results, metric.work().fuel - before));
        }
    }
    assert!(seen[0].1 > 10_000, "fuel is counted: {}", seen[0].1);
    // Compares debug text, since one of the scores is not a number.
    let first = format!("{:?}", seen[0]);
    for other in &seen[1..] {
        assert_eq!(format!("{other:?}"), first);
    }
}
