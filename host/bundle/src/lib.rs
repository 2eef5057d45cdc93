//! The first-party plugins: components built from `plugins/` when this crate is built, and
//! carried in the program, so that it runs from one file. A large one is a file of the installation.
//!
//! Data only. Imports `gage-plugin` for the shape of an entry; the program hands the list to
//! the registry.

use gage_plugin::{BundledComponent, OptionalComponent, World};

macro_rules! component {
    ($name:literal, $world:expr, $members:expr) => {
        BundledComponent {
            name: $name,
            world: $world,
            members: $members,
            is_internal: false,
            bytes: include_bytes!(concat!(env!("OUT_DIR"), "/gage-plugin-", $name, ".wasm")),
            description: include_str!(concat!("../descriptions/", $name, ".json")),
        }
    };
}

/// All of them, each with the names of its members as the component itself gives them. The internal ones are used by the
/// program alone.
pub const COMPONENTS: &[BundledComponent] = &[
    component!(
        "aggregate",
        World::Aggregator,
        &[
            "corpus_bleu",
            "corpus_chrf",
            "corpus_perplexity",
            "ece",
            "pass_at_k",
            "majority_vote",
            "confusion",
            "krippendorff_alpha",
        ]
    ),
    component!("answer", World::Metric, &["canonical_answer"]),
    component!(
        "choice",
        World::Metric,
        &[
            "multi_choice_accuracy",
            "mmmu_accuracy",
            "loglikelihood_accuracy",
            "answer_probability",
            "docvqa_anls"
        ]
    ),
    component!(
        "extract",
        World::Extractor,
        &[
            "strip_thoughts",
            "last_number",
            "boxed",
            "final_answer",
            "json_field",
            "json_object",
            "regex",
            "choice_letter",
            "list_items",
        ]
    ),
    component!(
        "hooks",
        World::DocHook,
        &["visual_from_field", "audio_from_field", "text_from_field", "embed_local_message_images"]
    ),
    component!("instruction", World::Metric, &["ifeval"]),
    component!("judge", World::Judge, &["verdict", "json_verdict", "grade", "rubric", "pairwise"]),
    component!("list", World::Metric, &["list_overlap"]),
    component!("math", World::Metric, &["math_equal"]),
    component!("number", World::Metric, &["numeric_match", "numeric_error"]),
    component!(
        "overlap",
        World::Metric,
        &["reference_rouge", "rouge_l", "bleu", "chrf", "token_f1", "squad", "drop"]
    ),
    component!(
        "preprocess",
        World::Preprocessor,
        &[
            "default",
            "legacy",
            "simple",
            "multi_choice",
            "multi_choice_struct_only",
            "piqa",
            "mmlu",
            "gsm8k",
            "docvqa",
            "docvqa_image_standardizer",
            "mmmu",
            "strip_assistant",
        ]
    ),
    component!(
        "reasoning",
        World::Metric,
        &["reasoning_consistency", "claim_evidence_overlap", "reasoning_step_order", "claim_verifiability"]
    ),
    component!(
        "score",
        World::Metric,
        &[
            "judge_score",
            "judge_threshold",
            "likelihood",
            "word_perplexity",
            "byte_perplexity",
            "token_perplexity",
            "bits_per_byte",
            "semantic_similarity",
            "ranking",
            "pass_at_k",
            "brier",
            "greedy_match",
        ]
    ),
    BundledComponent {
        is_internal: true,
        ..component!("template", World::RoleAdapter, &["chat_template", "fields", "prompt"])
    },
    component!(
        "text",
        World::Metric,
        &["exact_match", "extracted_match", "contains", "regex_match", "text_length"]
    ),
    component!("timing", World::Metric, &["latency"]),
    component!("tools", World::RoleAdapter, &["context_from_field", "tool_table"]),
    component!("trajectory", World::Metric, &["trajectory_match"]),
];

/// Components that may be installed beside the program. `tests/end_to_end/code_execution.rs` compares each with its file.
pub const OPTIONAL_COMPONENTS: &[OptionalComponent] = &[
    OptionalComponent {
        name: "javascript_tests",
        world: World::Metric,
        members: &["javascript_tests"],
        description: include_str!("../descriptions/javascript_tests.json"),
        remedy: "it runs programs that models write, and is a file of its own because of its size; in a clone, \
                 `make javascript-runner` builds it beside the programs of `make release`",
    },
    OptionalComponent {
        name: "python_tests",
        world: World::Metric,
        members: &["python_tests"],
        description: include_str!("../descriptions/python_tests.json"),
        remedy: "it runs programs that models write, and is a file of its own because of its size; the wheel and the \
                 archive contain it; in a clone, `make python-runner` builds it beside the programs of `make release`, and \
                 `make install` installs it with them",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use gage_plugin::{AnyComponent, HostOptions, InstanceSetup, PluginDescription, PluginHost};
    use std::path::Path;

    /// `GAGE_RECORD_DESCRIPTIONS=1 cargo test -p gage-plugin-bundle` writes the recorded descriptions again.
    #[test]
    fn recorded_descriptions_are_the_components_own() {
        let is_recorded = std::env::var_os("GAGE_RECORD_DESCRIPTIONS").is_some();
        let host = PluginHost::new(&HostOptions::default()).expect("an engine");
        for component in COMPONENTS {
            let name = component.name;
            let loaded = AnyComponent::load(&host, name, component.bytes, &InstanceSetup::default());
            let described = PluginDescription::of(&loaded.expect("loads"));
            if is_recorded {
                let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("descriptions/{name}.json"));
                std::fs::write(file, described.to_json()).expect("written");
                continue;
            }
            let recorded = PluginDescription::from_json(component.description);
            assert_eq!(
                recorded,
                Some(described),
                "{name}: record the descriptions again: GAGE_RECORD_DESCRIPTIONS=1 cargo test -p gage-plugin-bundle"
            );
        }
    }

    #[test]
    fn the_names_are_those_that_the_components_give() {
        let host = PluginHost::new(&HostOptions::default()).expect("an engine");
        for component in COMPONENTS {
            let family =
                AnyComponent::load(&host, component.name, component.bytes, &InstanceSetup::default());
            let family = family.expect("loads");
            let names: Vec<&str> = family.descriptions().iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names, component.members, "{}", component.name);
            assert_eq!(family.world(), component.world);
            assert_eq!(family.identity().name, component.name);
        }
    }
}
