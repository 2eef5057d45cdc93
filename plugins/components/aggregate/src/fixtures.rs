//! The scores of corpora that sacreBLEU gives, from its own counts of single texts; how they were
//! made says `tests/fixtures/overlap.py`.

use crate::{CorpusBleu, CorpusChrf};
use gage_sdk::aggregator::{Aggregator, Figure, Row};
use gage_sdk::{ErrorKind, PluginError, ScoreCard, json, serde_json};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/overlap.jsonl");

#[derive(Deserialize)]
struct Configurations {
    bleu: Vec<Value>,
    chrf: Vec<Value>,
}

#[derive(Deserialize)]
struct Corpus {
    bleu: Vec<Score>,
    chrf: Vec<Score>,
}

#[derive(Deserialize)]
struct Score {
    score: f64,
    /// The counts of each text as sacreBLEU lists them.
    statistics: Option<Vec<Vec<u64>>>,
}

fn fixtures() -> (Configurations, Vec<Corpus>) {
    fn read<T: serde::de::DeserializeOwned>(line: &str) -> T {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("a line of {FIXTURES}: {error}"))
    }
    let text = std::fs::read_to_string(FIXTURES).unwrap_or_else(|error| panic!("{FIXTURES}: {error}"));
    let configurations = text.lines().next().map(read);
    let corpora = text.lines().filter(|line| line.starts_with(r#"{"corpus""#)).map(read).collect();
    (configurations.unwrap_or_else(|| panic!("{FIXTURES} is empty")), corpora)
}

fn row(detail: &Value) -> Row {
    Row { sample_id: "s".to_owned(), weight: 1.0, card: ScoreCard::of(0.0).detail(detail) }
}

/// Folds rows as the host does, which may keep the state as JSON after any of them.
fn figures<A: Aggregator>(params: Value, details: &[Value]) -> Result<Vec<Figure>, PluginError> {
    let aggregator = A::prepare(params)?;
    let mut state = A::State::default();
    for detail in details {
        aggregator.add(&mut state, row(detail))?;
        let kept = serde_json::to_string(&state).and_then(|kept| serde_json::from_str(&kept));
        state = kept.map_err(|error| PluginError::internal(error.to_string()))?;
    }
    aggregator.finish(state)
}

fn bleu_detail(statistics: &[u64]) -> Value {
    let orders = statistics.len() / 2 - 1;
    json!({ "bleu": {
        "prediction_length": statistics[0], "reference_length": statistics[1],
        "correct": statistics[2..2 + orders], "total": statistics[2 + orders..],
    } })
}

fn chrf_detail(params: &Value, statistics: &[u64]) -> Value {
    let or = |name: &str, default: Value| params.get(name).cloned().unwrap_or(default);
    let shape = json!({
        "char_order": or("char_order", json!(6)), "word_order": or("word_order", json!(0)),
        "beta": or("beta", json!(2.0)), "eps_smoothing": or("eps_smoothing", json!(false)),
    });
    json!({ "chrf": { "shape": shape, "counts": statistics.as_chunks::<3>().0 } })
}

#[test]
fn figures_are_those_of_sacrebleu() {
    let (configurations, corpora) = fixtures();
    let mut compared = 0;
    for corpus in corpora {
        for (params, score) in configurations.bleu.iter().zip(&corpus.bleu) {
            let Some(statistics) = &score.statistics else { continue };
            let details: Vec<Value> = statistics.iter().map(|counts| bleu_detail(counts)).collect();
            let own = ["smooth_method", "smooth_value", "effective_order"];
            let own = own.iter().filter_map(|name| Some(((*name).to_owned(), params.get(*name)?.clone())));
            let figures = figures::<CorpusBleu>(Value::Object(own.collect()), &details);
            let figure = figures.map(|figures| figures.into_iter().next());
            let Ok(Some(figure)) = figure else { panic!("{params}: {figure:?}") };
            assert!((figure.value - score.score).abs() <= 1e-9, "{params}: {figure:?} {}", score.score);
            assert_eq!((figure.name.as_str(), figure.count), ("bleu", statistics.len() as u64));
            compared += 1;
        }
        for (params, score) in configurations.chrf.iter().zip(&corpus.chrf) {
            let Some(statistics) = &score.statistics else { continue };
            let details: Vec<Value> = statistics.iter().map(|counts| chrf_detail(params, counts)).collect();
            let figures = figures::<CorpusChrf>(json!({}), &details);
            let Ok([figure]) = figures.as_deref() else { panic!("{params}: {figures:?}") };
            assert!((figure.value - score.score).abs() <= 1e-9, "{params}: {figure:?} {}", score.score);
            compared += 1;
        }
    }
    assert_eq!(compared, 17);
}

#[test]
fn rows_without_counts_are_left_out() {
    let counted = bleu_detail(&[2, 2, 2, 1, 2, 1]);
    let details = [json!({}), counted, json!({ "other": 1 })];
    let found = figures::<CorpusBleu>(json!({}), &details);
    let found: Vec<(String, f64, u64)> =
        found.into_iter().flatten().map(|figure| (figure.name, figure.value.round(), figure.count)).collect();
    let figure = |name: &str, value| (name.to_owned(), value, 1);
    assert_eq!(
        found,
        [
            figure("bleu", 100.0),
            figure("brevity_penalty", 1.0),
            figure("length_ratio", 1.0),
            figure("precision_1", 100.0),
            figure("precision_2", 100.0),
        ]
    );
    assert_eq!(figures::<CorpusBleu>(json!({}), &[json!({})]), Ok(Vec::new()));
    assert_eq!(figures::<CorpusChrf>(json!({}), &[]), Ok(Vec::new()));
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let bleu = bleu_detail(&[2, 2, 2, 1, 2, 1]);
    let chrf = chrf_detail(&json!({ "char_order": 1 }), &[1, 1, 1]);
    let error = |result: Result<Vec<Figure>, PluginError>| result.err().map(|error| error.kind);
    for details in [
        vec![bleu.clone(), bleu_detail(&[2, 2, 2, 2])],
        vec![
            json!({ "bleu": { "prediction_length": 1, "reference_length": 1, "correct": [], "total": [] } }),
        ],
        vec![json!({ "bleu": { "prediction_length": -1 } })],
        vec![json!({ "bleu": null })],
    ] {
        assert_eq!(error(figures::<CorpusBleu>(json!({}), &details)), Some(ErrorKind::InvalidInput));
    }
    for details in [
        vec![chrf.clone(), chrf_detail(&json!({ "char_order": 1, "beta": 1.0 }), &[1, 1, 1])],
        vec![chrf_detail(&json!({ "char_order": 2 }), &[1, 1, 1])],
        vec![chrf_detail(&json!({ "char_order": 0 }), &[])],
        vec![json!({ "chrf": 1 })],
    ] {
        assert_eq!(error(figures::<CorpusChrf>(json!({}), &details)), Some(ErrorKind::InvalidInput));
    }
    assert!(CorpusBleu::prepare(json!({ "smooth_method": "other" })).is_err());
    assert!(CorpusChrf::prepare(json!([])).is_err());
}

proptest! {
    #[test]
    fn the_order_of_rows_means_nothing(
        counts in prop::collection::vec((0u64..9, 0u64..9, 0u64..9), 1..12),
    ) {
        let mut details: Vec<Value> = counts
            .iter()
            .map(|(left, right, more)| bleu_detail(&[left + right, *more, *left, *right, left + right, left + right]))
            .collect();
        let forward = figures::<CorpusBleu>(json!({}), &details);
        details.reverse();
        prop_assert!(forward.as_ref().is_ok_and(|figures| figures.iter().all(|figure| figure.value.is_finite())));
        prop_assert_eq!(forward, figures::<CorpusBleu>(json!({}), &details));
    }
}
