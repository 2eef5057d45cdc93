//! Checks that a Sample has a reference that metrics can use.

use super::{Reference, Sample};

/// Reason why a Sample's answer cannot be compared. This is not an error: a metric may read something else,
/// and a judge may need no reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerProblem {
    /// There is no reference, or the first is empty.
    Missing,
    /// There are options, but no reference names one of them.
    NoOption,
}

impl AnswerProblem {
    /// Returns a short name, as in `missing_reference`.
    pub fn name(self) -> &'static str {
        match self {
            AnswerProblem::Missing => "missing_reference",
            AnswerProblem::NoOption => "unknown_reference",
        }
    }
}

impl std::fmt::Display for AnswerProblem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            AnswerProblem::Missing => "there is no reference",
            AnswerProblem::NoOption => "no reference names one of the options",
        })
    }
}

/// Returns the problem of a Sample's references, if any.
pub(super) fn problem_of(sample: &Sample) -> Option<AnswerProblem> {
    if sample.references.first().is_none_or(Reference::is_blank) {
        // The expected tool calls are an answer too.
        return sample.golden_trajectories.is_empty().then_some(AnswerProblem::Missing);
    }
    let names_an_option = || {
        sample.references.iter().any(|reference| {
            let text = reference.text();
            let is_same = |other: &str| other.trim().to_lowercase() == text.trim().to_lowercase();
            sample.options.iter().any(|option| is_same(&option.id) || is_same(&option.content))
        })
    };
    let is_chosen = sample.options.is_empty() || sample.metadata.contains_key("correct_choice");
    (!is_chosen && !names_an_option()).then_some(AnswerProblem::NoOption)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_that_nothing_can_be_compared_with() {
        let options = json!([{"id": "A", "content": "x"}, {"id": "B", "content": "y"}]);
        for (fields, expected) in [
            (json!({}), Some(AnswerProblem::Missing)),
            (json!({"references": [{"answer": " "}]}), Some(AnswerProblem::Missing)),
            (json!({"golden_trajectories": [[{"role": "assistant", "content": "a"}]]}), None),
            (json!({"references": [{"answer": "4"}]}), None),
            (
                json!({"references": [{"answer": [{"type": "image_url", "image_url": {"url": "a.png"}}]}]}),
                None,
            ),
            (json!({"references": [{"answer": "b"}], "options": options}), None),
            (json!({"references": [{"answer": "no"}, {"answer": "Y "}], "options": options}), None),
            (
                json!({"references": [{"answer": "Option B"}], "options": options}),
                Some(AnswerProblem::NoOption),
            ),
            (
                json!({"references": [{"answer": "?"}], "options": options, "metadata": {"correct_choice": "A"}}),
                None,
            ),
        ] {
            let mut sample = json!({
                "schema_version": "v1", "id": "q", "messages": [{"role": "user", "content": "q"}], "references": [],
            });
            for (name, value) in fields.as_object().into_iter().flatten() {
                sample[name] = value.clone();
            }
            let sample = Sample::from_value(sample).expect("a Sample");
            assert_eq!(sample.answer_problem(), expected, "{fields}");
        }
    }
}
