//! The sandbox for templates: a component of this program, which no suite can name.

use gage_config::PluginLimits;
use gage_core::{FieldError, Object};
use gage_plugin::{
    InstanceSetup, ItemError, PluginComponent, PreparedCall, Registry, RegistryError, RoleAdapter,
    RoleAdapterKind,
};
use serde_json::Value;
use std::sync::Arc;

/// Name of the component.
const COMPONENT: &str = "template";

/// Memory of an instance. It holds a text several times: as JSON, as a value, and as output.
const MEMORY_BYTES: usize = 128 << 20;

/// Maximum size of a result: a text of 16 MiB as JSON.
const MAX_RESULT_BYTES: usize = 24 << 20;

/// The component that renders templates. Cheap to clone.
#[derive(Clone)]
pub struct TemplateSandbox {
    component: Arc<PluginComponent<RoleAdapterKind>>,
}

/// Error of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CallFailure {
    /// The template is invalid.
    InvalidTemplate(String),
    /// The template cannot be rendered with these values. The pointer may name its place.
    Rejected { message: String, pointer: Option<String> },
    /// The sandbox ended the call, for the reason that follows after the word `it`.
    Stopped(String),
}

impl TemplateSandbox {
    /// Loads the component, once for each registry.
    ///
    /// # Errors
    /// If the program does not have the component, or it cannot be compiled.
    pub fn load(registry: &Registry) -> Result<TemplateSandbox, RegistryError> {
        let limits = PluginLimits {
            memory_bytes: Some(MEMORY_BYTES),
            result_bytes: Some(MAX_RESULT_BYTES),
            ..PluginLimits::default()
        };
        let component = registry.internal(COMPONENT, &InstanceSetup::with_limits(limits))?;
        Ok(TemplateSandbox { component })
    }

    /// Returns a member of the component with its templates.
    pub(crate) fn member(&self, name: &str, params: Value) -> Result<RoleAdapter, CallFailure> {
        self.component.configure(Some(name), params).map_err(|problems| {
            let messages: Vec<String> =
                problems.into_iter().map(|FieldError { message, .. }| message).collect();
            CallFailure::Stopped(format!("cannot be used: {}", messages.join("; ")))
        })
    }
}

/// Calls a member of the component, with one result for each payload, in order. A payload that fails does not affect the
/// others.
pub(crate) fn call(member: &RoleAdapter, payloads: &[String]) -> Vec<Result<Object, CallFailure>> {
    let output = |prepared: Result<PreparedCall, ItemError>| match prepared {
        Ok(PreparedCall::Output(output)) => Ok(output),
        Ok(PreparedCall::Ask(_)) => Err(CallFailure::Stopped("asked for a model".to_owned())),
        Err(error) => Err(failure_of(error)),
    };
    member.prepare(payloads).into_iter().map(output).collect()
}

/// Calls a member of the component once.
pub(crate) fn call_once(member: &RoleAdapter, payload: String) -> Result<Object, CallFailure> {
    let missing = || Err(CallFailure::Stopped("returned no result".to_owned()));
    call(member, &[payload]).into_iter().next().unwrap_or_else(missing)
}

fn failure_of(error: ItemError) -> CallFailure {
    let ItemError { kind, message, pointer, .. } = error;
    match kind {
        "invalid_config" => CallFailure::InvalidTemplate(message),
        "invalid_input" => CallFailure::Rejected { message, pointer },
        // These messages are predicates.
        "budget" => CallFailure::Stopped(message),
        "trap" if message.starts_with("needed ") => CallFailure::Stopped(message),
        "machine" => CallFailure::Stopped(format!("could not run: {message}")),
        _ => CallFailure::Stopped(format!("failed: {message}")),
    }
}
