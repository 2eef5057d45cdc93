//! Doc hooks: they add to a Sample what a row holds beside its text, as `doc_to_text`,
//! `doc_to_visual` and `doc_to_audio` of a dataset do.

use crate::bindings::doc_hook::exports::gage::plugin::doc_hooks::Guest;
pub use crate::bindings::doc_hook::exports::gage::plugin::doc_hooks::{HookKind, HookSpec, MediaSource};
use crate::component::{Component, Plugin, each, kind, members, read_json};
pub use crate::media::MediaKind;
pub use crate::message::{Message, Role};
use crate::{MemberSpec, PluginError};
use serde_json::Value;

/// One hook of a component.
pub trait DocHook {
    /// What it is called in suites: letters, digits, `_`, `-` and `.`.
    fn name() -> &'static str
    where
        Self: Sized;

    /// Returns its kind, its version and its parameters.
    fn spec() -> HookSpec
    where
        Self: Sized;

    /// Makes the hook from its parameters, once for each batch.
    ///
    /// # Errors
    /// `invalid-config` when the parameters cannot be used; the host asks before the run.
    fn prepare(params: Value) -> Result<Self, PluginError>
    where
        Self: Sized;

    /// The messages of a Sample; for hooks of the kind `text`.
    ///
    /// # Errors
    /// An error is the outcome of this sample alone; a pointer says which field.
    fn to_text(&self, _sample: &Value) -> Result<Vec<Message>, PluginError> {
        Err(PluginError::unsupported("this hook gives no text"))
    }

    /// What a Sample shows or plays; for hooks of the kinds `visual` and `audio`.
    ///
    /// # Errors
    /// As for [`DocHook::to_text`].
    fn to_media(&self, _sample: &Value) -> Result<Vec<MediaSource>, PluginError> {
        Err(PluginError::unsupported("this hook gives no media"))
    }
}

impl HookSpec {
    /// A hook of a kind; the rest as for [`MemberSpec::new`].
    pub fn new(kind: HookKind, member: MemberSpec) -> HookSpec {
        HookSpec { kind, member }
    }
}

impl MediaSource {
    /// Media from a path below the dataset's folder, a `data:` URL, or a digest.
    pub fn new(kind: MediaKind, source: impl Into<String>) -> MediaSource {
        MediaSource { kind, source: source.into(), extra: "{}".to_owned() }
    }
}

kind!(DocHook, "hook", HookSpec, member.name);

impl<P: Plugin<Kind = dyn DocHook>> Guest for Component<P> {
    members!(hooks, HookSpec);

    fn to_text(hook: String, params: String, samples: Vec<String>) -> Vec<Result<Vec<Message>, PluginError>> {
        each::<P, _, _>(&hook, &params, samples, |hook, sample| hook.to_text(&read_sample(&sample)?))
    }

    fn to_media(
        hook: String,
        params: String,
        samples: Vec<String>,
    ) -> Vec<Result<Vec<MediaSource>, PluginError>> {
        each::<P, _, _>(&hook, &params, samples, |hook, sample| hook.to_media(&read_sample(&sample)?))
    }
}

fn read_sample(text: &str) -> Result<Value, PluginError> {
    read_json(text, "the sample")
}

/// Makes a component of the world `doc-hooks-plugin` from [`DocHook`](crate::doc_hook::DocHook)s.
///
/// `extra`, an object, may stand before `doc_hooks`.
#[macro_export]
macro_rules! doc_hooks {
    (name: $name:expr, description: $description:expr, $(extra: $extra:expr,)? doc_hooks: [$($hook:ty),+ $(,)?] $(,)?) => {
        $crate::__component!(doc_hook, $crate::doc_hook::DocHook, $crate::doc_hook::DocHook, $name, $description, [$($extra)?], [$($hook),+]);
    };
}
