//! Equality of an answer and a reference.

use crate::arithmetic::Verdict;
use crate::comparison::same_form;
use crate::final_answer::FinalAnswer;
use crate::limits::{Budget, MAX_ANSWER_BYTES};

/// Maximum length of a canonical form in a report, in characters.
const MAX_CANONICAL_CHARACTERS: usize = 200;

/// Result of comparing an answer with a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Both are the same.
    Equal,
    /// Both are shown to differ.
    Different,
    /// The answer has no meaning that is known.
    AnswerNotUnderstood,
    /// The reference has no meaning that is known.
    ReferenceNotUnderstood,
    /// Equality could not be shown within the limits.
    Undecided,
}

/// The two sides of a comparison, and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The result.
    pub outcome: Outcome,
    /// The canonical form of the answer.
    pub answer: String,
    /// The canonical form of the reference.
    pub reference: String,
    /// Number of steps that the comparison took.
    pub steps: u64,
}

/// Compares an answer with a reference, within a budget that several comparisons may share.
pub fn compare(answer: &str, reference: &str, budget: &Budget) -> Comparison {
    let start = budget.spent();
    let left = FinalAnswer::read(answer, budget);
    let right = FinalAnswer::read(reference, budget);
    let outcome = outcome(&left, &right, budget);
    let steps = budget.spent() - start;
    let display = Budget::for_display();
    let shortened = |text: String| match text.char_indices().nth(MAX_CANONICAL_CHARACTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    };
    Comparison {
        outcome,
        answer: shortened(left.canonical(&display)),
        reference: shortened(right.canonical(&display)),
        steps,
    }
}

fn outcome(answer: &FinalAnswer<'_>, reference: &FinalAnswer<'_>, budget: &Budget) -> Outcome {
    if same_text(answer.text, reference.text) {
        return Outcome::Equal;
    }
    if answer.is_time() && reference.is_time() {
        // As times they differ, even if they are the same ratio.
        return Outcome::Different;
    }
    if answer.is_text() || reference.is_text() {
        return match (&answer.words, &reference.words) {
            (Some(left), Some(right)) if left == right => Outcome::Equal,
            _ => Outcome::Different,
        };
    }
    match (&answer.form, &reference.form) {
        (Err(_), _) | (_, Err(_)) if budget.is_spent() => Outcome::Undecided,
        (_, Err(_)) => Outcome::ReferenceNotUnderstood,
        (Err(_), _) => Outcome::AnswerNotUnderstood,
        (Ok(left), Ok(right)) => match same_form(left, right, budget) {
            Verdict::Equal => Outcome::Equal,
            Verdict::Different => Outcome::Different,
            Verdict::Undecided => Outcome::Undecided,
        },
    }
}

/// Returns whether two answers are written in the same way, apart from spaces that separate nothing and the signs around
/// a formula.
fn same_text(left: &str, right: &str) -> bool {
    if left == right || left.len().max(right.len()) > MAX_ANSWER_BYTES {
        return left == right && !left.is_empty();
    }
    let left = plain(left);
    !left.is_empty() && left == plain(right)
}

/// Returns a text without dollar signs, and with spaces only between letters and digits.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut has_space = false;
    for character in text.chars() {
        if character.is_whitespace() || character == '$' {
            has_space = true;
            continue;
        }
        if std::mem::take(&mut has_space)
            && character.is_alphanumeric()
            && plain.ends_with(char::is_alphanumeric)
        {
            plain.push(' ');
        }
        plain.push(character);
    }
    plain
}
