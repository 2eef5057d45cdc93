//! Jinja templates: the chat templates of models, and the prompts of a suite.
//!
//! Both are untrusted: each rendering has a limit on steps, nesting depth and bytes. Imports `gage-core` and
//! `gage-config`; independent of models, datasets and runs.

mod chat;
mod injection_fence;
mod known_names;
mod name_uses;
mod null_values;
mod prompt;
mod taint;
mod template_lint;
mod tokenizer;

pub use chat::{ChatTemplate, ChatTemplateError};
pub use injection_fence::InjectionFence;
pub use known_names::{KnownFields, KnownNames, ROW_KEY};
pub use prompt::{NameProblem, PromptContext, PromptError, PromptRenderer};
pub use tokenizer::{TokenizerError, TokenizerTemplate};
