//! Detection of a file's kind by its first bytes.

use super::LoaderError;
use crate::checked_file::CheckedFile;
use crate::source::DataFile;
use gage_config::FileFormat;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};

/// Number of bytes needed to recognize a tar archive.
const HEAD_BYTES: u64 = 512;

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Possibly text: the first bytes match no known kind.
    Plain,
    /// Compressed with gzip.
    Gzip,
    /// Compressed with zstd.
    Zstd,
    Parquet,
    EncryptedParquet,
    /// A kind that no loader reads: its name, and advice.
    Foreign(&'static str, &'static str),
}

/// Opens a file and detects its kind.
pub(crate) fn open(data: &DataFile) -> Result<(CheckedFile, FileKind), LoaderError> {
    // Checked first, because opening a pipe waits for its other end.
    let metadata = std::fs::metadata(&data.path).map_err(LoaderError::Unreadable)?;
    if metadata.is_dir() {
        return Err(LoaderError::Unreadable(ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        return Err(LoaderError::Unsuited(
            "a pipe or device, not a file; write its data to a file first".to_owned(),
        ));
    }
    let mut file = data.open().map_err(LoaderError::Unreadable)?;
    let mut head = Vec::new();
    (&mut file).take(HEAD_BYTES).read_to_end(&mut head).map_err(LoaderError::Unreadable)?;
    file.seek(SeekFrom::Start(0)).map_err(LoaderError::Unreadable)?;
    Ok((file, FileKind::of(&head)))
}

impl FileKind {
    /// Returns the kind of content that begins with these bytes.
    pub(crate) fn of(head: &[u8]) -> FileKind {
        let begins = |magic: &[u8]| head.starts_with(magic);
        // Magic bytes that are letters could also be the beginning of a text.
        let is_binary = head.iter().any(|byte| matches!(byte, 0..=8 | 14..=31));
        if begins(b"\x1f\x8b") {
            FileKind::Gzip
        } else if begins(b"\x28\xb5\x2f\xfd") || is_skippable_frame(head) {
            FileKind::Zstd
        } else if is_binary && begins(b"PAR1") {
            FileKind::Parquet
        } else if is_binary && begins(b"PARE") {
            FileKind::EncryptedParquet
        } else if head.get(257..262) == Some(b"ustar") {
            FileKind::Foreign("a tar archive", "unpack it and name the files in it")
        } else if begins(b"PK\x03\x04") {
            zip(head)
        } else {
            let found = FOREIGN.iter().find(|(magic, is_text, ..)| (is_binary || !is_text) && begins(magic));
            found.map_or(FileKind::Plain, |(_, _, name, advice)| FileKind::Foreign(name, advice))
        }
    }

    /// Checks that a loader reads this kind.
    pub(crate) fn check(self, format: FileFormat) -> Result<(), LoaderError> {
        let message = match (self, format) {
            (FileKind::Foreign(name, advice), _) => format!("the file is {name}; {advice}"),
            (FileKind::EncryptedParquet, _) => "the Parquet file is encrypted; decrypt it first".to_owned(),
            (FileKind::Parquet, FileFormat::Parquet) => return Ok(()),
            (FileKind::Parquet, _) => "the file is Parquet; use loader: parquet".to_owned(),
            (FileKind::Gzip | FileKind::Zstd, FileFormat::Parquet) => {
                "the file is compressed as a whole; decompress it if it is Parquet, or use loader: jsonl, json, \
                 csv or tsv, which read compressed text"
                    .to_owned()
            }
            (FileKind::Plain, FileFormat::Parquet) => "the file is not Parquet, which begins with 'PAR1'; text is read by \
                                               loader: jsonl, json, csv or tsv"
                .to_owned(),
            (FileKind::Plain | FileKind::Gzip | FileKind::Zstd, _) => return Ok(()),
        };
        Err(LoaderError::Unsuited(message))
    }

    /// Checks that the decompressed content is text.
    pub(crate) fn check_unpacked(self, format: FileFormat) -> Result<(), LoaderError> {
        match self {
            FileKind::Plain => Ok(()),
            FileKind::Gzip | FileKind::Zstd => {
                Err(LoaderError::Unsuited("the file is compressed twice; decompress it".to_owned()))
            }
            FileKind::Parquet | FileKind::EncryptedParquet => Err(LoaderError::Unsuited(
                "the file is compressed Parquet; decompress it and use loader: parquet".to_owned(),
            )),
            FileKind::Foreign(..) => self.check(format).map_err(|fault| match fault {
                LoaderError::Unsuited(message) => {
                    LoaderError::Unsuited(message.replacen("the file is", "the file is, compressed,", 1))
                }
                other => other,
            }),
        }
    }
}

/// Returns whether a zstd file begins with a skippable frame.
fn is_skippable_frame(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

fn zip(head: &[u8]) -> FileKind {
    let name = head.get(30..).unwrap_or_default();
    let is_office = [&b"[Content_Types].xml"[..], b"_rels/", b"xl/", b"word/", b"docProps/"]
        .iter()
        .any(|begin| name.starts_with(begin));
    match is_office {
        true => FileKind::Foreign("an office document such as xlsx", "export it as CSV and use loader: csv"),
        false => FileKind::Foreign("a zip archive", "unpack it and name the files in it"),
    }
}

const CONVERT: &str = "convert it to JSON Lines or Parquet";
const DECOMPRESS: &str = "decompress it, or compress it with gzip or zstd instead";

/// Magic bytes, whether they are letters, name of the kind, and advice.
const FOREIGN: &[(&[u8], bool, &str, &str)] = &[
    (b"\xfd7zXZ\x00", false, "compressed with xz", DECOMPRESS),
    (b"BZh", true, "compressed with bzip2", DECOMPRESS),
    (b"7z\xbc\xaf\x27\x1c", false, "a 7z archive", "unpack it and name the files in it"),
    (b"ARROW1", true, "an Arrow file", CONVERT),
    (b"FEA1", true, "a Feather file", CONVERT),
    (b"ORC", true, "an ORC file", CONVERT),
    (b"Obj\x01", false, "an Avro file", CONVERT),
    (b"\x89HDF\r\n\x1a\n", false, "an HDF5 file", CONVERT),
    (b"SQLite format 3\x00", false, "an SQLite database", "export the table as CSV and use loader: csv"),
    (b"\x93NUMPY", false, "a NumPy array", CONVERT),
    (
        b"\xd0\xcf\x11\xe0",
        false,
        "an old office document such as xls",
        "export it as CSV and use loader: csv",
    ),
    (b"%PDF-", false, "a PDF document", CONVERT),
    (b"\xff\xfe", false, "text in UTF-16", "convert it to UTF-8"),
    (b"\xfe\xff", false, "text in UTF-16", "convert it to UTF-8"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_first_bytes() {
        let tar: Vec<u8> = [&[b'x'; 257][..], b"ustar\x0000"].concat();
        let xlsx = [&b"PK\x03\x04"[..], &[0; 26], b"[Content_Types].xml"].concat();
        for (head, expected) in [
            (&b"{\"a\":1}\n"[..], FileKind::Plain),
            (b"", FileKind::Plain),
            (b"PAR1,PAR2\n1,2\n", FileKind::Plain),
            (b"ORC,BZh\n", FileKind::Plain),
            (b"\x1f\x8b\x08", FileKind::Gzip),
            (b"\x28\xb5\x2f\xfd\x00", FileKind::Zstd),
            (b"\x51\x2a\x4d\x18\x00", FileKind::Zstd),
            (b"PAR1\x15\x04", FileKind::Parquet),
            (b"PARE\x15\x04", FileKind::EncryptedParquet),
            (b"PK\x03\x04\x14\x00", FileKind::Foreign("a zip archive", "unpack it and name the files in it")),
            (
                &xlsx,
                FileKind::Foreign("an office document such as xlsx", "export it as CSV and use loader: csv"),
            ),
            (&tar, FileKind::Foreign("a tar archive", "unpack it and name the files in it")),
            (b"BZh91AY&SY\x00", FileKind::Foreign("compressed with bzip2", DECOMPRESS)),
            (b"\xff\xfe{\x00", FileKind::Foreign("text in UTF-16", "convert it to UTF-8")),
        ] {
            assert_eq!(FileKind::of(head), expected, "{head:?}");
        }
    }

    #[test]
    fn a_file_of_another_format_names_its_loader() {
        for (kind, format, expected) in [
            (FileKind::Parquet, FileFormat::Jsonl, Some("use loader: parquet")),
            (FileKind::EncryptedParquet, FileFormat::Parquet, Some("is encrypted")),
            (FileKind::Plain, FileFormat::Parquet, Some("is not Parquet")),
            (FileKind::Gzip, FileFormat::Parquet, Some("compressed as a whole")),
            (FileKind::Gzip, FileFormat::Csv, None),
            (FileKind::Zstd, FileFormat::Json, None),
            (FileKind::Parquet, FileFormat::Parquet, None),
        ] {
            let message = match kind.check(format) {
                Err(LoaderError::Unsuited(message)) => Some(message),
                _ => None,
            };
            let is_expected = match (&message, expected) {
                (Some(message), Some(expected)) => message.contains(expected),
                (message, expected) => message.is_none() && expected.is_none(),
            };
            assert!(is_expected, "{kind:?} {format:?} {message:?}");
        }
    }
}
