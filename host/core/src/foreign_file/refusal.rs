//! Reasons to refuse a file, and limits on its size.

use std::fmt;
use std::io;

/// Maximum size of a kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLimit {
    kind: &'static str,
    max_bytes: u64,
}

impl FileLimit {
    /// For files that are read piece by piece.
    pub const NONE: FileLimit = FileLimit { kind: "a file", max_bytes: u64::MAX };

    /// Creates the limit of a kind of file, such as `a manifest`.
    pub const fn new(kind: &'static str, max_bytes: u64) -> FileLimit {
        FileLimit { kind, max_bytes }
    }

    /// Returns the maximum size in bytes.
    pub const fn max_bytes(self) -> u64 {
        self.max_bytes
    }

    /// Checks the size of a file.
    pub(super) fn check(self, bytes: u64) -> io::Result<()> {
        match bytes > self.max_bytes {
            true => Err(FileRefusal::TooLarge { bytes, limit: self }.into()),
            false => Ok(()),
        }
    }
}

/// Reason why a file is not opened or not read further. Its text follows the name of the file: `it is a pipe`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileRefusal {
    /// It is a symbolic link.
    Link,
    /// A folder on the way to it is a symbolic link; this is its name.
    LinkedFolder(String),
    /// It is not a file: `a folder`, `a pipe`, `a socket` or `a device`.
    NoFile(&'static str),
    /// It is too large.
    TooLarge {
        /// Size in bytes.
        bytes: u64,
        /// The limit.
        limit: FileLimit,
    },
    /// It has a line that is too long.
    LongLine {
        /// Maximum length in bytes.
        max_bytes: u64,
    },
    /// It has ranges that were never written.
    Holes,
    /// It belongs to another user.
    OtherOwner,
    /// Other users can write to it.
    WritableByOthers,
    /// It has further names, by which others may write to it.
    SeveralNames,
}

impl FileRefusal {
    /// Returns the refusal in an error.
    pub fn find(error: &io::Error) -> Option<&FileRefusal> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for FileRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileRefusal::Link => formatter.write_str("it is a symbolic link, which is not followed here"),
            FileRefusal::LinkedFolder(name) => {
                write!(formatter, "its folder '{name}' is a symbolic link, which is not followed here")
            }
            FileRefusal::NoFile(kind) => write!(formatter, "it is {kind}, not a regular file"),
            FileRefusal::TooLarge { bytes, limit } => {
                let (mut found, mut most) = (Size(*bytes).to_string(), Size(limit.max_bytes).to_string());
                // Rounded to the same text, they would not show that one is larger.
                if found == most {
                    (found, most) = (format!("{bytes} bytes"), format!("{} bytes", limit.max_bytes));
                }
                write!(formatter, "it has {found}; at most {most} are allowed for {}", limit.kind)
            }
            FileRefusal::LongLine { max_bytes } => {
                write!(formatter, "it has a line with more than {}", Size(*max_bytes))
            }
            FileRefusal::Holes => formatter.write_str("it has holes (ranges that were never written)"),
            FileRefusal::OtherOwner => formatter.write_str("it belongs to another user"),
            FileRefusal::WritableByOthers => formatter.write_str("other users can write to it"),
            FileRefusal::SeveralNames => {
                formatter.write_str("it has several names (hard links), and others may write to one of them")
            }
        }
    }
}

impl std::error::Error for FileRefusal {}

impl From<FileRefusal> for io::Error {
    fn from(refusal: FileRefusal) -> io::Error {
        io::Error::other(refusal)
    }
}

/// A size that is shown in the largest unit of which there is at least one.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes >= 1 << 20 => write!(formatter, "{} MiB", bytes >> 20),
            bytes if bytes >= 1 << 10 => write!(formatter, "{} KiB", bytes >> 10),
            bytes => write!(formatter, "{bytes} bytes"),
        }
    }
}
