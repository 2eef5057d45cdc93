//! `${runtime.…}`: placeholders in a definition, which a RunConfig fills.

use crate::document::each_text;
use gage_config::{Entry, Node, NodeSize, NodeValue, Problems, Span, is_secret_key, parse_document};

/// Delimits the mark of a parameter in an expanded text; documents do not contain these characters.
const OPEN: char = '\u{1}';
const CLOSE: char = '\u{2}';

/// Returns the mark that variable expansion inserts for a parameter, to be filled by [`fill`]. Returns `None` if
/// `runtime` has no such value, so that a default applies.
pub(crate) fn mark(name: &str, runtime: Option<&Node>) -> Option<String> {
    find(name, runtime?).map(|_| format!("{OPEN}{name}{CLOSE}"))
}

fn find<'n>(name: &str, runtime: &'n Node) -> Option<&'n Entry> {
    let mut node = runtime;
    let mut segments = name.strip_prefix("runtime.")?.split('.').peekable();
    while let Some(segment) = segments.next() {
        let entry = node.as_map()?.iter().find(|entry| entry.key == segment && !entry.node.is_null())?;
        if segments.peek().is_none() {
            return Some(entry);
        }
        node = &entry.node;
    }
    None
}

/// Maximum number of values, and of bytes, that parameters add to a document.
const MAX_FILLED: NodeSize = NodeSize { values: 200_000, bytes: 16 << 20 };

/// Fills in the values of `runtime`. A text that is one placeholder becomes the value, of any type; within a longer
/// text the value must be a scalar.
pub(crate) fn fill(document: &mut Node, runtime: &Node, problems: &mut Problems) {
    ParameterFiller { runtime, problems, added: NodeSize::default(), is_over: false }.fill(document);
}

/// Progress of filling a document.
struct ParameterFiller<'f> {
    runtime: &'f Node,
    problems: &'f mut Problems,
    /// Size of the values so far.
    added: NodeSize,
    /// True if they are too large, which was reported. Nothing more is filled then.
    is_over: bool,
}

impl ParameterFiller<'_> {
    fn fill(&mut self, node: &mut Node) {
        match &mut node.value {
            NodeValue::Map(entries) => {
                for entry in entries {
                    let written = self.fill_value(&mut entry.node);
                    entry.written = written.or_else(|| entry.written.take());
                }
            }
            NodeValue::List(items) => {
                for item in items {
                    let before = item.written.take();
                    item.written = self.fill_value(item).or(before);
                }
            }
            _ => {}
        }
    }

    /// Fills one value. Returns its unexpanded source text, which determines what may be recorded.
    fn fill_value(&mut self, node: &mut Node) -> Option<String> {
        let runtime = self.runtime;
        if let Some(source) = only_parameter(node).and_then(|name| find(name, runtime)) {
            if !self.is_over && self.add(node.span, source.node.size()) {
                *node = source.node.clone();
            }
            return source.written.clone();
        }
        let bytes = filled_bytes(node, runtime);
        let is_within = bytes == 0 || self.add(node.span, NodeSize { values: 0, bytes });
        let written = if is_within { fill_text(node, runtime, self.problems) } else { None };
        self.fill(node);
        written
    }

    /// Counts a value. Returns false if the values are too large, which is reported once.
    fn add(&mut self, span: Span, size: NodeSize) -> bool {
        self.added.add(size);
        let is_over = self.added.values > MAX_FILLED.values || self.added.bytes > MAX_FILLED.bytes;
        if is_over && !std::mem::replace(&mut self.is_over, true) {
            let NodeSize { values, bytes } = MAX_FILLED;
            let message = format!("the parameters add more than {values} values or {bytes} bytes");
            self.problems.error(span, "runtime", message).help("use fewer or smaller parameters");
        }
        !is_over
    }
}

/// Rejects parameters whose value refers to another parameter: their order is undefined.
pub(crate) fn check_values(runtime: &Node, problems: &mut Problems) {
    fn check(entries: &[Entry], path: &str, runtime: &Node, problems: &mut Problems) {
        for entry in entries {
            let path = format!("{path}.{}", entry.key);
            let mut names = parameters(entry);
            // Other values may refer to a parameter, but not to one that itself refers to another.
            let is_chained =
                |name: &str| find(name, runtime).is_some_and(|other| !parameters(other).is_empty());
            if path.starts_with("runtime.global.") && !names.is_empty()
                || names.iter().any(|name| is_chained(name))
            {
                let name = names.pop().unwrap_or_default();
                problems
                    .error(
                        entry.node.span,
                        &path,
                        format!("`{path}` takes its value from another parameter, {name}"),
                    )
                    .help("write the value itself, or a variable of the environment");
            }
            check(entry.node.as_map().unwrap_or_default(), &path, runtime, problems);
        }
    }
    check(runtime.as_map().unwrap_or_default(), "runtime", runtime, problems);
}

/// Returns the parameters in the unexpanded text of a value.
fn parameters(entry: &Entry) -> Vec<String> {
    let written = entry.written.as_deref().unwrap_or_default();
    let places = written.match_indices("${runtime.").filter(|(place, _)| !written[..*place].ends_with('$'));
    let name = |place: usize| written[place + 2..].split([':', '}']).next().unwrap_or_default().to_owned();
    places.map(|(place, _)| name(place)).collect()
}

/// Returns the parameter, if the text consists of it alone.
fn only_parameter(node: &Node) -> Option<&str> {
    let inner = node.as_text()?.strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
    (!inner.contains(OPEN)).then_some(inner)
}

/// Returns the length of the values of the parameters within a text.
fn filled_bytes(node: &Node, runtime: &Node) -> usize {
    let rests = node.as_text().unwrap_or_default().split(OPEN).skip(1);
    let sources = rests.filter_map(|rest| find(rest.split_once(CLOSE)?.0, runtime));
    let value = |node: &Node| node.plain.as_deref().or(node.as_text()).map_or(0, str::len);
    sources.map(|source| value(&source.node) + source.written.as_ref().map_or(0, String::len)).sum()
}

/// Fills the parameters within a text. Returns the text with their unexpanded forms, for the run's record.
fn fill_text(node: &mut Node, runtime: &Node, problems: &mut Problems) -> Option<String> {
    let text = node.as_text().filter(|text| text.contains(OPEN))?;
    let (mut filled, mut written, mut rest) = (String::new(), String::new(), text);
    let mut faults = Vec::new();
    while let Some((before, rest_of_text)) = rest.split_once(OPEN) {
        let (name, after) = rest_of_text.split_once(CLOSE)?;
        let source = find(name, runtime)?;
        let value = match (&source.node.plain, source.node.as_text()) {
            (Some(plain), _) => plain.as_str(),
            (None, Some(text)) => text,
            (None, None) => {
                faults.push((source.node.span, name.to_owned(), source.node.kind()));
                ""
            }
        };
        filled.push_str(before);
        filled.push_str(value);
        written.push_str(before);
        match &source.written {
            Some(text) => written.push_str(text),
            // A secret in the RunConfig itself is replaced by its path.
            None if name.split('.').any(is_secret_key) => written.push_str(&format!("${{{name}}}")),
            None => written.push_str(value),
        }
        rest = after;
    }
    filled.push_str(rest);
    written.push_str(rest);
    for (span, name, kind) in faults {
        let message = format!("`{name}` stands within a text, and is {kind}");
        problems.error(span, &name, message).help("give a string or a number");
    }
    *node = Node::new(NodeValue::Text(filled), node.span);
    Some(written)
}

/// Converts a default to a value: an unquoted one may become a number.
fn scalar(default: &str, is_plain: bool, span: Span) -> Node {
    let document = format!("value: {default}");
    let read = is_plain.then(|| parse_document("a default", &document, None, &mut Problems::default()));
    let value = read.flatten().and_then(|document| document.get("value").cloned());
    let is_number =
        |node: &Node| matches!(node.value, NodeValue::Bool(_) | NodeValue::Int(_) | NodeValue::Float(_));
    match value.filter(is_number) {
        Some(value) => Node { span, ..value },
        None => Node::new(NodeValue::Text(default.to_owned()), span),
    }
}

/// Returns the placeholders of an unexpanded document: name, default and span, without duplicate names. An unquoted
/// default may be a number.
pub(crate) fn names(document: &Node) -> Vec<(String, Option<Node>, Span)> {
    const START: &str = "${runtime.";
    let mut found: Vec<(String, Option<Node>, Span)> = Vec::new();
    each_text(&mut document.clone(), &mut |node| {
        let text = node.as_text().unwrap_or_default();
        for (place, _) in text.match_indices(START) {
            if text[..place].ends_with('$') {
                continue;
            }
            let inner = &text[place + 2..];
            let end = inner.find(":-").unwrap_or(inner.len()).min(inner.find('}').unwrap_or(inner.len()));
            let name = &inner[..end];
            let default = inner[end..].strip_prefix(":-").and_then(|rest| rest.split('}').next());
            if !found.iter().any(|(known, ..)| known == name) {
                let default = default.map(|default| scalar(default, node.plain.is_some(), node.span));
                found.push((name.to_owned(), default, node.span));
            }
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_config::Environment;
    use serde_json::json;

    #[test]
    fn parameters_are_filled_with_values_of_any_kind() {
        let runtime = "{global: {n: 3, text: a, map: {x: 1}, list: [1]}}";
        let runtime = parse_document("runtime", runtime, None, &mut Problems::default()).expect("YAML");
        for (text, expected) in [
            ("{v: '${runtime.global.n}'}", json!({"v": 3})),
            ("{v: '${runtime.global.map}'}", json!({"v": {"x": 1}})),
            ("{v: ['${runtime.global.list}', '${runtime.global.text}']}", json!({"v": [[1], "a"]})),
            ("{v: 'n=${runtime.global.n}, ${runtime.global.text}'}", json!({"v": "n=3, a"})),
            ("{v: '${runtime.global.none:-b}'}", json!({"v": "b"})),
        ] {
            let mut problems = Problems::default();
            let variable = |name: &str| mark(name, Some(&runtime));
            let environment = Environment { variable: &variable, config_dir: ".".to_owned() };
            let mut document = parse_document("test", text, Some(&environment), &mut problems).expect("YAML");
            fill(&mut document, &runtime, &mut problems);
            assert_eq!((document.to_json(), problems.has_errors()), (expected, false), "{text}");
        }
    }
}
