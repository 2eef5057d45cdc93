//! Errors of media.

use gage_core::printable_line;

/// Number of characters of a source shown in a message.
const MAX_SHOWN_CHARACTERS: usize = 120;

/// Kind of a media error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MediaErrorKind {
    /// The file does not exist.
    Missing,
    /// The content ends early.
    Truncated,
    /// The content does not match its name or its place.
    Type,
    /// Too many bytes or pixels, or a shape that cannot be resized.
    TooLarge,
    /// The file is outside the folders that may be read.
    OutsideRoot,
    /// The medium cannot be read or decoded, or it changed.
    Unreadable,
    /// The text is no supported URL or path.
    Url,
    /// The options contradict each other, or a folder cannot be used.
    Options,
}

impl MediaErrorKind {
    /// Returns the name in records.
    pub fn name(self) -> &'static str {
        match self {
            MediaErrorKind::Missing => "media_missing",
            MediaErrorKind::Truncated => "media_truncated",
            MediaErrorKind::Type => "media_type",
            MediaErrorKind::TooLarge => "media_too_large",
            MediaErrorKind::OutsideRoot => "media_outside_root",
            MediaErrorKind::Unreadable => "media_unreadable",
            MediaErrorKind::Url => "media_url",
            MediaErrorKind::Options => "media_options",
        }
    }
}

/// Error of a medium, and the place that refers to it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct MediaError {
    /// Kind of the error.
    pub kind: MediaErrorKind,
    /// Description of the error.
    pub message: String,
    /// JSON pointer into the Sample, such as `/messages/0/content/1/image_url/url`. For messages alone, it points
    /// into them as if they were a Sample's; for options, to the wrong option. `None` for media of a hook.
    pub pointer: Option<String>,
}

impl MediaError {
    pub(super) fn new(kind: MediaErrorKind, message: impl Into<String>) -> MediaError {
        MediaError { kind, message: message.into(), pointer: None }
    }

    /// Prefixes the message with the source.
    pub(super) fn of(self, source: &str) -> MediaError {
        MediaError { message: format!("'{}': {}", shown(source), self.message), ..self }
    }

    /// Adds the place of the error.
    pub(super) fn at(self, pointer: impl Into<String>) -> MediaError {
        MediaError { pointer: Some(pointer.into()), ..self }
    }
}

/// Returns the beginning of a source, on one line.
pub(super) fn shown(source: &str) -> String {
    let mut short: String = source.chars().take(MAX_SHOWN_CHARACTERS).collect();
    if short.len() < source.len() {
        short.push('…');
    }
    printable_line(&short).into_owned()
}
