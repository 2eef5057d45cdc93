//! Metrics on multiple-choice answers, `multi_choice_accuracy`, `mmmu_accuracy`,
//! `loglikelihood_accuracy` and `answer_probability`, and on short answers to questions about images, `docvqa_anls`.
//!
//! `gage-choice-kit` finds the option that an answer names.

mod anls;
mod answer_probability;
mod continuations;
mod docvqa_anls;
mod loglikelihood_accuracy;
mod metric;
mod mmmu_accuracy;
mod scored_options;

pub use answer_probability::AnswerProbability;
pub use docvqa_anls::DocVqaAnls;
pub use loglikelihood_accuracy::LoglikelihoodAccuracy;
pub use metric::MultiChoiceAccuracy;
pub use mmmu_accuracy::MmmuAccuracy;

gage_sdk::metrics!(
    name: "choice",
    description: "Metrics on multiple-choice answers and on short answers about images",
    metrics: [MultiChoiceAccuracy, MmmuAccuracy, LoglikelihoodAccuracy, AnswerProbability, DocVqaAnls],
);
