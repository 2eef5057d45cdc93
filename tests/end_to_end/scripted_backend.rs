//! A backend that answers from its configuration.

use crate::support::Workspace;
use serde_json::{Value, json};

/// Writes the component to a workspace. Returns the backend of a suite, with `answers` by question and a `default` answer in its
/// configuration.
pub(crate) fn scripted_backend(workspace: &Workspace, config: &Value) -> String {
    workspace.write("scripted.wasm", gage_test_guests::SCRIPTED_BACKEND);
    format!("type: custom_script\n    config: {{component: ./scripted.wasm, config: {config}}}")
}

/// Returns a [`scripted_backend`] that gives the same answer to every question.
pub(crate) fn constant_backend(workspace: &Workspace, answer: &str) -> String {
    scripted_backend(workspace, &json!({"default": answer}))
}
