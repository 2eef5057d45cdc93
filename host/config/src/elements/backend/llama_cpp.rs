//! `llama_cpp`: a model file that llama.cpp runs on this machine.

mod grammar_limits;
mod placement;

pub use placement::Replicas;

use crate::elements::backend::model_parts::model_parts;
use crate::elements::sampling;
use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::resources::{ResourceKind, hub_endpoint};
use crate::source::Span;
use gage_core::SamplingParams;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use strum::{IntoStaticStr, VariantArray};

/// Default of `hang_timeout`, in seconds.
const DEFAULT_HANG_TIMEOUT_S: f64 = 120.0;

/// Minimum of `hang_timeout`, in seconds. A model that computes shows a sign of life twice as often, or more.
const MIN_HANG_TIMEOUT_S: f64 = 1.0;

/// Maximum of `hang_timeout`, in seconds.
const MAX_HANG_TIMEOUT_S: f64 = 86_400.0;

/// Chat template that renders a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChatTemplate {
    /// The template in the model file.
    Model,
    /// No template: the text of the messages as it is, for base models.
    None,
    /// This Jinja template.
    Text(String),
}

/// Kernels of llama.cpp that run a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Kernels {
    /// Those for a GPU that is found, or else the best that the processor can run.
    #[default]
    Auto,
    /// Those for x86-64 processors without AVX2.
    Sse42,
    /// Those for every supported processor since about 2013.
    Baseline,
    /// Those for x86-64 processors with AVX-512 and its VNNI extension.
    Avx512,
    /// Those for NVIDIA GPUs.
    Cuda,
    /// Those for GPUs through Vulkan.
    Vulkan,
    /// Those for Apple GPUs.
    Metal,
}

/// Handling of a prompt that leaves no room in the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum OnLongPrompt {
    /// The request fails.
    #[default]
    Error,
    /// Tokens at the beginning are dropped, and the sample ends as `truncated`.
    TruncateLeft,
}

/// Use of the fused attention kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FlashAttention {
    /// If the device supports it.
    #[default]
    Auto,
    /// Always; a model that does not support it is rejected.
    On,
    /// Never.
    Off,
}

/// Storage type of the keys or values in the KV cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CacheType {
    /// 32 bits per value.
    F32,
    /// 16 bits per value.
    #[default]
    F16,
    /// 16 bits per value, with the exponent of 32-bit floats.
    Bf16,
    /// 8.5 bits per value.
    Q8_0,
    /// 4.5 bits per value.
    Q4_0,
}

/// Strategy for splitting a model across several GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SplitMode {
    /// Split by whole layers.
    #[default]
    Layer,
    /// Split by rows of large matrices, if the devices support it.
    Row,
    /// No split: `main_gpu` holds the whole model.
    None,
}

/// Constraint on the output.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputConstraint {
    /// A GBNF grammar whose root is `root`.
    Grammar(String),
    /// JSON that matches this schema.
    JsonSchema(serde_json::Value),
    /// One of these texts.
    Choices(Vec<String>),
}

/// A LoRA adapter.
#[derive(Clone, Debug, PartialEq)]
pub struct LoraConfig {
    /// The GGUF file, on this machine.
    pub path: PathBuf,
    /// Span of the path.
    pub path_span: Span,
    /// Scale of the adapter; default 1.
    pub scale: f64,
}

/// Default number of answers that a model generates in parallel.
const DEFAULT_SLOTS: u32 = 8;

/// A model file that llama.cpp runs on this machine.
#[derive(Clone, Debug)]
pub struct LlamaCppConfig {
    /// The GGUF file; required.
    pub model_path: PathBuf,
    /// Span of the path.
    pub model_path_span: Span,
    /// Maximum number of tokens of one sequence; default: the model's training context, up to 4096.
    pub context_length: Option<u32>,
    /// Number of answers that each replica generates in parallel; default 8.
    pub slots: Option<u32>,
    /// Number of processes that each run the model; default 1.
    pub replicas: Replicas,
    /// Number of threads; default: all of the machine's.
    pub threads: Option<u32>,
    /// Maximum number of tokens per step; default 512.
    pub batch_size: u32,
    /// Number of layers to keep on the GPUs, if there are some; default: all that fit.
    pub gpu_layers: Option<u32>,
    /// The GPU of a model that is not split; default the first.
    pub main_gpu: Option<u32>,
    /// The GPUs that the model is split across, by number; default all.
    pub devices: Vec<u32>,
    /// Split strategy; default `layer`.
    pub split_mode: SplitMode,
    /// Use of flash attention; default `auto`.
    pub flash_attention: FlashAttention,
    /// Storage type of keys; default `f16`.
    pub cache_type_k: CacheType,
    /// Storage type of values; default `f16`. Types other than `f16`, `f32` and `bf16` need flash attention.
    pub cache_type_v: CacheType,
    /// True if results do not depend on other requests in flight; default false.
    pub deterministic: bool,
    /// Kernels that run the model; default `auto`.
    pub kernels: Kernels,
    /// Time without a computed batch after which the model hangs and its process is restarted; default 120 s.
    pub hang_timeout: Duration,
    /// Handling of prompts that are too long; default `error`.
    pub on_long_prompt: OnLongPrompt,
    /// Constraint on all answers of this backend; default none.
    pub constraint: Option<OutputConstraint>,
    /// Number of alternatives recorded with the log-probability of each token of an answer; default: no
    /// log-probabilities.
    pub logprobs: Option<u32>,
    /// LoRA adapter; default none.
    pub lora: Option<LoraConfig>,
    /// The GGUF file of the multimodal projector, which turns images into tokens; default none: text only.
    pub mmproj: Option<PathBuf>,
    /// Span of that path.
    pub mmproj_span: Span,
    /// Maximum number of tokens of one image, for models with dynamic image size; default: the file's.
    pub image_max_tokens: Option<u32>,
    /// Chat template; default: the model's own.
    pub chat_template: ChatTemplate,
    /// Span of the template.
    pub chat_template_span: Span,
    /// Sampling parameters of the lowest precedence.
    pub default_params: SamplingParams,
}

impl LlamaCppConfig {
    /// Returns the number of answers that each replica generates in parallel.
    pub fn slots(&self) -> u32 {
        self.slots.unwrap_or(DEFAULT_SLOTS)
    }

    /// Returns the number of answers that all replicas generate in parallel; `None` if it depends on the machine.
    pub fn slots_of_replicas(&self) -> Option<u32> {
        match self.replicas {
            Replicas::Auto => None,
            Replicas::Count(replicas) => Some(self.slots().saturating_mul(replicas)),
        }
    }
}

pub(super) fn read(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<LlamaCppConfig> {
    let model_path = table.required_text("model_path", problems);
    let model_path_span = table.span_of("model_path");
    model_path.iter().for_each(|text| use_model(table, "model_path", text, problems));
    let chat_template = match table.text("chat_template", problems).as_deref() {
        None | Some("model") => ChatTemplate::Model,
        Some("none") => ChatTemplate::None,
        Some(text) => {
            if !text.contains("{{") && !text.contains("{%") {
                table
                    .error("chat_template", format!("`{text}` is not a chat template"), problems)
                    .help("use `model`, `none`, or the text of a Jinja template");
            }
            ChatTemplate::Text(text.to_owned())
        }
    };
    let mmproj = table.text("mmproj", problems);
    let mmproj_span = table.span_of("mmproj");
    mmproj.iter().for_each(|text| use_model(table, "mmproj", text, problems));
    placement::refuse_tensor_split(table, problems);
    let config = LlamaCppConfig {
        model_path_span,
        mmproj_span,
        chat_template_span: table.span_of("chat_template"),
        mmproj: mmproj.map(PathBuf::from),
        image_max_tokens: table.number("image_max_tokens", 1..=1 << 16, problems),
        context_length: table.number("context_length", 1..=1 << 24, problems),
        slots: table.number("slots", 1..=64, problems),
        replicas: placement::replicas(table, problems),
        threads: table.number("threads", 1..=1024, problems),
        batch_size: table.number("batch_size", 32..=8192, problems).unwrap_or(512),
        gpu_layers: table.number("gpu_layers", 0..=10_000, problems),
        main_gpu: table.number("main_gpu", 0..=63, problems),
        devices: placement::devices(table, problems),
        split_mode: table.variant("split_mode", problems).unwrap_or_default(),
        flash_attention: table.variant("flash_attention", problems).unwrap_or_default(),
        cache_type_k: table.variant("cache_type_k", problems).unwrap_or_default(),
        cache_type_v: table.variant("cache_type_v", problems).unwrap_or_default(),
        deterministic: table.boolean("deterministic", problems).unwrap_or(false),
        kernels: table.variant("kernels", problems).unwrap_or_default(),
        hang_timeout: hang_timeout(table, problems),
        on_long_prompt: table.variant("on_long_prompt", problems).unwrap_or_default(),
        constraint: constraint(table, problems),
        logprobs: table.number("logprobs", 0..=20, problems),
        lora: lora(table, problems),
        chat_template,
        default_params: sampling::read(table, "default_params", problems),
        model_path: PathBuf::from(model_path.as_deref().unwrap_or_default()),
    };
    check_together(&config, table, problems);
    placement::check_placement(&config, table, problems);
    model_path.map(|_| config)
}

/// Records the hub of a model file and its token, or the local files.
fn use_model(table: &MappingReader<'_>, key: &str, text: &str, problems: &mut Problems) {
    let address = match text.strip_prefix("hub:") {
        Some(_) => Some(hub_endpoint()),
        None => {
            Some(text.to_owned()).filter(|text| text.starts_with("http://") || text.starts_with("https://"))
        }
    };
    match address {
        Some(address) => {
            if let Some(hub) = ResourceKind::hub_of(&address) {
                if ResourceKind::hub_of(&hub_endpoint()).as_ref() == Some(&hub) {
                    table.uses(key, ResourceKind::HubToken, problems);
                }
                table.uses(key, hub, problems);
            }
        }
        None => {
            let named = Path::new(text);
            // A name may promise more parts than there are.
            let exists = |part: &PathBuf| part == named || part.symlink_metadata().is_ok();
            for part in model_parts(named).iter().filter(|part| exists(part)) {
                table.uses_file(key, part, problems);
            }
        }
    }
}

fn hang_timeout(table: &mut MappingReader<'_>, problems: &mut Problems) -> Duration {
    let seconds = table.float("hang_timeout", MIN_HANG_TIMEOUT_S..=MAX_HANG_TIMEOUT_S, problems);
    Duration::from_secs_f64(seconds.unwrap_or(DEFAULT_HANG_TIMEOUT_S))
}

fn constraint(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<OutputConstraint> {
    let grammar = table.text("grammar", problems).map(OutputConstraint::Grammar);
    let schema = table.free_map("json_schema", problems).map(Node::to_json).map(OutputConstraint::JsonSchema);
    let choices = table.texts("choices", problems).map(OutputConstraint::Choices);
    if let Some(OutputConstraint::Choices(texts)) = &choices
        && (texts.is_empty() || texts.iter().any(String::is_empty))
    {
        table.error("choices", "`choices` needs at least one text, and none that is empty", problems);
        return None;
    }
    for (key, constraint) in [("grammar", &grammar), ("json_schema", &schema)] {
        let checked = match constraint {
            Some(OutputConstraint::Grammar(text)) => grammar_limits::check_grammar(text),
            Some(OutputConstraint::JsonSchema(schema)) => grammar_limits::check_schema(schema),
            Some(OutputConstraint::Choices(_)) | None => Ok(()),
        };
        if let Err(error) = checked {
            table
                .error(key, format!("`{key}`: {error}"), problems)
                .help("make it smaller, or check answers when scoring");
            return None;
        }
    }
    let mut given = [grammar, schema, choices].into_iter().flatten();
    let first = given.next();
    if given.next().is_some() {
        problems
            .error(table.span, &table.path, "only one of `grammar`, `json_schema` and `choices` can be given")
            .help("leave the others out");
    }
    first
}

fn lora(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<LoraConfig> {
    let node = table.get("lora")?;
    let mut lora = MappingReader::open(node, table.path_of("lora"), problems)?;
    let path = lora.required_text("path", problems);
    let path_span = lora.span_of("path");
    path.iter().for_each(|path| lora.uses_file("path", Path::new(path), problems));
    let scale = lora.float("scale", -100.0..=100.0, problems).unwrap_or(1.0);
    lora.finish(problems);
    path.map(|path| LoraConfig { path: PathBuf::from(path), path_span, scale })
}

/// Checks combinations of values that are each valid.
fn check_together(config: &LlamaCppConfig, table: &mut MappingReader<'_>, problems: &mut Problems) {
    let mut wrong = |key: &'static str, message: &str, help: &str| {
        table.error(key, message, problems).help(help);
    };
    if config.deterministic && config.flash_attention == FlashAttention::On {
        let message = "flash attention gives different bits for different numbers of threads, so it is off \
            with `deterministic`";
        wrong("flash_attention", message, "leave `flash_attention` out, or `deterministic`");
    }
    if config.mmproj.is_none() && config.image_max_tokens.is_some() {
        let message =
            "`image_max_tokens` limits the tokens that `mmproj` makes of an image, but there is none";
        wrong("image_max_tokens", message, "name the file as `mmproj`, or leave this out");
    }
    let is_quantised = matches!(config.cache_type_v, CacheType::Q8_0 | CacheType::Q4_0);
    if is_quantised && (config.deterministic || config.flash_attention == FlashAttention::Off) {
        let message = "values can be quantised with flash attention only, and it is off";
        wrong("cache_type_v", message, "use `f16`, or quantise `cache_type_k` alone");
    }
}

#[cfg(test)]
mod tests {
    use crate::{BackendKind, Environment, load};

    fn problems_of(settings: &str) -> Vec<String> {
        let text = format!(
            "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
             datasets: [{{dataset_id: d, loader: jsonl, params: {{path: x}}}}]\n\
             backends: [{{backend_id: b, type: llama_cpp, config: {{model_path: m.gguf, {settings}}}}}]\n\
             role_adapters: [{{adapter_id: r, role_type: dut_model, backend_id: b}}]\n\
             custom: {{steps: [{{step: inference}}]}}\n"
        );
        let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
        let (config, problems) = load("test.yaml", &text, &[], &environment);
        if let Some(config) = config {
            assert!(matches!(config.backends[0].kind, BackendKind::LlamaCpp(_)));
        }
        problems.render(false).lines().map(str::to_owned).collect()
    }

    #[test]
    fn what_is_well_formed_is_read() {
        for settings in [
            "deterministic: true, kernels: baseline, on_long_prompt: truncate_left, logprobs: 0",
            "gpu_layers: 99, main_gpu: 1, devices: [0, 1], split_mode: none, flash_attention: on, cache_type_v: q8_0",
            "replicas: auto, devices: [3, 1], split_mode: row",
            "replicas: 4, devices: [0, 1]",
            "replicas: 1, split_mode: none",
            "choices: [A, B], lora: {path: a.gguf, scale: 0.5}",
            "mmproj: p.gguf, image_max_tokens: 256, split_mode: none",
            "json_schema: {type: object}",
            "hang_timeout: 1.5",
            "kernels: sse42",
            "kernels: avx512",
            "kernels: cuda",
        ] {
            assert_eq!(problems_of(settings), [""; 0], "{settings}");
        }
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (settings, expected) in [
            ("deterministic: true, flash_attention: on", "flash attention gives different bits"),
            ("deterministic: true, cache_type_v: q4_0", "values can be quantised"),
            ("flash_attention: off, cache_type_v: q8_0", "values can be quantised"),
            ("choices: []", "`choices` needs at least one text"),
            ("json_schema: {maxLength: 300000}", "`json_schema`: the lengths and repetitions of the schema"),
            ("grammar: 'root ::= \"a\"{300000}'", "`grammar`: the grammar has 300000 repetitions"),
            ("choices: [A], grammar: 'root ::= \"a\"'", "only one of `grammar`"),
            ("isolation: thread", "isolation"),
            ("devices: [-1]", "a device is a whole number"),
            ("devices: [0, 1, 0]", "`devices` names the GPU 0 twice"),
            ("main_gpu: 1", "names the GPU of a model that is not split"),
            (
                "main_gpu: 2, split_mode: none, devices: [0, 1]",
                "`main_gpu` is 2, which is not among `devices`",
            ),
            ("replicas: 0", "`replicas` must be `auto` or a whole number from 1 to 64, found 0"),
            ("replicas: many", "`replicas` must be `auto` or"),
            ("replicas: 2, split_mode: none", "would put every replica on the same GPU"),
            ("replicas: 2, devices: [0, 1, 2]", "2 replicas cannot share 3 devices evenly"),
            ("logprobs: 21", "logprobs"),
            ("tensor_split: [3, 1]", "in proportion to the free memory"),
            ("split_mode: column", "split_mode"),
            ("kernels: amx", "kernels"),
            ("image_max_tokens: 64", "limits the tokens that `mmproj` makes"),
            ("hang_timeout: 0.5", "hang_timeout"),
            ("hang_timeout: 90000", "hang_timeout"),
        ] {
            let found = problems_of(settings).join("\n");
            assert!(found.contains(expected), "{settings}: {found}");
        }
    }
}
