//! Reads members of the zip archive of a log, each up to a limit.

use super::InspectLogError;
use std::io::{Read, Seek};
use zip::{CompressionMethod, ZipArchive};

/// Maximum size of a log in one file of JSON, and of a member of an archive, unpacked.
pub(super) const MAX_LOG_BYTES: u64 = 512 << 20;
/// Maximum size of all members that are read, unpacked.
const MAX_TOTAL_BYTES: u64 = 16 << 30;

/// An archive.
pub(super) struct Archive<R> {
    zip: ZipArchive<R>,
    /// Bytes that may still be unpacked.
    left: u64,
}

impl<R: Read + Seek> Archive<R> {
    pub(super) fn open(log: R) -> Result<Archive<R>, InspectLogError> {
        Ok(Archive { zip: ZipArchive::new(log)?, left: MAX_TOTAL_BYTES })
    }

    /// Returns the names of the members in a folder, in the order of the archive.
    pub(super) fn names_below(&self, folder: &str) -> Vec<String> {
        let names = (0..self.zip.len()).filter_map(|index| self.zip.name_for_index(index)?.ok());
        names
            .filter(|name| name.starts_with(folder) && name.ends_with(".json"))
            .map(|name| name.into_owned())
            .collect()
    }

    /// Unpacks a member. `None` if there is none of that name.
    pub(super) fn member(&mut self, name: &str) -> Result<Option<Vec<u8>>, InspectLogError> {
        let Some(index) = self.zip.index_for_name(name) else { return Ok(None) };
        let member = self.zip.by_index_raw(index)?;
        let unsupported = || InspectLogError::Compression { member: name.to_owned() };
        if member.encrypted() {
            return Err(unsupported());
        }
        let limit = MAX_LOG_BYTES.min(self.left);
        let bytes = match member.compression() {
            CompressionMethod::STORE => read_bounded(member, limit, name)?,
            CompressionMethod::DEFLATE => {
                read_bounded(flate2::read::DeflateDecoder::new(member), limit, name)?
            }
            CompressionMethod::ZSTD => read_bounded(zstd::stream::read::Decoder::new(member)?, limit, name)?,
            _ => return Err(unsupported()),
        };
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Ok(Some(bytes))
    }
}

/// Reads to the end, up to a limit.
pub(super) fn read_bounded(
    reader: impl Read,
    max_bytes: u64,
    part: &str,
) -> Result<Vec<u8>, InspectLogError> {
    let mut bytes = Vec::new();
    reader.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > max_bytes {
        true => Err(InspectLogError::TooLarge { part: part.to_owned(), max_bytes }),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;

    #[test]
    fn parts_are_read_up_to_the_limit() {
        assert_eq!(read_bounded(&b"abc"[..], 3, "part").expect("three bytes"), b"abc");
        let error = read_bounded(&b"abcd"[..], 3, "part").expect_err("four bytes");
        assert!(matches!(error, InspectLogError::TooLarge { max_bytes: 3, .. }), "{error}");
        error.recorded("suites");
        assert_eq!(error.to_string(), "`part` has more than 0 MiB");
    }
}
