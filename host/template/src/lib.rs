//! Jinja as the field writes it: the chat templates that models carry, and the prompts of a suite.
//!
//! Both are untrusted text: each rendering has a budget of steps, of nesting and of bytes. Imports
//! `gage-core` and `gage-config`; knows nothing of models, datasets or runs.

mod chat;
mod injection_fence;
mod prompt;
mod taint;
mod template_lint;
mod tokenizer;

pub use chat::{ChatTemplate, ChatTemplateError};
pub use injection_fence::InjectionFence;
pub use prompt::{PromptContext, PromptError, PromptRenderer};
pub use tokenizer::{TokenizerError, TokenizerTemplate};
