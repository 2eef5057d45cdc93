//! Errors of media.

use gage_core::printable_line;

/// How much of a source is shown in a message, in characters.
const MAX_SHOWN_CHARACTERS: usize = 120;

/// In which way media are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MediaErrorKind {
    /// There is no such file.
    Missing,
    /// The content ends early.
    Truncated,
    /// The content is not what its name or its place says.
    Type,
    /// More bytes or pixels than are allowed, or a shape that cannot be resized.
    TooLarge,
    /// A file outside the folders that may be read.
    OutsideRoot,
    /// It cannot be read or decoded, or it changed.
    Unreadable,
    /// No URL or path that is understood.
    Url,
    /// The options contradict themselves, or a folder cannot be used.
    Options,
}

impl MediaErrorKind {
    /// The name in records.
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

/// What is wrong with media, and where they are referred to.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct MediaError {
    /// In which way.
    pub kind: MediaErrorKind,
    /// The same in words.
    pub message: String,
    /// JSON pointer into the Sample, such as `/messages/0/content/1/image_url/url`; for messages
    /// alone, into them as if they were those of a Sample. None for what a hook gave. Of options, the one that
    /// is wrong.
    pub pointer: Option<String>,
}

impl MediaError {
    pub(super) fn new(kind: MediaErrorKind, message: impl Into<String>) -> MediaError {
        MediaError { kind, message: message.into(), pointer: None }
    }

    /// The same, with the source named in front.
    pub(super) fn of(self, source: &str) -> MediaError {
        MediaError { message: format!("'{}': {}", shown(source), self.message), ..self }
    }

    /// The same, with its place.
    pub(super) fn at(self, pointer: impl Into<String>) -> MediaError {
        MediaError { pointer: Some(pointer.into()), ..self }
    }
}

/// The beginning of a source, on one line.
pub(super) fn shown(source: &str) -> String {
    let mut short: String = source.chars().take(MAX_SHOWN_CHARACTERS).collect();
    if short.len() < source.len() {
        short.push('…');
    }
    printable_line(&short).into_owned()
}
