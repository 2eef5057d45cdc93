//! Jinja templates: the chat templates of models, and the prompts and field expressions of a suite.
//!
//! All are written by others, so none is compiled or evaluated in this process. The component `template` does that
//! in the sandbox of `gage-plugin`, with limits on time, memory, stack and the length of a text. This crate prepares its
//! input, names the template in its errors, and fences text of models. It is independent of models, datasets and runs.

mod chat;
mod field_expressions;
mod injection_fence;
mod known_names;
mod name_uses;
mod prompt;
mod sandbox;
mod taint;
#[cfg(test)]
mod test_sandbox;
mod tokenizer;
mod unknown_name;

pub use chat::{ChatTemplate, ChatTemplateError, ContentForm, Conversation, joined_texts};
pub use field_expressions::{ExpressionError, FieldExpressions};
pub use injection_fence::InjectionFence;
pub use known_names::{KnownFields, KnownNames, ROW_KEY};
pub use prompt::{NameProblem, PromptContext, PromptError, PromptInput, PromptRenderer};
pub use sandbox::TemplateSandbox;
pub use tokenizer::{TokenizerConfig, TokenizerError, TokenizerTemplate};
