//! The version of a scorer must change whenever one of its results could. `versions/results.jsonl` holds the results of
//! every bundled scorer on a fixed corpus, with its version. A test fails if a result changes under the same version.
//! Cases may be added. A new scorer or a new version is recorded by
//! `GAGE_RECORD_VERSIONS=1 cargo test --workspace --test conformance versions`.

use crate::{cases, context_of, folder, registry};
use gage_config::PluginReference;
use gage_core::{Digest, Object, ScoreCard};
use gage_plugin::{
    Aggregator, AggregatorKind, AggregatorRow, AggregatorState, AnyKind, ConfiguredMember, Extractor,
    ExtractorKind, FinishReason, Generation, Judge, JudgeCase, JudgeKind, JudgeReply, Metric, MetricKind,
    Registry, Verdict, World,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The results of a scorer by case, both as short digests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Results {
    scorer: String,
    version: String,
    results: BTreeMap<String, String>,
}

impl Results {
    fn add(&mut self, case: &Value, result: &Value) {
        self.results.insert(short(case), short(result));
    }

    /// Returns the number of cases whose result differs from `before`.
    fn changed(&self, before: &Results) -> usize {
        let is_other = |(case, result): &(&String, &String)| {
            before.results.get(*case).is_some_and(|before| before != *result)
        };
        self.results.iter().filter(is_other).count()
    }
}

fn short(value: &Value) -> String {
    let digest = Digest::of_json(value).to_string();
    digest.trim_start_matches("sha256:").chars().take(8).collect()
}

/// Returns an error for each result that changed under the same version, and the scorers with outdated records.
fn compare(recorded: &[Results], found: &[Results]) -> (Vec<String>, Vec<String>) {
    let (mut wrong, mut stale) = (Vec::new(), Vec::new());
    for now in found {
        match recorded.iter().find(|before| before.scorer == now.scorer) {
            Some(before) if before == now => {}
            Some(before) if before.version == now.version && now.changed(before) > 0 => wrong.push(format!(
                "{}: {} of {} results changed, but its version is still \"{}\"; raise it in its plugin",
                now.scorer,
                now.changed(before),
                now.results.len(),
                now.version
            )),
            _ => stale.push(now.scorer.clone()),
        }
    }
    let is_gone = |before: &&Results| !found.iter().any(|now| now.scorer == before.scorer);
    stale.extend(recorded.iter().filter(is_gone).map(|before| before.scorer.clone()));
    (wrong, stale)
}

#[test]
fn changed_result_without_a_new_version_is_found() {
    let of = |version: &str, results: &[(&str, &str)]| Results {
        scorer: "metric m".to_owned(),
        version: version.to_owned(),
        results: results.iter().map(|(case, result)| ((*case).to_owned(), (*result).to_owned())).collect(),
    };
    let before = [of("1", &[("a", "x"), ("b", "y")])];
    for (now, wrong, stale) in [
        (vec![of("1", &[("a", "x"), ("b", "y")])], 0, 0),
        (vec![of("1", &[("a", "x"), ("b", "z")])], 1, 0),
        (vec![of("2", &[("a", "x"), ("b", "z")])], 0, 1),
        (vec![of("1", &[("a", "x"), ("b", "y"), ("c", "y")])], 0, 1),
        (vec![], 0, 1),
    ] {
        let (found_wrong, found_stale) = compare(&before, &now);
        assert_eq!((found_wrong.len(), found_stale.len()), (wrong, stale), "{now:?}");
    }
}

#[test]
fn no_scorer_changes_its_results_without_a_new_version() {
    let path = folder().join("versions/results.jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let recorded: Vec<Results> =
        text.lines().map(|line| serde_json::from_str(line).expect("a scorer")).collect();
    let found = Corpus::read().results(&registry());
    assert!(found.len() > 40, "{} scorers", found.len());
    let (wrong, stale) = compare(&recorded, &found);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if std::env::var_os("GAGE_RECORD_VERSIONS").is_some() {
        let lines = found.iter().map(|one| serde_json::to_string(one).expect("JSON") + "\n");
        std::fs::write(&path, lines.collect::<String>()).expect("written");
        return;
    }
    assert!(
        stale.is_empty(),
        "not written down as they are (see the head of versions.rs): {}",
        stale.join(", ")
    );
}

/// The inputs of the scorers.
#[derive(Deserialize)]
struct Corpus {
    /// Answers and references.
    pairs: Vec<[String; 2]>,
    /// Samples with more fields.
    documents: Vec<Value>,
    /// Replies of judge models.
    replies: Vec<Vec<String>>,
    /// The cards that aggregators combine.
    cards: Vec<ScoreCard>,
    /// The parameters of scorers that need some.
    params: Object,
}

impl Corpus {
    fn read() -> Corpus {
        let text = std::fs::read_to_string(folder().join("versions/corpus.json")).expect("the corpus");
        serde_json::from_str(&text).expect("a corpus")
    }

    fn results(&self, registry: &Registry) -> Vec<Results> {
        let mut found = Vec::new();
        for plugin in registry.list().expect("the plugins") {
            for member in plugin.members() {
                let name = member.name.as_str();
                found.extend(match plugin.world() {
                    World::Metric => Some(self.of_metric(registry, name)),
                    World::Extractor => Some(self.of_extractor(registry, name)),
                    World::Judge => Some(self.of_judge(registry, name)),
                    World::Aggregator => Some(self.of_aggregator(registry, name)),
                    _ => None,
                });
            }
        }
        found.sort_by(|one, other| one.scorer.cmp(&other.scorer));
        found
    }

    /// Configures a scorer with the parameters of the corpus, which are part of each case.
    fn configure<K: AnyKind>(
        &self,
        registry: &Registry,
        kind: &str,
        name: &str,
    ) -> (ConfiguredMember<K>, Value, Results) {
        let scorer = format!("{kind} {name}");
        let params = self.params.get(&scorer).cloned().unwrap_or_else(|| json!({}));
        let (component, member) =
            registry.find::<K>(&PluginReference::Name(name.to_owned())).expect("a scorer");
        let configured = component.configure(member.as_deref(), params.clone());
        let configured = configured.unwrap_or_else(|problems| panic!("{scorer}: {problems:?}"));
        let version = configured.description().version.clone();
        (configured, params, Results { scorer, version, results: BTreeMap::new() })
    }

    /// Returns all samples: those with more fields, and the pairs, with the reference where each component expects it.
    fn samples(&self) -> Vec<Value> {
        let of_pair = |[answer, label]: &[String; 2]| {
            json!({
                "sample": {
                    "label": label, "references": [label],
                    "metadata": {"answers": [label], "option_map": {"A": "cat", "B": "dog", "C": "cow"}},
                    "choices": [{"message": {"content": [{"text": label}]}}],
                },
                "model_output": {"answer": answer},
            })
        };
        self.documents.iter().cloned().chain(self.pairs.iter().map(of_pair)).collect()
    }

    fn of_metric(&self, registry: &Registry, name: &str) -> Results {
        let (metric, params, mut found): (Metric, _, _) =
            self.configure::<MetricKind>(registry, "metric", name);
        let metric = passing_blanks(&metric);
        let mut is_scored = false;
        for case in self.samples() {
            let card = score(&metric, &case);
            is_scored |= card["primary_score"].is_number();
            found.add(&json!([params, case]), &card);
        }
        assert!(is_scored, "{name} scores nothing of the corpus");
        for file in [name.to_owned(), format!("answers_{name}")] {
            if !folder().join("cases").join(format!("{file}.jsonl")).exists() {
                continue;
            }
            for case in cases(&file) {
                // Another test covers cases with invalid parameters.
                let own = case["params"].as_object().cloned().unwrap_or_default();
                if let Ok(metric) = metric.with_params(&own) {
                    found.add(&json!([case["params"], inputs(&case)]), &score(&metric, &case));
                }
            }
        }
        found
    }

    fn of_extractor(&self, registry: &Registry, name: &str) -> Results {
        let (extractor, params, mut found): (Extractor, _, _) =
            self.configure::<ExtractorKind>(registry, "extractor", name);
        for case in self.samples() {
            let answer = extractor.extract(vec![extractor.resolve("case", context_of(&case))]).remove(0);
            let answer = answer.map_err(|error| error.message);
            found.add(&json!([params, case]), &serde_json::to_value(answer).expect("JSON"));
        }
        found
    }

    fn of_judge(&self, registry: &Registry, name: &str) -> Results {
        let (judge, params, mut found): (Judge, _, _) = self.configure::<JudgeKind>(registry, "judge", name);
        for texts in &self.replies {
            let case = JudgeCase {
                sample_id: "case".to_owned(),
                sample: json!({"label": "B", "metadata": {"baseline": "the baseline"}}).to_string(),
                model_output: json!({"answer": "the answer"}).to_string(),
            };
            let reply = |text: &String| Generation {
                answer: text.clone(),
                finish: FinishReason::Stop,
                usage: None,
                extra: "{}".to_owned(),
            };
            let replies = texts.iter().map(reply).collect();
            let result = match judge.parse(&[JudgeReply { case, replies }]).remove(0) {
                Ok(Verdict::Output(output)) => Value::Object(output),
                Ok(Verdict::Unparseable(reason)) => json!({"unparseable": reason}),
                Err(error) => json!({"error": error.message}),
            };
            found.add(&json!([params, texts]), &result);
        }
        found
    }

    fn of_aggregator(&self, registry: &Registry, name: &str) -> Results {
        let (aggregator, params, mut found): (Aggregator, _, _) =
            self.configure::<AggregatorKind>(registry, "aggregator", name);
        // There are as many rows as cards; aggregators of texts get what their metrics make of the pairs.
        let texts = self.cards_of_texts(registry);
        for rows in [&self.cards[..], &self.cards[..2], &texts[..]] {
            let rows: Vec<AggregatorRow> = rows
                .iter()
                .zip(0..)
                .map(|(card, number)| AggregatorRow {
                    sample_id: format!("s{}", number / 2),
                    weight: 1.0,
                    card: card.clone(),
                })
                .collect();
            let folded = aggregator.fold(AggregatorState::default(), &rows);
            let figures = folded.and_then(|state| aggregator.finish(&state)).map_err(|error| error.message);
            let case: Vec<Value> = rows.iter().map(|row| json!([row.sample_id, row.card])).collect();
            found.add(&json!([params, case]), &serde_json::to_value(figures).expect("JSON"));
        }
        found
    }

    fn cards_of_texts(&self, registry: &Registry) -> Vec<ScoreCard> {
        let of = |name: &str| {
            let (metric, _, _): (Metric, _, _) = self.configure::<MetricKind>(registry, "metric", name);
            let metric = passing_blanks(&metric);
            let samples = self.samples();
            let items = samples.iter().map(|case| metric.resolve("case", context_of(case))).collect();
            metric.score(items).results.into_iter().filter_map(Result::ok).collect::<Vec<_>>()
        };
        [of("bleu"), of("chrf"), of("word_perplexity")].concat()
    }
}

/// Returns a metric that scores blank references itself; see `crate::passing_blank_references`.
fn passing_blanks(metric: &Metric) -> Metric {
    let params = Object::from_iter([("on_missing_field".to_owned(), "ignore".into())]);
    metric.with_params(&params).unwrap_or_else(|problems| panic!("{}: {problems:?}", metric.name()))
}

/// Returns the inputs of a metric for a case.
fn inputs(case: &Value) -> Value {
    json!([case["sample"], case["model_output"], case["judge_output"], case["support_output"]])
}

fn score(metric: &Metric, case: &Value) -> Value {
    match metric.score(vec![metric.resolve("case", context_of(case))]).results.remove(0) {
        Ok(card) => serde_json::to_value(card).expect("JSON"),
        Err(error) => json!({"error": error.kind, "message": error.message}),
    }
}
