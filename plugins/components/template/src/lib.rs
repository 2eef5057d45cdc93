//! Renders templates for the host, and computes fields of rows. Templates and expressions come from a model's author or a
//! suite, so they are evaluated in the sandbox, like a plugin.
//!
//! The host alone calls this component: suites cannot name it, and it is not listed.

mod chat_template;
mod fields;
mod prompt;

pub use chat_template::ChatTemplateAdapter;
pub use fields::FieldsAdapter;
pub use prompt::PromptAdapter;

gage_sdk::role_adapters!(
    name: "template",
    description: "Renders chat templates and prompts for the host",
    role_adapters: [ChatTemplateAdapter, FieldsAdapter, PromptAdapter],
);
