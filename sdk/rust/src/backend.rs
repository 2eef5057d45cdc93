//! Backends: answer requests in place of a model.

use crate::bindings::backend::exports::gage::plugin::backend::Guest;
pub use crate::bindings::backend::exports::gage::plugin::backend::{
    BackendSpec, GenerateRequest, LoglikelihoodRequest,
};
pub use crate::bindings::types::ContinuationScore;
use crate::component::{Component, Kind, Plugin, each, make};
use crate::member::schema_of;
pub use crate::message::{FinishReason, Generation, Message, Role, Usage};
use crate::{PluginError, PluginInfo};
use serde_json::Value;

/// A backend that answers requests in place of a model.
pub trait Backend {
    /// The only backend of a component needs no name.
    #[doc(hidden)]
    fn name() -> &'static str
    where
        Self: Sized,
    {
        NAME
    }

    /// Returns its features and its configuration.
    fn spec() -> BackendSpec
    where
        Self: Sized;

    /// Creates the backend from its configuration, once per batch.
    ///
    /// # Errors
    /// `invalid-config` if the configuration is unusable; the host checks this before the run.
    fn prepare(config: Value) -> Result<Self, PluginError>
    where
        Self: Sized;

    /// Answers one request.
    ///
    /// # Errors
    /// An error gives this sample the outcome `backend_error`, never an answer.
    fn generate(&self, request: &GenerateRequest) -> Result<Generation, PluginError> {
        Err(PluginError::unsupported(format!("request '{}': this backend does not generate", request.id)))
    }

    /// Scores continuations, with one score per continuation.
    ///
    /// # Errors
    /// Same as for [`Backend::generate`].
    fn loglikelihood(&self, request: &LoglikelihoodRequest) -> Result<Vec<ContinuationScore>, PluginError> {
        Err(PluginError::unsupported(format!("request '{}': this backend has no log-likelihood", request.id)))
    }

    /// Answers a batch, with one result per request, in order. By default, requests are answered one after
    /// another; override this to send them concurrently, as with [`crate::http::send_all`].
    fn generate_all(&self, requests: &[GenerateRequest]) -> Vec<Result<Generation, PluginError>> {
        requests.iter().map(|request| self.generate(request)).collect()
    }
}

impl BackendSpec {
    /// Creates the spec of a backend that generates, takes up to 16 requests at once, and has no
    /// log-likelihoods. Its configuration has the given JSON Schema properties; other keys are rejected.
    pub fn new(version: &str, properties: Value) -> BackendSpec {
        BackendSpec {
            version: version.to_owned(),
            max_batch: 16,
            supports_generate: true,
            supports_loglikelihood: false,
            config_schema: schema_of(properties),
        }
    }
}

/// The only backend of a component needs no name.
const NAME: &str = "";

impl Kind for dyn Backend {
    const NOUN: &'static str = "backend";
    type Spec = BackendSpec;

    fn set_name(_spec: &mut BackendSpec, _name: &str) {}
}

impl<P: Plugin<Kind = dyn Backend>> Guest for Component<P> {
    fn describe() -> PluginInfo {
        P::info()
    }

    fn spec() -> BackendSpec {
        (P::entries().swap_remove(0).spec)()
    }

    fn check(config: String) -> Result<(), PluginError> {
        make::<P>(NAME, &config).map(drop)
    }

    fn generate(config: String, requests: Vec<GenerateRequest>) -> Vec<Result<Generation, PluginError>> {
        match make::<P>(NAME, &config) {
            Ok(backend) => backend.generate_all(&requests),
            Err(error) => requests.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    fn loglikelihood(
        config: String,
        requests: Vec<LoglikelihoodRequest>,
    ) -> Vec<Result<Vec<ContinuationScore>, PluginError>> {
        each::<P, _, _>(NAME, &config, requests, |backend, request| backend.loglikelihood(&request))
    }
}

/// Creates a component of the world `backend-plugin` from a [`Backend`](crate::backend::Backend).
///
/// An optional `extra`, an object, comes before `backend`.
#[macro_export]
macro_rules! backend {
    (name: $name:expr, description: $description:expr, $(extra: $extra:expr,)? backend: $backend:ty $(,)?) => {
        $crate::__component!(backend, $crate::backend::Backend, $crate::backend::Backend, $name, $description, [$($extra)?], [$backend]);
    };
}
