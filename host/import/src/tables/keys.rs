//! Keys of the older program that have no place in a suite, and the keys of a suite.

/// Conversion of an old key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OldKey {
    /// The key has no effect.
    Dropped(&'static str),
    /// The key has another name.
    Renamed(&'static str),
    /// The feature is not possible here.
    Impossible(&'static str),
}

/// Old keys with their conversions.
pub(crate) type OldKeys = [(&'static str, OldKey)];

use OldKey::{Dropped, Impossible, Renamed};

const GAMES: &str = "games and simulated environments are not possible";
const AGENTS: &str = "agents of the older program are not possible; the step `inference` has a loop of tools";
const SCENES: &str =
    "short forms of a whole suite are not possible; write datasets, roles, metrics and steps out";
const BUNDLES: &str = "bundles are not possible; write solved rows into `few_shot` of `preprocess_kwargs`";
const CODE: &str = "running code of answers is not possible";
const SUMMARIES: &str =
    "generators of summaries are not possible; `gage-host report` and `slices` of a task show groups";
const REPORTING: &str = "it has no effect: every run writes its results";

/// Keys of a suite at its top.
pub(crate) const TOP_KEYS: &[&str] = &[
    "api_version",
    "kind",
    "metadata",
    "plugins",
    "datasets",
    "backends",
    "role_adapters",
    "prompts",
    "metrics",
    "custom",
    "builtin",
    "tasks",
    "gate",
    "task_parallelism",
    "failure_policy",
    "budget",
    "cache",
    "pricing",
];

/// Old keys at the top.
pub(crate) const OLD_TOP_KEYS: &OldKeys = &[
    ("reporting", Dropped(REPORTING)),
    ("models", Dropped("the models of `backends` are asked")),
    ("parameters", Dropped("`--set KEY=VALUE` replaces a value")),
    (
        "observability",
        Dropped("the command line sets it: --observability, --event-sampling, --report-http-url"),
    ),
    ("runtime", Dropped("the command line sets it: --concurrency, --max-samples, --output-dir")),
    ("summary_generators", Impossible(SUMMARIES)),
    ("scene", Impossible(SCENES)),
    ("static", Impossible(SCENES)),
    ("bundle", Impossible(BUNDLES)),
    ("bundle_kwargs", Impossible(BUNDLES)),
    ("agents", Impossible(AGENTS)),
    ("dut_agents", Impossible(AGENTS)),
    ("agent_backends", Impossible(AGENTS)),
    ("mcp_clients", Impossible(AGENTS)),
    ("benchmarks", Impossible(AGENTS)),
    ("arena", Impossible(GAMES)),
    ("environments", Impossible(GAMES)),
    ("sandbox_profiles", Impossible(CODE)),
    ("sandbox", Impossible(CODE)),
];

/// Keys of a dataset.
pub(crate) const DATASET_KEYS: &[&str] = &["dataset_id", "loader", "params"];

/// Old keys of a dataset. `hub` and `hub_params` are converted by code.
pub(crate) const OLD_DATASET_KEYS: &OldKeys = &[
    ("id", Renamed("dataset_id")),
    ("reporting", Dropped(REPORTING)),
    ("description", Dropped("it is a remark")),
    ("scene", Impossible(SCENES)),
    ("bundle", Impossible(BUNDLES)),
    ("bundle_kwargs", Impossible(BUNDLES)),
];

/// Parameters of every loader.
pub(crate) const PARAM_KEYS: &[&str] = &[
    "sha256",
    "labels_path",
    "labels_sha256",
    "label_field",
    "filter",
    "exclude",
    "fields",
    "few_shot",
    "shuffle",
    "seed",
    "limit",
    "streaming",
    "on_invalid",
    "max_invalid",
    "preprocess",
    "preprocess_kwargs",
    "doc_to_text",
    "doc_to_text_kwargs",
    "doc_to_visual",
    "doc_to_visual_kwargs",
    "doc_to_audio",
    "doc_to_audio_kwargs",
    "content_root",
    "embed_local_media",
    "media",
    "tokenizer_config",
    "path",
];

/// Parameters of the hub's loader.
pub(crate) const HUB_KEYS: &[&str] =
    &["hub_id", "revision", "subset", "split", "data_files", "endpoint", "token", "offline"];

/// Old names of parameters of datasets and hubs.
pub(crate) const OLD_PARAM_KEYS: &OldKeys = &[
    ("tokenizer_path", Renamed("tokenizer_config")),
    ("max_samples", Renamed("limit")),
    ("shuffle_seed", Renamed("seed")),
    ("image_root", Renamed("content_root")),
    ("media_root", Renamed("content_root")),
    ("data_path", Renamed("path")),
    ("file_path", Renamed("path")),
    ("trust_remote_code", Dropped("no code of a dataset is run")),
    ("cache_dir", Dropped("the variable GAGE_HOST_CACHE_DIR names the folder of fetched files")),
    ("num_proc", Dropped("rows are prepared on every core")),
    ("num_workers", Dropped("rows are prepared on every core")),
    ("batch_size", Dropped("rows are streamed")),
    ("builder_name", Dropped("the files of a dataset say how they are read")),
    ("encoding", Dropped("files are UTF-8")),
    ("tokenizer_name", Dropped("`tokenizer_config` names the file of a tokenizer")),
    ("tokenizer_kwargs", Dropped("`tokenizer_config` names the file of a tokenizer")),
    ("reporting", Dropped(REPORTING)),
    ("bundle", Impossible(BUNDLES)),
    ("bundle_kwargs", Impossible(BUNDLES)),
];

/// Old names of the parameters of a hub.
pub(crate) const OLD_HUB_KEYS: &OldKeys = &[
    ("dataset_name", Renamed("hub_id")),
    ("dataset_id", Renamed("hub_id")),
    ("repo_id", Renamed("hub_id")),
    ("name", Renamed("subset")),
    ("config", Renamed("subset")),
    ("config_name", Renamed("subset")),
    ("subset_name", Renamed("subset")),
];

/// Loaders of gage-host.
pub(crate) const LOADERS: &[&str] = &["jsonl", "json", "csv", "tsv", "parquet", "hf_hub"];

/// Old names of loaders.
pub(crate) const OLD_LOADERS: &[(&str, &str)] = &[
    ("huggingface", "hf_hub"),
    ("hf", "hf_hub"),
    ("hf_datasets", "hf_hub"),
    ("hub", "hf_hub"),
    ("modelscope", "hf_hub"),
    ("ms_hub", "hf_hub"),
    ("json_lines", "jsonl"),
    ("jsonlines", "jsonl"),
];

/// Parameters of old preprocessors with another name in the new one: the preprocessor, the old and the new name.
pub(crate) const OLD_KWARGS: &[(&str, &str, &str)] = &[
    ("mmmu", "choices_field", "options_field"),
    ("piqa", "question_field", "goal_field"),
    ("piqa", "answer_field", "label_field"),
    ("docvqa", "answer_field", "answers_field"),
    ("default", "label_field", "answer_field"),
    ("default", "answers_field", "answer_field"),
    ("gsm8k", "label_field", "answer_field"),
    ("multi_choice", "label_field", "answer_field"),
    ("mmlu", "options_field", "choices_field"),
    ("mmlu", "label_field", "answer_field"),
];

/// Doc hooks of gage-host, with their parameters.
pub(crate) const HOOKS: &[(&str, &[&str])] = &[
    ("embed_local_message_images", &["content_field"]),
    ("text_from_field", &["field", "role"]),
    ("visual_from_field", &["fields", "content_field", "required", "kind"]),
    ("audio_from_field", &["fields", "content_field", "required"]),
];

/// Keys of a role.
pub(crate) const ROLE_KEYS: &[&str] = &[
    "adapter_id",
    "role_type",
    "backend_id",
    "backend",
    "prompt_id",
    "prompt_params",
    "sampling_params",
    "adapter",
    "resource_requirement",
    "capabilities",
];

/// Old keys of a role. `concurrency`, `class_path` and `params` are converted by code.
pub(crate) const OLD_ROLE_KEYS: &OldKeys = &[
    ("id", Renamed("adapter_id")),
    ("type", Renamed("role_type")),
    ("reporting", Dropped(REPORTING)),
    ("description", Dropped("it is a remark")),
    ("agent_backend", Impossible(AGENTS)),
    ("agent_backend_id", Impossible(AGENTS)),
    ("mcp_client_id", Impossible(AGENTS)),
    ("sandbox", Impossible(CODE)),
    ("environment", Impossible(GAMES)),
    ("scene", Impossible(SCENES)),
];

/// Role types of the older program.
pub(crate) const ROLE_TYPES: &[(&str, &str)] = &[
    ("support", "context_provider"),
    ("context", "context_provider"),
    ("retriever", "context_provider"),
    ("inference", "dut_model"),
    ("dut", "dut_model"),
    ("model", "dut_model"),
    ("judge", "judge_model"),
    ("judge_extend", "judge_model"),
    ("helper", "helper_model"),
    ("modal_processor", "helper_model"),
    ("embedder", "helper_model"),
    ("toolchain", "tool_provider"),
    ("tool", "tool_provider"),
    ("tool_simulator", "tool_provider"),
];

/// Role types of gage-host.
pub(crate) const NEW_ROLE_TYPES: &[&str] =
    &["dut_model", "judge_model", "helper_model", "context_provider", "tool_provider"];

/// Keys of a prompt.
pub(crate) const PROMPT_KEYS: &[&str] = &["prompt_id", "template", "system_prompt", "messages", "params"];

/// Old keys of a prompt. `renderer` is converted by code.
pub(crate) const OLD_PROMPT_KEYS: &OldKeys = &[
    ("id", Renamed("prompt_id")),
    ("prompt_params", Renamed("params")),
    ("args", Renamed("params")),
    ("variables", Renamed("params")),
    ("content", Renamed("template")),
    ("system", Renamed("system_prompt")),
    ("renderer_params", Dropped("templates are Jinja and take no options")),
    ("include_history", Dropped("a template writes `history` itself")),
    ("description", Dropped("it is a remark")),
    ("version", Dropped("a run records the digest of each prompt")),
    ("tags", Dropped("it is a remark")),
    ("reporting", Dropped(REPORTING)),
];

/// Settings of a task, and of `custom`.
pub(crate) const TASK_SETTINGS: &[&str] = &[
    "steps",
    "max_samples",
    "max_inflight",
    "concurrency",
    "mode",
    "prefetch_factor",
    "shuffle",
    "shuffle_seed",
    "failure_policy",
    "sampling_params",
    "min_coverage",
    "score_outcomes",
    "repeat",
    "slices",
    "cluster_by",
];

/// Further keys of a task.
pub(crate) const TASK_KEYS: &[&str] = &["task_id", "dataset_id", "metric_overrides"];

/// Old keys of a task, and of `custom`.
pub(crate) const OLD_TASK_KEYS: &OldKeys = &[
    ("id", Renamed("task_id")),
    ("dataset", Renamed("dataset_id")),
    ("dataset_ref", Renamed("dataset_id")),
    ("metrics", Renamed("metric_overrides")),
    ("seed", Renamed("shuffle_seed")),
    ("reporting", Dropped(REPORTING)),
    ("description", Dropped("it is a remark")),
    ("pipeline_id", Dropped("the steps say what happens")),
    ("params", Dropped("the keys of a task say how it runs")),
    ("parameters", Dropped("the keys of a task say how it runs")),
    ("keep_shuffle_artifacts", Dropped("a shuffle writes no files")),
    ("shuffle_strategy", Dropped("a seed gives the same order everywhere")),
    ("shuffle_small_dataset_threshold", Dropped("a seed gives the same order everywhere")),
    ("shuffle_artifact_root", Dropped("a shuffle writes no files")),
    ("shuffle_seed_scope", Dropped("a seed gives the same order everywhere")),
    ("sampling", Dropped("use `max_samples` and `shuffle`")),
    ("summary_generators", Impossible(SUMMARIES)),
    ("scene", Impossible(SCENES)),
    ("bundle", Impossible(BUNDLES)),
    ("agents", Impossible(AGENTS)),
    ("dut_agents", Impossible(AGENTS)),
    ("arena", Impossible(GAMES)),
    ("environments", Impossible(GAMES)),
    ("environment", Impossible(GAMES)),
    ("sandbox", Impossible(CODE)),
];

/// The steps of a suite, in their order.
pub(crate) const STEPS: &[&str] =
    &["support", "inference", "embed", "judge", "extract", "auto_eval", "report"];

/// Old keys of a step.
pub(crate) const OLD_STEP_KEYS: &OldKeys = &[
    ("step_type", Renamed("step")),
    ("type", Renamed("step")),
    ("name", Renamed("step")),
    ("role", Renamed("adapter_id")),
    ("role_ref", Renamed("adapter_id")),
    ("params", Dropped("the keys of a step say what it does")),
    ("args", Dropped("the keys of a step say what it does")),
    ("reporting", Dropped(REPORTING)),
];

/// Returns the keys of a step.
pub(crate) fn step_keys(step: &str) -> &'static [&'static str] {
    match step {
        "support" => &["step", "adapter_id", "sets_answer"],
        "inference" => {
            &["step", "adapter_id", "request", "continuation", "target_field", "continuation_prefix", "tools"]
        }
        "embed" => &["step", "adapter_id", "prediction_field", "references_field"],
        "judge" => &["step", "adapter_id", "judge", "judge_id", "judges", "combine", "attempts", "media"],
        "extract" => &["step", "extractors"],
        _ => &["step"],
    }
}

/// Names of sampling parameters.
pub(crate) const SAMPLING: &[&str] = &[
    "max_new_tokens",
    "max_tokens",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "stop",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
];

/// Old names of sampling parameters.
pub(crate) const OLD_SAMPLING: &OldKeys = &[
    ("max_completion_tokens", Renamed("max_new_tokens")),
    ("max_length", Renamed("max_new_tokens")),
    ("stop_sequences", Renamed("stop")),
    ("stop_words", Renamed("stop")),
    ("random_seed", Renamed("seed")),
    ("n", Dropped("`repeat` of a task asks several times")),
    ("best_of", Dropped("`repeat` of a task asks several times")),
    ("num_beams", Dropped("servers of this protocol do not search with beams")),
    ("use_beam_search", Dropped("servers of this protocol do not search with beams")),
    ("skip_special_tokens", Dropped("the server decides it")),
    ("logprobs", Dropped("`logprobs` is a key of the backend's `config`")),
];

/// Fields of a Sample that templates see; every other field of `sample` was one of the row.
pub(crate) const SAMPLE_FIELDS: &[&str] = &[
    "id",
    "task_type",
    "messages",
    "options",
    "references",
    "label",
    "few_shot_examples",
    "golden_trajectories",
    "sandbox",
    "metadata",
    "data_tag",
    "raw_assets",
    "tools",
    "tool_choice",
    "sampling_params",
    "generation_params",
    "eval_config",
    "unconditioned_input",
    "predict_result",
    "eval_result",
    "choices",
    "inputs",
    "_dataset_id",
    "_dataset_metadata",
    "chat_template_mode",
    "rendered_by",
    "template_source",
    "cache_suffix",
    "_tokenizer_path",
    "_media_meta",
];

/// Fields of a Sample in which the older program stored its results.
pub(crate) const RESULTS: &[&str] = &["predict_result", "eval_result"];

/// Texts that prompts of the older program took from parameters, and that were empty without one.
pub(crate) const PROMPT_TEXTS: &[&str] = &[
    "system_prompt",
    "instruction",
    "few_shot",
    "few_shot_examples",
    "style",
    "language",
    "subject",
    "dataset_name",
];

/// Variables of a template.
pub(crate) const TEMPLATE_NAMES: &[&str] =
    &["sample", "row", "raw", "params", "payload", "history", "adapter_id", "role_type"];
