//! Renders templates for the host. A template comes from a model's author or a suite, so it is rendered in the sandbox,
//! like a plugin.
//!
//! The host alone calls this component: suites cannot name it, and it is not listed.

mod chat_template;
mod prompt;

pub use chat_template::ChatTemplateAdapter;
pub use prompt::PromptAdapter;

gage_sdk::role_adapters!(
    name: "template",
    description: "Renders chat templates and prompts for the host",
    role_adapters: [ChatTemplateAdapter, PromptAdapter],
);
