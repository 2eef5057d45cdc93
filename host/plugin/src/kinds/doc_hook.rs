//! Doc hooks: text and media added to a Sample beyond its row.

use super::bindings;
use crate::batch::ItemError;
use crate::bindings::doc_hooks_exports::{HookKind, HookSpec};
use crate::bindings::doc_hooks_world::{DocHooksPlugin, DocHooksPluginPre};
use crate::bindings::types::Message;
use crate::component_members::{ConfiguredMember, DeclaredMember, PluginKind};
use crate::member_description::OptionalMetadata;
use crate::validate_output;
use crate::world::World;
use gage_core::Object;

pub use crate::bindings::types::MediaKind;

/// The bindings of doc hooks.
pub struct DocHookKind;

/// A hook with its parameters, ready to be called.
pub type DocHook = ConfiguredMember<DocHookKind>;

impl PluginKind for DocHookKind {
    const WORLD: World = World::DocHook;
    type Detail = HookKind;
    bindings!(DocHooksPlugin, DocHooksPluginPre, gage_plugin_doc_hooks, call_hooks, declared);
}

fn declared(hook: HookSpec) -> DeclaredMember<DocHookKind> {
    DeclaredMember {
        spec: hook.member,
        inputs: Vec::new(),
        optional: OptionalMetadata { hook: Some(name_of(hook.kind)), ..OptionalMetadata::default() },
        detail: hook.kind,
    }
}

fn name_of(kind: HookKind) -> &'static str {
    match kind {
        HookKind::Text => "text",
        HookKind::Visual => "visual",
        HookKind::Audio => "audio",
    }
}

/// Location of media for the host.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaSource {
    /// Kind of the media.
    pub kind: MediaKind,
    /// A path below the dataset's folder, a `data:` URL, or a digest.
    pub source: String,
    /// Additional keys for the Sample's segment.
    pub extra: Object,
}

/// Output of a hook for one Sample.
#[derive(Clone, Debug)]
pub enum DocHookOutput {
    /// Output of a hook of the kind `text`.
    Text(Vec<Message>),
    /// Output of a hook of the kind `visual` or `audio`.
    Media(Vec<MediaSource>),
}

impl DocHook {
    /// Calls the hook with a batch of Samples as JSON, with one result per Sample, in order.
    pub fn apply(&self, samples: &[String]) -> Vec<Result<DocHookOutput, ItemError>> {
        let limits = self.limits();
        if self.member().detail == HookKind::Text {
            return self.batch(
                samples,
                async |plugin, store, batch| {
                    plugin
                        .gage_plugin_doc_hooks()
                        .call_to_text(store, self.name(), self.params(), batch)
                        .await
                },
                |messages, _| validate_output::messages(messages, limits).map(DocHookOutput::Text),
            );
        }
        self.batch(
            samples,
            async |plugin, store, batch| {
                plugin.gage_plugin_doc_hooks().call_to_media(store, self.name(), self.params(), batch).await
            },
            |sources, _| {
                validate_output::count(sources.len(), "media sources", limits)?;
                let read = sources.into_iter().map(|media| {
                    validate_output::text(&media.source, "the source of media", limits)?;
                    let extra = validate_output::object(&media.extra, "`extra` of media", limits)?;
                    Ok(MediaSource { kind: media.kind, source: media.source, extra })
                });
                read.collect::<Result<_, ItemError>>().map(DocHookOutput::Media)
            },
        )
    }
}
