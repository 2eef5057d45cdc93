//! YAML parser that builds a tree of nodes.

use crate::document_limits::{DocumentLimits, MAX_DEPTH, check_key, check_size, depth_of};
use crate::expand::{Environment, check_levels, expand};
use crate::node::{Entry, Node, NodeValue};
use crate::problems::Problems;
use crate::source::Span;
use crate::syntax_error::SyntaxError;
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use std::borrow::Cow;
use std::collections::HashMap;

/// Parses a text that holds one YAML document, and replaces `${…}` in its strings. Without an environment they stay
/// unchanged.
pub(crate) fn parse(
    number: usize,
    environment: Option<&Environment<'_>>,
    problems: &mut Problems,
) -> Option<Node> {
    let text = problems.sources.get(number)?.text.clone();
    if let Err(message) = check_size(&text) {
        problems.error(Span { source: number, start: 0, end: 0 }, "", message);
        return None;
    }
    let mut reader = DocumentReader {
        offsets: CharOffsets::of(&text),
        events: Parser::new_from_str(&text),
        anchors: HashMap::new(),
        limits: DocumentLimits::default(),
        source: number,
        environment,
        problems,
    };
    reader.document()
}

/// Byte offsets of the characters of a text, because the parser counts characters.
enum CharOffsets {
    /// Every character has one byte. This is the length of the text.
    Ascii(usize),
    /// The offsets, and the length of the text.
    Mixed(Vec<u32>),
}

impl CharOffsets {
    /// Returns the offsets of a text whose size was checked.
    fn of(text: &str) -> CharOffsets {
        if text.is_ascii() {
            return CharOffsets::Ascii(text.len());
        }
        let offsets = text.char_indices().map(|(offset, _)| offset).chain([text.len()]);
        CharOffsets::Mixed(offsets.map(|offset| u32::try_from(offset).unwrap_or(u32::MAX)).collect())
    }

    /// Returns the offset of a character; the length of the text if there are fewer.
    fn get(&self, index: usize) -> usize {
        match self {
            CharOffsets::Ascii(length) => index.min(*length),
            CharOffsets::Mixed(offsets) => {
                offsets.get(index).or(offsets.last()).map_or(0, |offset| *offset as usize)
            }
        }
    }
}

struct DocumentReader<'t, 'p> {
    offsets: CharOffsets,
    events: Parser<'t, saphyr_parser::StrInput<'t>>,
    anchors: HashMap<usize, ParsedNode>,
    limits: DocumentLimits,
    source: usize,
    environment: Option<&'p Environment<'p>>,
    problems: &'p mut Problems,
}

#[derive(Clone)]
struct ParsedNode {
    node: Node,
    written: Option<String>,
}

impl<'t> DocumentReader<'t, '_> {
    fn document(&mut self) -> Option<Node> {
        let mut root = None;
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return root,
                (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing, _) => {}
                (_, span) if root.is_some() => {
                    self.problems.error(
                        span,
                        "",
                        "a configuration is one YAML document; this begins a second one",
                    );
                    return None;
                }
                (event, span) => {
                    let ParsedNode { node, written } = self.node(event, span, 0)?;
                    root = Some(Node { written, ..node });
                }
            }
        }
    }

    fn next(&mut self) -> Option<(Event<'t>, Span)> {
        match self.events.next_event()? {
            Ok((event, span)) => {
                let span = self.span(span.start.index(), span.end.index());
                Some((event, span))
            }
            Err(error) => {
                let index = error.marker().index();
                let span = self.span(index, index + 1);
                self.report(span, error.info());
                None
            }
        }
    }

    /// Reports a syntax error that the parser found.
    fn report(&mut self, span: Span, info: &str) {
        let source = self.problems.sources.get(self.source);
        let SyntaxError { start, help } = match source {
            Some(source) => SyntaxError::new(&source.text, span.start, info),
            None => SyntaxError { start: span.start, help: None },
        };
        let span = if start == span.start { span } else { Span { start, end: start + 1, ..span } };
        let problem = self.problems.error(span, "", format!("this is not YAML: {info}"));
        if let Some(help) = help {
            problem.help(help);
        }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span { source: self.source, start: self.offsets.get(start), end: self.offsets.get(end) }
    }

    /// Reports what exceeds a limit, and stops reading.
    fn limited(&mut self, span: Span, result: Result<(), String>) -> Option<()> {
        match result {
            Ok(()) => Some(()),
            Err(message) => {
                self.problems.error(span, "", message);
                None
            }
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span, level: usize) -> Option<ParsedNode> {
        let added = self.limits.add_value(level);
        self.limited(span, added)?;
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let read = self.scalar(&text, style, tag, span)?;
                self.keep(anchor, read)
            }
            Event::SequenceStart(anchor, _) => {
                let mut items = Vec::new();
                let end = loop {
                    match self.next()? {
                        (Event::SequenceEnd, end) => break end,
                        (event, span) => {
                            let ParsedNode { node, written } = self.node(event, span, level + 1)?;
                            items.push(Node { written, ..node });
                        }
                    }
                };
                let node = Node::new(NodeValue::List(items), Span { end: end.end, ..span });
                self.keep(anchor, ParsedNode { node, written: None })
            }
            Event::MappingStart(anchor, _) => {
                let (entries, end) = self.entries(level)?;
                let node = Node::new(NodeValue::Map(entries), Span { end, ..span });
                self.keep(anchor, ParsedNode { node, written: None })
            }
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some(read) => {
                    let mut added = self.limits.add_copy(&read.node, true);
                    if level + depth_of(&read.node) > MAX_DEPTH {
                        added = Err(format!("nested deeper than {MAX_DEPTH} levels, through aliases"));
                    }
                    let copy = added.is_ok().then(|| read.clone());
                    self.limited(span, added)?;
                    copy
                }
                None => {
                    self.problems.error(span, "", "this alias names no anchor that was defined before it");
                    None
                }
            },
            _ => None,
        }
    }

    fn keep(&mut self, anchor: usize, read: ParsedNode) -> Option<ParsedNode> {
        if anchor > 0 {
            let added = self.limits.add_copy(&read.node, false);
            self.limited(read.node.span, added)?;
            self.anchors.insert(anchor, read.clone());
        }
        Some(read)
    }

    fn entries(&mut self, level: usize) -> Option<(Vec<Entry>, usize)> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut merged: Vec<Entry> = Vec::new();
        let mut known: HashMap<String, Span> = HashMap::new();
        loop {
            let (key, key_span) = match self.next()? {
                (Event::MappingEnd, end) => {
                    for entry in merged {
                        if known.insert(entry.key.clone(), entry.key_span).is_none() {
                            entries.push(entry);
                        }
                    }
                    return Some((entries, end.end));
                }
                (Event::Scalar(text, ..), span) => {
                    self.limited(span, check_key(&text))?;
                    (text.into_owned(), span)
                }
                (_, span) => {
                    self.problems.error(span, "", "a key must be a plain string");
                    return None;
                }
            };
            let (event, span) = self.next()?;
            let ParsedNode { node, written } = self.node(event, span, level + 1)?;
            if key == "<<" {
                merged.extend(self.merge(node));
            } else if let Some(first) = known.get(&key) {
                if self.problems.is_full() {
                    return None;
                }
                let (line, _) = first.line_and_column(&self.problems.sources);
                self.problems.error(
                    key_span,
                    &key,
                    format!("the key `{key}` occurs twice; the first is in line {line}"),
                );
            } else {
                known.insert(key.clone(), key_span);
                entries.push(Entry { key, key_span, node, written });
            }
        }
    }

    /// Returns the entries that `<<: *anchor` merges.
    fn merge(&mut self, node: Node) -> Vec<Entry> {
        match node.value {
            NodeValue::Map(entries) => entries,
            NodeValue::List(items) => items.into_iter().flat_map(|item| self.merge(item)).collect(),
            _ => {
                self.problems.error(node.span, "<<", "`<<` takes a mapping or a list of mappings");
                Vec::new()
            }
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tag: Option<Cow<'_, Tag>>,
        span: Span,
    ) -> Option<ParsedNode> {
        if let Err(error) = check_levels(text) {
            // The secrets in the text are not known yet, so messages do not show any of it.
            self.problems.hide(span, text, true);
            self.problems.error(span, "", error.message).help(error.help);
            return None;
        }
        if text.contains("${") {
            let added = self.limits.add_variables(text);
            self.limited(span, added)?;
        }
        let environment = self.environment.filter(|_| self.problems.resources.add_variables(text, span));
        let expansion = environment.map_or(Ok(Cow::Borrowed(text)), |known| expand(text, known));
        let (expanded, is_changed) = match expansion {
            Ok(expanded) => {
                let is_changed = matches!(expanded, Cow::Owned(_));
                if is_changed {
                    let added = self.limits.add_expanded(&expanded);
                    self.limited(span, added)?;
                }
                (expanded, is_changed)
            }
            Err(error) => {
                self.problems.error(span, "", error.message).help(error.help);
                (Cow::Borrowed(text), false)
            }
        };
        let is_text = style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.suffix == "str");
        let value = match is_text {
            true => NodeValue::Text(expanded.to_string()),
            false => finite_value(&expanded, span, self.problems),
        };
        // An unexpanded scalar may still become a number.
        let is_open = self.environment.is_none() && !is_text && expanded.contains("${");
        let is_text = matches!(value, NodeValue::Text(_) | NodeValue::Null);
        let plain = (!is_text || is_open).then(|| expanded.into_owned());
        Some(ParsedNode {
            node: Node { value, span, plain, written: None },
            written: is_changed.then(|| text.to_owned()),
        })
    }
}

/// Returns the value of an unquoted scalar; a number that is too large is an error.
fn finite_value(text: &str, span: Span, problems: &mut Problems) -> NodeValue {
    match plain_value(text) {
        NodeValue::Float(number) if !number.is_finite() => {
            problems
                .error(span, "", format!("the number {text} is too large"))
                .help("write it in quotes if it is a text, such as a revision");
            NodeValue::Text(text.to_owned())
        }
        value => value,
    }
}

/// Replaces the variables in all or part of a document that was read without an environment.
pub(crate) fn expand_node(node: &mut Node, environment: &Environment<'_>, problems: &mut Problems) {
    match &mut node.value {
        NodeValue::List(items) => items.iter_mut().for_each(|item| expand_node(item, environment, problems)),
        NodeValue::Map(entries) => {
            entries.iter_mut().for_each(|entry| expand_node(&mut entry.node, environment, problems));
        }
        NodeValue::Text(text) if text.contains("${") => {
            if !problems.resources.add_variables(text, node.span) {
                return;
            }
            let expanded = match expand(text, environment) {
                Ok(expanded) => expanded.into_owned(),
                Err(error) => {
                    problems.error(node.span, "", error.message).help(error.help);
                    return;
                }
            };
            node.value = match node.plain.take() {
                Some(_) => finite_value(&expanded, node.span, problems),
                None => NodeValue::Text(expanded.clone()),
            };
            let is_text = matches!(node.value, NodeValue::Text(_) | NodeValue::Null);
            node.plain = (!is_text).then_some(expanded);
        }
        _ => {}
    }
}

/// Returns the value of an unquoted scalar, by the core schema of YAML 1.2. A number that is too large is infinite.
pub(crate) fn plain_value(text: &str) -> NodeValue {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return NodeValue::Null,
        "true" | "True" | "TRUE" => return NodeValue::Bool(true),
        "false" | "False" | "FALSE" => return NodeValue::Bool(false),
        _ => {}
    }
    if let Some(number) = integer(text) {
        return NodeValue::Int(number);
    }
    let looks_numeric = text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
    if looks_numeric
        && !text.contains(['_', 'n', 'N', 'i', 'I'])
        && let Ok(number) = text.parse::<f64>()
    {
        return NodeValue::Float(number);
    }
    NodeValue::Text(text.to_owned())
}

fn integer(text: &str) -> Option<i64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return i64::from_str_radix(digits, 16).ok();
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return i64::from_str_radix(digits, 8).ok();
    }
    text.parse().ok()
}
