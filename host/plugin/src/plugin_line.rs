//! Lines that plugins log or print, and the receiver of them.

use std::fmt;
use std::sync::Arc;

/// The level of a logged line, or the stream of a printed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSource {
    /// The log, for people who look for a fault.
    Debug,
    /// The log.
    Info,
    /// The log, as a warning.
    Warn,
    /// The log, as an error.
    Error,
    /// The standard output stream.
    Stdout,
    /// The standard error stream.
    Stderr,
}

impl LineSource {
    const ALL: [LineSource; 6] = [
        LineSource::Debug,
        LineSource::Info,
        LineSource::Warn,
        LineSource::Error,
        LineSource::Stdout,
        LineSource::Stderr,
    ];

    /// Returns the name, for people.
    pub fn name(self) -> &'static str {
        match self {
            LineSource::Debug => "debug",
            LineSource::Info => "info",
            LineSource::Warn => "warn",
            LineSource::Error => "error",
            LineSource::Stdout => "stdout",
            LineSource::Stderr => "stderr",
        }
    }

    /// Returns the source with this name.
    pub fn of_name(name: &str) -> Option<LineSource> {
        LineSource::ALL.into_iter().find(|source| source.name() == name)
    }
}

/// A line that a plugin logged or printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginLine {
    /// The level or the stream.
    pub source: LineSource,
    /// The member that was called; `None` while the component describes itself.
    pub member: Option<String>,
    /// The text, without line breaks and control characters.
    pub text: String,
}

/// Receives the lines of a component in place of the program's log.
#[derive(Clone)]
pub struct LineReceiver(Arc<dyn Fn(PluginLine) + Send + Sync>);

impl LineReceiver {
    /// Creates a receiver from a function.
    pub fn new(receive: impl Fn(PluginLine) + Send + Sync + 'static) -> LineReceiver {
        LineReceiver(Arc::new(receive))
    }

    /// Passes on a line.
    pub(crate) fn receive(&self, line: PluginLine) {
        (self.0)(line);
    }
}

impl fmt::Debug for LineReceiver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("LineReceiver")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_have_unique_names() {
        for source in LineSource::ALL {
            assert_eq!(LineSource::of_name(source.name()), Some(source));
        }
        assert_eq!(LineSource::of_name("print"), None);
    }
}
