//! Paths such as `sample.metadata.correct_choice`, with which configuration refers to values.

use crate::field_value::{FieldValue, PathStep};
use crate::json_view::JsonView;
use serde_json::Value;
use std::borrow::Cow;

/// Document in which a path starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Root {
    /// The Sample.
    Sample,
    /// Output of the model.
    ModelOutput,
    /// Output of the judge.
    JudgeOutput,
    /// Output of support steps, by adapter.
    SupportOutput,
}

/// The documents that paths are resolved against.
#[derive(Clone, Copy, Debug)]
pub struct EvalContext<'a> {
    /// The Sample.
    pub sample: JsonView<'a>,
    /// Output of the model; null before it has answered.
    pub model_output: JsonView<'a>,
    /// Output of the judge; null if there is none.
    pub judge_output: &'a Value,
    /// Output of support steps, an object by adapter; null if there is none.
    pub support_output: &'a Value,
}

/// A parsed path: an optional root (`sample.`, `model_output.`, `judge_output.`, `support_output.`; default
/// `sample.`), then segments between dots. A segment is a key of an object, or an index of a list, counted
/// from 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FieldPath {
    root: Root,
    segments: Vec<PathStep>,
    text: String,
}

impl FieldPath {
    /// Parses a path. Every text is a valid path, but may not lead to a value.
    pub fn new(text: &str) -> FieldPath {
        let (first, rest) = text.split_once('.').unwrap_or((text, ""));
        let root = first.parse().ok();
        let below = if root.is_some() { rest } else { text };
        let segments = if root.is_some() && below.is_empty() { Vec::new() } else { segments_of(below) };
        FieldPath { root: root.unwrap_or(Root::Sample), segments, text: text.to_owned() }
    }

    /// Returns the path as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the document in which it starts.
    pub fn root(&self) -> Root {
        self.root
    }

    /// Returns the first key below the root, if there is one.
    pub fn first_key(&self) -> Option<&str> {
        self.segments.first().map(|segment| segment.key.as_str())
    }

    /// Returns a warning about an unusual spelling, as a sentence that follows the path. Such a path probably
    /// leads nowhere, but it resolves like any other.
    pub fn oddity(&self) -> Option<&'static str> {
        let text = self.text.as_str();
        let is_number = |key: &str| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
        let is_indexed = |key: &str| {
            key.strip_suffix(']')
                .and_then(|key| key.rsplit_once('['))
                .is_some_and(|(_, index)| is_number(index))
        };
        let keys = || self.segments.iter().map(|segment| segment.key.as_str());
        match () {
            () if text.trim().is_empty() => Some("names nothing; leave it out for the default path"),
            () if text.trim() != text => Some("has white space at its ends"),
            () if text.starts_with('$') => {
                Some("is a JSONPath; write keys and indexes between dots, as in `references.0.answer`")
            }
            () if text.starts_with('/') => {
                Some("is a JSON pointer; write keys and indexes between dots, as in `references.0.answer`")
            }
            () if keys().any(is_indexed) => {
                Some("has an index in brackets; write it between dots, as in `references.0.answer`")
            }
            () if keys().any(str::is_empty) || text.ends_with('.') => Some("has one dot too many"),
            () if keys().any(|key| key.strip_prefix('-').is_some_and(is_number)) => {
                Some("has a negative index; indexes are counted from 0")
            }
            () => None,
        }
    }

    /// Returns the value at the path, or `None` if it does not exist. A null at the end of the path is a value.
    ///
    /// If there is no model output (or judge output), a path into it is looked up in the Sample. The
    /// Sample may hold one from an earlier run.
    pub fn resolve<'a>(&self, roots: EvalContext<'a>) -> Option<Cow<'a, Value>> {
        self.find(roots).map(FieldValue::into_value)
    }

    /// Like [`FieldPath::resolve`], for callers that need no [`Value`].
    pub fn find<'a>(&self, roots: EvalContext<'a>) -> Option<FieldValue<'a>> {
        let (document, name) = match self.root {
            Root::Sample => return roots.sample.walk(&self.segments),
            Root::ModelOutput => (roots.model_output, "model_output"),
            Root::JudgeOutput => (JsonView::Json(roots.judge_output), "judge_output"),
            Root::SupportOutput => (JsonView::Json(roots.support_output), "support_output"),
        };
        if !document.is_null() {
            return document.walk(&self.segments);
        }
        match roots.sample.get(name)? {
            Cow::Borrowed(value) => JsonView::Json(value).walk(&self.segments),
            Cow::Owned(value) => {
                let found = JsonView::Json(&value).walk(&self.segments)?;
                Some(FieldValue::Json(Cow::Owned(found.into_value().into_owned())))
            }
        }
    }
}

impl std::fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.text)
    }
}

fn segments_of(text: &str) -> Vec<PathStep> {
    text.split('.').map(|key| PathStep { key: key.to_owned(), index: index_of(key) }).collect()
}

/// Parses a list index. Like the reference implementation, allows decimal digits of any script, surrounding
/// blanks and a plus sign, but no negative numbers.
fn index_of(segment: &str) -> Option<usize> {
    let digits = segment.trim();
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    if digits.is_empty() {
        return None;
    }
    digits
        .chars()
        .try_fold(0_usize, |number, character| number.checked_mul(10)?.checked_add(decimal_digit(character)?))
}

/// Returns the value of a decimal digit (Unicode category Nd, up to U+10FFF).
fn decimal_digit(character: char) -> Option<usize> {
    let after = ZEROS.partition_point(|zero| *zero <= character);
    let zero = *ZEROS.get(after.checked_sub(1)?)?;
    let digit = u32::from(character) - u32::from(zero);
    (digit < 10).then_some(digit as usize)
}

/// The digit zero of every script that has decimal digits.
const ZEROS: &[char] = &[
    '\u{30}',
    '\u{660}',
    '\u{6f0}',
    '\u{7c0}',
    '\u{966}',
    '\u{9e6}',
    '\u{a66}',
    '\u{ae6}',
    '\u{b66}',
    '\u{be6}',
    '\u{c66}',
    '\u{ce6}',
    '\u{d66}',
    '\u{de6}',
    '\u{e50}',
    '\u{ed0}',
    '\u{f20}',
    '\u{1040}',
    '\u{1090}',
    '\u{17e0}',
    '\u{1810}',
    '\u{1946}',
    '\u{19d0}',
    '\u{1a80}',
    '\u{1a90}',
    '\u{1b50}',
    '\u{1bb0}',
    '\u{1c40}',
    '\u{1c50}',
    '\u{a620}',
    '\u{a8d0}',
    '\u{a900}',
    '\u{a9d0}',
    '\u{a9f0}',
    '\u{aa50}',
    '\u{abf0}',
    '\u{ff10}',
    '\u{104a0}',
    '\u{10d30}',
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_paths_are_told() {
        for (text, expected) in [
            ("", Some("names nothing")),
            (" ", Some("names nothing")),
            ("label ", Some("white space")),
            ("label\n", Some("white space")),
            ("$.label", Some("JSONPath")),
            ("/label", Some("JSON pointer")),
            ("references[0].answer", Some("brackets")),
            ("a..b", Some("one dot too many")),
            (".a", Some("one dot too many")),
            ("a.", Some("one dot too many")),
            ("references.-1.answer", Some("negative index")),
            ("sample", None),
            ("sample.", Some("one dot too many")),
            ("model_output.", Some("one dot too many")),
            ("model_output", None),
            ("references.00.answer", None),
            ("metadata.a b", None),
            ("metadata.a[x]", None),
            ("metadata.-x", None),
            ("metadata.a/b", None),
        ] {
            let found = FieldPath::new(text).oddity();
            assert_eq!(found.is_some(), expected.is_some(), "{text}: {found:?}");
            assert!(
                found.zip(expected).is_none_or(|(found, expected)| found.contains(expected)),
                "{text}: {found:?}"
            );
        }
    }
    use serde_json::json;

    #[test]
    fn resolves_keys_indexes_and_roots() {
        let sample = json!({"label": "L", "n": null, "a": [10, [20, 21], {"k": "v"}], "d": {"0": "zero"}});
        let output = json!({"answer": "A", "c": ["p", "q"]});
        let support = json!({"retriever": {"context": ["d"]}});
        let roots = EvalContext {
            sample: (&sample).into(),
            model_output: (&output).into(),
            judge_output: &Value::Null,
            support_output: &support,
        };
        let cases = [
            ("label", Some(json!("L"))),
            ("sample.label", Some(json!("L"))),
            ("sample", Some(sample.clone())),
            ("n", Some(json!(null))),
            ("n.x", None),
            ("a.1.1", Some(json!(21))),
            ("a.2.k", Some(json!("v"))),
            ("a.-1", None),
            ("a. 0", Some(json!(10))),
            ("a.+1", Some(json!([20, 21]))),
            ("a.1_0", None),
            ("d.0", Some(json!("zero"))),
            ("model_output.c.1", Some(json!("q"))),
            ("model_output.c.１", Some(json!("q"))),
            ("judge_output.score", None),
            ("support_output.retriever.context.0", Some(json!("d"))),
            ("support_output.other", None),
            ("Sample.label", None),
            ("label.0", None),
            ("", None),
            (".", None),
            ("sample.", Some(sample.clone())),
            (".label", None),
            ("sample..label", None),
            ("a.٢.k", Some(json!("v"))),
        ];
        for (text, expected) in cases {
            assert_eq!(FieldPath::new(text).resolve(roots).map(Cow::into_owned), expected, "{text}");
        }
    }

    #[test]
    fn a_missing_output_is_looked_up_in_the_sample() {
        let sample = json!({"model_output": {"answer": "inner"}});
        let roots = EvalContext {
            sample: (&sample).into(),
            model_output: (&Value::Null).into(),
            judge_output: &Value::Null,
            support_output: &Value::Null,
        };
        assert_eq!(FieldPath::new("model_output.answer").resolve(roots).as_deref(), Some(&json!("inner")));
        assert_eq!(FieldPath::new("judge_output.score").resolve(roots), None);
    }
}
