//! Backend plugins: components that answer requests in place of a model.

use crate::batch::{ItemError, call_and_split};
use crate::bindings::backend_exports as guest;
use crate::bindings::backend_world::{BackendPlugin, BackendPluginPre};
use crate::bindings::types::{Generation, PluginError};
use crate::checked;
use crate::component::{CallError, Linked, LoadError, PluginIdentity};
use crate::host::PluginHost;
use crate::inspect::World;
use crate::limits::Limits;
use crate::metric::describe_failure;
use crate::sandbox::GuestState;
use crate::schema::ParamsSchema;
use gage_core::{Outcome, Problem};
use serde_json::Value;
use wasmtime::Store;

/// What a backend component says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct BackendDescription {
    /// Largest number of requests in one call.
    pub max_batch: usize,
    /// Whether it answers conversations.
    pub supports_generate: bool,
    /// Whether it scores continuations.
    pub supports_loglikelihood: bool,
}

/// A backend component with its configuration, ready to answer.
pub struct BackendComponent {
    linked: Linked,
    plugin: BackendPluginPre<GuestState>,
    identity: PluginIdentity,
    description: BackendDescription,
    schema: ParamsSchema,
    config: String,
}

impl BackendComponent {
    /// Loads a component and asks it what it offers.
    ///
    /// # Errors
    /// When it is not a backend plugin, does not compile, or declares something invalid.
    pub fn load(
        host: &PluginHost,
        name: &str,
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<BackendComponent, LoadError> {
        let linked = Linked::load(host, name, bytes, World::Backend, limits)?;
        let fail = |message: String| LoadError { name: name.to_owned(), message };
        let plugin =
            BackendPluginPre::new(linked.instance.clone()).map_err(|error| fail(format!("{error:#}")))?;
        let described = linked.call(|store| {
            let instance = plugin.instantiate(&mut *store)?;
            let info = instance.gage_plugin_backend().call_describe(&mut *store)?;
            Ok((info, instance.gage_plugin_backend().call_spec(&mut *store)?))
        });
        let (info, spec) = described.map_err(|error| fail(describe_failure("describing itself", &error)))?;
        let schema = ParamsSchema::compile(&spec.config_schema).map_err(fail)?;
        let identity = linked.identity(info);
        let description = BackendDescription {
            max_batch: usize::try_from(spec.max_batch).unwrap_or(usize::MAX).max(1),
            supports_generate: spec.supports_generate,
            supports_loglikelihood: spec.supports_loglikelihood,
        };
        Ok(BackendComponent { linked, plugin, identity, description, schema, config: "{}".to_owned() })
    }

    /// Sets its configuration.
    ///
    /// # Errors
    /// Everything that is wrong with it; pointers lead into the configuration.
    pub fn configure(self, config: Value) -> Result<BackendComponent, Vec<Problem>> {
        let config = if config.is_null() { Value::Object(gage_core::Object::new()) } else { config };
        let problems = self.schema.problems(&config, &[]);
        if !problems.is_empty() {
            return Err(problems);
        }
        let text = config.to_string();
        let problem = |pointer, message| vec![Problem { pointer, message }];
        match self.call(|plugin, store| plugin.gage_plugin_backend().call_check(store, &text)) {
            Ok(Ok(())) => Ok(BackendComponent { config: text, ..self }),
            Ok(Err(error)) => {
                let error = checked::error(error, &self.linked.limits);
                Err(problem(error.pointer.unwrap_or_default(), error.message))
            }
            Err(error) => Err(problem(String::new(), describe_failure("checking its configuration", &error))),
        }
    }

    /// What a record of a run says about the component.
    pub fn identity(&self) -> &PluginIdentity {
        &self.identity
    }

    /// What it offers.
    pub fn description(&self) -> &BackendDescription {
        &self.description
    }

    /// Answers a batch of conversations: one result for each request, in order.
    pub fn generate(&self, requests: &[guest::GenerateRequest]) -> Vec<Result<Generation, ItemError>> {
        let limits = &self.linked.limits;
        call_and_split(requests, &mut |batch: &[guest::GenerateRequest]| {
            let returned = self.call(|plugin, store| {
                plugin.gage_plugin_backend().call_generate(store, &self.config, batch)
            })?;
            let check = |result: Result<Generation, PluginError>| {
                let generation = result.map_err(|error| checked::error(error, limits))?;
                if generation.answer.len() > limits.result_bytes {
                    return Err(invalid(format!("the answer has {} bytes", generation.answer.len())));
                }
                checked::object(&generation.extra, "`extra` of the answer", limits)?;
                Ok(generation)
            };
            Ok(returned.into_iter().map(check).collect())
        })
    }

    /// Scores the continuations of a batch of conversations: one list for each request.
    pub fn loglikelihood(
        &self,
        requests: &[guest::LoglikelihoodRequest],
    ) -> Vec<Result<Vec<guest::ContinuationScore>, ItemError>> {
        let limits = &self.linked.limits;
        call_and_split(requests, &mut |batch: &[guest::LoglikelihoodRequest]| {
            let returned = self.call(|plugin, store| {
                plugin.gage_plugin_backend().call_loglikelihood(store, &self.config, batch)
            })?;
            let check = |(result, request): (
                Result<Vec<guest::ContinuationScore>, _>,
                &guest::LoglikelihoodRequest,
            )| {
                let scores = result.map_err(|error| checked::error(error, limits))?;
                if scores.len() != request.continuations.len() {
                    let (found, wanted) = (scores.len(), request.continuations.len());
                    return Err(invalid(format!("returned {found} scores for {wanted} continuations")));
                }
                match scores.iter().any(|score| score.logprob.is_nan() || score.logprob > 0.0) {
                    true => Err(invalid("a log-likelihood is above 0 or not a number".to_owned())),
                    false => Ok(scores),
                }
            };
            if returned.len() != batch.len() {
                return Err(CallError::Failed(format!(
                    "returned {} results for {}",
                    returned.len(),
                    batch.len()
                )));
            }
            Ok(returned.into_iter().zip(batch).map(check).collect())
        })
    }

    fn call<R>(
        &self,
        call: impl FnOnce(&BackendPlugin, &mut Store<GuestState>) -> wasmtime::Result<R>,
    ) -> Result<R, CallError> {
        self.linked.call(|store| {
            let instance = self.plugin.instantiate(&mut *store)?;
            call(&instance, store)
        })
    }
}

fn invalid(message: String) -> ItemError {
    ItemError { outcome: Outcome::PluginError, kind: "invalid_result", message, pointer: None }
}
