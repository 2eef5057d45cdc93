//! The backend world.

use crate::PluginError;
pub use crate::bindings::backend_world::exports::gage::plugin::backend::{
    BackendSpec, ContinuationScore, GenerateRequest, LoglikelihoodRequest,
};
pub use crate::bindings::types::{FinishReason, Generation, Message, Role, Usage};

/// Something that answers requests in place of a model.
pub trait Backend: Sized {
    /// What it offers, and its configuration.
    fn spec() -> BackendSpec;

    /// Makes the backend from its configuration, once for each batch.
    ///
    /// # Errors
    /// `invalid-config` when the configuration cannot be used; the host asks before the run.
    fn prepare(config: serde_json::Value) -> Result<Self, PluginError>;

    /// Answers one request.
    ///
    /// # Errors
    /// An error is the outcome `backend_error` for this sample, never an answer.
    fn generate(&self, request: &GenerateRequest) -> Result<Generation, PluginError> {
        Err(PluginError::unsupported(format!("request '{}': this backend does not generate", request.id)))
    }

    /// Scores continuations; one score for each.
    ///
    /// # Errors
    /// As for [`Backend::generate`].
    fn loglikelihood(&self, request: &LoglikelihoodRequest) -> Result<Vec<ContinuationScore>, PluginError> {
        Err(PluginError::unsupported(format!("request '{}': this backend has no log-likelihood", request.id)))
    }
}

/// Makes a backend from the JSON text of its configuration; what the macro calls.
#[doc(hidden)]
pub fn prepare<B: Backend>(config: &str) -> Result<B, PluginError> {
    let config = serde_json::from_str(config)
        .map_err(|error| PluginError::invalid_config(format!("config is not JSON: {error}")))?;
    B::prepare(config)
}

/// Answers a batch; what the macro calls.
#[doc(hidden)]
pub fn answer_batch<B: Backend, Request, Answer>(
    config: &str,
    requests: &[Request],
    answer: impl Fn(&B, &Request) -> Result<Answer, PluginError>,
) -> Vec<Result<Answer, PluginError>> {
    match prepare::<B>(config) {
        Ok(backend) => requests.iter().map(|request| answer(&backend, request)).collect(),
        Err(error) => requests.iter().map(|_| Err(error.clone())).collect(),
    }
}

/// Makes a component of the world `backend-plugin` from a [`Backend`].
#[macro_export]
macro_rules! backend {
    (name: $name:expr, description: $description:expr, backend: $backend:ty $(,)?) => {
        struct GageComponent;

        impl $crate::bindings::backend_world::exports::gage::plugin::backend::Guest for GageComponent {
            fn describe() -> $crate::PluginInfo {
                $crate::PluginInfo {
                    name: $name.to_owned(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                    description: $description.to_owned(),
                }
            }

            fn spec() -> $crate::backend::BackendSpec {
                <$backend as $crate::backend::Backend>::spec()
            }

            fn check(config: String) -> Result<(), $crate::PluginError> {
                $crate::backend::prepare::<$backend>(&config).map(|_| ())
            }

            fn generate(
                config: String,
                requests: Vec<$crate::backend::GenerateRequest>,
            ) -> Vec<Result<$crate::backend::Generation, $crate::PluginError>> {
                $crate::backend::answer_batch(&config, &requests, <$backend as $crate::backend::Backend>::generate)
            }

            fn loglikelihood(
                config: String,
                requests: Vec<$crate::backend::LoglikelihoodRequest>,
            ) -> Vec<Result<Vec<$crate::backend::ContinuationScore>, $crate::PluginError>> {
                $crate::backend::answer_batch(&config, &requests, <$backend as $crate::backend::Backend>::loglikelihood)
            }
        }

        $crate::bindings::backend_world::export!(GageComponent with_types_in $crate::bindings::backend_world);
    };
}
