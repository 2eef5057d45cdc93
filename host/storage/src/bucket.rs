//! A bucket: its server and credentials, and the few requests that shards need.

use crate::explanation::{Explanation, is_missing_bucket};
use crate::{ObjectUrl, StorageError};
use futures::StreamExt as _;
use gage_core::variable;
use gage_secrets::register_secret;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientConfigKey, Error, ObjectStore, ObjectStoreExt as _, PutMode, PutPayload, RetryConfig,
};
use std::sync::Arc;
use std::time::Duration;

/// Variables for the server and the credentials. A `.env` may set them too.
const VARIABLES: [&str; 19] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL_STS",
    "AWS_ALLOW_HTTP",
    "AWS_VIRTUAL_HOSTED_STYLE_REQUEST",
    "AWS_SERVER_SIDE_ENCRYPTION",
    "AWS_SSE_KMS_KEY_ID",
    "AWS_SSE_CUSTOMER_KEY_BASE64",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
];

/// Variables with secret values.
const SECRET_VARIABLES: [&str; 3] =
    ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SSE_CUSTOMER_KEY_BASE64"];

/// Size of the parts in which a larger file is written, in bytes. Up to four are in memory.
const PART_BYTES: usize = 16 << 20;

/// Time limit of a request, with its body. A part takes this long at half a megabit per second.
const REQUEST_TIMEOUT: &str = "300 s";
/// Time limit of a connection to the server.
const CONNECT_TIMEOUT: &str = "10 s";
/// Number of retries of a request that may succeed later. With the waits between them, the time limit comes first.
const MAX_RETRIES: usize = 120;
/// Time after which a request is not retried, with the time that its attempts take.
const MAX_RETRY_TIME: Duration = Duration::from_secs(120);
/// Minimum and maximum wait before a retry.
const MIN_RETRY_WAIT: Duration = Duration::from_secs(1);
const MAX_RETRY_WAIT: Duration = Duration::from_secs(10);
/// Maximum factor from one wait to the next.
const MAX_RETRY_GROWTH: f64 = 3.0;

/// Maximum size of a manifest, in bytes. Same as that of one on a disk.
const MAX_MANIFEST_BYTES: u64 = 64 << 20;

/// A bucket.
pub(crate) struct Bucket {
    store: Arc<dyn ObjectStore>,
    name: String,
    part_bytes: usize,
}

impl Bucket {
    /// Opens the bucket of an address, without a request. The server and the credentials are those of the environment.
    ///
    /// # Errors
    /// If a variable has an invalid value.
    pub(crate) fn open(url: &ObjectUrl) -> Result<Bucket, StorageError> {
        let variables = VARIABLES.into_iter().filter_map(|name| Some((name, variable(name)?)));
        let store = connect(url, variables, MAX_RETRIES)?;
        Ok(Bucket::new(Arc::new(store), url.bucket(), PART_BYTES))
    }

    pub(crate) fn new(store: Arc<dyn ObjectStore>, name: &str, part_bytes: usize) -> Bucket {
        Bucket { store, name: name.to_owned(), part_bytes }
    }

    pub(crate) fn store(&self) -> &dyn ObjectStore {
        &*self.store
    }

    /// Returns the size from which a file is written in parts.
    pub(crate) fn part_bytes(&self) -> usize {
        self.part_bytes
    }

    /// Returns the address of an object, for messages.
    pub(crate) fn shown(&self, object: &Path) -> String {
        gage_core::shown_name(&format!("s3://{}/{object}", self.name))
    }

    /// Creates the error of a failed request. The action is a verb: `list`, `read` or `write`.
    pub(crate) fn failure(&self, action: &'static str, object: &Path, error: &Error) -> StorageError {
        let Explanation { answer, remedy, is_temporary } = Explanation::new(error);
        StorageError::Request { action, object: self.shown(object), answer, remedy, is_temporary }
    }

    /// Creates the error of an object whose content cannot be used.
    pub(crate) fn unusable(&self, object: &Path, reason: impl Into<String>) -> StorageError {
        StorageError::Object { object: self.shown(object), reason: reason.into() }
    }

    /// Reads a manifest, or returns `None` if there is none.
    pub(crate) async fn read_manifest(&self, object: &Path) -> Result<Option<Vec<u8>>, StorageError> {
        let failed = |error: Error| self.failure("read", object, &error);
        let found = match self.store.get(object).await {
            Err(error @ Error::NotFound { .. }) if !is_missing_bucket(&error) => return Ok(None),
            found => found.map_err(failed)?,
        };
        let mut stream = found.into_stream();
        let mut content = Vec::new();
        while let Some(chunk) = stream.next().await {
            content.extend_from_slice(&chunk.map_err(failed)?);
            if content.len() as u64 > MAX_MANIFEST_BYTES {
                return Err(self.unusable(object, "it is too large for a manifest"));
            }
        }
        Ok(Some(content))
    }

    /// Returns the size of an object, or `None` if it does not exist.
    pub(crate) async fn size(&self, object: &Path) -> Result<Option<u64>, StorageError> {
        match self.store.head(object).await {
            Ok(found) => Ok(Some(found.size)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failure("read", object, &error)),
        }
    }

    /// Creates an object. Returns false if it exists already; it is then unchanged.
    pub(crate) async fn create(&self, object: &Path, content: Vec<u8>) -> Result<bool, StorageError> {
        let content = PutPayload::from(content);
        match self.store.put_opts(object, content, PutMode::Create.into()).await {
            Ok(_) => Ok(true),
            Err(Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(self.failure("write", object, &error)),
        }
    }
}

/// Sets up the client of a bucket, given variables with their values.
fn connect(
    url: &ObjectUrl,
    variables: impl Iterator<Item = (&'static str, String)>,
    max_retries: usize,
) -> Result<AmazonS3, StorageError> {
    // Fails only if a provider is already installed, which works just as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let refuse = |error: Error| StorageError::Configuration { reason: Explanation::new(&error).answer };
    let mut builder = AmazonS3Builder::new()
        .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::Timeout), REQUEST_TIMEOUT)
        .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::ConnectTimeout), CONNECT_TIMEOUT);
    for (name, value) in variables.filter(|(_, value)| !value.trim().is_empty()) {
        if SECRET_VARIABLES.contains(&name) {
            register_secret(&value);
        }
        let key = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>().map_err(refuse)?;
        builder = builder.with_config(key, value.trim());
    }
    let backoff =
        BackoffConfig { init_backoff: MIN_RETRY_WAIT, max_backoff: MAX_RETRY_WAIT, base: MAX_RETRY_GROWTH };
    builder
        .with_bucket_name(url.bucket())
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        .with_retry(RetryConfig { backoff, max_retries, retry_timeout: MAX_RETRY_TIME })
        .build()
        .map_err(refuse)
}

#[cfg(test)]
mod tests;
