//! Problems of a configuration, and their display.

use crate::node::Node;
use crate::old_names::new_name;
use crate::permissions::Permissions;
use crate::resources::{Purpose, RefusedResource, ResourceKind, Resources, SuiteResource};
use crate::secrets::{masked, masked_override, starred};
use crate::source::{Source, Sources, Span};
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use gage_core::{name_list, printable, printable_line};
use gage_secrets::{SECRET_MARK, find_secrets, redact};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

/// Maximum number of errors, and of warnings, that are kept. Further ones are counted.
const MAX_PROBLEMS: usize = 100;

/// Maximum size of a source whose lines are shown, in bytes. Each problem takes time for all of them.
const MAX_SHOWN_SOURCE_BYTES: usize = 256 << 10;
/// Maximum length of a message or a help that is shown, in bytes.
const MAX_SHOWN_MESSAGE_BYTES: usize = 64 << 10;

/// Maximum number of known names that are compared, and that are shown.
const MAX_COMPARED_NAMES: usize = 1_000;
const MAX_SHOWN_NAMES: usize = 200;

/// Severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The run cannot start.
    Error,
    /// The run can start, but the user may have meant something else.
    Warning,
}

/// A single error or warning.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The severity.
    pub severity: Severity,
    /// Location in the source.
    pub span: Option<Span>,
    /// The key, as a path: `datasets[0].params.limit`.
    pub key: String,
    /// The error message.
    pub message: String,
    /// The allowed values, or how to fix it.
    pub help: Option<String>,
}

/// All errors and warnings of a configuration, with the source texts, and with what the configuration uses outside them.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    /// The texts.
    pub sources: Sources,
    errors: ProblemList,
    warnings: ProblemList,
    /// What the texts use, and may use.
    pub resources: Resources,
    hidden: BTreeSet<HiddenText>,
    has_untrusted_plugin: bool,
}

/// Problems of one severity.
#[derive(Clone, Debug, Default)]
struct ProblemList {
    /// The first problems.
    kept: Vec<Problem>,
    /// Number of all problems.
    count: usize,
    /// Last problem that is not kept.
    last: Option<Problem>,
}

impl ProblemList {
    fn push(&mut self, problem: Problem) -> &mut Problem {
        self.count += 1;
        if self.kept.len() >= MAX_PROBLEMS {
            return self.last.insert(problem);
        }
        self.kept.push(problem);
        let last = self.kept.len() - 1;
        &mut self.kept[last]
    }

    /// Returns what stands for the problems that are not kept.
    fn further(&self, severity: Severity) -> Option<Problem> {
        let count = self.count - self.kept.len();
        let what = match severity {
            Severity::Error => "errors",
            Severity::Warning => "warnings",
        };
        let message = format!("there are {count} further {what}, which are not shown");
        (count > 0).then_some(Problem { severity, span: None, key: String::new(), message, help: None })
    }
}

/// A secret, and the scalar that it is written in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct HiddenText {
    span: Span,
    value: String,
    /// True if it is the whole scalar.
    is_whole: bool,
}

impl std::fmt::Debug for HiddenText {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(SECRET_MARK)
    }
}

impl Problems {
    /// Creates an empty list for a configuration that may use only some resources. [`Problems::default`] allows all.
    pub fn restricted(permissions: Permissions) -> Problems {
        Problems { resources: Resources::restricted(permissions), ..Problems::default() }
    }

    /// Records that the configuration uses something outside its text. It is checked by [`Problems::check_resources`].
    pub(crate) fn add_resource(&mut self, span: Span, key: &str, kind: ResourceKind) {
        self.resources.add(SuiteResource { kind, key: key.to_owned(), span });
    }

    /// Reports the variables of a document that may not be read.
    pub(crate) fn check_variables(&mut self, root: &Node) {
        let refused = self.resources.name_variables(root);
        self.refuse(refused);
    }

    /// Reports the variables of a value from the command line that may not be read.
    pub(crate) fn check_variables_of(&mut self, key: &str, span: Span) {
        let refused = self.resources.name_variables_of(key, span);
        self.refuse(refused);
    }

    /// Reports everything that a purpose needs and that the configuration may not use. Returns false if anything was
    /// refused, now or before.
    pub fn check_resources(&mut self, purpose: Purpose) -> bool {
        let refused = self.resources.check(purpose);
        self.refuse(refused);
        !self.resources.is_refused()
    }

    /// Reports everything that a purpose needs of a suite that was read before, and that it may not use. Returns false if
    /// anything was refused.
    pub fn check_resources_of(&mut self, suite: &Resources, purpose: Purpose) -> bool {
        let refused = self.resources.check_used(suite, purpose);
        self.refuse(refused);
        !self.resources.is_refused()
    }

    /// Records that the configuration needs a file, and reports it if it may not be read. Returns false if it may not, or
    /// if its path is unknown because a variable in it was refused.
    pub fn check_file(&mut self, span: Span, key: &str, path: &Path) -> bool {
        let kind = ResourceKind::File(path.to_owned());
        let refused = self.resources.check_all(vec![SuiteResource { kind, key: key.to_owned(), span }]);
        let is_allowed = refused.is_empty() && !self.resources.is_unexpanded(span);
        self.refuse(refused);
        is_allowed
    }

    fn refuse(&mut self, refused: Vec<RefusedResource>) {
        for (SuiteResource { key, span, .. }, refusal) in refused {
            self.error(span, &key, refusal.message).help(refusal.help);
        }
    }

    /// Adds an error.
    pub fn error(&mut self, span: Span, key: &str, message: impl Into<String>) -> &mut Problem {
        self.push(Severity::Error, Some(span), key, message.into())
    }

    /// Adds a warning.
    pub fn warning(&mut self, span: Span, key: &str, message: impl Into<String>) -> &mut Problem {
        self.push(Severity::Warning, Some(span), key, message.into())
    }

    /// Adds an error without a location.
    pub fn error_without_place(&mut self, message: impl Into<String>) -> &mut Problem {
        self.push(Severity::Error, None, "", message.into())
    }

    fn push(&mut self, severity: Severity, span: Option<Span>, key: &str, message: String) -> &mut Problem {
        let problem = Problem { severity, span, key: key.to_owned(), message, help: None };
        match severity {
            Severity::Error => self.errors.push(problem),
            Severity::Warning => self.warnings.push(problem),
        }
    }

    /// Records that one of the errors is a plugin that the policy does not trust.
    pub fn note_untrusted_plugin(&mut self) {
        self.has_untrusted_plugin = true;
    }

    /// Returns true if one of the errors is a plugin that the policy does not trust.
    pub fn has_untrusted_plugin(&self) -> bool {
        self.has_untrusted_plugin
    }

    /// Returns true if further errors are only counted, so that it is not worth looking for them.
    pub fn is_full(&self) -> bool {
        self.errors.count >= MAX_PROBLEMS
    }

    /// Records that a scalar holds a secret, which no message may show.
    pub(crate) fn hide(&mut self, span: Span, value: &str, is_whole: bool) {
        if !value.is_empty() {
            self.hidden.insert(HiddenText { span, value: value.to_owned(), is_whole });
        }
    }

    /// Returns the number of hidden secrets.
    pub(crate) fn hidden_count(&self) -> usize {
        self.hidden.len()
    }

    /// Removes the warnings about a key at a place, which do not concern this use of the configuration.
    pub fn remove_warnings(&mut self, key: &str, span: Span) {
        let before = self.warnings.kept.len();
        self.warnings.kept.retain(|warning| warning.key != key || warning.span != Some(span));
        self.warnings.count -= before - self.warnings.kept.len();
    }

    /// Returns true if there is an error; warnings do not count.
    pub fn has_errors(&self) -> bool {
        self.errors.count > 0
    }

    /// Returns the kept problems, in source order.
    pub fn sorted(&self) -> Vec<&Problem> {
        let mut sorted: Vec<&Problem> = self.errors.kept.iter().chain(&self.warnings.kept).collect();
        sorted.sort_by_key(|problem| problem.span.map_or((usize::MAX, 0), |span| (span.source, span.start)));
        sorted
    }

    /// Returns what stands for the problems that are not kept.
    fn further(&self) -> Vec<Problem> {
        let further = [self.errors.further(Severity::Error), self.warnings.further(Severity::Warning)];
        further.into_iter().flatten().collect()
    }

    /// Returns the numbers of errors and warnings.
    pub fn counts(&self) -> (usize, usize) {
        (self.errors.count, self.warnings.count)
    }

    /// Renders all problems for humans, with the source lines.
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let texts: Vec<String> = self.sources.iter().enumerate().map(|of| self.shown_text(of)).collect();
        let render = |problem: &Problem| {
            let problem = self.shown_problem(problem);
            renderer.render(&self.groups_of(&problem, &texts)).trim_end().to_owned() + "\n"
        };
        let further = self.further();
        self.sorted().into_iter().chain(&further).map(render).collect::<Vec<String>>().join("\n")
    }

    /// Masks a text for display and keeps its length. Errors end up in logs of other systems, and their lines may
    /// hold keys.
    fn shown_text(&self, (number, source): (usize, &Source)) -> String {
        let text = &source.text;
        if text.len() > MAX_SHOWN_SOURCE_BYTES {
            return String::new();
        }
        let masked = match source.name.strip_prefix("--set ") {
            Some(path) => masked_override(path, text),
            None => masked(text),
        };
        let mut places = find_secrets(text);
        for hidden in self.hidden.iter().filter(|hidden| hidden.span.source == number) {
            let whole = hidden.span.start..hidden.span.end.clamp(hidden.span.start, text.len());
            let Some(written) = text.get(whole.clone()) else { continue };
            let found = written.match_indices(&hidden.value).filter(|_| !hidden.is_whole);
            let found: Vec<Range<usize>> =
                found.map(|(place, value)| whole.start + place..whole.start + place + value.len()).collect();
            // If the spelling differs, the whole scalar is hidden.
            places.extend(if found.is_empty() { vec![whole] } else { found });
        }
        without_invisible(&starred(masked, &places))
    }

    /// Returns a problem without the secrets that its message repeats.
    fn shown_problem(&self, problem: &Problem) -> Problem {
        let is_here = |hidden: &&HiddenText| {
            problem.span.is_some_and(|span| {
                span.source == hidden.span.source
                    && span.start <= hidden.span.end
                    && hidden.span.start <= span.end
            })
        };
        let hidden: Vec<&str> =
            self.hidden.iter().filter(is_here).map(|hidden| hidden.value.as_str()).collect();
        let shown = |text: &str| {
            if text.len() > MAX_SHOWN_MESSAGE_BYTES {
                return "the message about this value is too long to be shown".to_owned();
            }
            let mut text = redact(text).into_owned();
            for value in &hidden {
                // A short value may be part of any word.
                for quote in ['`', '\'', '"'] {
                    let mark = format!("{quote}{SECRET_MARK}{quote}");
                    text = text.replace(&format!("{quote}{value}{quote}"), &mark);
                }
            }
            text
        };
        Problem {
            message: shown(&problem.message),
            help: problem.help.as_deref().map(shown),
            key: redact(&problem.key).into_owned(),
            ..*problem
        }
    }

    fn groups_of<'a>(&'a self, problem: &'a Problem, texts: &'a [String]) -> Vec<Group<'a>> {
        let level = match problem.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        // Further lines of a message or a help are indented, so they cannot imitate another message.
        let title = level.primary_title(printable(&problem.message));
        let place = problem
            .span
            .and_then(|span| Some((span, self.sources.get(span.source)?, texts.get(span.source)?.as_str())));
        let mut group = match place {
            Some((span, source, _)) if source.text.len() > MAX_SHOWN_SOURCE_BYTES => {
                let (line, column) = span.line_and_column(&self.sources);
                title.element(Origin::path(printable_line(&source.name)).line(line).char_column(column))
            }
            Some((span, source, text)) => {
                let name = printable_line(&source.name);
                // The first line of a mapping is enough to find it.
                let end = span.end.clamp(span.start, text.len());
                let one_line =
                    text.get(span.start..end).map_or(0, |range| range.find('\n').unwrap_or(range.len()));
                let marked = AnnotationKind::Primary.span(span.start..span.start + one_line);
                let marked =
                    if problem.key.is_empty() { marked } else { marked.label(printable_line(&problem.key)) };
                title.element(Snippet::source(text).path(name).annotation(marked))
            }
            None => Group::with_title(title),
        };
        if let Some(help) = &problem.help {
            group = group.element(Level::HELP.message(printable(help)));
        }
        vec![group]
    }

    /// Returns all problems in machine-readable form: a list of objects with `severity`, `file`, `line`, `column`,
    /// `key`, `message` and `help`.
    pub fn to_json(&self) -> serde_json::Value {
        let describe = |problem: &Problem| {
            let problem = self.shown_problem(problem);
            let place = problem.span.map(|span| {
                let (line, column) = span.line_and_column(&self.sources);
                (self.sources.get(span.source).map(|source| source.name.clone()), line, column)
            });
            serde_json::json!({
                "severity": match problem.severity { Severity::Error => "error", Severity::Warning => "warning" },
                "file": place.as_ref().and_then(|(file, ..)| file.clone()),
                "line": place.as_ref().map(|(_, line, _)| *line),
                "column": place.as_ref().map(|(.., column)| *column),
                "key": problem.key,
                "message": problem.message,
                "help": problem.help,
            })
        };
        let further = self.further();
        self.sorted().into_iter().chain(&further).map(describe).collect()
    }
}

/// Replaces control characters beyond ASCII, and invisible characters, and keeps the length in bytes. The display of lines
/// replaces those of ASCII.
fn without_invisible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        let is_shown =
            character.is_ascii() || printable(character.encode_utf8(&mut [0; 4])) == character.to_string();
        match (is_shown, character.len_utf8()) {
            (true, _) => shown.push(character),
            (false, 2) => shown.push('·'),
            (false, length) => {
                shown.push(char::REPLACEMENT_CHARACTER);
                shown.push_str(&"?".repeat(length - 3));
            }
        }
    }
    shown
}

impl Problem {
    /// Adds the allowed values, or how to fix it.
    pub fn help(&mut self, help: impl Into<String>) -> &mut Problem {
        self.help = Some(help.into());
        self
    }

    /// Lists the known names, and the one that was meant: that of an old name, or else the nearest.
    pub fn known<'a>(&mut self, typed: &str, known: impl IntoIterator<Item = &'a str>) -> &mut Problem {
        let known: Vec<&str> = known.into_iter().collect();
        if known.is_empty() {
            return self.help("leave it out: there is nothing to name here");
        }
        let allowed = name_list(&known, MAX_SHOWN_NAMES, ", ");
        if let Some(new) = new_name(typed, &known) {
            return self.help(format!("`{typed}` of gage-eval is `{new}` here; expected one of: {allowed}"));
        }
        let help = match gage_core::nearest(typed, known.iter().copied().take(MAX_COMPARED_NAMES)) {
            Some(nearest) => {
                format!("did you mean `{}`? expected one of: {allowed}", printable_line(nearest))
            }
            None => format!("expected one of: {allowed}"),
        };
        self.help(help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_problems_are_counted_but_not_kept() {
        let mut problems = Problems::default();
        let source = problems.sources.add("suite.yaml", "a: 1\n".repeat(300));
        for number in 0..250 {
            let span = Span { source, start: 5 * number, end: 5 * number + 1 };
            problems.warning(span, "a", format!("warning {number}"));
            problems.error(span, "a", format!("error {number}")).known("a", ["b"]);
        }
        assert_eq!((problems.counts(), problems.has_errors(), problems.is_full()), ((250, 250), true, true));
        assert_eq!(problems.sorted().len(), 2 * MAX_PROBLEMS);
        let shown = problems.render(false);
        assert!(shown.contains("error 99") && !shown.contains("error 100"), "{shown}");
        assert!(shown.contains("there are 150 further errors, which are not shown"), "{shown}");
        assert!(shown.contains("there are 150 further warnings, which are not shown"), "{shown}");
        assert_eq!(problems.to_json().as_array().map(Vec::len), Some(2 * MAX_PROBLEMS + 2));
    }

    #[test]
    fn lines_of_a_large_source_are_named_and_not_shown() {
        let mut problems = Problems::default();
        let text = format!("{}wrong: 1\n", "#\n".repeat(MAX_SHOWN_SOURCE_BYTES));
        let start = text.len() - 9;
        let source = problems.sources.add("suite.yaml", text);
        problems.error(Span { source, start, end: start + 5 }, "wrong", "it is wrong").help("leave it out");
        let shown = problems.render(false);
        assert!(shown.contains("suite.yaml:262145:1") && shown.contains("leave it out"), "{shown}");
        assert!(!shown.contains("wrong: 1"), "{shown}");
    }

    #[test]
    fn problems_cannot_steer_the_terminal() {
        let mut problems = Problems::default();
        let text = "a\u{9b}2J\u{200f}\u{e0041}\r\u{202e}b: 1\nok: 1\n";
        let source = problems.sources.add("suite\nerror: x.yaml", text.to_owned());
        let span = Span { source, start: 0, end: 4 };
        let hostile = "x\r\u{1b}[2J\u{202e}\u{9b}\nerror: y";
        problems.error(span, hostile, format!("`{hostile}` is wrong")).help(hostile);
        problems.error(span, "a", "it is unknown").known("x", [hostile]);
        problems.error_without_place("all is wrong").help(hostile);
        let shown = problems.render(false);
        let harmful = |character: char| character != '\n' && character.is_control();
        assert!(!shown.chars().any(harmful), "{shown:?}");
        for invisible in ['\u{200f}', '\u{e0041}', '\u{202e}'] {
            assert!(!shown.contains(invisible), "{shown:?}");
        }
        let errors = shown.lines().filter(|line| line.starts_with("error")).count();
        assert_eq!(errors, 3, "{shown}");
        assert_eq!(without_invisible(text).len(), text.len());
    }

    #[test]
    fn only_some_of_many_known_names_are_shown() {
        let names: Vec<String> = (0..300).map(|number| format!("name-{number}")).collect();
        let mut problems = Problems::default();
        let problem = problems.error_without_place("it is unknown");
        problem.known("name-1x", names.iter().map(String::as_str));
        let help = problem.help.clone().unwrap_or_default();
        assert!(
            help.starts_with("did you mean `name-1`?") && help.ends_with("name-199, and 100 more"),
            "{help}"
        );
    }
}
