//! `llama_cpp`: a model file that llama.cpp runs in this process.

use super::small;
use crate::elements::sampling;
use crate::problems::Problems;
use crate::source::Span;
use crate::table::Table;
use gage_core::SamplingParams;
use std::path::PathBuf;

/// Which chat template renders a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatTemplate {
    /// The one that the model file carries.
    Model,
    /// None: the text of the messages as it is, for base models.
    None,
    /// This one, in Jinja.
    Text(String),
}

/// A model file that llama.cpp runs in this process.
#[derive(Clone, Debug)]
pub struct LlamaCppConfig {
    /// The GGUF file; required.
    pub model_path: PathBuf,
    /// Where the path is written.
    pub model_path_span: Span,
    /// Most tokens of one sequence; default: what the model was trained for, at most 4096.
    pub context_length: Option<u32>,
    /// How many sequences are decoded together; default 8.
    pub slots: u32,
    /// Default: all that the machine has.
    pub threads: Option<u32>,
    /// Most tokens of one step; default 512.
    pub batch_size: u32,
    /// Layers to keep on the GPU, in builds that have one; default 0.
    pub gpu_layers: u32,
    /// Default: the model's own.
    pub chat_template: ChatTemplate,
    /// Sampling parameters where no higher place says otherwise.
    pub default_params: SamplingParams,
}

pub(super) fn read(table: &mut Table<'_>, problems: &mut Problems) -> Option<LlamaCppConfig> {
    let model_path = table.required_text("model_path", problems);
    let model_path_span = table.get("model_path").map_or(table.span, |node| node.span);
    let chat_template = match table.text("chat_template", problems).as_deref() {
        None | Some("model") => ChatTemplate::Model,
        Some("none") => ChatTemplate::None,
        Some(text) => {
            if !text.contains("{{") && !text.contains("{%") {
                let span = table.get("chat_template").map_or(table.span, |node| node.span);
                problems
                    .error(span, &table.path_of("chat_template"), format!("`{text}` is not a chat template"))
                    .help("use `model`, `none`, or the text of a Jinja template");
            }
            ChatTemplate::Text(text.to_owned())
        }
    };
    let optional = |table: &mut Table<'_>, key, most, problems: &mut Problems| {
        table.integer(key, 1..=most, problems).and_then(|number| u32::try_from(number).ok())
    };
    let config = LlamaCppConfig {
        model_path_span,
        context_length: optional(table, "context_length", 1 << 24, problems),
        slots: small(table, "slots", 1..=64, 8, problems),
        threads: optional(table, "threads", 1024, problems),
        batch_size: small(table, "batch_size", 32..=8192, 512, problems),
        gpu_layers: small(table, "gpu_layers", 0..=10_000, 0, problems),
        chat_template,
        default_params: sampling::read(table, "default_params", problems),
        model_path: PathBuf::from(model_path.as_deref().unwrap_or_default()),
    };
    model_path.map(|_| config)
}
