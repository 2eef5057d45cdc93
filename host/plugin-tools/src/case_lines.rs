//! Collects the lines that a plugin logs and prints while a case runs alone.

use gage_core::printable_line;
use gage_plugin::{LineReceiver, PluginLine};
use parking_lot::Mutex;
use std::sync::Arc;

/// Maximum number of lines of a test that are kept.
const MAX_LINES: usize = 1_000;

/// A line that a plugin logged or printed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CaseLine {
    /// Name of the case; `None` while the plugin was loaded or checked parameters.
    pub case: Option<String>,
    /// The member that was called.
    pub member: Option<String>,
    /// The level, or the stream: `stdout` or `stderr`.
    pub source: &'static str,
    /// The text, without line breaks and control characters.
    pub text: String,
}

/// Collects lines. Clones share them.
#[derive(Clone, Default)]
pub struct CaseLines(Arc<Mutex<CollectedLines>>);

#[derive(Default)]
struct CollectedLines {
    phase: Phase,
    lines: Vec<CaseLine>,
    omitted: usize,
}

#[derive(Default)]
enum Phase {
    #[default]
    Loading,
    Case(String),
    /// The same cases run again, and print the same lines.
    Repeating,
}

impl CaseLines {
    /// Returns the receiver for the setup of a component.
    pub fn receiver(&self) -> LineReceiver {
        let lines = self.clone();
        LineReceiver::new(move |line| lines.add(line))
    }

    /// Adds a line to those of the current case.
    pub(crate) fn add(&self, line: PluginLine) {
        let mut collected = self.0.lock();
        let case = match &collected.phase {
            Phase::Loading => None,
            Phase::Case(name) => Some(name.clone()),
            Phase::Repeating => return,
        };
        if collected.lines.len() >= MAX_LINES {
            collected.omitted += 1;
            return;
        }
        let PluginLine { source, member, text } = line;
        let text = printable_line(&text).into_owned();
        collected.lines.push(CaseLine { case, member, source: source.name(), text });
    }

    /// Attributes the next lines to a case.
    pub(crate) fn begin_case(&self, name: &str) {
        self.0.lock().phase = Phase::Case(name.to_owned());
    }

    /// Attributes the next lines to no case.
    pub(crate) fn begin_loading(&self) {
        self.0.lock().phase = Phase::Loading;
    }

    /// Ignores the next lines, which repeat earlier ones.
    pub(crate) fn begin_repeating(&self) {
        self.0.lock().phase = Phase::Repeating;
    }

    /// Returns the lines, and the number of those that were left out.
    pub fn take(&self) -> (Vec<CaseLine>, usize) {
        let mut collected = self.0.lock();
        (std::mem::take(&mut collected.lines), std::mem::take(&mut collected.omitted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_plugin::LineSource;

    #[test]
    fn lines_belong_to_the_case_that_runs() {
        let lines = CaseLines::default();
        let add = |text: &str| {
            let member = Some("recall".to_owned());
            lines.add(PluginLine { source: LineSource::Stdout, member, text: text.to_owned() });
        };
        add("loaded");
        lines.begin_case("c.jsonl:1");
        add("one\u{1b}");
        lines.begin_repeating();
        add("one");
        lines.begin_case("c.jsonl:2");
        (0..MAX_LINES).for_each(|_| add("two"));
        let (found, omitted) = lines.take();
        assert_eq!((found.len(), omitted), (MAX_LINES, 2));
        let shown: Vec<(Option<&str>, &str)> =
            found.iter().take(3).map(|line| (line.case.as_deref(), line.text.as_str())).collect();
        assert_eq!(shown, [(None, "loaded"), (Some("c.jsonl:1"), "one\\u{1b}"), (Some("c.jsonl:2"), "two")]);
        assert_eq!(lines.take(), (Vec::new(), 0));
    }
}
