//! The sandbox, tried with a component that does what its input says.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use gage_core::{Outcome, Roots};
use gage_plugin::{HostOptions, Limits, Metric, MetricFamily, MetricItem, PluginHost};
use serde_json::{Value, json};
use std::sync::Arc;

fn metric(limits: &Limits) -> Metric {
    let host = PluginHost::new(&HostOptions::default()).expect("an engine");
    let family = MetricFamily::load(&host, "hostile", gage_test_guests::HOSTILE, limits).expect("loads");
    let found = Arc::new(family).metric(Some("obedient"), json!({}));
    found.unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn item(metric: &Metric, deed: &str) -> MetricItem {
    let output = json!({"answer": deed});
    let roots = Roots { sample: &Value::Null, model_output: &output, judge_output: &Value::Null };
    metric.resolve(deed, roots)
}

/// The score of each deed, or how it ended.
fn score(metric: &Metric, deeds: &[&str]) -> Vec<Result<f64, (Outcome, String)>> {
    let items = deeds.iter().map(|deed| item(metric, deed)).collect();
    let results = metric.score(items);
    results
        .into_iter()
        .map(|result| match result {
            Ok(card) => Ok(card.primary_score.unwrap_or(f64::NAN)),
            Err(error) => Err((error.outcome, error.message)),
        })
        .collect()
}

#[test]
fn nothing_is_kept_from_one_batch_to_the_next() {
    let metric = metric(&Limits::default());
    for _ in 0..3 {
        assert_eq!(score(&metric, &["state", "state", "state"]), [Ok(0.0), Ok(1.0), Ok(2.0)]);
    }
}

#[test]
fn how_an_item_ends_does_not_depend_on_its_batch() {
    let limits = Limits { fuel_per_item: 300_000_000, ..Limits::default() };
    let metric = metric(&limits);
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
    let limits = Limits {
        fuel_per_item: u64::MAX,
        wall_time: std::time::Duration::from_millis(300),
        ..Limits::default()
    };
    let metric = metric(&limits);
    let ends = score(&metric, &["loop", "fine"]);
    assert_eq!(ends[0], Err((Outcome::PluginTimeout, "did not end within 0.3 s".to_owned())));
    assert_eq!(ends[1], Ok(1.0));
}

#[test]
fn memory_is_bounded_in_total() {
    let small = Limits { memory_bytes: 4 << 20, ..Limits::default() };
    let ends = score(&metric(&small), &["memory"]);
    assert_eq!(
        ends[0],
        Err((Outcome::PluginError, "wanted more than its 4194304 bytes of memory".to_owned()))
    );
}

#[test]
fn components_beyond_the_limit_are_refused_unread() {
    let host = PluginHost::new(&HostOptions::default()).expect("an engine");
    let limits = Limits { component_bytes: 1_000, ..Limits::default() };
    let error =
        MetricFamily::load(&host, "hostile", gage_test_guests::HOSTILE, &limits).err().expect("refused");
    assert!(error.to_string().contains("at most 1000 are allowed"), "{error}");
}

#[cfg(unix)]
#[test]
fn compiled_components_are_kept_where_only_the_user_can_write() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join("components");
    for _ in 0..2 {
        let host = PluginHost::new(&HostOptions { cache_folder: Some(cache.clone()) }).expect("an engine");
        MetricFamily::load(&host, "hostile", gage_test_guests::HOSTILE, &Limits::default()).expect("loads");
    }
    let mode = std::fs::metadata(&cache).expect("a folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(std::fs::read_dir(&cache).expect("a folder").next().is_some(), "nothing was kept");
}
