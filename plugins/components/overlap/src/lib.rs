//! Metrics on the overlap of a text with a reference: `reference_rouge`, `rouge_l`, `bleu`, `chrf`, `token_f1`, `squad`
//! and `drop`.
//!
//! Each gives the scores of the program that is standard in its field: `rouge-score` 0.1.2, sacreBLEU 2, the evaluation
//! scripts of SQuAD and of DROP. If there are several references, the best counts.

mod bleu;
mod chrf;
mod compared;
mod drop;
#[cfg(test)]
mod fixtures;
mod reference_rouge;
mod rouge_l;
mod squad;
mod token_f1;
mod translation_tokens;

pub use bleu::Bleu;
pub use chrf::Chrf;
pub use drop::DropAnswer;
pub use reference_rouge::ReferenceRouge;
pub use rouge_l::RougeL;
pub use squad::Squad;
pub use token_f1::TokenF1;

gage_sdk::metrics!(
    name: "overlap",
    description: "Metrics on overlap with references: ROUGE, BLEU, chrF, F1 of words, SQuAD, DROP",
    metrics: [ReferenceRouge, RougeL, Bleu, Chrf, TokenF1, Squad, DropAnswer],
);
