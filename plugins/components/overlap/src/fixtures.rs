//! The scores that the programs give which define these metrics; how they were made says
//! `tests/fixtures/overlap.py`.

use crate::{Bleu, Chrf, ReferenceRouge, RougeL, Squad};
use gage_overlap_kit::chrf::ChrfDetail;
use gage_overlap_kit::porter;
use gage_overlap_kit::{BleuCounts, BleuScoring};
use gage_sdk::metric::{Inputs, Metric};
use gage_sdk::{PluginError, ScoreCard, json, serde_json};
use gage_text_kit::Params;
use serde::Deserialize;
use serde_json::Value;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/overlap.jsonl");

#[derive(Default, Deserialize)]
struct Configurations {
    rouge: Vec<Value>,
    bleu: Vec<Value>,
    chrf: Vec<Value>,
    squad: Vec<Value>,
}

#[derive(Deserialize)]
struct Pair {
    prediction: String,
    references: Vec<String>,
    /// For each configuration, and of that ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-L over lines: F1,
    /// precision, recall.
    rouge: Vec<[[f64; 3]; 4]>,
    bleu: Vec<f64>,
    chrf: Vec<f64>,
    /// For each version: F1 and exact match.
    squad: Vec<[f64; 2]>,
}

#[derive(Deserialize)]
struct Corpus {
    corpus: [usize; 2],
    bleu: Vec<Score>,
    chrf: Vec<Score>,
}

#[derive(Deserialize)]
struct Score {
    score: f64,
}

#[derive(Default)]
struct Fixtures {
    configurations: Configurations,
    pairs: Vec<Pair>,
    corpora: Vec<Corpus>,
    stems: Vec<[String; 2]>,
}

fn fixtures() -> Fixtures {
    fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap_or_else(|error| panic!("a line of {FIXTURES}: {error}"))
    }
    let text = std::fs::read_to_string(FIXTURES).unwrap_or_else(|error| panic!("{FIXTURES}: {error}"));
    let mut fixtures = Fixtures::default();
    for line in text.lines() {
        let line: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("a line of {FIXTURES}: {error}"));
        if line.get("versions").is_some() {
            fixtures.configurations = read(line);
        } else if line.get("corpus").is_some() {
            fixtures.corpora.push(read(line));
        } else if line.get("stems").is_some() {
            fixtures.stems = read(line["stems"].clone());
        } else {
            fixtures.pairs.push(read(line));
        }
    }
    fixtures
}

fn score<M: Metric>(params: Value, pair: &Pair) -> Result<ScoreCard, PluginError> {
    let inputs = [pair.prediction.as_str().into(), json!(pair.references).into()];
    M::prepare(params)?.score(Inputs::new(&inputs))
}

/// Returns the primary score, and then the sub-scores by name.
fn values<const N: usize>(card: Result<ScoreCard, PluginError>, names: [&str; N]) -> Vec<f64> {
    let card = card.unwrap_or_else(|error| panic!("{error:?}"));
    let sub_scores = names.iter().filter_map(|name| card.sub_scores.iter().find(|score| score.name == *name));
    card.primary_score.into_iter().chain(sub_scores.map(|score| score.value)).collect()
}

/// Returns the number of compared scores.
fn compare(what: &str, found: &[f64], expected: &[f64]) -> usize {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-9, "{what}: {found}, not {expected}");
    }
    found.len()
}

fn with(params: &Value, further: Value) -> Value {
    let members = [params, &further].into_iter().filter_map(Value::as_object).flatten();
    Value::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect())
}

#[test]
fn rouge_is_that_of_rouge_score() {
    let fixtures = fixtures();
    let mut compared = 0;
    for pair in &fixtures.pairs {
        for (params, expected) in fixtures.configurations.rouge.iter().zip(&pair.rouge) {
            let params = with(params, json!({ "tokenizer": "rouge_score" }));
            let what = format!("{params} {:?} {:?}", pair.prediction, pair.references);
            let longest = values(
                score::<RougeL>(params.clone(), pair),
                ["precision", "recall", "rouge_lsum", "rouge_lsum_precision", "rouge_lsum_recall"],
            );
            compared += compare(&what, &longest, expected[2..].as_flattened());
            let ngrams = values(
                score::<ReferenceRouge>(with(&params, json!({ "decimals": 15 })), pair),
                ["rouge1_precision", "rouge1_recall", "rouge2", "rouge2_precision", "rouge2_recall"],
            );
            compared += compare(&what, &ngrams, expected[..2].as_flattened());
        }
    }
    assert!(compared > 200 * 2 * 12, "{compared}");
}

#[test]
fn bleu_and_chrf_are_those_of_sacrebleu() {
    let fixtures = fixtures();
    let mut compared = 0;
    for pair in &fixtures.pairs {
        for (params, expected) in fixtures.configurations.bleu.iter().zip(&pair.bleu) {
            let what = format!("bleu {params} {:?} {:?}", pair.prediction, pair.references);
            compared += compare(&what, &values(score::<Bleu>(params.clone(), pair), []), &[*expected]);
        }
        for (params, expected) in fixtures.configurations.chrf.iter().zip(&pair.chrf) {
            let what = format!("chrf {params} {:?} {:?}", pair.prediction, pair.references);
            compared += compare(&what, &values(score::<Chrf>(params.clone(), pair), []), &[*expected]);
        }
    }
    assert!(compared > 200 * 17, "{compared}");
}

#[test]
fn squad_is_that_of_its_scripts() {
    let fixtures = fixtures();
    let mut compared = 0;
    for pair in &fixtures.pairs {
        for (version, expected) in fixtures.configurations.squad.iter().zip(&pair.squad) {
            let what = format!("{version} {:?} {:?}", pair.prediction, pair.references);
            let found = values(score::<Squad>(json!({ "version": version }), pair), ["exact_match"]);
            compared += compare(&what, &found, expected);
        }
    }
    assert!(compared > 200 * 4, "{compared}");
}

/// Returns the member of the detail of a card.
fn detail<T: serde::de::DeserializeOwned>(card: Result<ScoreCard, PluginError>, name: &str) -> T {
    let card = card.unwrap_or_else(|error| panic!("{error:?}"));
    let detail: Value = serde_json::from_str(&card.detail).unwrap_or_default();
    serde_json::from_value(detail[name].clone()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn counts_add_up_to_those_of_a_corpus() {
    let fixtures = fixtures();
    let mut compared = 0;
    for corpus in &fixtures.corpora {
        let [first, last] = corpus.corpus;
        let pairs = fixtures.pairs.get(first..last).unwrap_or_default();
        for (params, expected) in fixtures.configurations.bleu.iter().zip(&corpus.bleu) {
            let counts = pairs.iter().map(|pair| detail(score::<Bleu>(params.clone(), pair), "bleu"));
            let sum = counts.reduce(|mut sum: BleuCounts, counts| {
                assert!(sum.add(&counts));
                sum
            });
            let scoring = Params::new(params.clone()).and_then(|params| BleuScoring::read(&params, false));
            let found = scoring.ok().zip(sum).map(|(scoring, sum)| scoring.score(&sum));
            compared += compare(&format!("bleu {params}"), found.as_slice(), &[expected.score]);
        }
        for (params, expected) in fixtures.configurations.chrf.iter().zip(&corpus.chrf) {
            let details = pairs.iter().map(|pair| detail(score::<Chrf>(params.clone(), pair), "chrf"));
            let sum = details.reduce(|mut sum: ChrfDetail, detail| {
                assert!(sum.counts.add(&detail.counts));
                sum
            });
            let found = sum.map(|sum| sum.shape.score(&sum.counts));
            compared += compare(&format!("chrf {params}"), found.as_slice(), &[expected.score]);
        }
    }
    assert_eq!(compared, 5 * 17);
}

#[test]
fn stems_are_those_of_nltk() {
    let stems = fixtures().stems;
    assert!(stems.len() > 1000);
    for [word, expected] in &stems {
        assert_eq!(porter::stem(word), *expected, "{word}");
    }
}
