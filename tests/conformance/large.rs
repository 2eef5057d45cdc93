//! Answers and references of up to a megabyte through the bundled components: they are scored within the budget of an item, or end
//! as `plugins/README.md` says. The tests bound fuel, which is the same on every machine, and not time.

use gage_config::PluginLimits;
use gage_core::{EvalContext, Outcome};
use gage_plugin::{
    ConfiguredMember, HostOptions, InstanceSetup, ItemError, Metric, MetricKind, PluginComponent, PluginHost,
    PluginKind,
};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const MEGABYTE: usize = 1_000_000;

/// Numbers that look random and are the same in every test run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Returns a number that is small more often than large.
    fn skewed(&mut self, limit: u64) -> u64 {
        let first = self.below(limit) + 1;
        self.below(first)
    }
}

/// Returns a text of a megabyte made of pieces.
fn text(seed: u64, mut piece: impl FnMut(&mut Numbers) -> String) -> String {
    let mut numbers = Numbers(seed);
    let mut text = String::with_capacity(MEGABYTE + 64);
    while text.len() < MEGABYTE {
        text.push_str(&piece(&mut numbers));
    }
    text
}

fn english(seed: u64) -> String {
    text(seed, |numbers| {
        let word = numbers.skewed(20_000);
        let letters = Numbers(word).below(1 << 30).to_string().replace(|digit: char| digit < '5', "e");
        let end = if numbers.below(15) == 0 { ".\n" } else { " " };
        format!("{}{end}", &letters[..letters.len().min(2 + word as usize % 6)])
    })
}

fn letters(seed: u64) -> String {
    text(seed, |numbers| format!("{} ", char::from(b'b' + numbers.below(20) as u8)))
}

fn in_script(seed: u64, first: char, characters: u64, word: u64) -> String {
    text(seed, |numbers| {
        let of = |number: u64| char::from_u32(u32::from(first) + number as u32).expect("a character");
        let mut word: String = (0..word).map(|_| of(numbers.skewed(characters))).collect();
        word.extend((numbers.below(5) == 0).then_some(' '));
        word
    })
}

fn chinese(seed: u64) -> String {
    in_script(seed, '一', 5_000, 1)
}

/// Returns a member of a bundled component with the default budget, but more time.
pub(crate) fn bundled_member<K: PluginKind>(
    component: &str,
    name: &str,
    params: Value,
) -> ConfiguredMember<K> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("components");
    let options = HostOptions { cache_folder: Some(cache), ..HostOptions::default() };
    let host = PluginHost::new(&options).expect("an engine");
    let bundled = gage_plugin_bundle::COMPONENTS.iter().find(|bundled| bundled.name == component);
    let limits = PluginLimits { wall_time: Some(Duration::from_secs(600)), ..PluginLimits::default() };
    let bytes = bundled.expect("a component").bytes;
    let family = PluginComponent::<K>::load(&host, component, bytes, &InstanceSetup::with_limits(limits));
    let family = Arc::new(family.expect("loads"));
    family.configure(Some(name), params).unwrap_or_else(|problems| panic!("{name}: {problems:?}"))
}

fn metric(component: &str, name: &str, params: Value) -> Metric {
    bundled_member::<MetricKind>(component, name, params)
}

/// Returns the evaluation context of a sample and a model output.
pub(crate) fn context<'v>(sample: &'v Value, output: &'v Value) -> EvalContext<'v> {
    let (sample, model_output) = (sample.into(), output.into());
    EvalContext { sample, model_output, judge_output: &Value::Null, support_output: &Value::Null }
}

/// Returns the primary score or the error, and the fuel.
fn scored(metric: &Metric, answer: &str, reference: &str) -> (Result<Option<f64>, ItemError>, u64) {
    let (sample, output) =
        (json!({"label": reference, "references": [reference]}), json!({"answer": answer}));
    let mut scored = metric.score(vec![metric.resolve("large", context(&sample, &output))]);
    (scored.results.remove(0).map(|card| card.primary_score), scored.fuel)
}

#[test]
fn overlap_of_long_texts_is_scored_or_refused_as_too_long() {
    let texts: [(&str, fn(u64) -> String, usize); 3] =
        [("english", english, 800_000), ("letters", letters, 500_000), ("chinese", chinese, 500_000)];
    for name in ["token_f1", "squad", "rouge_l", "reference_rouge"] {
        let metric = metric("overlap", name, json!({}));
        for (kind, text, bytes) in texts {
            let of = |seed| -> String {
                let fits = |size: &mut usize, next: char| {
                    *size += next.len_utf8();
                    (*size <= bytes).then_some(next)
                };
                text(seed).chars().scan(0, fits).collect()
            };
            let (answer, reference) = (of(1), of(2));
            let (found, fuel) = scored(&metric, &answer, &reference);
            eprintln!("{name} {kind}: {found:?} for {fuel}");
            match name {
                "rouge_l" if ["letters", "chinese"].contains(&kind) => {
                    let error = found.expect_err("too long");
                    assert_eq!(error.outcome, Outcome::PluginError, "{name} {kind}: {error:?}");
                    assert!(error.message.contains("words are too long"), "{name} {kind}: {error:?}");
                }
                "rouge_l" if found.as_ref().is_err_and(|error| error.message.contains("too long")) => {}
                _ => {
                    let score = found.unwrap_or_else(|error| panic!("{name} {kind}: {error:?}"));
                    assert!(
                        score.is_some_and(|score| score > 0.0 && score < 1.0),
                        "{name} {kind}: {score:?}"
                    );
                }
            }
            let (same, _) = scored(&metric, &answer, &answer);
            assert_eq!(same.unwrap_or_else(|error| panic!("{name} {kind}: {error:?}")), Some(1.0));
        }
    }
}

#[test]
fn subsequences_of_the_longest_allowed_texts_are_scored() {
    let words = |from: u64, seed: u64| {
        let mut numbers = Numbers(seed);
        (0..16_000).map(|_| format!("w{} ", from + numbers.below(12))).collect::<String>()
    };
    // Many lines, which are compared with each other.
    let lines = |seed: u64| {
        let mut numbers = Numbers(seed);
        (0..200)
            .map(|_| (0..20).map(|_| format!("w{} ", numbers.below(12))).collect::<String>() + "\n")
            .collect::<String>()
    };
    for (answer, reference) in [(words(0, 1), words(2, 2)), (lines(1), lines(2))] {
        for name in ["rouge_l", "reference_rouge"] {
            for params in [json!({}), json!({"use_stemmer": true})] {
                let metric = metric("overlap", name, params);
                let (found, fuel) = scored(&metric, &answer, &reference);
                eprintln!("{name}: {found:?} for {fuel}");
                assert!(found.is_ok_and(|score| score.is_some_and(|score| score > 0.0)), "{name}");
            }
        }
    }
}

#[test]
fn backtracking_in_a_megabyte_starts_only_at_possible_matches() {
    let plain = english(3);
    let with = |text: &str| format!("{plain}{text}\n");
    let hit = with(" my answer: 42");
    for (pattern, text, expected) in [
        (r"(?<=answer: )\d+", &plain, Ok(0.0)),
        (r"(?<=answer: )\d+", &hit, Ok(1.0)),
        (r"(?<!your )answer: \d", &plain, Ok(0.0)),
        (r"(?<!your )answer: \d", &hit, Ok(1.0)),
        (r"(?<!my )answer: \d", &hit, Ok(0.0)),
        (r"(?>answer)\s*[:=]\s*\d+", &plain, Ok(0.0)),
        (r"(?>answer)\s*[:=]\s*\d+", &hit, Ok(1.0)),
        (r"\b(\w+) \1 answer\b", &plain, Ok(0.0)),
        (r"(?=.*answer)\w+: (\d+)", &plain, Ok(0.0)),
        // The start of these matches cannot be predicted.
        (r"(?<=\w)\s+(?=\d)#?$", &plain, Err(Outcome::PluginTimeout)),
        (r"(\w|\w\w)+\1\1: 42$(?!x)", &hit, Err(Outcome::PluginTimeout)),
    ] {
        let (found, fuel) = scored(&metric("text", "regex_match", json!({"pattern": pattern})), text, "");
        eprintln!("{pattern}: {found:?} for {fuel}");
        let found = found.map(Option::unwrap_or_default).map_err(|error| error.outcome);
        assert_eq!(found, expected, "{pattern}");
    }
}
