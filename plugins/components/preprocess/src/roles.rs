//! `roles_to_remove`, a parameter of every preprocessor: messages of these roles leave a row before
//! anything else happens to it.

use crate::param_schema::Properties;
use gage_row_kit::fields::{Fields, unusable};
use gage_sdk::preprocessor::{Preprocessor, PreprocessorSpec, Row, RowOutcome};
use gage_sdk::serde_json::{self, Value};
use gage_sdk::{PluginError, json};
use gage_text_kit::Params;

const PARAM: &str = "roles_to_remove";

/// The roles that rows have; the Sample knows fewer.
const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

/// What a preprocessor here has of its own.
pub trait Conversion: Sized {
    /// The name in suites.
    const NAME: &'static str;

    /// Raised whenever a Sample could come out different.
    const VERSION: &'static str;

    /// One sentence.
    const DESCRIPTION: &'static str;

    /// The roles whose messages are removed where the suite says nothing.
    const REMOVED_ROLES: &'static [&'static str] = &[];

    /// The JSON Schema of each parameter.
    fn properties() -> Properties;

    /// Makes it from its parameters.
    ///
    /// # Errors
    /// `invalid-config` when they cannot be used.
    fn new(params: &Params) -> Result<Self, PluginError>;

    /// The Sample of a row. `removed` are the messages that left the row, in order.
    ///
    /// # Errors
    /// `invalid-input` with the field that is to blame.
    fn sample(&self, row: Fields, removed: Vec<Value>) -> Result<Value, PluginError>;

    /// The same as JSON text, where there is a faster way to it and no messages are removed; `None` where
    /// there is none.
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
            "description": "Roles whose messages are taken out of a row before it is converted",
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

/// A misspelt role would leave the answer in the prompt, so only those that exist are taken.
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
