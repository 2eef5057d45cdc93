//! Functions of Python that tasks of lm-evaluation-harness name, and what the well-known ones do.

/// A function of a published task, with its effect.
struct KnownFunction {
    /// Dataset of the task.
    dataset: &'static str,
    /// Last part of the function's name.
    name: &'static str,
    effect: &'static str,
}

const KNOWN: &[KnownFunction] = &[
    KnownFunction {
        dataset: "hellaswag",
        name: "process_docs",
        effect: "it makes `query` of `activity_label`, `: ` and both parts of the context, and removes text in brackets \
                 from `query` and `choices` (the field `endings`)",
    },
    KnownFunction {
        dataset: "winogrande",
        name: "doc_to_text",
        effect: "it returns the place of the right option: `answer` as a number, less 1",
    },
    KnownFunction {
        dataset: "winogrande",
        name: "doc_to_target",
        effect: "it returns the text of `sentence` after the `_`",
    },
    KnownFunction {
        dataset: "winogrande",
        name: "doc_to_choice",
        effect: "it returns the text of `sentence` before the `_`, with each of `option1` and `option2`",
    },
    KnownFunction {
        dataset: "wikitext",
        name: "wikitext_detokenizer",
        effect: "it joins the tokens of `page` again: ` @-@ ` becomes `-`, and spaces before punctuation go",
    },
    KnownFunction {
        dataset: "wikitext",
        name: "process_results",
        effect: "it counts words and bytes, as `word_perplexity` and `byte_perplexity` do",
    },
    KnownFunction {
        dataset: "gpqa",
        name: "process_docs",
        effect: "it shuffles the right answer and the three wrong ones into `choice1` to `choice4`, and sets `answer` to \
                 the letter",
    },
    KnownFunction {
        dataset: "drop",
        name: "process_results",
        effect: "it takes the best F1 and exact match over all `answers`",
    },
    KnownFunction {
        dataset: "truthful_qa",
        name: "process_results_mc2",
        effect: "it sums the probabilities of the true options",
    },
];

/// Datasets of published tasks with functions of Python, each with the ready suite that needs none.
const READY_SUITES: &[(&str, &str)] = &[
    ("EleutherAI/drop", "drop"),
    ("EleutherAI/wikitext_document_level", "wikitext"),
    ("HuggingFaceH4/MATH-500", "math500"),
    ("Idavidrein/gpqa", "gpqa"),
    ("MMMU/MMMU", "mmmu"),
    ("Rowan/hellaswag", "hellaswag"),
    ("TIGER-Lab/MMLU-Pro", "mmlu_pro"),
    ("allenai/winogrande", "winogrande"),
    ("google-research-datasets/mbpp", "mbpp"),
    ("google/IFEval", "ifeval"),
    ("openai/openai_humaneval", "humaneval"),
    ("truthfulqa/truthful_qa", "truthfulqa_mc2"),
];

/// Returns the ready suite of a dataset.
pub(super) fn ready_suite(dataset: &str) -> Option<&'static str> {
    READY_SUITES.iter().find(|(known, _)| *known == dataset).map(|(_, suite)| *suite)
}

/// Returns the effect of a function, if the task is a published one.
pub(super) fn effect_of(dataset: &str, function: &str) -> Option<&'static str> {
    let name = function.rsplit('.').next().unwrap_or(function);
    let dataset = dataset.to_ascii_lowercase();
    let known = KNOWN.iter().find(|known| dataset.contains(known.dataset) && known.name == name);
    known.map(|known| known.effect)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn ready_suites_read_the_dataset_of_the_task() {
        for (dataset, suite) in READY_SUITES {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/suites").join(suite);
            let text = std::fs::read_to_string(path.with_extension("yaml")).expect(suite);
            assert!(text.contains(&format!("hub_id: {dataset}\n")), "{suite}");
        }
    }
}
