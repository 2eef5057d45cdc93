//! What a model is opened with, and what can be wrong with it.

use gage_core::SamplingParams;
use gage_template::ChatTemplateError;
use llama_cpp_2::context::params::LlamaContextParams;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Context length where neither the configuration nor the model's training asks for less.
const DEFAULT_CONTEXT_LENGTH: u32 = 4096;

/// Most sequences that llama.cpp keeps apart in one context.
const MOST_SLOTS: u32 = 256;

/// Which chat template renders a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatTemplateChoice {
    /// The one that the model file carries; none if it carries none.
    Model,
    /// None: the text of the messages as it is, for base models.
    None,
    /// This one, in Jinja.
    Text(String),
}

/// What a model is opened with.
#[derive(Clone, Debug)]
pub struct LlamaCppOptions {
    /// The GGUF file.
    pub model_path: PathBuf,
    /// Most tokens of one sequence, prompt and answer; default: what the model was trained for,
    /// at most 4096.
    pub context_length: Option<u32>,
    /// How many sequences are decoded together, 1 to 256; default 8. Each has memory of its own
    /// for `context_length` tokens.
    pub slots: u32,
    /// Threads of computation; default: all that the machine has.
    pub threads: Option<u32>,
    /// Most tokens of one call of the model; default 512.
    pub batch_size: u32,
    /// Layers to keep on the GPU, in builds that have one; default 0.
    pub gpu_layers: u32,
    /// How conversations become text.
    pub chat_template: ChatTemplateChoice,
    /// Sampling parameters where a request does not say otherwise.
    pub default_params: SamplingParams,
}

/// Why a model could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LlamaCppOpenError {
    /// The file cannot be read.
    #[error("cannot read the model file {path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: std::io::Error,
    },
    /// The file is something else.
    #[error("the model file {path} is not in the GGUF format: it does not begin with `GGUF`")]
    NotGguf {
        /// The file.
        path: PathBuf,
    },
    /// An option is out of bounds.
    #[error("{0}")]
    Setting(String),
    /// llama.cpp does not start.
    #[error("llama.cpp cannot be initialised: {0}")]
    Runtime(String),
    /// llama.cpp refuses the file.
    #[error("llama.cpp cannot load the model file {path}: {reason}; its log (target `llama-cpp-2`) says why")]
    Load {
        /// The file.
        path: PathBuf,
        /// What llama.cpp says.
        reason: String,
    },
    /// The chat template does not compile.
    #[error("{reason}; it is that of {origin}, give another one, or `none`")]
    ChatTemplate {
        /// Where it is from.
        origin: &'static str,
        /// Why it does not compile.
        reason: ChatTemplateError,
    },
    /// The thread of the model could not be started, or ended.
    #[error("the thread of the model ended: {0}")]
    Thread(String),
}

/// The options with every default filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// Most tokens of one sequence.
    pub context_length: usize,
    /// Sequences that are decoded together.
    pub slots: usize,
    /// Threads of computation.
    pub threads: i32,
    /// Most tokens of one call.
    pub batch_size: usize,
    /// Tokens of a chunk of a prompt, the unit in which prompts are computed and kept.
    pub chunk: usize,
}

impl Settings {
    /// Fills in the defaults, given what the model was trained for.
    pub fn resolve(options: &LlamaCppOptions, training_context: u32) -> Result<Settings, LlamaCppOpenError> {
        let trained = if training_context == 0 { DEFAULT_CONTEXT_LENGTH } else { training_context };
        let context_length = options.context_length.unwrap_or(trained.min(DEFAULT_CONTEXT_LENGTH));
        if !(1..=MOST_SLOTS).contains(&options.slots) {
            let message = format!("slots: {} is not between 1 and {MOST_SLOTS}", options.slots);
            return Err(LlamaCppOpenError::Setting(message));
        }
        if context_length < 2 || options.batch_size == 0 || options.threads == Some(0) {
            let message = "context_length must be at least 2, batch_size and threads at least 1".to_owned();
            return Err(LlamaCppOpenError::Setting(message));
        }
        if context_length > trained {
            tracing::warn!(context_length, trained, "the context is longer than the model was trained for");
        }
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = options.threads.map_or_else(available, to_usize);
        let batch_size = to_usize(options.batch_size);
        // A GPU wants longer calls; a CPU is as fast with short ones, which lose less of a prefix.
        let chunk = if options.gpu_layers > 0 { 256 } else { 64 };
        Ok(Settings {
            context_length: to_usize(context_length),
            slots: to_usize(options.slots),
            threads: i32::try_from(threads).unwrap_or(i32::MAX),
            batch_size,
            chunk: batch_size.min(chunk),
        })
    }

    /// Cells of memory that one sequence needs, in the blocks that llama.cpp allots.
    pub fn cells(&self) -> usize {
        self.context_length.next_multiple_of(256)
    }

    /// Parameters of a context with so many cells in all, whose calls take at most so many
    /// tokens, each of them computed in one piece.
    pub fn context_parameters(&self, cells: usize, most_tokens: usize) -> LlamaContextParams {
        let most_tokens = to_u32(most_tokens);
        LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(to_u32(cells)))
            .with_n_batch(most_tokens)
            .with_n_ubatch(most_tokens)
            .with_n_threads(self.threads)
            .with_n_threads_batch(self.threads)
            .with_swa_full(true)
    }
}

/// A number of a configuration as an index.
pub(super) fn to_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A size as llama.cpp takes it.
pub(super) fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> LlamaCppOptions {
        LlamaCppOptions {
            model_path: PathBuf::from("model.gguf"),
            context_length: None,
            slots: 8,
            threads: Some(2),
            batch_size: 512,
            gpu_layers: 0,
            chat_template: ChatTemplateChoice::None,
            default_params: SamplingParams::default(),
        }
    }

    #[test]
    fn the_context_is_that_of_the_training_but_not_endless() {
        for (asked, trained, expected) in
            [(None, 512, 512), (None, 131_072, 4096), (Some(8192), 4096, 8192), (None, 0, 4096)]
        {
            let options = LlamaCppOptions { context_length: asked, ..options() };
            let settings = Settings::resolve(&options, trained);
            assert_eq!(settings.map(|settings| settings.context_length).ok(), Some(expected));
        }
    }

    #[test]
    fn chunks_fit_into_calls() {
        for (batch_size, gpu_layers, expected) in [(512, 0, 64), (32, 0, 32), (512, 99, 256), (128, 99, 128)]
        {
            let options = LlamaCppOptions { batch_size, gpu_layers, ..options() };
            assert_eq!(Settings::resolve(&options, 4096).map(|settings| settings.chunk).ok(), Some(expected));
        }
    }

    #[test]
    fn what_is_out_of_bounds_is_an_error() {
        for wrong in [
            LlamaCppOptions { slots: 0, ..options() },
            LlamaCppOptions { slots: 257, ..options() },
            LlamaCppOptions { batch_size: 0, ..options() },
            LlamaCppOptions { threads: Some(0), ..options() },
            LlamaCppOptions { context_length: Some(1), ..options() },
        ] {
            assert!(Settings::resolve(&wrong, 4096).is_err(), "{wrong:?}");
        }
    }
}
