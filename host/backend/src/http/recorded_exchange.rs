//! The exchanges of a client as a recording holds them.

use super::attempt::{HttpCall, ParsedReply};
use super::client::HttpClient;
use super::recording::{self, Exchange};
use crate::api::{BackendError, BackendErrorKind};
use base64::Engine as _;
use gage_secrets::redact;

impl HttpClient {
    /// Returns the digest of a request in a recording: of the backend, the body and the path, without the server's
    /// address or secrets. A replay without the secrets has the mark of a secret in their place. The body is that of the suite,
    /// even if the default temperature is left out.
    pub(super) fn digest_of(&self, call: &HttpCall<'_>) -> String {
        let path = redact(call.url.path());
        let body =
            recording::public_body(&call.body, &self.config.extra_body, &self.config.public_extra_body);
        let mut hasher = blake3::Hasher::new();
        for part in [self.backend_id.as_bytes(), path.as_bytes(), &body] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Records an exchange, if the run records. An answer that is not in the recording must not enter the journal.
    pub(super) async fn record(
        &self,
        call: &HttpCall<'_>,
        digest: Option<String>,
        recorded: ParsedReply,
    ) -> Result<(), BackendError> {
        let (Some(recording), Some(digest)) = (&self.recording, digest) else { return Ok(()) };
        let (body, is_base64) = match String::from_utf8(recorded.body.into()) {
            Ok(text) => (recording::without_secrets_of(text, &recorded.content_type), false),
            Err(error) => {
                // Keys are ASCII, so they are found even if bytes are treated as characters.
                let text: String = error.as_bytes().iter().map(|byte| char::from(*byte)).collect();
                let text = redact(&text);
                let bytes: Vec<u8> =
                    text.chars().filter_map(|one| u8::try_from(u32::from(one)).ok()).collect();
                (base64::engine::general_purpose::STANDARD.encode(bytes), true)
            }
        };
        let exchange = Exchange {
            digest,
            backend_id: self.backend_id.clone(),
            path: redact(call.url.path()).into_owned(),
            status: recorded.status,
            content_type: recorded.content_type,
            body,
            is_base64,
        };
        match recording.note(exchange).await {
            true => Ok(()),
            false => {
                let message = format!("{}: the answer could not be written to the recording", call.url);
                Err(BackendError::new(BackendErrorKind::RecordingFailed, message))
            }
        }
    }
}
