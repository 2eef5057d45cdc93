//! Preprocessors of the older program, and what takes their place.

use crate::python_name::{is_path, last_name, without_kind};

/// A preprocessor of gage-host that takes the place of an old one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PreprocessorReplacement {
    /// The name.
    pub(crate) name: &'static str,
    /// Parameters that the old one had built in; those of the suite have precedence.
    pub(crate) kwargs: &'static [(&'static str, &'static str)],
    /// Work that is left, if there is some.
    pub(crate) work: Option<&'static str>,
}

/// A preprocessor of the suite.
#[derive(Clone, Debug)]
pub(crate) enum PreprocessorMatch {
    /// gage-host has it under this name.
    Same,
    /// Another takes its place.
    Other(PreprocessorReplacement),
    /// The preprocessor has no replacement.
    Unknown,
}

const TEXT_KWARGS: &[&str] =
    &["question_field", "answer_field", "system_prompt", "instruction", "media", "trim", "roles_to_remove"];
const CHOICE_KWARGS: &[&str] = &[
    "question_field",
    "choices_field",
    "options_field",
    "answer_field",
    "answer_index_base",
    "system_prompt",
    "instruction",
    "style",
    "few_shot",
    "roles_to_remove",
];

/// The preprocessors of gage-host, with their parameters.
const KNOWN: &[(&str, &[&str])] = &[
    ("default", TEXT_KWARGS),
    ("legacy", TEXT_KWARGS),
    ("simple", TEXT_KWARGS),
    ("strip_assistant", TEXT_KWARGS),
    ("multi_choice", CHOICE_KWARGS),
    (
        "multi_choice_struct_only",
        &[
            "question_field",
            "choices_field",
            "options_field",
            "answer_field",
            "answer_index_base",
            "roles_to_remove",
        ],
    ),
    (
        "mmlu",
        &[
            "question_field",
            "choices_field",
            "answer_field",
            "answer_index_base",
            "subject_field",
            "subject",
            "system_prompt",
            "instruction",
            "style",
            "few_shot",
            "roles_to_remove",
        ],
    ),
    (
        "piqa",
        &[
            "goal_field",
            "sol1_field",
            "sol2_field",
            "label_field",
            "system_prompt",
            "instruction",
            "style",
            "few_shot",
            "roles_to_remove",
        ],
    ),
    (
        "mmmu",
        &[
            "question_field",
            "options_field",
            "answer_field",
            "system_prompt",
            "instruction",
            "open_instruction",
            "roles_to_remove",
        ],
    ),
    (
        "docvqa",
        &[
            "question_field",
            "answers_field",
            "content_field",
            "image_field",
            "content_root",
            "system_prompt",
            "instruction",
            "roles_to_remove",
        ],
    ),
    (
        "gsm8k",
        &[
            "question_field",
            "answer_field",
            "system_prompt",
            "instruction",
            "answer_only",
            "few_shot",
            "roles_to_remove",
        ],
    ),
];

const PROBLEM: &[(&str, &str)] = &[("question_field", "problem"), ("answer_field", "answer")];
const QUESTION: &[(&str, &str)] = &[("question_field", "question"), ("answer_field", "answer")];
const OPTIONS: &[(&str, &str)] =
    &[("question_field", "question"), ("choices_field", "options"), ("answer_field", "answer")];

const fn plain(name: &'static str) -> PreprocessorReplacement {
    PreprocessorReplacement { name, kwargs: &[], work: None }
}

const fn with(
    name: &'static str,
    kwargs: &'static [(&'static str, &'static str)],
) -> PreprocessorReplacement {
    PreprocessorReplacement { name, kwargs, work: None }
}

/// Old names without their usual words. A `*` at the end stands for any further text. The first that matches counts.
const REPLACEMENTS: &[(&str, PreprocessorReplacement)] = &[
    ("base", plain("default")),
    ("raw", plain("default")),
    ("passthrough", plain("default")),
    ("identity", plain("default")),
    ("docvqa*", plain("docvqa")),
    ("doc_vqa*", plain("docvqa")),
    ("mmmu*", plain("mmmu")),
    ("gsm8*", plain("gsm8k")),
    ("piqa*", plain("piqa")),
    (
        "global_piqa*",
        with(
            "piqa",
            &[
                ("goal_field", "prompt"),
                ("sol1_field", "solution0"),
                ("sol2_field", "solution1"),
                ("label_field", "label"),
            ],
        ),
    ),
    ("mmlu_pro*", with("multi_choice", OPTIONS)),
    ("mmlu*", plain("mmlu")),
    (
        "gpqa*",
        PreprocessorReplacement {
            name: "multi_choice",
            kwargs: &[],
            work: Some(
                "rows with the options in four columns need a preprocessor that puts them into one list; rows with \
             `choices` and `answer` work",
            ),
        },
    ),
    ("math500*", with("default", PROBLEM)),
    ("math_500*", with("default", PROBLEM)),
    ("math_vista*", with("default", QUESTION)),
    ("mathvista*", with("default", QUESTION)),
    ("aime*", with("default", PROBLEM)),
    ("hle*", with("default", QUESTION)),
    ("humanitys_last_exam*", with("default", QUESTION)),
    ("simpleqa*", with("default", PROBLEM)),
    ("simple_qa*", with("default", PROBLEM)),
    ("video_mme*", with("multi_choice", OPTIONS)),
    ("videomme*", with("multi_choice", OPTIONS)),
    ("mme*", with("default", QUESTION)),
    ("bizfinbench*", plain("default")),
    ("arc_*", with("multi_choice", &[("choices_field", "choices.text"), ("answer_field", "answerKey")])),
    ("multi_choice*", plain("multi_choice")),
    ("multichoice*", plain("multi_choice")),
    ("multiple_choice*", plain("multi_choice")),
    ("strip_assistant*", plain("strip_assistant")),
];

/// Names of fields in datasets on hubs: the dataset in lower case, the question, the answer.
const HUB_FIELDS: &[(&str, &str, &str)] = &[
    ("maxwell-jia/aime_2024", "Problem", "Answer"),
    ("huggingfaceh4/aime_2024", "problem", "answer"),
    ("math-ai/aime25", "problem", "answer"),
    ("opencompass/aime2025", "question", "answer"),
    ("huggingfaceh4/math-500", "problem", "answer"),
    ("basicv8vc/simpleqa", "problem", "answer"),
    ("google/simpleqa-verified", "problem", "answer"),
    ("cais/hle", "question", "answer"),
];

/// Beginnings of names whose benchmarks run code, or play.
const IMPOSSIBLE: &[(&str, &str)] = &[
    ("live_code_bench", "running code of answers is not possible"),
    ("livecodebench", "running code of answers is not possible"),
    ("humaneval", "running code of answers is not possible"),
    ("human_eval", "running code of answers is not possible"),
    ("mbpp", "running code of answers is not possible"),
    ("swebench", "running code of answers is not possible"),
    ("swe_bench", "running code of answers is not possible"),
    ("terminal_bench", "running code of answers is not possible"),
    ("appworld", "simulated environments are not possible"),
    ("tau2", "simulated environments are not possible"),
    ("arena", "games are not possible"),
    ("gomoku", "games are not possible"),
];

/// Returns the reason why a benchmark cannot be run here, by the name of its preprocessor or metric.
pub(crate) fn impossible(name: &str) -> Option<&'static str> {
    let name = short_name(name);
    IMPOSSIBLE.iter().find(|(begin, _)| name.starts_with(begin)).map(|(_, reason)| *reason)
}

/// Returns a name without its class path and its usual words.
pub(crate) fn short_name(name: &str) -> String {
    let name = if is_path(name) { last_name(name) } else { name.to_ascii_lowercase() };
    without_kind(&name).to_owned()
}

/// Returns true if a pattern, whose `*` stand for any text, matches a whole name.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((begin, "")) => name.starts_with(begin),
        Some((begin, rest)) => name.strip_prefix(begin).is_some_and(|name| {
            name.char_indices().any(|(place, _)| name.get(place..).is_some_and(|name| matches(rest, name)))
        }),
    }
}

/// Returns what takes the place of a preprocessor.
pub(crate) fn find(name: &str) -> PreprocessorMatch {
    if name.ends_with(".wasm") || name.contains(['/', '#']) || kwargs_of(name).is_some() {
        return PreprocessorMatch::Same;
    }
    let short = short_name(name);
    if let Some((known, _)) = KNOWN.iter().find(|(known, _)| *known == short) {
        return PreprocessorMatch::Other(plain(known));
    }
    let base = short.strip_suffix("_struct_only").unwrap_or(&short);
    let found = REPLACEMENTS.iter().find(|(pattern, _)| matches(pattern, base));
    match found {
        Some((_, replacement)) => PreprocessorMatch::Other(*replacement),
        None => PreprocessorMatch::Unknown,
    }
}

/// Returns the parameters of a preprocessor of gage-host.
pub(crate) fn kwargs_of(name: &str) -> Option<&'static [&'static str]> {
    KNOWN.iter().find(|(known, _)| *known == name).map(|(_, kwargs)| *kwargs)
}

/// Returns the fields of rows that a preprocessor of gage-host reads without parameters.
pub(crate) fn fields_of(name: &str) -> &'static [&'static str] {
    match name {
        "default" | "legacy" | "simple" | "strip_assistant" | "gsm8k" => &["question", "answer"],
        "multi_choice" | "multi_choice_struct_only" => &["question", "choices", "options", "answer"],
        "mmlu" => &["question", "choices", "answer", "subject"],
        "piqa" => &["goal", "sol1", "sol2", "label"],
        "mmmu" => &["question", "options", "answer"],
        "docvqa" => &["question", "answers", "image"],
        _ => &[],
    }
}

/// Returns the fields of the question and the answer in a dataset of a hub.
pub(crate) fn hub_fields(hub_id: &str) -> Option<(&'static str, &'static str)> {
    let hub_id = hub_id.to_ascii_lowercase();
    HUB_FIELDS.iter().find(|(known, ..)| *known == hub_id).map(|(_, question, answer)| (*question, *answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(old: &str) -> &'static str {
        match find(old) {
            PreprocessorMatch::Same => "same",
            PreprocessorMatch::Other(new) => new.name,
            PreprocessorMatch::Unknown => "unknown",
        }
    }

    #[test]
    fn old_preprocessors_have_replacements() {
        for (old, new) in [
            ("multi_choice", "same"),
            ("multi_choice_struct_only", "same"),
            ("./mine.wasm", "same"),
            ("multi_choice_standardizer", "multi_choice"),
            ("preprocess_strip_assistant", "strip_assistant"),
            ("piqa_struct_only", "piqa"),
            ("mmmu_multimodal_inputs", "mmmu"),
            ("docvqa_image_standardizer", "docvqa"),
            ("gsm8k_preprocessor", "gsm8k"),
            ("gage_eval.assets.datasets.preprocessors.piqa:PiqaPreprocessor", "piqa"),
            ("math500", "default"),
            ("aime2024_preprocessor", "default"),
            ("mmlu_pro_chat", "multi_choice"),
            ("global_piqa_chat_preprocessor", "piqa"),
            ("mme_preprocessor", "default"),
            ("gpqa_diamond_multi_choice", "multi_choice"),
            ("my_own", "unknown"),
        ] {
            assert_eq!(name_of(old), new, "{old}");
        }
        assert_eq!(impossible("live_code_bench_pass"), Some("running code of answers is not possible"));
    }
}
