//! Judges: they put a question, a reference and an answer before a judge model, and read its reply.
//!
//! What the model under test wrote is data. It stands in a fence that does not occur in it
//! ([`fence`](fence::Fence)), and a reply is read so that a quotation of it is no verdict ([`reply`]). A
//! reply that says nothing usable, contradicts itself or was cut off is unparseable, never a 0.

mod fence;
mod json_verdict;
mod material;
mod pairwise;
mod reply;
mod rubric;
mod scale;
mod settings;
mod verdict;

pub use json_verdict::JsonVerdict;
pub use pairwise::Pairwise;
pub use rubric::Rubric;
pub use verdict::VerdictJudge;

gage_sdk::judges!(
    name: "judge",
    description: "Judges: a verdict, a verdict in JSON, a rubric, a comparison of two answers",
    extra: gage_sdk::json!({ "own_prompts": ["pairwise"] }),
    judges: [VerdictJudge, JsonVerdict, Rubric, Pairwise],
);

#[cfg(test)]
mod test_support;
