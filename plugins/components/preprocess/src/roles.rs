//! `roles_to_remove`, a parameter of every preprocessor: messages with these roles are removed from a row before any
//! other step.

use crate::param_schema::Properties;
use gage_row_kit::fields::{Fields, unusable};
use gage_sdk::preprocessor::{Preprocessor, PreprocessorSpec, Row, RowOutcome};
use gage_sdk::serde_json::{self, Value};
use gage_sdk::{PluginError, json};
use gage_text_kit::Params;

const PARAM: &str = "roles_to_remove";

/// Roles in rows; the Sample knows fewer.
const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

/// Parts that each preprocessor here defines.
pub trait Conversion: Sized {
    /// Name in suites.
    const NAME: &'static str;

    /// Version, increased when Samples may come out different.
    const VERSION: &'static str;

    /// Description in one sentence.
    const DESCRIPTION: &'static str;

    /// Roles whose messages are removed by default.
    const REMOVED_ROLES: &'static [&'static str] = &[];

    /// Returns the JSON Schema of each parameter.
    fn properties() -> Properties;

    /// Creates the conversion from its parameters.
    ///
    /// # Errors
    /// `invalid-config` if they are unusable.
    fn new(params: &Params) -> Result<Self, PluginError>;

    /// Converts a row to its Sample. `removed` are the messages removed from the row, in order.
    ///
    /// # Errors
    /// `invalid-input` with the field at fault.
    fn sample(&self, row: Fields, removed: Vec<Value>) -> Result<Value, PluginError>;

    /// Converts a row to its Sample as JSON text, if there is a faster way and no messages are removed; `None` if there
    /// is none.
    fn sample_text(&self, _row: &str) -> Option<String> {
        None
    }
}

/// The preprocessor of a conversion.
pub struct Standard<C> {
    conversion: C,
    removed_roles: Vec<String>,
}

impl<C: Conversion> Preprocessor for Standard<C> {
    fn name() -> &'static str {
        C::NAME
    }

    fn spec() -> PreprocessorSpec {
        let removed = json!({
            "type": "array", "items": { "enum": ROLES }, "default": C::REMOVED_ROLES,
            "description": "Roles whose messages are removed before the row is converted",
        });
        let properties: Value = C::properties().into_iter().chain([(PARAM, removed)]).collect();
        PreprocessorSpec::new(C::VERSION, C::DESCRIPTION, properties)
    }

    fn prepare(mut params: Value) -> Result<Self, PluginError> {
        let roles = params.as_object_mut().and_then(|params| params.shift_remove(PARAM));
        let removed_roles = match roles.filter(|roles| !roles.is_null()) {
            Some(roles) => read_roles(roles)?,
            None => C::REMOVED_ROLES.iter().map(|role| (*role).to_owned()).collect(),
        };
        let params = Params::new(params)?.known(|| C::properties().into_iter().map(|(name, _)| name))?;
        Ok(Standard { conversion: C::new(&params)?, removed_roles })
    }

    fn convert(&self, row: Row) -> Result<RowOutcome, PluginError> {
        let mut row = row.body;
        let removed = if self.removed_roles.is_empty() { Vec::new() } else { self.remove(&mut row)? };
        self.conversion.sample(row, removed).map(RowOutcome::Sample)
    }

    fn convert_text(&self, row: &str) -> Option<String> {
        if self.removed_roles.is_empty() { self.conversion.sample_text(row) } else { None }
    }
}

impl<C> Standard<C> {
    fn remove(&self, row: &mut Fields) -> Result<Vec<Value>, PluginError> {
        let Some(Value::Array(messages)) = row.get_mut("messages") else { return Ok(Vec::new()) };
        let goes = |message: &mut Value| {
            let role = message.get("role").and_then(Value::as_str);
            role.is_some_and(|role| self.removed_roles.iter().any(|removed| removed == role))
        };
        let removed: Vec<Value> = messages.extract_if(.., goes).collect();
        if messages.is_empty() && !removed.is_empty() {
            let why = format!("has no message that is not of '{}'", self.removed_roles.join("', '"));
            return Err(unusable("messages", &why));
        }
        Ok(removed)
    }
}

/// Reads roles. Only existing ones are accepted: a misspelled role would leave the answer in the prompt.
fn read_roles(roles: Value) -> Result<Vec<String>, PluginError> {
    let refuse = |message: String| PluginError::invalid_config(message).at(format!("/{PARAM}"));
    let roles: Vec<String> = serde_json::from_value(roles)
        .map_err(|error| refuse(format!("params: '{PARAM}' must be a list of roles: {error}")))?;
    match roles.iter().find(|role| !ROLES.contains(&role.as_str())) {
        None => Ok(roles),
        Some(unknown) => {
            Err(refuse(format!("params: '{PARAM}' has the role '{unknown}'; allowed: {}", ROLES.join(", "))))
        }
    }
}
