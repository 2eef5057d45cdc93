//! Scorers of Inspect, and the metrics that take their place.

use crate::metric_entry::metric_entry;
use crate::python_name::{plugin_command, plugin_file};
use crate::tree::{Mapping, Tree};
use serde_json::Value;

/// The counterpart of a scorer.
pub(super) struct Counterpart {
    /// The entry of `metrics`.
    pub(super) metric: Mapping,
    /// The extractor that it needs.
    pub(super) extractor: Option<Tree>,
    /// The difference, if there is one.
    pub(super) difference: Option<String>,
    /// The command of the next step, if a person has to write the metric.
    pub(super) command: Option<String>,
}

/// Returns the counterpart of a scorer with its options. `id` is the name of its score. `has_several_right` is true if several
/// options of a sample are right.
pub(super) fn counterpart(id: &str, name: &str, options: &Value, has_several_right: bool) -> Counterpart {
    let last = last_name(name);
    let keeps_case = options["ignore_case"] == Value::Bool(false);
    let only_case = [("case_sensitive", Value::from(true))];
    let case: &[(&str, Value)] = if keeps_case { &only_case } else { &[] };
    let found = |implementation: &str, params: &[(&str, Value)], difference: Option<&str>| Counterpart {
        metric: metric_entry(id, implementation, params),
        extractor: None,
        difference: difference.map(str::to_owned),
        command: None,
    };
    let missing = || Counterpart {
        metric: metric_entry(id, &plugin_file(id), &[]),
        extractor: None,
        difference: Some(format!("the scorer `{last}` has no counterpart")),
        command: Some(plugin_command(id, "metric")),
    };
    match last {
        "includes" => found("contains", case, None),
        "exact" => {
            let params = [
                ("ignore_patterns", Value::from(vec![r"(?i)\b(?:a|an|the)\b\s*"])),
                ("ignore_case", Value::from(true)),
                ("ignore_punctuation", Value::from(true)),
            ];
            found("extracted_match", &params, Some("`exact` of Inspect also ignores the number of spaces"))
        }
        "f1" => found("token_f1", &[], None),
        "choice" if has_several_right => Counterpart {
            difference: Some(
                "`choice` of Inspect wants all right options of a sample, which no metric compares"
                    .to_owned(),
            ),
            ..missing()
        },
        "choice" => found(
            "multi_choice_accuracy",
            &[],
            Some("`choice` of Inspect wants a line such as `ANSWER: B`; here a plain `B` counts, too"),
        ),
        "math" => found("math_equal", &[], None),
        "match" => {
            let is_numeric = options["numeric"] == Value::Bool(true);
            let (implementation, difference) = match_metric(is_numeric, options["location"].as_str());
            let params = if is_numeric { &[][..] } else { case };
            let extractor = is_numeric.then(|| Tree::text("last_number"));
            Counterpart { extractor, ..found(implementation, params, Some(difference)) }
        }
        "pattern" | "answer" => match pattern_params(last, options) {
            Some(params) => found("extracted_match", &params, None),
            None => missing(),
        },
        "model_graded_qa" | "model_graded_fact" => {
            let difference = format!(
                "`{last}` of Inspect asks a judge: add a role of type `judge_model` and the step \
                                      `judge`"
            );
            Counterpart {
                difference: Some(difference),
                command: Some("docs/guides/llm-judge.md".to_owned()),
                ..found("judge_score", &[], None)
            }
        }
        _ => missing(),
    }
}

/// Returns the metric that takes the place of `match` with its location, and the difference.
fn match_metric(is_numeric: bool, location: Option<&str>) -> (&'static str, &'static str) {
    match (is_numeric, location) {
        (true, Some("begin")) => {
            ("numeric_match", "`match` of Inspect compares the first number; here the last one counts")
        }
        (true, Some("any")) => {
            ("numeric_match", "`match` of Inspect accepts any number of the answer; here the last one counts")
        }
        (true, Some("exact")) => {
            ("numeric_match", "`match` of Inspect wants only a number; here the last number counts")
        }
        (true, _) => ("numeric_match", "`match` of Inspect compares the last number, or the first"),
        (false, Some("begin")) => ("contains", "`match` of Inspect wants the reference at the beginning"),
        (false, Some("any")) => ("contains", "`match` of Inspect ignores punctuation around the reference"),
        (false, Some("exact")) => {
            ("exact_match", "`match` of Inspect ignores punctuation around answer and reference")
        }
        (false, _) => ("contains", "`match` of Inspect wants the reference at the end"),
    }
}

/// Returns the parameters of `extracted_match` for a scorer that compares a part of the answer.
fn pattern_params(scorer: &str, options: &Value) -> Option<Vec<(&'static str, Value)>> {
    let given = options["pattern"].as_str()?;
    let pattern = match (scorer, given) {
        ("pattern", own) => own,
        (_, "letter") => r"answer\s*:\s*([a-z])(?!\w)",
        (_, "word") => r"answer\s*:\s*(\w+)",
        (_, "line") => r"answer\s*:\s*([^\n]+)",
        _ => return None,
    };
    if scorer == "pattern" && options["ignore_case"] == Value::Bool(false) {
        return Some(vec![("pattern", Value::from(pattern))]);
    }
    Some(vec![("pattern", Value::from(format!("(?i){pattern}"))), ("ignore_case", Value::from(true))])
}

/// Returns the scorer that gave a score. Of several scorers with a name, Inspect numbers the later ones: `match`, `match1`.
/// A score with several values has the name of the value after a `-`.
pub(super) fn scorer_of<'s>(scorers: &'s [Value], score: &str) -> Option<&'s Value> {
    scorers.iter().enumerate().find_map(|(place, scorer)| {
        let name = name_of(scorer);
        let number = scorers.iter().take(place).filter(|other| name_of(other) == name).count();
        let unique = if number > 0 { format!("{name}{number}") } else { name.to_owned() };
        let rest = score.strip_prefix(&unique)?;
        (rest.is_empty() || rest.starts_with('-')).then_some(scorer)
    })
}

/// Returns the name of a scorer of a log.
fn name_of(scorer: &Value) -> &str {
    last_name(scorer["name"].as_str().unwrap_or_default())
}

/// Returns the name of a scorer without its package.
fn last_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn scores_have_the_scorers_that_gave_them() {
        let scorers = [("match", 0), ("inspect_ai/includes", 1), ("match", 2), ("own", 3)];
        let scorers = scorers.map(|(name, number)| json!({"name": name, "number": number}));
        for (score, number) in [
            ("match", Some(0)),
            ("match1", Some(2)),
            ("match1-part", Some(2)),
            ("includes", Some(1)),
            ("own-part", Some(3)),
            ("match2", None),
            ("owner", None),
        ] {
            let found = scorer_of(&scorers, score).and_then(|scorer| scorer["number"].as_u64());
            assert_eq!(found, number, "{score}");
        }
    }

    #[test]
    fn differences_of_scorers_are_reported() {
        for (name, options, implementation, difference) in [
            ("includes", json!({}), "contains", None),
            (
                "match",
                json!({"location": "any"}),
                "contains",
                Some("`match` of Inspect ignores punctuation around the reference"),
            ),
            (
                "match",
                json!({"location": "begin"}),
                "contains",
                Some("`match` of Inspect wants the reference at the beginning"),
            ),
            (
                "match",
                json!({"location": "exact"}),
                "exact_match",
                Some("`match` of Inspect ignores punctuation around answer and reference"),
            ),
            ("match", json!({}), "contains", Some("`match` of Inspect wants the reference at the end")),
            (
                "match",
                json!({"numeric": true, "location": "any"}),
                "numeric_match",
                Some("`match` of Inspect accepts any number of the answer; here the last one counts"),
            ),
            (
                "exact",
                json!({}),
                "extracted_match",
                Some("`exact` of Inspect also ignores the number of spaces"),
            ),
            ("pattern", json!({"pattern": "(.)"}), "extracted_match", None),
            (
                "choice",
                json!({}),
                "multi_choice_accuracy",
                Some("`choice` of Inspect wants a line such as `ANSWER: B`; here a plain `B` counts, too"),
            ),
            ("own", json!({}), "./score/score.wasm", Some("the scorer `own` has no counterpart")),
        ] {
            let found = counterpart("score", name, &options, false);
            assert_eq!(found.metric.text("implementation"), Some(implementation), "{name}");
            assert_eq!(found.difference.as_deref(), difference, "{name}");
        }
    }

    #[test]
    fn patterns_of_scorers_are_kept() {
        for (name, options, pattern, ignores_case) in [
            ("pattern", json!({"pattern": "is (.)"}), Some("(?i)is (.)"), true),
            ("pattern", json!({"pattern": "is (.)", "ignore_case": false}), Some("is (.)"), false),
            ("answer", json!({"pattern": "word"}), Some(r"(?i)answer\s*:\s*(\w+)"), true),
            ("answer", json!({"pattern": "letter"}), Some(r"(?i)answer\s*:\s*([a-z])(?!\w)"), true),
            ("answer", json!({"pattern": "line"}), Some(r"(?i)answer\s*:\s*([^\n]+)"), true),
            ("answer", json!({"pattern": "page"}), None, false),
        ] {
            let found = counterpart("score", name, &options, false);
            let params = found.metric.get("params").and_then(Tree::as_map);
            assert_eq!(params.and_then(|params| params.text("pattern")), pattern, "{name} {options}");
            assert_eq!(
                params.is_some_and(|params| params.has("ignore_case")),
                ignores_case,
                "{name} {options}"
            );
        }
    }
}
