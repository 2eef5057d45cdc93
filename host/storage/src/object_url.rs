//! Addresses in object storage.

use crate::StorageError;
use gage_core::{check_name, shown_name};
use object_store::path::Path;
use std::fmt;

/// The only scheme.
const SCHEME: &str = "s3://";

/// A folder of objects: `s3://bucket/prefix`. The prefix may be empty, or have several parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectUrl {
    bucket: String,
    prefix: Path,
}

impl ObjectUrl {
    /// Parses an address.
    ///
    /// # Errors
    /// If it has another scheme, no bucket, or a part that is not the name of a folder.
    pub fn parse(url: &str) -> Result<ObjectUrl, StorageError> {
        let refuse =
            |reason: &str| Err(StorageError::Url { url: shown_name(url), reason: reason.to_owned() });
        let Some(rest) = url.strip_prefix(SCHEME) else {
            return refuse(
                "only s3://bucket/prefix is supported; name another server with S3's protocol in AWS_ENDPOINT_URL",
            );
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.contains('@') {
            return Err(StorageError::Url {
                url: format!("{SCHEME}…"),
                reason: "it has credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead"
                    .to_owned(),
            });
        }
        if bucket.is_empty() {
            return refuse("it has no bucket; write s3://bucket/prefix");
        }
        if let Err(problem) = check_name(bucket) {
            return refuse(&format!("the bucket {problem}"));
        }
        if prefix.contains(['?', '#']) {
            return refuse("it has '?' or '#'; write s3://bucket/prefix");
        }
        match Path::parse(prefix) {
            Ok(prefix) => Ok(ObjectUrl { bucket: bucket.to_owned(), prefix }),
            Err(error) => refuse(&shown_name(&error.to_string())),
        }
    }

    /// Returns whether a text is meant as an address, rather than as a path.
    pub fn is_url(text: &str) -> bool {
        text.contains("://")
    }

    /// Returns the last part of the prefix. In the address of a run, it is the run's id.
    pub fn name(&self) -> Option<&str> {
        self.prefix.filename()
    }

    /// Returns the address of a folder in this one.
    #[must_use]
    pub fn join(&self, name: &str) -> ObjectUrl {
        ObjectUrl { bucket: self.bucket.clone(), prefix: self.prefix.clone().join(name) }
    }

    pub(crate) fn bucket(&self) -> &str {
        &self.bucket
    }

    pub(crate) fn prefix(&self) -> &Path {
        &self.prefix
    }
}

impl fmt::Display for ObjectUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{SCHEME}{}", self.bucket)?;
        match self.prefix.is_root() {
            true => Ok(()),
            false => write!(formatter, "/{}", self.prefix),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;

    #[test]
    fn addresses_have_a_bucket_and_a_prefix() {
        for (url, bucket, prefix, shown) in [
            ("s3://runs", "runs", "", "s3://runs"),
            ("s3://runs/", "runs", "", "s3://runs"),
            ("s3://my.runs-1/team/nightly", "my.runs-1", "team/nightly", "s3://my.runs-1/team/nightly"),
            ("s3://runs/a b/", "runs", "a b", "s3://runs/a b"),
        ] {
            let parsed = ObjectUrl::parse(url).unwrap();
            assert_eq!((parsed.bucket(), parsed.prefix().as_ref()), (bucket, prefix), "{url}");
            assert_eq!(parsed.to_string(), shown);
        }
        let run = ObjectUrl::parse("s3://runs/team").unwrap().join("nightly");
        assert_eq!((run.to_string().as_str(), run.name()), ("s3://runs/team/nightly", Some("nightly")));
        assert_eq!(ObjectUrl::parse("s3://runs").unwrap().name(), None);
    }

    #[test]
    fn other_addresses_are_refused() {
        for (url, reason) in [
            ("runs/nightly", "only s3://bucket/prefix"),
            ("gs://runs/nightly", "AWS_ENDPOINT_URL"),
            ("S3://runs", "only s3://bucket/prefix"),
            ("s3://", "it has no bucket"),
            ("s3:///nightly", "it has no bucket"),
            ("s3://bucket name/x", "the bucket 'bucket name' contains the character ' '"),
            ("s3://host:9000/bucket", "contains the character ':'"),
            ("s3://runs/a//b", "empty path segment"),
            ("s3://runs/../b", "illegal"),
            ("s3://runs/x?versionId=1", "'?' or '#'"),
        ] {
            let message = ObjectUrl::parse(url).unwrap_err().recorded("storage");
            assert!(message.contains(reason), "{url}: {message}");
        }
        assert!(ObjectUrl::is_url("gs://runs") && !ObjectUrl::is_url("runs/nightly"));
    }

    #[test]
    fn credentials_in_an_address_are_not_shown() {
        let message = ObjectUrl::parse("s3://AKIA1:hidden-key@runs/x").unwrap_err().to_string();
        assert!(message.contains("it has credentials") && !message.contains("hidden"), "{message}");
    }
}
