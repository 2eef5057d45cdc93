//! The name of a request in a batch. It names the sample, and pins the request: `words-17-0-3f9a0c52d1e47b86`.

use crate::api::SamplePlace;
use std::fmt;

/// Maximum length of the part for the task.
const MAX_TASK_CHARACTERS: usize = 16;

/// Number of digits of the digest.
const DIGEST_CHARACTERS: usize = 16;

/// The name of a request: at most 64 of the characters `a` to `z`, `A` to `Z`, `0` to `9`, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CustomId {
    /// The task, the row and the repeat.
    sample: String,
    digest: String,
}

impl CustomId {
    /// Creates the name of a request. The digest covers the task, the path and the body.
    pub(super) fn new(place: &SamplePlace, path: &str, body: &[u8]) -> CustomId {
        let mut hasher = blake3::Hasher::new();
        for part in [place.task_id.as_bytes(), path.as_bytes(), body] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let digest = hasher.finalize().to_hex().chars().take(DIGEST_CHARACTERS).collect();
        let is_allowed = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let task = place.task_id.chars().map(|one| if is_allowed(one) { one } else { '-' });
        let task: String = task.take(MAX_TASK_CHARACTERS).collect();
        CustomId { sample: format!("{task}-{}-{}", place.row, place.repeat), digest }
    }

    /// Returns the part of a name that names the sample.
    pub(super) fn sample_of(id: &str) -> &str {
        id.rsplit_once('-').map_or(id, |(sample, _)| sample)
    }

    /// Returns the part that names the sample.
    pub(super) fn sample(&self) -> &str {
        &self.sample
    }
}

impl fmt::Display for CustomId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.sample, self.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(task_id: &str, row: u64, repeat: u64, body: &str) -> String {
        let place = SamplePlace { task_id: task_id.into(), row, repeat };
        CustomId::new(&place, "/v1/chat/completions", body.as_bytes()).to_string()
    }

    #[test]
    fn names_fit_every_provider_and_pin_the_request() {
        let long = id("ä task with a long name", u64::MAX, 999_999_999, "{}");
        assert!(
            long.len() <= 64 && long.starts_with("--task-with-a-lo-18446744073709551615-999999999-"),
            "{long}"
        );
        assert!(long.chars().all(|one| one.is_ascii_alphanumeric() || "-_".contains(one)), "{long}");
        let first = id("t", 1, 0, "{}");
        assert_eq!(first, id("t", 1, 0, "{}"));
        assert_eq!(CustomId::sample_of(&first), "t-1-0");
        for other in [id("t", 1, 0, "{ }"), id("t", 2, 0, "{}"), id("t", 1, 1, "{}"), id("t!", 1, 0, "{}")] {
            assert_ne!(first, other);
        }
    }
}
