//! Cells of a table that say what a test expects: `TYPE: VALUE`, a type, or the answer itself.

use super::FILE;
use crate::tree::{Mapping, Tree};

/// Types of assertions in promptfoo, without `not-`.
const TYPES: &[&str] = &[
    "answer-relevance",
    "bleu",
    "classifier",
    "contains",
    "contains-all",
    "contains-any",
    "contains-html",
    "contains-json",
    "contains-sql",
    "contains-xml",
    "context-faithfulness",
    "context-recall",
    "context-relevance",
    "conversation-relevance",
    "cost",
    "equals",
    "factuality",
    "finish-reason",
    "g-eval",
    "gleu",
    "guardrails",
    "icontains",
    "icontains-all",
    "icontains-any",
    "is-html",
    "is-json",
    "is-refusal",
    "is-sql",
    "is-valid-function-call",
    "is-valid-openai-function-call",
    "is-valid-openai-tools-call",
    "is-xml",
    "javascript",
    "latency",
    "levenshtein",
    "llm-rubric",
    "meteor",
    "model-graded-closedqa",
    "model-graded-factuality",
    "moderation",
    "perplexity",
    "perplexity-score",
    "pi",
    "python",
    "regex",
    "rouge-n",
    "ruby",
    "search-rubric",
    "similar",
    "starts-with",
    "tool-call-f1",
    "trace-error-spans",
    "trace-span-count",
    "trace-span-duration",
    "webhook",
    "word-count",
];

/// Types with the threshold of a cell that has none.
const DEFAULT_THRESHOLDS: [(&str, f64); 3] = [("similar", 0.8), ("rouge-n", 0.75), ("latency", 0.75)];

/// Beginnings of cells that are not types, each with its type.
const OTHER_BEGINNINGS: [(&str, &str); 3] =
    [("fn:", "javascript"), ("eval:", "javascript"), ("grade:", UNTRIMMED)];

/// The type whose value keeps the white space around it.
const UNTRIMMED: &str = "llm-rubric";

/// Endings of files with code, each with the type of its assertion.
const CODE_ENDINGS: [(&str, &str); 3] = [(".py", "python"), (".js", "javascript"), (".ts", "javascript")];

/// Beginning of columns with what a test expects.
const EXPECTED_COLUMN: &str = "__expected";
/// Beginning of columns that are metadata of a test.
const METADATA_COLUMN: &str = "__metadata";
/// Beginning of columns with settings of an assertion.
pub(super) const SETTING_COLUMN: &str = "__config";

/// The parts of a cell.
struct Parts<'c> {
    kind: &'c str,
    threshold: Option<f64>,
    value: Option<&'c str>,
}

/// Returns the test of a row, from the names of its columns and its cells.
pub(super) fn test_of<'c>(cells: impl Iterator<Item = (&'c str, &'c str)>) -> Mapping {
    let (mut test, mut vars, mut options) = (Mapping::default(), Mapping::default(), Mapping::default());
    let (mut asserts, mut name): (Vec<Mapping>, Option<&str>) = (Vec::new(), None);
    for (column, cell) in cells {
        let column = column.trim();
        let is_blank = cell.trim().is_empty();
        match column {
            expected if expected.starts_with(EXPECTED_COLUMN) => {
                asserts.extend((!is_blank).then(|| assertion_of(cell)));
            }
            "" => {}
            setting if setting.starts_with(SETTING_COLUMN) => {}
            "__metric" | "__threshold" | "__description" if is_blank => {}
            // White space is a prefix, too.
            "__providerOutput" | "__prefix" | "__suffix" if cell.is_empty() => {}
            "__metric" => name = Some(cell.trim()),
            "__threshold" => test.set("threshold", Tree::text(cell)),
            "__description" => test.set("description", Tree::text(cell)),
            "__providerOutput" => test.set("providerOutput", Tree::text(cell)),
            "__prefix" => options.set("prefix", Tree::text(cell)),
            "__suffix" => options.set("suffix", Tree::text(cell)),
            metadata if metadata.starts_with(METADATA_COLUMN) && is_blank => {}
            metadata if metadata.starts_with(METADATA_COLUMN) => test.set("metadata", Tree::text(cell)),
            variable => vars.set(variable, Tree::text(cell)),
        }
    }
    if let Some(name) = name {
        asserts.iter_mut().for_each(|assertion| assertion.set("metric", Tree::text(name)));
    }
    test.set("vars", Tree::Map(vars));
    test.set("options", Tree::Map(options));
    test.set("assert", Tree::List(asserts.into_iter().map(Tree::Map).collect()));
    test
}

/// Returns the assertion of a cell.
fn assertion_of(cell: &str) -> Mapping {
    let cell = cell.trim();
    let Parts { kind, threshold, value } = with_other_beginning(cell)
        .or_else(|| with_code(cell))
        .or_else(|| with_type(cell))
        .unwrap_or(Parts { kind: "equals", threshold: None, value: Some(cell) });
    let mut assertion = Mapping::default();
    assertion.set("type", Tree::text(kind));
    if let Some(value) = value {
        let is_list = kind.ends_with("-any") || kind.ends_with("-all");
        let value = match kind {
            _ if is_list => Tree::List(items_of(value).into_iter().map(Tree::text).collect()),
            UNTRIMMED => Tree::text(value),
            _ => Tree::text(value.trim()),
        };
        assertion.set("value", value);
    }
    let usual = DEFAULT_THRESHOLDS.iter().find(|(known, _)| *known == kind).map(|(_, threshold)| *threshold);
    if let Some(threshold) = threshold.or(usual) {
        assertion.set("threshold", Tree::Scalar(threshold.into()));
    }
    assertion
}

/// Returns the items between the commas of a list. A quoted item keeps its commas and its white space.
pub(super) fn items_of(list: &str) -> Vec<String> {
    let is_separator = |one: char| one == ',' || one.is_whitespace();
    let mut items = Vec::new();
    let mut rest = list.trim_start_matches(is_separator);
    while !rest.is_empty() {
        let (item, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_item(quoted),
            None => {
                let (item, after) = rest.split_once(',').unwrap_or((rest, ""));
                (item.trim().to_owned(), after)
            }
        };
        items.push(item);
        rest = after.trim_start_matches(is_separator);
    }
    items
}

/// Returns the item before a closing quote, and the text after it. `""`, `\"` and `\\` are its letters.
fn quoted_item(text: &str) -> (String, &str) {
    let mut item = String::new();
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        match (letter, next) {
            ('\\', Some(escaped @ ('"' | '\\'))) | ('"', Some(escaped @ '"')) => {
                item.push(escaped);
                letters.next();
            }
            ('"', _) => return (item, text.get(at + 1..).unwrap_or_default()),
            _ => item.push(letter),
        }
    }
    (item, "")
}

fn with_other_beginning(cell: &str) -> Option<Parts<'_>> {
    OTHER_BEGINNINGS.iter().find_map(|&(begin, kind)| {
        let value = cell.strip_prefix(begin)?;
        Some(Parts { kind, threshold: None, value: Some(value) })
    })
}

/// Reads the name of a file with code; a function of the file may follow it.
fn with_code(cell: &str) -> Option<Parts<'_>> {
    let path = cell.strip_prefix(FILE)?;
    let file = path.split(':').next().unwrap_or(path);
    let &(_, kind) = CODE_ENDINGS.iter().find(|(end, _)| file.ends_with(end))?;
    Some(Parts { kind, threshold: None, value: Some(path) })
}

/// Reads `TYPE(THRESHOLD): VALUE`. The threshold and the value may be missing.
fn with_type(cell: &str) -> Option<Parts<'_>> {
    let (head, value) = match cell.split_once(':') {
        Some((head, value)) => (head, Some(value)),
        None => (cell, None),
    };
    let (kind, threshold) = match head.split_once('(') {
        Some((kind, rest)) => (kind, Some(number_of(rest.strip_suffix(')')?)?)),
        None => (head, None),
    };
    let is_type = TYPES.contains(&kind.strip_prefix("not-").unwrap_or(kind));
    is_type.then_some(Parts { kind, threshold, value })
}

/// Returns the number of a text with digits and a point.
fn number_of(text: &str) -> Option<f64> {
    let is_number = text.chars().all(|one| one.is_ascii_digit() || one == '.');
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_become_tests() {
        let columns = [
            "q",
            "__own",
            "__expected",
            "__expected2",
            "__metric",
            "__threshold",
            "__suffix",
            "__description",
        ];
        for (cells, expected) in [
            (
                ["a", "b", "c", "", "", "", "", "text"],
                json!({
                    "description": "text", "vars": {"q": "a", "__own": "b"}, "options": {},
                    "assert": [{"type": "equals", "value": "c"}],
                }),
            ),
            (
                ["a", "", "", "is-json", "form", "0.5", "!", ""],
                json!({
                    "threshold": "0.5", "vars": {"q": "a", "__own": ""}, "options": {"suffix": "!"},
                    "assert": [{"type": "is-json", "metric": "form"}],
                }),
            ),
            (
                [" a ", "", " c ", " ", " ", " ", " ", ""],
                json!({
                    "vars": {"q": " a ", "__own": ""}, "options": {"suffix": " "},
                    "assert": [{"type": "equals", "value": "c"}],
                }),
            ),
        ] {
            let test = test_of(columns.into_iter().zip(cells));
            assert_eq!(Tree::Map(test).to_json(), expected, "{cells:?}");
        }
    }

    #[test]
    fn cells_become_assertions() {
        for (cell, expected) in [
            ("Lima", json!({"type": "equals", "value": "Lima"})),
            ("Note: Lima", json!({"type": "equals", "value": "Note: Lima"})),
            ("icontains: Lima", json!({"type": "icontains", "value": "Lima"})),
            ("contains-any: a, b", json!({"type": "contains-any", "value": ["a", "b"]})),
            ("not-contains-all:a", json!({"type": "not-contains-all", "value": ["a"]})),
            (
                r#"contains-any: "a, b", " c ", d "e", "f"",g \" h""#,
                json!({"type": "contains-any", "value": ["a, b", " c ", "d \"e\"", "f\",g \" h"]}),
            ),
            ("contains-any: ,a,, b ,", json!({"type": "contains-any", "value": ["a", "b"]})),
            ("is-json", json!({"type": "is-json"})),
            ("not-is-json", json!({"type": "not-is-json"})),
            ("contains-json", json!({"type": "contains-json"})),
            ("fn:output==1", json!({"type": "javascript", "value": "output==1"})),
            ("eval: output==1", json!({"type": "javascript", "value": "output==1"})),
            ("grade: polite ", json!({"type": "llm-rubric", "value": " polite"})),
            ("llm-rubric: polite", json!({"type": "llm-rubric", "value": " polite"})),
            ("not-llm-rubric: polite", json!({"type": "not-llm-rubric", "value": "polite"})),
            ("starts-with: a ", json!({"type": "starts-with", "value": "a"})),
            ("file://check.py:run", json!({"type": "python", "value": "check.py:run"})),
            ("file://check.js", json!({"type": "javascript", "value": "check.js"})),
            ("file://a.txt", json!({"type": "equals", "value": "file://a.txt"})),
            ("similar: hi", json!({"type": "similar", "value": "hi", "threshold": 0.8})),
            ("similar(0.9):hi", json!({"type": "similar", "value": "hi", "threshold": 0.9})),
            ("levenshtein(5): hi", json!({"type": "levenshtein", "value": "hi", "threshold": 5.0})),
            ("similar(x): hi", json!({"type": "equals", "value": "similar(x): hi"})),
        ] {
            assert_eq!(Tree::Map(assertion_of(cell)).to_json(), expected, "{cell}");
        }
    }
}
