//! Doc hooks: add a row's content other than its text to a Sample, like `doc_to_text`, `doc_to_visual` and
//! `doc_to_audio` of a dataset.

use crate::bindings::doc_hook::exports::gage::plugin::doc_hooks::Guest;
pub use crate::bindings::doc_hook::exports::gage::plugin::doc_hooks::{HookKind, HookSpec, MediaSource};
use crate::component::{Component, Plugin, each, kind, members, read_json};
pub use crate::media::MediaKind;
pub use crate::message::{Message, Role};
use crate::{MemberSpec, PluginError};
use serde_json::Value;

/// A doc hook of a component.
pub trait DocHook {
    /// Returns its name in suites: letters, digits, `_`, `-` and `.`.
    fn name() -> &'static str
    where
        Self: Sized;

    /// Returns its kind, its version and its parameters.
    fn spec() -> HookSpec
    where
        Self: Sized;

    /// Creates the hook from its parameters, once per batch.
    ///
    /// # Errors
    /// `invalid-config` if the parameters are unusable; the host checks this before the run.
    fn prepare(params: Value) -> Result<Self, PluginError>
    where
        Self: Sized;

    /// Returns the messages of a Sample; for hooks of the kind `text`.
    ///
    /// # Errors
    /// An error affects only this sample; its pointer may name the field.
    fn to_text(&self, _sample: &Value) -> Result<Vec<Message>, PluginError> {
        Err(PluginError::unsupported("this hook gives no text"))
    }

    /// Returns the media of a Sample; for hooks of the kinds `visual` and `audio`.
    ///
    /// # Errors
    /// Same as for [`DocHook::to_text`].
    fn to_media(&self, _sample: &Value) -> Result<Vec<MediaSource>, PluginError> {
        Err(PluginError::unsupported("this hook gives no media"))
    }
}

impl HookSpec {
    /// Creates the spec of a hook of this kind; otherwise like [`MemberSpec::new`].
    pub fn new(kind: HookKind, member: MemberSpec) -> HookSpec {
        HookSpec { kind, member }
    }
}

impl MediaSource {
    /// Creates media from a path below the dataset's folder, a `data:` URL, or a digest.
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

/// Creates a component of the world `doc-hooks-plugin` from [`DocHook`](crate::doc_hook::DocHook)s.
///
/// An optional `extra`, an object, comes before `doc_hooks`.
#[macro_export]
macro_rules! doc_hooks {
    (name: $name:expr, description: $description:expr, $(extra: $extra:expr,)? doc_hooks: [$($hook:ty),+ $(,)?] $(,)?) => {
        $crate::__component!(doc_hook, $crate::doc_hook::DocHook, $crate::doc_hook::DocHook, $name, $description, [$($extra)?], [$($hook),+]);
    };
}
