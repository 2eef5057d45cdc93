//! Keys and names of the older program gage-eval, with what takes their place here.

use crate::node::Node;

/// Key of the older program at a place where it is unknown here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OldKey {
    /// The mapping: a path with `[]` for each index, or its end after `*`.
    place: &'static str,
    key: &'static str,
    /// Instruction for the user.
    pub(crate) help: &'static str,
    effect: OldKeyEffect,
}

/// Effect that a key had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OldKeyEffect {
    /// No effect: the key is accepted with a warning.
    Nothing,
    /// No effect if the value is empty.
    NothingIfEmpty,
    /// No effect if the value is one of these.
    NothingFor(&'static [&'static str]),
    /// An effect that the key has lost here.
    Real,
}

use OldKeyEffect::{Nothing, NothingFor, NothingIfEmpty};

const fn moved(place: &'static str, key: &'static str, help: &'static str) -> OldKey {
    OldKey { place, key, help, effect: OldKeyEffect::Real }
}

const fn inert(place: &'static str, key: &'static str, help: &'static str) -> OldKey {
    OldKey { place, key, help, effect: Nothing }
}

const fn inert_if(
    place: &'static str,
    key: &'static str,
    help: &'static str,
    effect: OldKeyEffect,
) -> OldKey {
    OldKey { place, key, help, effect }
}

const NO_EFFECT: &str = "it has no effect; leave it out";
const HUB: &str = "it belongs in `params`, next to `loader: hf_hub`";
const SERVER: &str = "it is a setting of the server, so give it to the server and leave it out";
const POOL: &str = "write `resource_requirement: {pool_size: N}` into the role";
const IMPOSSIBLE: &str = "games, agents and simulated environments of gage-eval are not possible here";
const SAMPLING: &str =
    "sampling parameters belong in `sampling_params`, those of a prompt in `prompt_params`";

/// The old keys.
const OLD_KEYS: &[OldKey] = &[
    inert("", "reporting", NO_EFFECT),
    inert("datasets[]", "reporting", NO_EFFECT),
    inert("tasks[]", "reporting", NO_EFFECT),
    inert_if("", "models", "`backends` lists models", NothingIfEmpty),
    inert_if("", "parameters", "`--set KEY=VALUE` replaces a value", NothingIfEmpty),
    inert("builtin", "pipeline_id", NO_EFFECT),
    inert("builtin", "params", NO_EFFECT),
    inert_if(
        "prompts[]",
        "renderer",
        "every template is Jinja; leave it out",
        NothingFor(&["jinja", "jinja2"]),
    ),
    moved("", "observability", "leave it out, and run with --observability"),
    moved("", "summary_generators", "leave it out; `slices` of a task make figures of groups"),
    moved("", "scene", "write datasets, roles, metrics and steps out"),
    moved("", "agents", IMPOSSIBLE),
    moved("", "dut_agents", IMPOSSIBLE),
    moved("", "benchmarks", IMPOSSIBLE),
    moved("", "environments", IMPOSSIBLE),
    moved("", "arena", IMPOSSIBLE),
    inert_if(
        "datasets[]",
        "hub",
        "leave it out if the loader reads files; if not, write `loader: hf_hub`, and name a hub other than Hugging Face by \
         `params.endpoint`",
        NothingFor(&["inline", "local", "file", "filesystem", "none"]),
    ),
    moved("datasets[]", "hub_params", "its keys belong in `params`, next to `loader: hf_hub`"),
    moved("datasets[]", "hub_id", HUB),
    moved("datasets[].params", "tokenizer_path", "it is `tokenizer_config` here"),
    moved("datasets[].params", "max_samples", "it is `limit` here"),
    moved("datasets[].params", "shuffle_seed", "it is `seed` here"),
    moved("datasets[].params", "image_root", "it is `content_root` here"),
    inert("datasets[].params", "trust_remote_code", "no code of a dataset is run; leave it out"),
    moved("datasets[].params", "bundle", "write solved rows into `few_shot` of `preprocess_kwargs`"),
    moved("datasets[].params", "bundle_kwargs", "write solved rows into `few_shot` of `preprocess_kwargs`"),
    moved("role_adapters[]", "concurrency", POOL),
    moved("role_adapters[]", "params", SAMPLING),
    moved("role_adapters[].backend", "resource_requirement", POOL),
    moved("backends[]", "resource_requirement", POOL),
    moved("*.config", "resource_requirement", POOL),
    moved("*.config", "dtype", SERVER),
    moved(
        "*.config",
        "max_model_len",
        "give it to the server and leave it out; for llama_cpp it is `context_length`",
    ),
    moved(
        "*.config",
        "tensor_parallel_size",
        "give it to the server and leave it out; for llama_cpp see `devices`",
    ),
    moved("*.config", "pipeline_parallel_size", SERVER),
    moved("*.config", "gpu_memory_utilization", SERVER),
    moved("*.config", "trust_remote_code", SERVER),
    moved("*.config", "tokenizer_path", SERVER),
    moved("*.config", "device_map", SERVER),
    moved(
        "*.config",
        "model_name_or_path",
        "it is `model` here; for llama_cpp `model_path` names a GGUF file",
    ),
    moved("metrics[].params", "aggregation", "write it next to `params`"),
];

/// Names of gage-eval, and the names that replace them. A `*` at the end stands for any text. A name may be that of a metric
/// and of a preprocessor.
const OLD_NAMES: &[(&str, &str)] = &[
    ("vllm", "openai_http"),
    ("vllm_native", "openai_http"),
    ("vllm_async", "openai_http"),
    ("legacy_vllm", "openai_http"),
    ("vlm_transformers", "openai_http"),
    ("transformers", "openai_http"),
    ("hf_inference", "openai_http"),
    ("litellm", "openai_http"),
    ("sglang", "openai_http"),
    ("openai_batch", "openai_http"),
    ("dummy", "openai_http"),
    ("support", "context_provider"),
    ("inference", "dut_model"),
    ("modelscope", "hf_hub"),
    ("huggingface", "hf_hub"),
    ("multi_choice_standardizer", "multi_choice"),
    ("preprocess_strip_assistant", "strip_assistant"),
    ("piqa_struct_only", "piqa"),
    ("mmmu_multimodal_inputs", "mmmu"),
    ("gsm8k_*", "numeric_match"),
    ("gsm8k_*", "gsm8k"),
    ("aime*", "numeric_match"),
    ("aime*", "default"),
    ("math500*", "exact_match"),
    ("math500*", "default"),
    ("mathvista*", "exact_match"),
    ("mathvista*", "default"),
    ("mme_*", "exact_match"),
    ("mme_*", "default"),
    ("mme", "default"),
    ("mmlu_pro*", "multi_choice_accuracy"),
    ("mmlu_pro*", "multi_choice"),
    ("gpqa*", "multi_choice_accuracy"),
    ("gpqa*", "multi_choice"),
    ("video_mme*", "multi_choice_accuracy"),
    ("video_mme*", "multi_choice"),
    ("global_piqa*", "multi_choice_accuracy"),
    ("global_piqa*", "piqa"),
    ("hle*", "judge_threshold"),
    ("hle*", "default"),
    ("simpleqa*", "judge_threshold"),
    ("simpleqa*", "default"),
];

/// Returns the old key at a place, if it is one. `path` is that of its mapping.
pub(crate) fn old_key(path: &str, key: &str) -> Option<&'static OldKey> {
    let plain = without_indexes(path);
    OLD_KEYS.iter().find(|old| {
        let is_here = match old.place.strip_prefix('*') {
            Some(end) => plain.ends_with(end),
            None => plain == old.place,
        };
        is_here && old.key == key
    })
}

/// Returns the name that takes the place of an old one, if it is among those that are possible.
pub(crate) fn new_name<'n>(old: &str, known: &[&'n str]) -> Option<&'n str> {
    let is_old = |pattern: &str| match pattern.strip_suffix('*') {
        Some(beginning) => old.starts_with(beginning),
        None => old == pattern,
    };
    let mut found = OLD_NAMES.iter().filter(|(pattern, _)| is_old(pattern)).map(|(_, new)| *new);
    found.find_map(|new| known.iter().copied().find(|name| *name == new))
}

impl OldKey {
    /// Returns true if the key had no effect with this value.
    pub(crate) fn is_inert(&self, value: &Node) -> bool {
        match self.effect {
            Nothing => true,
            NothingIfEmpty => {
                let is_empty_list = value.as_list().is_some_and(<[Node]>::is_empty);
                value.is_null() || is_empty_list || value.as_map().is_some_and(<[_]>::is_empty)
            }
            NothingFor(values) => value.as_text().is_some_and(|text| values.contains(&text)),
            OldKeyEffect::Real => false,
        }
    }
}

/// Returns a path with `[]` in place of `[0]`.
fn without_indexes(path: &str) -> String {
    path.chars().filter(|one| !one.is_ascii_digit() || !path.contains('[')).collect()
}

#[cfg(test)]
mod tests {
    use crate::pipeline::{Environment, load};

    fn problems_of(text: &str) -> serde_json::Value {
        let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
        load("suite.yaml", text, &[], &environment).1.to_json()
    }

    #[test]
    fn old_keys_have_help_and_inert_ones_are_warnings() {
        let found = problems_of(
            "api_version: gage/v1alpha1\nkind: PipelineConfig\nmodels: []\nparameters: {}\n\
             datasets:\n  - {dataset_id: d, loader: hf_hub, hub: huggingface, hub_params: {hub_id: a/b}, \
             params: {hub_id: a/b}}\n  - {dataset_id: e, loader: jsonl, hub: inline, params: {path: e.jsonl}}\n\
             role_adapters:\n  - {adapter_id: r, role_type: support, concurrency: 2, backend: {type: vllm, config: {}}}\n\
             prompts: [{prompt_id: p, renderer: jinja, template: x}, {prompt_id: q, renderer: a.b, template: x}]\n\
             tasks: [{task_id: t, dataset_id: d, reporting: {sinks: []}}]\n",
        );
        let of = |key: &str| {
            let problem = found.as_array().into_iter().flatten().find(|problem| problem["key"] == key);
            let problem = problem.unwrap_or_else(|| panic!("{key}: {found:#}"));
            (problem["severity"].as_str().unwrap_or(""), problem["help"].as_str().unwrap_or(""))
        };
        for (key, severity, help) in [
            ("models", "warning", "`backends` lists models"),
            ("parameters", "warning", "`--set KEY=VALUE` replaces a value"),
            ("tasks[0].reporting", "warning", "it has no effect; leave it out"),
            ("prompts[0].renderer", "warning", "every template is Jinja; leave it out"),
            ("prompts[1].renderer", "error", "every template is Jinja; leave it out"),
            ("datasets[0].hub_params", "error", "its keys belong in `params`, next to `loader: hf_hub`"),
            (
                "role_adapters[0].concurrency",
                "error",
                "write `resource_requirement: {pool_size: N}` into the role",
            ),
        ] {
            assert_eq!(of(key), (severity, help), "{key}");
        }
        let (severity, help) = of("datasets[1].hub");
        assert!(
            severity == "warning" && help.starts_with("leave it out if the loader reads files"),
            "{help}"
        );
        assert!(
            of("role_adapters[0].backend.type").1.starts_with("`vllm` of gage-eval is `openai_http` here")
        );
        assert!(
            of("role_adapters[0].role_type").1.starts_with("`support` of gage-eval is `context_provider`")
        );
    }

    #[test]
    fn names_of_benchmarks_are_found_by_their_beginning() {
        let (metrics, preprocessors) =
            (["exact_match", "mmmu_accuracy", "numeric_match"], ["default", "gsm8k", "multi_choice"]);
        for (old, metric, preprocessor) in [
            ("aime24_preprocessor", Some("numeric_match"), Some("default")),
            ("gsm8k_accuracy", Some("numeric_match"), Some("gsm8k")),
            ("mme_accuracy", Some("exact_match"), Some("default")),
            ("gpqa_diamond_multi_choice", None, Some("multi_choice")),
            ("hle_preprocessor", None, Some("default")),
            ("mme", None, Some("default")),
            ("my_own", None, None),
        ] {
            let found = (super::new_name(old, &metrics), super::new_name(old, &preprocessors));
            assert_eq!(found, (metric, preprocessor), "{old}");
        }
    }

    #[test]
    fn settings_of_a_server_are_not_sent_to_it() {
        let found = problems_of(
            "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
             backends:\n  - backend_id: b\n    type: openai_http\n    config: {model: m, dtype: bfloat16, further: 1}\n",
        );
        let text = found.to_string();
        assert!(text.contains("`dtype` is not a key of openai_http; it is not sent"), "{text}");
        assert!(text.contains("`further` is not a key of openai_http; it is added to the body"), "{text}");
    }
}
