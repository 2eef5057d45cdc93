//! Backends: components that answer requests in place of a model.

use super::bindings;
use crate::batch::ItemError;
use crate::bindings::backend_exports as guest;
use crate::bindings::backend_world::{BackendPlugin, BackendPluginPre};
use crate::bindings::types::{ContinuationScore, Generation, MemberSpec, PluginError, PluginInfo};
use crate::capabilities::Access;
use crate::capabilities::media::MediaSet;
use crate::component_members::{ConfiguredMember, DeclaredMember, PluginComponent, PluginKind};
use crate::member_description::OptionalMetadata;
use crate::sandbox::GuestState;
use crate::validate_output;
use crate::world::World;
use gage_config::Grants;
use std::sync::Arc;
use wasmtime::Store;

/// The bindings of backends.
pub struct BackendKind;

/// A component that is a backend.
pub type BackendPluginComponent = PluginComponent<BackendKind>;

/// A backend with its configuration, ready to answer.
pub type BackendComponent = ConfiguredMember<BackendKind>;

/// Features of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendOffer {
    /// Maximum number of requests per call.
    pub max_batch: usize,
    /// True if it answers conversations.
    pub supports_generate: bool,
    /// True if it scores continuations.
    pub supports_loglikelihood: bool,
}

impl PluginKind for BackendKind {
    const WORLD: World = World::Backend;
    type Detail = BackendOffer;
    bindings!(BackendPlugin, BackendPluginPre);

    async fn describe(
        plugin: &BackendPlugin,
        store: &mut Store<GuestState>,
    ) -> wasmtime::Result<(PluginInfo, Vec<DeclaredMember<BackendKind>>)> {
        let guest = plugin.gage_plugin_backend();
        let info = guest.call_describe(&mut *store).await?;
        let spec = guest.call_spec(store).await?;
        let declared = DeclaredMember {
            spec: MemberSpec {
                name: info.name.clone(),
                description: info.description.clone(),
                version: spec.version,
                params_schema: spec.config_schema,
            },
            inputs: Vec::new(),
            optional: OptionalMetadata::default(),
            detail: BackendOffer {
                max_batch: usize::try_from(spec.max_batch).unwrap_or(usize::MAX).max(1),
                supports_generate: spec.supports_generate,
                supports_loglikelihood: spec.supports_loglikelihood,
            },
        };
        Ok((info, vec![declared]))
    }

    async fn check(
        plugin: &BackendPlugin,
        store: &mut Store<GuestState>,
        _member: &str,
        params: &String,
    ) -> wasmtime::Result<Result<(), PluginError>> {
        plugin.gage_plugin_backend().call_check(store, params).await
    }
}

impl BackendComponent {
    /// Returns the features.
    pub fn offer(&self) -> BackendOffer {
        self.member().detail
    }

    /// Returns the grants.
    pub fn grants(&self) -> &Grants {
        self.component.linked.grants()
    }

    /// Sets the models of the run, as far as they are granted.
    pub fn set_models(&self, models: Arc<dyn crate::Models>) {
        self.component.set_models(models);
    }

    /// Answers a batch of conversations, with one result per request, in order. The component can read
    /// `media` if that is granted.
    pub fn generate(
        &self,
        requests: &[guest::GenerateRequest],
        media: MediaSet,
    ) -> Vec<Result<Generation, ItemError>> {
        let limits = self.limits();
        self.batch_with(
            self.access_with(media),
            requests,
            async |plugin, store, batch| {
                plugin.gage_plugin_backend().call_generate(store, self.params(), batch).await
            },
            |generation: Generation, _| {
                validate_output::text(&generation.answer, "the answer", limits)?;
                validate_output::object(&generation.extra, "`extra` of the answer", limits)?;
                Ok(generation)
            },
        )
        .results
    }

    /// Scores the continuations of a batch of conversations, with one list per request.
    pub fn loglikelihood(
        &self,
        requests: &[guest::LoglikelihoodRequest],
    ) -> Vec<Result<Vec<ContinuationScore>, ItemError>> {
        self.batch(
            requests,
            async |plugin, store, batch| {
                plugin.gage_plugin_backend().call_loglikelihood(store, self.params(), batch).await
            },
            |scores, request: &guest::LoglikelihoodRequest| {
                validate_output::continuation_scores(scores, request.continuations.len())
            },
        )
    }

    fn access_with(&self, media: MediaSet) -> Access {
        let linked = &self.component.linked;
        let media = linked.grants().media.then(|| Arc::new(media));
        Access { media, ..linked.access() }
    }
}
