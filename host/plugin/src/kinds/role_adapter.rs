//! Role adapters: the request to the model of a role, and interpretation of its reply.

use super::judge::Prompt;
use super::{bindings, plain};
use crate::batch::ItemError;
use crate::bindings::role_adapter_exports::Prepared as GuestPrepared;
use crate::bindings::role_adapter_world::{RoleAdapterPlugin, RoleAdapterPluginPre};
use crate::component_members::{ConfiguredMember, PluginKind};
use crate::validate_output;
use crate::world::World;
use gage_core::Object;

pub use crate::bindings::role_adapter_exports::Answered as AdapterReply;

/// The bindings of role adapters.
pub struct RoleAdapterKind;

/// An adapter with its parameters, ready to be called.
pub type RoleAdapter = ConfiguredMember<RoleAdapterKind>;

impl PluginKind for RoleAdapterKind {
    const WORLD: World = World::RoleAdapter;
    type Detail = ();
    bindings!(RoleAdapterPlugin, RoleAdapterPluginPre, gage_plugin_role_adapter, call_adapters, plain);
}

/// Result of preparing a payload.
#[derive(Clone, Debug)]
pub enum PreparedCall {
    /// The model must be called.
    Ask(Prompt),
    /// The output itself, without a model call.
    Output(Object),
}

impl RoleAdapter {
    /// Prepares a batch of payloads (JSON objects), with one result per payload, in order.
    pub fn prepare(&self, payloads: &[String]) -> Vec<Result<PreparedCall, ItemError>> {
        let limits = self.limits();
        self.batch(
            payloads,
            async |plugin, store, batch| {
                plugin.gage_plugin_role_adapter().call_prepare(store, self.name(), self.params(), batch).await
            },
            |prepared, _| match prepared {
                GuestPrepared::Ask(request) => {
                    let messages = validate_output::messages(request.messages, limits)?;
                    let params = validate_output::object(&request.params, "`params` of a request", limits)?;
                    Ok(PreparedCall::Ask(Prompt { messages, params }))
                }
                GuestPrepared::Output(text) => {
                    validate_output::object(&text, "the output of the adapter", limits)
                        .map(PreparedCall::Output)
                }
            },
        )
    }

    /// Interprets a batch of replies, with one result per reply, in order.
    pub fn parse(&self, replies: &[AdapterReply]) -> Vec<Result<Object, ItemError>> {
        let limits = self.limits();
        self.batch(
            replies,
            async |plugin, store, batch| {
                plugin.gage_plugin_role_adapter().call_parse(store, self.name(), self.params(), batch).await
            },
            |text, _| validate_output::object(&text, "the output of the adapter", limits),
        )
    }
}
