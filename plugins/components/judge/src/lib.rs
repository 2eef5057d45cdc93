//! Judges: they present a question, a reference and an answer to a judge model, and parse its reply.
//!
//! The output of the model under test is data. It is put in a fence that does not occur in it
//! ([`fence`](fence::Fence)). A quotation of it in a reply is not a verdict ([`reply`]). A reply that has no usable
//! verdict, contradicts itself or was cut off is unparseable, never a 0.

mod fence;
mod grade;
mod json_verdict;
mod labels;
mod material;
mod pairwise;
mod reply;
mod rubric;
mod scale;
mod settings;
mod verdict;

pub use grade::Grade;
pub use json_verdict::JsonVerdict;
pub use pairwise::Pairwise;
pub use rubric::Rubric;
pub use verdict::VerdictJudge;

gage_sdk::judges!(
    name: "judge",
    description: "Judges: a verdict, a verdict in JSON, a label with a score, a rubric, a comparison of two answers",
    extra: gage_sdk::json!({ "own_prompts": ["pairwise"] }),
    judges: [VerdictJudge, JsonVerdict, Grade, Rubric, Pairwise],
);

#[cfg(test)]
mod test_support;
