//! Media of the items of the current call; needs the grant `media`.
//!
//! Only works in a component: in unit tests there is no host, and every call panics.

use crate::PluginError;
pub use crate::bindings::media::{find, read};
pub use crate::bindings::types::{MediaKind, MediaRef};

/// Maximum size of one read from the host, in bytes.
const CHUNK: u32 = 1 << 20;

/// Reads all bytes of the media with this digest.
///
/// # Errors
/// Errors of the host: no such media in this call, no grant, or too large.
pub fn read_all(digest: &str) -> Result<Vec<u8>, PluginError> {
    let size = find(digest)?.size;
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < size {
        let chunk = read(digest, bytes.len() as u64, CHUNK)?;
        if chunk.is_empty() {
            return Err(PluginError::upstream(format!(
                "{digest} ends after {} of {size} bytes",
                bytes.len()
            )));
        }
        bytes.extend(chunk);
    }
    Ok(bytes)
}
