//! `trajectory_match`: tests whether an agent made the calls of a reference.

use crate::matching::MatchCounts;
use gage_sdk::metric::{Inputs, Metric, MetricSpec, ValueKind};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use gage_trajectory_kit::{Arguments, Call};

/// Scores 1 if the tool calls match one of the sample's golden trajectories, otherwise 0. `mode` defines a match:
///
/// - `exact`: the same calls in the same order, and no others; the default;
/// - `in_order`: all of them in their order, others in between allowed;
/// - `any_order`: all of them, in any order, others allowed.
///
/// `arguments` sets how much of the arguments must agree: `exact` (the default; numbers by value), `subset` (further
/// arguments are allowed) or `ignore`. The best of several golden trajectories counts.
///
/// Sub-scores: `exact`, `in_order`, `any_order` (1 or 0); `precision` and `recall` of calls; `arguments`, the share of
/// calls of a right tool with right arguments. A share of nothing is omitted. Tags: `missing_call`, `extra_call`,
/// `wrong_order`, `wrong_arguments`; `missing_prediction` if there is no trajectory at all. A sample without a golden
/// trajectory has no score, and the tag `missing_reference`.
///
/// Inputs: `trajectory`, path parameter `trajectory_field`, by default the first that exists of
/// `model_output.trajectory` and `model_output.tool_calls`: a list of messages or of calls; `golden`, path
/// parameter `golden_field`, by default `sample.golden_trajectories`.
pub struct TrajectoryMatch {
    mode: Mode,
    arguments: Arguments,
}

#[derive(Clone, Copy)]
enum Mode {
    Exact,
    InOrder,
    AnyOrder,
}

const MODES: [(&str, Mode); 3] =
    [("exact", Mode::Exact), ("in_order", Mode::InOrder), ("any_order", Mode::AnyOrder)];

/// Maximum number of golden trajectories of a sample.
const MAX_EXPECTED_CALLS: usize = 64;

const TRAJECTORY: usize = 0;
const GOLDEN: usize = 1;

impl Metric for TrajectoryMatch {
    fn name() -> &'static str {
        "trajectory_match"
    }

    fn spec() -> MetricSpec {
        let names = |allowed: &[&str], description: &str| json!({ "enum": allowed, "default": "exact", "description": description });
        let spec = MetricSpec::new("2", "Compares an agent's tool calls with a golden trajectory")
            .input(
                "trajectory",
                &["trajectory_field"],
                &["model_output.trajectory", "model_output.tool_calls"],
                ValueKind::Json,
            )
            .input("golden", &["golden_field"], &["sample.golden_trajectories"], ValueKind::Json)
            .params(json!({
                "mode": names(&MODES.map(|(name, _)| name), "match that passes: all calls in order and no \
                 others (`exact`), in order among others, or in any order"),
                "arguments": names(&Arguments::NAMES.map(|(name, _)| name), "how the arguments of calls are \
                 compared; `subset` allows additional arguments"),
            }));
        ["exact", "in_order", "any_order", "precision", "recall", "arguments"]
            .iter()
            .fold(spec, |spec, name| spec.sub_score(name, true))
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        Ok(TrajectoryMatch {
            mode: params.one_of("mode", &MODES, MODES[0].1)?,
            arguments: params.one_of("arguments", &Arguments::NAMES, Arguments::Exact)?,
        })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let golden = gage_text_kit::json::read(inputs.value(GOLDEN), "golden")?;
        let golden = golden_trajectories(&golden)?;
        if golden.is_empty() {
            return Ok(without_golden());
        }
        let trajectory = gage_text_kit::json::read(inputs.value(TRAJECTORY), "trajectory")?;
        let made = Call::all(&trajectory, "trajectory")?;
        let rated = golden.iter().enumerate().map(|(place, wanted)| {
            let matched = MatchCounts::new(&made, wanted, self.arguments);
            (place, matched)
        });
        // The first of equally good ones wins.
        let best = rated.max_by(|(left_place, left), (right_place, right)| {
            self.rank(left).total_cmp(&self.rank(right)).then(right_place.cmp(left_place))
        });
        let Some((place, matched)) = best else { return Ok(without_golden()) };
        let mut card = ScoreCard::binary(self.passes(&matched));
        for (name, value) in [
            ("exact", Some(f64::from(matched.is_exact))),
            ("in_order", Some(f64::from(matched.is_in_order))),
            ("any_order", Some(f64::from(matched.is_any_order()))),
            ("precision", matched.precision()),
            ("recall", matched.recall()),
            ("arguments", matched.arguments()),
        ] {
            card = value.into_iter().fold(card, |card, value| card.sub_score(name, value));
        }
        let names = |calls: &[Call]| calls.iter().map(|call| call.name.clone()).collect::<Vec<_>>();
        let wanted = golden.get(place).map(|wanted| names(wanted)).unwrap_or_default();
        let detail = json!({ "made": names(&made), "golden": wanted, "golden_index": place });
        let card = tags(&matched, trajectory.is_null()).into_iter().fold(card, |card, tag| card.tag(tag));
        Ok(card.detail(&detail))
    }
}

impl TrajectoryMatch {
    fn passes(&self, matched: &MatchCounts) -> bool {
        match self.mode {
            Mode::Exact => matched.is_exact,
            Mode::InOrder => matched.is_in_order,
            Mode::AnyOrder => matched.is_any_order(),
        }
    }

    /// Returns the rank of a match: one that passes is above all others; then more shared calls rank higher.
    fn rank(&self, matched: &MatchCounts) -> f64 {
        let orders = [matched.is_exact, matched.is_in_order, matched.is_any_order()];
        let ordered: f64 = orders.into_iter().map(f64::from).sum();
        let shares = matched.precision().unwrap_or(0.0) + matched.recall().unwrap_or(0.0);
        f64::from(self.passes(matched)) * 100.0 + ordered * 10.0 + shares
    }
}

/// Returns the card of a sample without a golden trajectory.
fn without_golden() -> ScoreCard {
    ScoreCard::none("the sample has no golden trajectory").tag("missing_reference")
}

/// Reads a list of trajectories; a single trajectory needs no list around it.
fn golden_trajectories(golden: &Value) -> Result<Vec<Vec<Call>>, PluginError> {
    let list = match golden {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) if list.iter().all(Value::is_array) => list.as_slice(),
        single => std::slice::from_ref(single),
    };
    if list.len() > MAX_EXPECTED_CALLS {
        let message =
            format!("golden: has {} trajectories; at most {MAX_EXPECTED_CALLS} are compared", list.len());
        return Err(PluginError::invalid_input(message));
    }
    list.iter().map(|one| Call::all(one, "golden")).collect()
}

fn tags(matched: &MatchCounts, is_missing: bool) -> Vec<&'static str> {
    if is_missing && matched.wanted > 0 {
        return vec!["missing_prediction"];
    }
    let found = [
        (matched.names < matched.wanted, "missing_call"),
        (matched.names < matched.made, "extra_call"),
        (matched.pairs < matched.names, "wrong_arguments"),
        (matched.is_any_order() && !matched.is_in_order, "wrong_order"),
    ];
    found.into_iter().filter_map(|(is_so, tag)| is_so.then_some(tag)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value as Input;

    fn card(params: Value, made: Value, golden: Value) -> Result<ScoreCard, PluginError> {
        let inputs = [Input::from(made), Input::from(golden)];
        TrajectoryMatch::prepare(params)?.score(Inputs::new(&inputs))
    }

    fn trajectory(calls: &[(&str, Value)]) -> Value {
        let made = calls.iter().map(|(name, arguments)| {
            let call = json!({"id": "c", "type": "function",
                "function": {"name": name, "arguments": arguments.to_string()}});
            json!({"role": "assistant", "tool_calls": [call]})
        });
        made.collect::<Vec<_>>().into()
    }

    #[test]
    fn modes_and_what_was_wrong() {
        let search = || ("search", json!({"city": "Paris"}));
        let other = || ("search", json!({"city": "Rome"}));
        let sum = || ("sum_up", json!({}));
        let golden = json!([trajectory(&[search(), sum()])]);
        for (params, made, score, tags) in [
            (json!({}), trajectory(&[search(), sum()]), 1.0, vec![]),
            (json!({}), trajectory(&[search(), search(), sum()]), 0.0, vec!["extra_call"]),
            (json!({"mode": "in_order"}), trajectory(&[search(), search(), sum()]), 1.0, vec!["extra_call"]),
            (json!({"mode": "in_order"}), trajectory(&[sum(), search()]), 0.0, vec!["wrong_order"]),
            (json!({"mode": "any_order"}), trajectory(&[sum(), search()]), 1.0, vec!["wrong_order"]),
            (json!({}), trajectory(&[other(), sum()]), 0.0, vec!["wrong_arguments"]),
            (json!({"arguments": "ignore"}), trajectory(&[other(), sum()]), 1.0, vec![]),
            (json!({}), trajectory(&[sum()]), 0.0, vec!["missing_call"]),
            (json!({}), json!([]), 0.0, vec!["missing_call"]),
            (json!({}), json!(null), 0.0, vec!["missing_prediction"]),
        ] {
            let card = card(params.clone(), made.clone(), golden.clone()).expect("it is scored");
            assert_eq!((card.primary_score, card.pass), (Some(score), Some(score == 1.0)), "{params} {made}");
            assert_eq!(card.error_tags, tags, "{params} {made}");
        }
    }

    #[test]
    fn the_best_golden_trajectory_counts() {
        let call = |name: &'static str| (name, json!({}));
        let golden = json!([trajectory(&[call("a"), call("b")]), trajectory(&[call("c")])]);
        let card = card(json!({}), trajectory(&[call("c")]), golden).expect("it is scored");
        assert_eq!(card.primary_score, Some(1.0));
        assert!(card.detail.contains(r#""golden_index":1"#), "{}", card.detail);
        let value = |name: &str| card.sub_scores.iter().find(|sub| sub.name == name).map(|sub| sub.value);
        assert_eq!(
            (value("precision"), value("recall"), value("arguments")),
            (Some(1.0), Some(1.0), Some(1.0))
        );
    }

    #[test]
    fn one_trajectory_needs_no_list_and_none_has_no_score() {
        let made = json!([{"name": "a", "arguments": {"x": 1}}]);
        let scored = |golden| card(json!({}), made.clone(), golden).map(|card| card.primary_score);
        assert_eq!(scored(made.clone()), Ok(Some(1.0)));
        assert_eq!(scored(json!(null)), Ok(None));
        assert_eq!(scored(json!([])), Ok(None));
        assert_eq!(scored(json!([[]])), Ok(Some(0.0)));
        for made in [json!(null), json!([])] {
            let tags = card(json!({}), made, json!(null)).map(|card| card.error_tags);
            assert_eq!(tags, Ok(vec!["missing_reference".to_owned()]));
        }
        assert!(scored(json!(7)).is_err() && scored(json!([[7]])).is_err());
        assert!(scored(json!(vec![json!([]); MAX_EXPECTED_CALLS + 1])).is_err());
        assert!(card(json!({"mode": "strict"}), json!([]), json!([])).is_err());
    }
}
