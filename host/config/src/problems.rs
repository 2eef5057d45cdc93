//! Problems of a configuration, and their display.

use crate::old_names::new_name;
use crate::secrets::{masked, masked_override, starred};
use crate::source::{Source, Sources, Span};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use gage_secrets::{SECRET_MARK, find_secrets, redact};
use std::ops::Range;

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

/// All errors and warnings of a configuration, with the source texts.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    /// The texts.
    pub sources: Sources,
    list: Vec<Problem>,
    hidden: Vec<HiddenText>,
}

/// A secret, and the scalar that it is written in.
#[derive(Clone, PartialEq)]
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
        self.list.push(Problem { severity, span, key: key.to_owned(), message, help: None });
        let last = self.list.len() - 1;
        &mut self.list[last]
    }

    /// Records that a scalar holds a secret, which no message may show.
    pub(crate) fn hide(&mut self, span: Span, value: &str, is_whole: bool) {
        let hidden = HiddenText { span, value: value.to_owned(), is_whole };
        if !value.is_empty() && !self.hidden.contains(&hidden) {
            self.hidden.push(hidden);
        }
    }

    /// Returns true if there is an error; warnings do not count.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// Returns all problems, in source order.
    pub fn sorted(&self) -> Vec<&Problem> {
        let mut sorted: Vec<&Problem> = self.list.iter().collect();
        sorted.sort_by_key(|problem| problem.span.map_or((usize::MAX, 0), |span| (span.source, span.start)));
        sorted
    }

    /// Returns the numbers of errors and warnings.
    pub fn counts(&self) -> (usize, usize) {
        let errors = self.list.iter().filter(|problem| problem.severity == Severity::Error).count();
        (errors, self.list.len() - errors)
    }

    /// Renders all problems for humans, with the source lines.
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let texts: Vec<String> = self.sources.iter().enumerate().map(|of| self.shown_text(of)).collect();
        let render = |problem: &Problem| {
            let problem = self.shown_problem(problem);
            renderer.render(&self.groups_of(&problem, &texts)).trim_end().to_owned() + "\n"
        };
        self.sorted().into_iter().map(render).collect::<Vec<String>>().join("\n")
    }

    /// Masks a text for display and keeps its length. Errors end up in logs of other systems, and their lines may
    /// hold keys.
    fn shown_text(&self, (number, source): (usize, &Source)) -> String {
        let text = &source.text;
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
        starred(masked, &places)
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
        let title = level.primary_title(problem.message.as_str());
        let place = problem.span.and_then(|span| {
            Some((span, self.sources.get(span.source)?.name.as_str(), texts.get(span.source)?))
        });
        let mut group = match place {
            Some((span, name, text)) => {
                // The first line of a mapping is enough to find it.
                let end = span.end.clamp(span.start, text.len());
                let one_line =
                    text.get(span.start..end).map_or(0, |range| range.find('\n').unwrap_or(range.len()));
                let marked = AnnotationKind::Primary.span(span.start..span.start + one_line);
                let marked = if problem.key.is_empty() { marked } else { marked.label(problem.key.as_str()) };
                title.element(Snippet::source(text.as_str()).path(name).annotation(marked))
            }
            None => Group::with_title(title),
        };
        if let Some(help) = &problem.help {
            group = group.element(Level::HELP.message(help.as_str()));
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
        self.sorted().into_iter().map(describe).collect()
    }
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
        let allowed = known.join(", ");
        if let Some(new) = new_name(typed, &known) {
            return self.help(format!("`{typed}` of gage-eval is `{new}` here; expected one of: {allowed}"));
        }
        let help = match gage_core::nearest(typed, known.iter().copied()) {
            Some(nearest) => format!("did you mean `{nearest}`? expected one of: {allowed}"),
            None => format!("expected one of: {allowed}"),
        };
        self.help(help)
    }
}
