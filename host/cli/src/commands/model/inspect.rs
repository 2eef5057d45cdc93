//! `gage-host model inspect`: describes a model file.

use super::super::setup;
use super::shown_bytes;
use crate::arguments::ModelInspectArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use anyhow::Context as _;
use gage_backend::gguf::{Gguf, Purpose};
use gage_backend::gpu_layers::LayerNeeds;
use gage_backend::memory_estimate::{MemoryNeeds, cache_bits};
use gage_backend::{ModelOptions, ModelProgramReport};
use gage_config::CacheType;
use gage_core::foreign_file::{self, FileLimit};
use gage_core::{Digest, shown_name};
use serde_json::{Value, json};
use std::path::Path;

/// Context length, equal to a run's default.
const DEFAULT_CONTEXT_LENGTH: u64 = 4096;

/// Number of parallel slots, equal to a run's default.
const DEFAULT_SLOTS: u64 = 8;

/// Tokens per call, as in a run on a CPU.
const CALL_TOKENS: u64 = 512;

pub(super) fn inspect(arguments: &ModelInspectArguments) -> anyhow::Result<ExitCode> {
    let gguf =
        Gguf::read(&arguments.file).map_err(|error| terminal::usage_error(&error.to_string(), None))?;
    let digest = foreign_file::open_named(&arguments.file, FileLimit::NONE)
        .and_then(Digest::of_reader)
        .with_context(|| format!("cannot read {}", arguments.file.display()))?;
    let trained = gguf.of_architecture("context_length");
    let context_length = trained.unwrap_or(DEFAULT_CONTEXT_LENGTH).min(DEFAULT_CONTEXT_LENGTH);
    let cells = (context_length * DEFAULT_SLOTS).next_multiple_of(256);
    let needs =
        MemoryNeeds::of(&gguf, cells, (cache_bits(CacheType::F16), cache_bits(CacheType::F16)), CALL_TOKENS);
    let program = is_model(&gguf).then(|| setup::model_program().report());
    let report = program.as_ref().and_then(|program| program.as_ref().ok());
    let offload = needs.zip(report).and_then(|(_, report)| LayersOnGpus::of(&arguments.file, report));
    if arguments.json {
        let mut json = to_json(&gguf, &digest, context_length, needs);
        json["kernels"] = report.map(|report| report.greeting.build.variant.to_string()).into();
        if let Some(LayersOnGpus { fitting, all }) = offload {
            json["gpu_layers"] = json!({"fitting": fitting, "all": all});
        }
        terminal::print_json(format_args!("{json:#}"))?;
    } else {
        show(&gguf, &digest, context_length, needs)?;
        match &program {
            Some(Ok(report)) => line("kernels", kernels_of(report))?,
            Some(Err(reason)) => line("kernels", format!("unknown: {reason}"))?,
            None => {}
        }
        if let Some(LayersOnGpus { fitting, all }) = offload {
            line("GPU", format!("about {fitting} of {all} layers fit into the free memory of the GPUs"))?;
        }
    }
    Ok(ExitCode::Done)
}

fn is_model(gguf: &Gguf) -> bool {
    !matches!(gguf.purpose(), Purpose::Adapter | Purpose::Projector)
}

/// Returns the kernels that would run a model, and why those for GPUs would not.
fn kernels_of(report: &ModelProgramReport) -> String {
    let for_gpus = report.kernels.iter().filter(|(build, _)| build.is_for_gpus());
    let unused =
        for_gpus.filter_map(|(build, reason)| Some(format!("; `{build}` is not used: {}", reason.as_ref()?)));
    format!("{}{}", report.greeting.build.variant, unused.collect::<String>())
}

/// Layers of a model that fit into the free memory of the GPUs of this machine, with the defaults of a run.
#[derive(Clone, Copy)]
struct LayersOnGpus {
    fitting: u32,
    all: u32,
}

impl LayersOnGpus {
    /// `None` if there are no GPUs, or the file does not describe its layers.
    fn of(file: &Path, report: &ModelProgramReport) -> Option<LayersOnGpus> {
        let free = report.greeting.free_memory_of_gpus();
        if free.is_empty() {
            return None;
        }
        let needs = LayerNeeds::read(&ModelOptions::new(file.to_owned()))?;
        Some(LayersOnGpus { fitting: needs.layers_that_fit(&free), all: needs.layer_count() })
    }
}

fn to_json(gguf: &Gguf, digest: &Digest, context_length: u64, needs: Option<MemoryNeeds>) -> Value {
    json!({
        "purpose": gguf.purpose().name(),
        "architecture": gguf.architecture(),
        "name": gguf.text("general.name"),
        "parameters": gguf.parameters(),
        "quantization": gguf.quantization(),
        "file_bytes": gguf.file_bytes,
        "file_digest": digest.to_string(),
        "gguf_version": gguf.version,
        "tensors": gguf.tensors.len(),
        "training_context_length": gguf.of_architecture("context_length"),
        "layers": gguf.of_architecture("block_count"),
        "embedding_length": gguf.of_architecture("embedding_length"),
        "tokenizer": {
            "model": gguf.text("tokenizer.ggml.model"),
            "pre_tokenizer": gguf.text("tokenizer.ggml.pre"),
            "vocabulary_size": gguf.vocabulary_size(),
        },
        "chat_template": gguf.text("tokenizer.chat_template"),
        "adapter": (gguf.purpose() == Purpose::Adapter).then(|| json!({
            "type": gguf.text("adapter.type"),
            "alpha": gguf.metadata.get("adapter.lora.alpha"),
        })),
        "projector": projector_type(gguf).map(|kind| json!({
            "type": kind,
            "image_size": gguf.number("clip.vision.image_size"),
            "patch_size": gguf.number("clip.vision.patch_size"),
            "embedding_length": gguf.number("clip.vision.projection_dim"),
        })),
        "memory": needs.map(|needs| json!({
            "context_length": context_length,
            "slots": DEFAULT_SLOTS,
            "weights_bytes": needs.weights,
            "cache_bytes": needs.cache,
            "computation_bytes": needs.computation,
            "total_bytes": needs.total(),
        })),
    })
}

/// Returns the kind of a multimodal projector, which converts images to tokens, or `None` for a model.
fn projector_type(gguf: &Gguf) -> Option<&str> {
    let kind = gguf.text("clip.projector_type").or_else(|| gguf.text("clip.vision.projector_type"));
    (gguf.purpose() == Purpose::Projector).then(|| kind.unwrap_or("not said"))
}

fn line(what: &str, value: String) -> anyhow::Result<()> {
    terminal::print_line(format_args!("{what:18}{}", shown_name(&value)))
}

fn show_file(gguf: &Gguf, digest: &Digest) -> anyhow::Result<()> {
    let bytes = shown_bytes(gguf.file_bytes);
    line("file", format!("{bytes}, GGUF version {}, {} tensors", gguf.version, gguf.tensors.len()))?;
    line("digest", digest.to_string())
}

fn show_adapter(gguf: &Gguf, digest: &Digest) -> anyhow::Result<()> {
    let text = |key: &str| shown_name(gguf.text(key).unwrap_or("not said"));
    line("name", text("general.name"))?;
    line("what it is", "a LoRA adapter: use it as `lora` of a backend".to_owned())?;
    line("adapter", text("adapter.type"))?;
    let architecture = shown_name(gguf.architecture().unwrap_or("not said"));
    line("architecture", format!("{architecture}, as its model must have"))?;
    line("parameters", format!("{:.3} million", gguf.parameters() as f64 / 1e6))?;
    show_file(gguf, digest)
}

fn show_projector(gguf: &Gguf, digest: &Digest, kind: &str) -> anyhow::Result<()> {
    let number =
        |key: &str| gguf.number(key).map_or("an unknown number".to_owned(), |number| number.to_string());
    line("name", gguf.text("general.name").unwrap_or("not said").to_owned())?;
    line("what it is", "an image projector: use it as `mmproj` of a backend".to_owned())?;
    line("projector", kind.to_owned())?;
    let size = number("clip.vision.image_size");
    line("images", format!("{size} pixels wide, in patches of {}", number("clip.vision.patch_size")))?;
    line("embedding", format!("{} numbers, as its model must have", number("clip.vision.projection_dim")))?;
    line("parameters", format!("{:.1} million", gguf.parameters() as f64 / 1e6))?;
    show_file(gguf, digest)
}

fn show(gguf: &Gguf, digest: &Digest, context_length: u64, needs: Option<MemoryNeeds>) -> anyhow::Result<()> {
    if let Some(kind) = projector_type(gguf) {
        return show_projector(gguf, digest, kind);
    }
    if gguf.purpose() == Purpose::Adapter {
        return show_adapter(gguf, digest);
    }
    let text = |value: Option<&str>| shown_name(value.unwrap_or("not said"));
    let number = |value: Option<u64>| value.map_or("not said".to_owned(), |value| value.to_string());
    line("name", text(gguf.text("general.name")))?;
    if let Some(limits) = gguf.purpose().limits() {
        line("what it is", limits.to_owned())?;
    }
    line("architecture", text(gguf.architecture()))?;
    line("parameters", format!("{:.1} million", gguf.parameters() as f64 / 1e6))?;
    line("quantization", text(gguf.quantization().as_deref()))?;
    let context = gguf.of_architecture("context_length").map(|tokens| format!("{tokens} tokens in training"));
    line("context", text(context.as_deref()))?;
    line(
        "tokenizer",
        format!(
            "{} ({}), {} tokens",
            text(gguf.text("tokenizer.ggml.model")),
            text(gguf.text("tokenizer.ggml.pre")),
            number(gguf.vocabulary_size())
        ),
    )?;
    let template = match gguf.text("tokenizer.chat_template") {
        Some(template) => format!("{} characters (--json shows it)", template.chars().count()),
        None => "none: messages are passed to the model unchanged".to_owned(),
    };
    line("chat template", template)?;
    show_file(gguf, digest)?;
    match needs {
        Some(needs) => line(
            "memory",
            format!(
                "about {} for {DEFAULT_SLOTS} answers at once in a context of {context_length}: weights {}, \
                 cache {}, computation {}",
                shown_bytes(needs.total()),
                shown_bytes(needs.weights),
                shown_bytes(needs.cache),
                shown_bytes(needs.computation)
            ),
        ),
        None => line("memory", "unknown: the file does not describe the model's layers".to_owned()),
    }
}
