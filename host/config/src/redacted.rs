//! Redacted values of a suite that can change a figure. Digests take their place, so that a changed value is still
//! detected.

use crate::secrets::without_users;
use gage_core::{Digest, ENTRY_IDS};
use gage_secrets::SECRET_MARK;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Prefix of the digest of a value that contains the mark of a secret. This happens when a recording is replayed
/// without its variables.
const UNSET: &str = "not set, ";

/// Sections that do not change figures: descriptions for humans, and limits of a run.
const FREE: [&str; 5] = ["metadata", "budget", "cache", "pricing", "task_parallelism"];

/// Sections that are used when answers are scored again.
const SCORING: [&str; 5] = ["metrics", "plugins", "tasks", "custom", "builtin"];

/// Steps that follow the answers.
const STEPS: [&str; 3] = ["extract", "auto_eval", "report"];

/// Keys of a backend that only identify the client.
const CREDENTIALS: [&str; 3] = ["api_key", "headers", "proxy"];

/// A redacted value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactedValue {
    /// The path, starting at the section: an entry by its name, another list item by its index (`[0]`).
    pub path: Vec<String>,
    /// The SHA-256 digest of the path and the value (`docs/concepts/reproducibility.md`).
    pub digest: String,
}

impl RedactedValue {
    /// Returns the path as one text: `backends.model.config.extra_body.token`.
    pub fn place(&self) -> String {
        joined(&self.path)
    }

    /// Returns true if it is outside the settings of a backend.
    pub(crate) fn may_reach_samples(&self) -> bool {
        settings(&self.path).is_none_or(|(section, _)| section != "backends")
    }
}

/// Returns the digests of redacted values by their paths, as stored in identities.
pub fn redacted_digests(redacted: &[RedactedValue]) -> BTreeMap<String, String> {
    redacted.iter().map(|one| (one.place(), one.digest.clone())).collect()
}

/// Returns true if a digest is for a value with an unset part.
pub fn is_unset(digest: &str) -> bool {
    digest.starts_with(UNSET)
}

/// Returns the digest of the list of a place and a value, as JSON with sorted keys. All programs compute the same
/// digest.
pub(crate) fn digest_of(place: &str, value: &Value) -> String {
    let digest = Digest::of_json(&json!([place, value])).to_string();
    if holds_mark(value) { format!("{UNSET}{digest}") } else { digest }
}

fn holds_mark(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(SECRET_MARK),
        Value::Array(items) => items.iter().any(holds_mark),
        Value::Object(entries) => entries.values().any(holds_mark),
        _ => false,
    }
}

/// Returns the values of a document that differ from its public form.
pub(crate) fn redacted_values(document: &Value, public: &Value) -> Vec<RedactedValue> {
    let mut found = Vec::new();
    walk(&mut Vec::new(), document, public, &mut found);
    found
}

fn walk(path: &mut Vec<String>, actual: &Value, public: &Value, found: &mut Vec<RedactedValue>) {
    if actual == public || path.len() == 1 && FREE.contains(&path[0].as_str()) || is_credential(path) {
        return;
    }
    match (actual, public) {
        (Value::Object(actual), Value::Object(public)) if actual.keys().eq(public.keys()) => {
            for (key, value) in actual {
                path.push(key.clone());
                walk(path, value, &public[key], found);
                path.pop();
            }
        }
        (Value::Array(actual), Value::Array(public)) if actual.len() == public.len() => {
            for (number, (value, public)) in actual.iter().zip(public).enumerate() {
                path.push(name_of(path, public, number));
                walk(path, value, public, found);
                path.pop();
            }
        }
        // Only the user and the password differ.
        (Value::String(text), Value::String(public))
            if is_address(path) && without_users("", text) == *public => {}
        _ => found.push(RedactedValue { path: path.clone(), digest: digest_of(&joined(path), actual) }),
    }
}

/// Returns the name of a list item in paths.
pub(crate) fn name_of(path: &[String], item: &Value, number: usize) -> String {
    let id_key = ENTRY_IDS.iter().find(|(section, _)| path == [*section]).map(|(_, key)| *key);
    let id = id_key.and_then(|key| item.get(key)).and_then(Value::as_str);
    id.map_or_else(|| format!("[{number}]"), str::to_owned)
}

pub(crate) fn joined(path: &[String]) -> String {
    let mut out = String::new();
    for segment in path {
        if !out.is_empty() && !segment.starts_with('[') {
            out.push('.');
        }
        out.push_str(segment);
    }
    out
}

/// Returns the section of a path into a backend's settings or a dataset's parameters, and the rest of the path.
fn settings(path: &[String]) -> Option<(&str, &[String])> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["backends", _, "config", ..] => Some(("backends", &path[3..])),
        ["role_adapters", _, "backend", "config", ..] => Some(("backends", &path[4..])),
        ["datasets", _, "params", ..] => Some(("datasets", &path[3..])),
        _ => None,
    }
}

/// Returns true if the value at a path only identifies the client, and does not affect figures.
fn is_credential(path: &[String]) -> bool {
    match settings(path) {
        Some(("backends", [key, ..])) => CREDENTIALS.contains(&key.as_str()),
        Some(("datasets", [key])) => key == "token",
        _ => false,
    }
}

/// Returns true if it is an address that the program itself connects to.
fn is_address(path: &[String]) -> bool {
    const KEYS: [&str; 3] = ["base_url", "endpoint", "path"];
    matches!(settings(path), Some((_, [key])) if KEYS.contains(&key.as_str()))
}

/// Returns true if the value at a path affects the scoring of existing answers. `steps` returns the kind of a step
/// by the path of its list and its index.
pub(crate) fn is_of_scoring(path: &[String], step: impl Fn(&[String]) -> Option<String>) -> bool {
    if !path.first().is_some_and(|section| SCORING.contains(&section.as_str())) {
        return false;
    }
    // Sent to a model.
    let depth = if path.first().is_some_and(|section| section == "tasks") { 2 } else { 1 };
    let is_template = path.first().is_some_and(|section| section != "metrics" && section != "plugins");
    if is_template && path.get(depth).is_some_and(|key| key == "sampling_params") {
        return false;
    }
    let steps = path.iter().position(|segment| segment == "steps").filter(|place| *place <= 2);
    match steps.and_then(|place| path.get(..place + 2)) {
        Some(of_step) => step(of_step).is_some_and(|kind| STEPS.contains(&kind.as_str())),
        None => true,
    }
}

/// Returns the redacted values of a suite that scores answers again: its own for scoring, and otherwise those of
/// the original run.
pub fn redacted_of_scoring(
    of_run: &BTreeMap<String, String>,
    config: &[RedactedValue],
) -> BTreeMap<String, String> {
    let is_of_answers =
        |place: &str| !SCORING.iter().any(|section| place.split(['.', '[']).next() == Some(section));
    let before = of_run.iter().filter(|(place, _)| is_of_answers(place));
    let before = before.map(|(place, digest)| (place.clone(), digest.clone()));
    let own = config.iter().filter(|one| !is_of_answers(&one.place()));
    before.chain(own.map(|one| (one.place(), one.digest.clone()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a document with one value at a JSON pointer.
    fn with(pointer: &str, value: &Value) -> Value {
        let mut document = json!({
            "metadata": {"name": "n"},
            "datasets": [{"dataset_id": "rows", "params": {"path": "p", "token": "t", "endpoint": "e", "style": "s"}}],
            "backends": [{"backend_id": "m", "config": {
                "base_url": "u", "api_key": "k", "proxy": "p", "headers": {"a": "b"}, "extra_body": {"token": "t", "list": [1]},
            }}],
            "metrics": [{"m": {"style": "s"}}],
        });
        *document.pointer_mut(pointer).unwrap() = value.clone();
        document
    }

    #[test]
    fn redacted_values_that_can_change_a_figure_are_pinned() {
        let mark = json!(SECRET_MARK);
        for (pointer, place) in [
            ("/backends/0/config/extra_body/token", Some("backends.m.config.extra_body.token")),
            ("/backends/0/config/extra_body/list/0", Some("backends.m.config.extra_body.list[0]")),
            ("/backends/0/config/base_url", Some("backends.m.config.base_url")),
            ("/datasets/0/params/style", Some("datasets.rows.params.style")),
            ("/metrics/0/m/style", Some("metrics[0].m.style")),
            ("/backends/0/config/api_key", None),
            ("/backends/0/config/proxy", None),
            ("/backends/0/config/headers/a", None),
            ("/datasets/0/params/token", None),
            ("/metadata/name", None),
        ] {
            let found = |value: Value| {
                let found = redacted_values(&with(pointer, &value), &with(pointer, &mark));
                found.into_iter().map(|one| (one.place(), one.digest)).collect::<Vec<_>>()
            };
            let (one, other) = (found(json!("one")), found(json!("other")));
            assert_eq!(one.first().map(|(place, _)| place.as_str()), place, "{pointer}");
            assert_eq!(one != other, place.is_some(), "{pointer}");
            assert_eq!(one, found(json!("one")));
        }
        assert_eq!(redacted_values(&with("/metrics", &json!([])), &with("/metrics", &json!([]))), []);
    }

    #[test]
    fn host_of_an_address_is_pinned_and_its_password_is_not() {
        let pointer = "/datasets/0/params/endpoint";
        let public = |text: &str| with(pointer, &json!(text));
        let (one, other) = (public("http://me:pw1@h/a"), public("http://me:pw2@h/a"));
        let clean = public("http://(secret)@h/a");
        assert_eq!((redacted_values(&one, &clean), redacted_values(&other, &clean)), (vec![], vec![]));
        assert_eq!(redacted_values(&one, &public("${HUB_TOKEN}")).len(), 1);
    }

    #[test]
    fn the_digest_can_be_made_elsewhere() {
        // Computed by `printf '["metrics[0].m.style","short"]' | sha256sum`.
        assert_eq!(
            digest_of("metrics[0].m.style", &json!("short")),
            "sha256:3aa78dc0db95ed67cd280e92fda1c2f161cbe2e66f91e28886b5dd49eeccf65c"
        );
        assert!(is_unset(&digest_of("a", &json!({"b": ["x (secret)"]}))));
    }

    #[test]
    fn steps_before_the_answers_have_no_part_in_scoring() {
        let path = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
        let step = |of: &[String]| Some(if of.last()? == "[0]" { "judge" } else { "auto_eval" }.to_owned());
        for (place, is_of) in [
            ("metrics.[0].m", true),
            ("backends.m.config.a", false),
            ("custom.steps.[0].a", false),
            ("custom.steps.[1].a", true),
            ("tasks.t.steps.[0].a", false),
            ("tasks.t.sampling_params.stop.[0]", false),
            ("custom.sampling_params.stop.[0]", false),
            ("metrics.[0].sampling_params", true),
            ("tasks.t.metric_overrides.[0].steps.[0]", true),
        ] {
            assert_eq!(is_of_scoring(&path(place), step), is_of, "{place}");
        }
        let map = |entries: &[(&str, &str)]| {
            let owned = entries.iter().map(|(place, digest)| ((*place).to_owned(), (*digest).to_owned()));
            owned.collect::<BTreeMap<String, String>>()
        };
        let of_run = map(&[("backends.m.a", "1"), ("metrics[0].x", "2"), ("metrics[0].gone", "3")]);
        let own = [
            RedactedValue { path: path("metrics.[0].x"), digest: "4".to_owned() },
            RedactedValue { path: path("backends.m.a"), digest: "5".to_owned() },
        ];
        assert_eq!(redacted_of_scoring(&of_run, &own), map(&[("backends.m.a", "1"), ("metrics[0].x", "4")]));
    }
}
