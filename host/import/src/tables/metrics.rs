//! Metrics of the older program, and what takes their place.

use super::preprocessors::{matches, short_name};

/// A metric of gage-host that takes the place of an old one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetricReplacement {
    /// The name.
    pub(crate) name: &'static str,
    /// The extractors that find the answer first, as JSON.
    pub(crate) extractors: &'static str,
    /// True if a judge decides, where the suite has one.
    pub(crate) by_judge: bool,
    /// True if the old metric had the same parameters.
    pub(crate) keeps_params: bool,
}

/// A metric of the suite.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MetricMatch {
    /// gage-host has it under this name.
    Same,
    /// Another takes its place.
    Other(MetricReplacement),
    /// The metric has no replacement.
    Unknown,
}

/// The metrics of gage-host.
const KNOWN: &[&str] = &[
    "answer_probability",
    "bits_per_byte",
    "bleu",
    "brier",
    "byte_perplexity",
    "canonical_answer",
    "chrf",
    "claim_evidence_overlap",
    "claim_verifiability",
    "contains",
    "docvqa_anls",
    "drop",
    "exact_match",
    "extracted_match",
    "greedy_match",
    "ifeval",
    "judge_score",
    "judge_threshold",
    "latency",
    "likelihood",
    "list_overlap",
    "loglikelihood_accuracy",
    "math_equal",
    "mmmu_accuracy",
    "multi_choice_accuracy",
    "numeric_error",
    "numeric_match",
    "pass_at_k",
    "ranking",
    "reasoning_consistency",
    "reasoning_step_order",
    "reference_rouge",
    "regex_match",
    "rouge_l",
    "semantic_similarity",
    "squad",
    "text_length",
    "token_f1",
    "token_perplexity",
    "trajectory_match",
    "word_perplexity",
];

const NUMBER: &str = r#"[{"boxed": {"kind": "number"}}, {"final_answer": {"kind": "number"}}, {"last_number": {"fractions": true}}]"#;
const BOXED: &str = r#"["boxed", "final_answer"]"#;
const LETTER: &str = r#"[{"final_answer": {"kind": "choice"}}, "choice_letter"]"#;
const FINAL: &str = r#"["final_answer", {"regex": {"pattern": "(?s)\\A\\s*(.*?)\\s*\\Z"}}]"#;
const YES_NO: &str = r#"[{"regex": {"pattern": "\\b(yes|no)\\b", "which": "first"}}]"#;

const fn scored(name: &'static str, extractors: &'static str) -> MetricReplacement {
    MetricReplacement { name, extractors, by_judge: false, keeps_params: false }
}

const fn judged(name: &'static str, extractors: &'static str) -> MetricReplacement {
    MetricReplacement { name, extractors, by_judge: true, keeps_params: false }
}

const fn same(name: &'static str) -> MetricReplacement {
    MetricReplacement { name, extractors: "", by_judge: false, keeps_params: true }
}

/// Old names without their usual words. A `*` stands for any text. The first that matches counts.
const REPLACEMENTS: &[(&str, MetricReplacement)] = &[
    ("gsm8*", scored("numeric_match", NUMBER)),
    ("math500*", scored("math_equal", BOXED)),
    ("math_500*", scored("math_equal", BOXED)),
    ("math_accuracy", scored("math_equal", BOXED)),
    ("aime*", scored("numeric_match", NUMBER)),
    ("mmlu_pro*", scored("multi_choice_accuracy", LETTER)),
    ("gpqa*", scored("multi_choice_accuracy", LETTER)),
    ("mmlu*", scored("multi_choice_accuracy", "")),
    ("piqa*", scored("multi_choice_accuracy", "")),
    ("global_piqa*", scored("multi_choice_accuracy", "")),
    ("arc_*", scored("multi_choice_accuracy", "")),
    ("video_mme*", scored("multi_choice_accuracy", "")),
    ("videomme*", scored("multi_choice_accuracy", "")),
    ("multi_choice*", same("multi_choice_accuracy")),
    ("multichoice*", same("multi_choice_accuracy")),
    ("multiple_choice*", same("multi_choice_accuracy")),
    ("judge_multi_choice*", same("multi_choice_accuracy")),
    ("mmmu*", same("mmmu_accuracy")),
    ("docvqa*", same("docvqa_anls")),
    ("doc_vqa*", same("docvqa_anls")),
    ("anls", same("docvqa_anls")),
    ("mathvista*", scored("exact_match", FINAL)),
    ("math_vista*", scored("exact_match", FINAL)),
    ("mme*", scored("exact_match", YES_NO)),
    ("hle*", judged("exact_match", FINAL)),
    ("simpleqa*", judged("exact_match", FINAL)),
    ("simple_qa*", judged("exact_match", FINAL)),
    ("exact_match*", same("exact_match")),
    ("accuracy", same("exact_match")),
    ("acc", same("exact_match")),
    ("em", same("exact_match")),
    ("contains*", same("contains")),
    ("numeric_match*", same("numeric_match")),
    ("regex_match*", same("regex_match")),
    ("judge_threshold*", same("judge_threshold")),
    ("llm_judge*", same("judge_threshold")),
    ("judge_acc*", same("judge_threshold")),
    ("text_length*", same("text_length")),
    ("latency*", same("latency")),
    ("likelihood*", same("likelihood")),
    ("ranking*", same("ranking")),
    ("rouge*", same("rouge_l")),
];

/// The metrics that read the answer, and the parameter with its path.
pub(crate) const READ_ANSWERS: &[(&str, &str)] = &[
    ("bleu", "prediction_field"),
    ("brier", "prediction_field"),
    ("chrf", "prediction_field"),
    ("contains", "prediction_field"),
    ("docvqa_anls", "prediction_field"),
    ("drop", "prediction_field"),
    ("exact_match", "prediction_field"),
    ("ifeval", "prediction_field"),
    ("list_overlap", "prediction_field"),
    ("math_equal", "prediction_field"),
    ("mmmu_accuracy", "prediction_field"),
    ("multi_choice_accuracy", "prediction_field"),
    ("numeric_error", "prediction_field"),
    ("numeric_match", "prediction_field"),
    ("reference_rouge", "prediction_field"),
    ("regex_match", "target_field"),
    ("rouge_l", "prediction_field"),
    ("squad", "prediction_field"),
    ("text_length", "target_field"),
    ("token_f1", "prediction_field"),
];

/// The metrics that read the answer only as the step `extract` parsed it.
const READ_PARSED: &[&str] = &[
    "canonical_answer",
    "claim_evidence_overlap",
    "claim_verifiability",
    "reasoning_consistency",
    "reasoning_step_order",
];

/// Returns true if a metric reads the answer as the step `extract` parsed it, or is a plugin, which may.
pub(crate) fn may_read_parsed(name: &str) -> bool {
    READ_PARSED.contains(&name) || !KNOWN.contains(&name)
}

/// Parameters that the metrics of benchmarks share with those that take their place.
pub(crate) const SHARED_PARAMS: &[&str] = &["tolerance", "threshold", "case_sensitive", "on_missing_field"];

/// Aggregations of the older program with other names.
pub(crate) const AGGREGATIONS: &[(&str, &str)] =
    &[("categorical_count", "categorical"), ("none", "identity"), ("average", "mean"), ("avg", "mean")];

/// Returns what takes the place of a metric.
pub(crate) fn find(name: &str) -> MetricMatch {
    if KNOWN.contains(&name) || name.ends_with(".wasm") || name.contains(['/', '#']) {
        return MetricMatch::Same;
    }
    let short = short_name(name);
    if let Some(known) = KNOWN.iter().find(|known| **known == short) {
        return MetricMatch::Other(same(known));
    }
    let found = REPLACEMENTS.iter().find(|(pattern, _)| matches(pattern, &short));
    match found {
        Some((_, replacement)) => MetricMatch::Other(*replacement),
        None => MetricMatch::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn extractors_of_replacements_are_json() {
        for (pattern, replacement) in REPLACEMENTS {
            if !replacement.extractors.is_empty() {
                let read: Result<Vec<Value>, _> = serde_json::from_str(replacement.extractors);
                assert!(read.is_ok_and(|list| !list.is_empty()), "{pattern}");
            }
        }
    }

    #[test]
    fn readers_of_answers_are_metrics() {
        for name in READ_ANSWERS.iter().map(|(name, _)| *name).chain(READ_PARSED.iter().copied()) {
            assert!(KNOWN.contains(&name), "{name}");
        }
        for (name, expected) in [("canonical_answer", true), ("./own.wasm", true), ("judge_threshold", false)]
        {
            assert_eq!(may_read_parsed(name), expected, "{name}");
        }
    }

    #[test]
    fn old_metrics_have_replacements() {
        for (old, new) in [
            ("exact_match", "same"),
            ("gsm8k_accuracy", "numeric_match"),
            ("math500_accuracy", "math_equal"),
            ("aime2025_accuracy", "numeric_match"),
            ("mmlu_pro_accuracy", "multi_choice_accuracy"),
            ("hle_accuracy_deepseek", "exact_match"),
            ("gage_eval.metrics.builtin.docvqa:DocVQAANLSMetric", "docvqa_anls"),
            ("my_own", "unknown"),
        ] {
            let found = match find(old) {
                MetricMatch::Same => "same",
                MetricMatch::Other(replacement) => replacement.name,
                MetricMatch::Unknown => "unknown",
            };
            assert_eq!(found, new, "{old}");
        }
    }
}
