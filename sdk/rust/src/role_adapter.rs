//! Role adapters: they stand between a step and the model of its role, and say what is sent and
//! what the reply means.

use crate::bindings::role_adapter::exports::gage::plugin::role_adapter as exports;
use crate::component::{Component, Plugin, each, kind, members, read_json};
pub use crate::message::{Generation, Message, Role};
use crate::{MemberSpec, PluginError};
use exports::Guest;
pub use exports::Request;
use serde_json::Value;

/// What becomes of a payload.
#[derive(Clone, Debug, PartialEq)]
pub enum Preparation {
    /// The host asks the role's model, and hands the reply to [`RoleAdapter::parse`].
    Ask(Request),
    /// The output itself, an object, without a model: a document that was looked up, a tool's
    /// result.
    Output(Value),
}

/// One adapter of a component.
///
/// A payload is an object: `sample`, and what earlier steps gave under their names.
pub trait RoleAdapter {
    /// What it is called in suites: letters, digits, `_`, `-` and `.`.
    fn name() -> &'static str
    where
        Self: Sized;

    /// Returns its version and its parameters.
    fn spec() -> MemberSpec
    where
        Self: Sized;

    /// Makes the adapter from its parameters, once for each batch.
    ///
    /// # Errors
    /// `invalid-config` when the parameters cannot be used; the host asks before the run.
    fn prepare(params: Value) -> Result<Self, PluginError>
    where
        Self: Sized;

    /// What is sent to the model for a payload, or the output without it.
    ///
    /// # Errors
    /// An error is the outcome of this sample alone; a pointer says which field.
    fn request(&self, payload: &Value) -> Result<Preparation, PluginError>;

    /// The output object that later steps and metrics read, from the model's reply.
    ///
    /// # Errors
    /// As for [`RoleAdapter::request`].
    fn parse(&self, payload: &Value, reply: &Generation) -> Result<Value, PluginError>;
}

impl Request {
    /// A conversation that the model is to continue.
    pub fn new(messages: Vec<Message>) -> Request {
        Request { messages, params: "{}".to_owned() }
    }

    /// Sets sampling parameters that win over those of the role; an object.
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
            Ok(match adapter.request(&read_json(&payload, "the payload")?)? {
                Preparation::Ask(request) => exports::Prepared::Ask(request),
                Preparation::Output(output) => exports::Prepared::Output(output.to_string()),
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
            adapter.parse(&payload, &answered.reply).map(|output| output.to_string())
        })
    }
}

/// Makes a component of the world `role-adapter-plugin` from
/// [`RoleAdapter`](crate::role_adapter::RoleAdapter)s.
///
/// `extra`, an object, may stand before `role_adapters`.
#[macro_export]
macro_rules! role_adapters {
    (name: $name:expr, description: $description:expr, $(extra: $extra:expr,)? role_adapters: [$($adapter:ty),+ $(,)?] $(,)?) => {
        $crate::__component!(role_adapter, $crate::role_adapter::RoleAdapter, $crate::role_adapter::RoleAdapter, $name, $description, [$($extra)?], [$($adapter),+]);
    };
}
