//! Role adapters: mediate between a step and the model of its role. They prepare the request and interpret
//! the reply.

use crate::bindings::role_adapter::exports::gage::plugin::role_adapter as exports;
use crate::component::{Component, Plugin, each, json_text, kind, members, read_json};
pub use crate::message::{Generation, Message, Role};
use crate::{MemberSpec, PluginError};
use exports::Guest;
pub use exports::Request;
use serde_json::Value;

/// Result of preparing a payload.
#[derive(Clone, Debug, PartialEq)]
pub enum Preparation {
    /// The host calls the role's model and passes the reply to [`RoleAdapter::parse`].
    Ask(Request),
    /// The output itself, an object, without a model call: a retrieved document, or a tool's result.
    Output(Value),
}

/// An adapter of a component.
///
/// A payload is an object: `sample`, and results of earlier steps under their names.
pub trait RoleAdapter {
    /// Returns its name in suites: letters, digits, `_`, `-` and `.`.
    fn name() -> &'static str
    where
        Self: Sized;

    /// Returns its version and its parameters.
    fn spec() -> MemberSpec
    where
        Self: Sized;

    /// Creates the adapter from its parameters, once per batch.
    ///
    /// # Errors
    /// `invalid-config` if the parameters are unusable; the host checks this before the run.
    fn prepare(params: Value) -> Result<Self, PluginError>
    where
        Self: Sized;

    /// Returns the model request for a payload, or the output itself.
    ///
    /// # Errors
    /// An error affects only this sample; its pointer may name the field.
    fn request(&self, payload: &Value) -> Result<Preparation, PluginError>;

    /// Like [`RoleAdapter::request`], but from the JSON text of the payload. An adapter that needs no [`Value`] of the
    /// whole payload can read the text itself, which is faster.
    ///
    /// # Errors
    /// Same as for [`RoleAdapter::request`].
    fn request_text(&self, payload: &str) -> Result<Preparation, PluginError> {
        self.request(&read_json(payload, "the payload")?)
    }

    /// Interprets the model's reply. Returns the output object for later steps and metrics.
    ///
    /// # Errors
    /// Same as for [`RoleAdapter::request`].
    fn parse(&self, payload: &Value, reply: &Generation) -> Result<Value, PluginError>;
}

impl Request {
    /// Creates a request for the model to continue a conversation.
    pub fn new(messages: Vec<Message>) -> Request {
        Request { messages, params: "{}".to_owned() }
    }

    /// Sets sampling parameters, an object, that override those of the role.
    #[must_use]
    pub fn params(mut self, params: &Value) -> Request {
        self.params = params.to_string();
        self
    }
}

kind!(RoleAdapter, "adapter", MemberSpec, name);

impl<P: Plugin<Kind = dyn RoleAdapter>> Guest for Component<P> {
    members!(adapters, MemberSpec);

    fn prepare(
        adapter: String,
        params: String,
        payloads: Vec<String>,
    ) -> Vec<Result<exports::Prepared, PluginError>> {
        each::<P, _, _>(&adapter, &params, payloads, |adapter, payload| {
            Ok(match adapter.request_text(&payload)? {
                Preparation::Ask(request) => exports::Prepared::Ask(request),
                Preparation::Output(output) => exports::Prepared::Output(json_text(&output)),
            })
        })
    }

    fn parse(
        adapter: String,
        params: String,
        replies: Vec<exports::Answered>,
    ) -> Vec<Result<String, PluginError>> {
        each::<P, _, _>(&adapter, &params, replies, |adapter, answered| {
            let payload = read_json(&answered.payload, "the payload")?;
            adapter.parse(&payload, &answered.reply).map(|output| json_text(&output))
        })
    }
}

/// Creates a component of the world `role-adapter-plugin` from
/// [`RoleAdapter`](crate::role_adapter::RoleAdapter)s.
///
/// An optional `extra`, an object, comes before `role_adapters`.
#[macro_export]
macro_rules! role_adapters {
    (name: $name:expr, description: $description:expr, $(extra: $extra:expr,)? role_adapters: [$($adapter:ty),+ $(,)?] $(,)?) => {
        $crate::__component!(role_adapter, $crate::role_adapter::RoleAdapter, $crate::role_adapter::RoleAdapter, $name, $description, [$($extra)?], [$($adapter),+]);
    };
}
