//! The media of the items of a call.

use super::denied;
use crate::bindings::types::{MediaKind, MediaRef, PluginError};
use gage_core::Digest;
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum size of one read, in bytes.
const MAX_READ_BYTES: u64 = 1 << 20;

/// Media by digest, limited to the items of one call.
#[derive(Default)]
pub struct MediaSet {
    entries: HashMap<String, (MediaRef, Arc<[u8]>)>,
}

impl MediaSet {
    /// Adds media, and returns the reference with which a guest reads them.
    pub fn add(&mut self, kind: MediaKind, media_type: &str, bytes: Arc<[u8]>) -> MediaRef {
        let digest = format!("sha256:{}", Digest::of_bytes(&bytes).hex());
        let reference = MediaRef {
            digest: digest.clone(),
            kind,
            media_type: media_type.to_owned(),
            size: bytes.len() as u64,
        };
        self.entries.insert(digest, (reference.clone(), bytes));
        reference
    }

    /// Returns whether there are no media.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn entry(&self, digest: &str) -> Result<&(MediaRef, Arc<[u8]>), PluginError> {
        self.entries.get(digest).ok_or_else(|| {
            let shown: String = digest.chars().take(80).collect();
            denied(format!("the items of this call have no media with the digest '{shown}'"))
        })
    }

    pub(crate) fn find(&self, digest: &str) -> Result<MediaRef, PluginError> {
        self.entry(digest).map(|(reference, _)| reference.clone())
    }

    pub(crate) fn read(&self, digest: &str, offset: u64, length: u32) -> Result<Vec<u8>, PluginError> {
        let (_, bytes) = self.entry(digest)?;
        let most = u64::from(length).min(MAX_READ_BYTES);
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let end = start.saturating_add(usize::try_from(most).unwrap_or(usize::MAX)).min(bytes.len());
        Ok(bytes[start..end].to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::types::ErrorKind;

    #[test]
    fn ranges_of_known_media_and_nothing_else() {
        let mut set = MediaSet::default();
        let reference = set.add(MediaKind::Audio, "audio/wav", Arc::from(b"0123456789".as_slice()));
        assert_eq!((reference.size, set.is_empty()), (10, false));
        let read = |offset, length| set.read(&reference.digest, offset, length).ok();
        for (offset, length, expected) in
            [(0, 4, "0123"), (8, 100, "89"), (10, 1, ""), (u64::MAX, u32::MAX, ""), (3, 0, "")]
        {
            assert_eq!(read(offset, length).as_deref(), Some(expected.as_bytes()), "{offset} {length}");
        }
        let error = set.find("sha256:other").err().map(|error| error.kind);
        assert_eq!(error, Some(ErrorKind::Denied));
    }
}
