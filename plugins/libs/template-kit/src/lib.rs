//! Jinja templates: chat templates of models, and prompts and expressions of suites.
//!
//! The component `template` runs this library in the sandbox, which bounds time, memory and stack. The library itself
//! bounds only the length of a text. It knows nothing of Samples or models.

mod bounded_writer;
mod chat_template;
mod conversation_message;
mod environment;
mod json;
mod lint;
mod name_uses;
mod null_values;
mod prompt;
mod row_fields;
mod row_filters;
mod see_through;

pub use chat_template::ChatTemplate;
pub use conversation_message::ConversationMessage;
pub use lint::UnknownName;
/// A value as templates see it.
pub use minijinja::Value as TemplateValue;
pub use name_uses::{NameUse, Need};
pub use prompt::{Inspection, PromptTemplates, TemplateFault};
pub use row_fields::{FieldInspection, RowFields};
