//! Loads a model and creates its context, reduced if memory is short.

use crate::build::{build_info, kernels};
use crate::captured_log::captured;
use crate::context_parameters::context_parameters;
use crate::gpus::{gpus, gpus_of, layers_for};
use crate::load_error::LoadError;
use crate::model::{LoadProgress, facts_of, keeps_prefixes, load};
use crate::runtime::{new_context, runtime};
use crate::sampling::grammar;
use crate::scheduler::sequence_count;
use crate::vision::{Vision, projector_of};
use gage_model_protocol::gguf::Gguf;
use gage_model_protocol::memory_estimate::{MemoryNeeds, available, cache_bits};
use gage_model_protocol::{GrammarSource, LoadedModel, ModelOptions, Settings, to_u32};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::json_schema_to_grammar;
use llama_cpp_2::model::{LlamaLoraAdapter, LlamaModel};

/// Fractions to request, in tenths, while memory is short.
const LADDER: [u32; 4] = [10, 9, 7, 5];

/// An adapter on top of a model, and its scale.
pub type Adapter<'m> = (&'m mut LlamaLoraAdapter, f32);

/// A model in memory, with an open context.
pub struct OpenContext<'m> {
    /// The model.
    pub model: &'m LlamaModel,
    /// Context with the adapter applied.
    pub context: LlamaContext<'m>,
    /// Projector, which turns images into tokens.
    pub vision: Option<Vision<'m>>,
    /// Adapter, for further contexts.
    pub adapter: Option<Adapter<'m>>,
    /// Facts about the loaded model.
    pub loaded: LoadedModel,
}

/// Applies an adapter to a context.
///
/// # Errors
/// If llama.cpp refuses it.
pub fn set_adapter(context: &mut LlamaContext<'_>, (adapter, scale): Adapter<'_>) -> Result<(), String> {
    let (set, log) = captured(|| context.lora_adapter_set(adapter, scale));
    set.map_err(|error| {
        format!(
            "`lora`: llama.cpp refuses to use the adapter with the scale {scale}: {}",
            reason_of(log, &error)
        )
    })
}

/// A model in memory.
pub struct OpenModel {
    /// The model.
    pub model: LlamaModel,
    /// Adapter on top of the model, and its scale.
    adapter: Option<(LlamaLoraAdapter, f32)>,
    /// Grammar that answers will be constrained to.
    grammar: Option<String>,
}

/// Loads the file, with fewer layers on the GPU if not all requested ones fit. `on_progress` is called during the load.
///
/// # Errors
/// If the file is not a model, or does not fit.
pub fn load_model(options: &mut ModelOptions, on_progress: &LoadProgress) -> Result<OpenModel, LoadError> {
    let grammar = options.grammar.as_ref().map(grammar_of).transpose()?;
    let gguf = Gguf::read(&options.model_path)?;
    if let Some(message) = gguf.no_model(&options.model_path) {
        return Err(LoadError::Setting(message));
    }
    // llama.cpp detects its devices when it starts.
    runtime()?;
    let gpus = gpus_of(options, gpus())?;
    // The settings of the loaded model show the result.
    let asked = layers_for(options, &gpus, layers_of(&gguf));
    let mut failed = None;
    for tenths in LADDER {
        let layers = asked * tenths / 10;
        match load(options, &gpus, layers, on_progress) {
            Ok(mut model) => {
                options.gpu_layers = Some(layers);
                let adapter = add_adapter(&mut model, options)?;
                return Ok(OpenModel { model, adapter, grammar });
            }
            Err(error @ LoadError::Load { .. }) if asked > 0 => {
                tracing::warn!(gpu_layers = layers, %error, "the model could not be loaded; trying fewer layers");
                failed = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    Err(failed.unwrap_or_else(|| LoadError::Setting("no number of layers was tried".to_owned())))
}

/// Returns the number of layers of a model, including its output layer.
fn layers_of(gguf: &Gguf) -> u32 {
    let blocks = gguf.of_architecture("block_count").and_then(|blocks| u32::try_from(blocks).ok());
    // Without a number, as many as no model has.
    blocks.unwrap_or(10_000).saturating_add(1)
}

/// Returns the grammar as GBNF.
fn grammar_of(source: &GrammarSource) -> Result<String, LoadError> {
    match source {
        GrammarSource::Gbnf(text) => Ok(text.clone()),
        GrammarSource::JsonSchema(schema) => json_schema_to_grammar(schema).map_err(|error| {
            LoadError::Setting(format!(
                "`json_schema` cannot be turned into a grammar: {error}; llama.cpp knows types, properties, enum, \
                 const, items, anyOf, oneOf, allOf, pattern and $ref within the schema"
            ))
        }),
    }
}

fn add_adapter(
    model: &mut LlamaModel,
    options: &ModelOptions,
) -> Result<Option<(LlamaLoraAdapter, f32)>, LoadError> {
    let Some((path, scale)) = &options.lora else { return Ok(None) };
    let gguf = Gguf::read(path)?;
    if gguf.text("general.type") != Some("adapter") {
        let message = format!("{} is not an adapter: its `general.type` is not `adapter`", path.display());
        return Err(LoadError::Setting(message));
    }
    let (loaded, log) = captured(|| model.lora_adapter_init(path));
    let adapter = loaded.map_err(|error| LoadError::Load {
        path: path.clone(),
        reason: format!(
            "{}; an adapter (`lora`) must be made for this model ({}), and be a GGUF file as convert_lora_to_gguf.py \
             of llama.cpp writes it",
            reason_of(log, &error),
            options.model_path.display()
        ),
    })?;
    Ok(Some((adapter, *scale)))
}

/// Returns why llama.cpp refused something: the first log line that gives a reason, or else the error of the call.
fn reason_of(log: Vec<String>, error: &dyn std::fmt::Display) -> String {
    let is_reason =
        |line: &String| ["error", "failed", "unknown", "mismatch"].iter().any(|word| line.contains(word));
    log.into_iter().find(is_reason).unwrap_or_else(|| error.to_string())
}

impl OpenModel {
    /// Creates the context, with fewer slots and then a shorter context if memory is short.
    ///
    /// A context length set in the configuration is not reduced: that would change what is measured.
    ///
    /// # Errors
    /// If an option is out of range, or the model does not fit.
    pub fn context(&mut self, options: &mut ModelOptions) -> Result<OpenContext<'_>, LoadError> {
        let OpenModel { model, adapter, grammar: grammar_text } = self;
        let model: &LlamaModel = model;
        if let Some(text) = grammar_text.as_deref() {
            grammar(model, text).map_err(LoadError::Setting)?;
        }
        let facts = facts_of(model);
        let vocabulary = usize::try_from(facts.vocabulary_size).unwrap_or(0);
        let gguf = Gguf::read(&options.model_path)?;
        let asked =
            Settings::resolve(options, facts.training_context, vocabulary).map_err(LoadError::Setting)?;
        let mut vision = Vision::open(model, options, asked.threads)?;
        let image_tokens = vision.as_ref().map_or(0, Vision::needed_call);
        let mut last = String::new();
        for (slots, context_length) in rungs(&asked, options.context_length.is_none()) {
            options.slots = slots;
            options.context_length = Some(context_length);
            let resolved =
                Settings::resolve(options, facts.training_context, vocabulary).map_err(LoadError::Setting)?;
            let settings = Settings { image_tokens, ..resolved };
            let sequences = sequence_count(&settings, keeps_prefixes(model));
            let parameters = context_parameters(&settings, options, sequences);
            let made = has_room(&gguf, options, &settings)
                .and_then(|()| new_context(model, parameters).map_err(|error| error.message));
            let mut context = match made {
                Ok(context) => context,
                Err(reason) => {
                    tracing::warn!(
                        "the model does not fit with {slots} slots and a context of {context_length}: \
                         {reason}; trying less"
                    );
                    last = reason;
                    continue;
                }
            };
            if let Some((adapter, scale)) = adapter.as_mut() {
                set_adapter(&mut context, (adapter, *scale)).map_err(LoadError::Setting)?;
            }
            if let Some(vision) = &mut vision {
                vision.set_call(settings.largest_call());
            }
            let projector = options.mmproj.as_deref().map(projector_of).transpose()?;
            let loaded = LoadedModel {
                facts,
                settings,
                kernels: kernels(),
                projector,
                grammar: grammar_text.clone(),
                build: build_info(),
            };
            let adapter = adapter.as_mut().map(|(adapter, scale)| (adapter, *scale));
            return Ok(OpenContext { model, context, vision, adapter, loaded });
        }
        Err(LoadError::Memory(format!(
            "the model file {} does not fit into memory, even with {} slots and a context of {}: {last}; use a \
             smaller model or quantisation, or lower `context_length` and `slots`",
            options.model_path.display(),
            options.slots,
            options.context_length.unwrap_or(0),
        )))
    }
}

/// Checks whether memory suffices for a context, as far as this can be known in advance.
///
/// Running out of memory would end the process, not only the call.
fn has_room(gguf: &Gguf, options: &ModelOptions, settings: &Settings) -> Result<(), String> {
    let bits = (cache_bits(options.cache_type_k), cache_bits(options.cache_type_v));
    let cells = u64::try_from(settings.cells()).unwrap_or(u64::MAX);
    let call_tokens = u64::try_from(settings.largest_call()).unwrap_or(u64::MAX);
    // The weights are already mapped. With layers on a GPU, the rest may be in its memory.
    if settings.gpu_layers == 0
        && let (Some(needs), Some(available)) = (MemoryNeeds::of(gguf, cells, bits, call_tokens), available())
        && needs.cache.saturating_add(needs.computation) > available
    {
        let needed = needs.cache.saturating_add(needs.computation) >> 20;
        return Err(format!("its context needs {needed} MiB and {} MiB are free", available >> 20));
    }
    Ok(())
}

/// Returns the slots and context lengths to try, each step smaller than the one before.
fn rungs(asked: &Settings, is_free_to_shorten: bool) -> Vec<(u32, u32)> {
    let (slots, context_length) = (to_u32(asked.slots), to_u32(asked.context_length));
    let part = |whole: u32, tenths: u32| (whole * tenths / 10).max(1);
    let mut rungs: Vec<(u32, u32)> =
        LADDER.iter().map(|tenths| (part(slots, *tenths), context_length)).collect();
    if is_free_to_shorten {
        let fewest = part(slots, 5);
        let shorter = |tenths: &u32| {
            (fewest, u32::try_from(u64::from(context_length) * u64::from(*tenths) / 10).unwrap_or(2).max(2))
        };
        rungs.extend(LADDER.iter().skip(1).map(shorter));
    }
    rungs.dedup();
    rungs
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn slots_go_before_the_context() {
        let options = ModelOptions { threads: Some(1), ..ModelOptions::new(PathBuf::from("x")) };
        let settings = Settings::resolve(&options, 1000, 640).expect("settings");
        assert_eq!(
            rungs(&settings, true),
            [(8, 1000), (7, 1000), (5, 1000), (4, 1000), (4, 900), (4, 700), (4, 500)]
        );
        assert_eq!(rungs(&settings, false), [(8, 1000), (7, 1000), (5, 1000), (4, 1000)]);
    }
}
