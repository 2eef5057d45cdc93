//! Digests that the hub states for a file, and digests of the downloaded content.

use gage_core::Digest;
use serde::{Deserialize, Serialize};
use sha1::{Digest as _, Sha1};
use sha2::Sha256;
use std::fmt::Write as _;

/// ID of a content: the SHA-256 of its bytes for a large file, the git object ID for any other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) enum ObjectId {
    /// SHA-256 of the bytes.
    Large(Digest),
    /// SHA-1 of `blob`, the length and the bytes, as 40 hexadecimal digits.
    Git(String),
}

impl ObjectId {
    /// Reads the ID of a file in the large file storage.
    pub(super) fn large(hex: &str) -> Result<ObjectId, String> {
        hex.parse().map(ObjectId::Large)
    }

    /// Reads the ID of a file in git.
    pub(super) fn git(hex: &str) -> Result<ObjectId, String> {
        match super::paths::is_commit(hex) {
            true => Ok(ObjectId::Git(hex.to_owned())),
            false => Err("an object id of git has 40 hexadecimal digits".to_owned()),
        }
    }
}

impl std::fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ObjectId::Large(digest) => write!(formatter, "{digest}"),
            ObjectId::Git(hex) => write!(formatter, "git:{hex}"),
        }
    }
}

impl From<ObjectId> for String {
    fn from(id: ObjectId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for ObjectId {
    type Error = String;

    fn try_from(text: String) -> Result<ObjectId, String> {
        match text.strip_prefix("git:") {
            Some(hex) => ObjectId::git(hex),
            None => ObjectId::large(&text),
        }
    }
}

/// Both digests of a content, computed as it arrives.
pub(super) struct ContentHashes {
    large: Sha256,
    git: Sha1,
}

impl ContentHashes {
    /// Creates the hashes of an empty content. The size is needed up front because it is part of git's digest.
    pub(super) fn new(size: u64) -> ContentHashes {
        ContentHashes { large: Sha256::new(), git: Sha1::new().chain_update(format!("blob {size}\0")) }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.large.update(bytes);
        self.git.update(bytes);
    }

    /// Returns the SHA-256, and the ID of the same kind as the expected one.
    pub(super) fn finish(self, expected: &ObjectId) -> Result<(Digest, ObjectId), String> {
        let digest: Digest = hex(&self.large.finalize()).parse()?;
        let found = match expected {
            ObjectId::Large(_) => ObjectId::Large(digest),
            ObjectId::Git(_) => ObjectId::Git(hex(&self.git.finalize())),
        };
        Ok((digest, found))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn digests_are_those_of_git_and_of_sha256() {
        // Output of `git hash-object` for `hello` and a line break.
        let git = ObjectId::git("ce013625030ba8dba906f756967f9e9ca394464a").expect("an id");
        let mut hashes = ContentHashes::new(6);
        hashes.update(b"hel");
        hashes.update(b"lo\n");
        let (digest, found) = hashes.finish(&git).expect("digests");
        assert_eq!((digest, found), (Digest::of_bytes(b"hello\n"), git));
    }

    #[test]
    fn ids_are_written_and_read() {
        for id in [
            ObjectId::Large(Digest::of_bytes(b"x")),
            ObjectId::git("0123456789abcdef0123456789abcdef01234567").expect("an id"),
        ] {
            assert_eq!(ObjectId::try_from(String::from(id.clone())), Ok(id));
        }
        for bad in ["", "git:", "git:xyz", "sha256:00", "git:0123456789ABCDEF0123456789abcdef01234567"] {
            assert!(ObjectId::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
