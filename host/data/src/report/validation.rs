//! Validation of a dataset: the rows that are not valid Samples, and the reasons.

use crate::preparation::{PreparedSample, ValidSample};
use gage_core::{AnswerProblem, Outcome};
use serde::Serialize;

/// Number of offenders kept for each reason.
const MAX_SHOWN_PROBLEMS: usize = 3;
/// Maximum number of distinct reasons; further ones are counted together.
const MAX_REASONS: usize = 64;

/// Rows with one reason, and the first offenders.
#[derive(Clone, Debug, Serialize)]
pub struct Reason {
    /// Outcome of the rows: `invalid_sample`, `skipped`, `plugin_error`, `plugin_timeout`.
    pub outcome: Outcome,
    /// Short name of the problem, as in `invalid_row`.
    pub kind: String,
    /// Number of rows.
    pub count: u64,
    /// First offenders.
    pub first: Vec<Offender>,
}

/// A row that is not a valid Sample.
#[derive(Clone, Debug, Serialize)]
pub struct Offender {
    /// Position in the run, from 0.
    pub index: u64,
    /// Description of the problem, with file and line.
    pub message: String,
    /// JSON pointer to the invalid value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Beginning of the row.
    pub row: String,
}

/// Samples in which metrics may find nothing to compare answers with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReferenceProblem {
    /// `missing_reference` or `unknown_reference`, as metrics tag such Samples.
    pub kind: &'static str,
    /// Description of the problem.
    pub message: String,
    /// Number of Samples.
    pub count: u64,
    /// IDs of the first Samples.
    pub first: Vec<String>,
}

/// Counts Samples without a usable answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnansweredCounts(Vec<ReferenceProblem>);

impl UnansweredCounts {
    pub(crate) fn add(&mut self, problem: AnswerProblem, id: &str) {
        let place = self.0.iter().position(|known| known.kind == problem.name()).unwrap_or_else(|| {
            let (kind, message) = (problem.name(), problem.to_string());
            self.0.push(ReferenceProblem { kind, message, count: 0, first: Vec::new() });
            self.0.len() - 1
        });
        let known = &mut self.0[place];
        known.count += 1;
        if known.first.len() < MAX_SHOWN_PROBLEMS {
            known.first.push(id.to_owned());
        }
    }

    /// Returns the problems, the most frequent kind first.
    pub(crate) fn finish(self) -> Vec<ReferenceProblem> {
        let mut counts = self.0;
        counts.sort_by_key(|known| std::cmp::Reverse(known.count));
        counts
    }
}

/// Counts the outcomes of a dataset's rows.
#[derive(Clone, Debug, Default)]
pub struct Validation {
    rows: u64,
    samples: u64,
    invalid: u64,
    reasons: Vec<Reason>,
    unanswered: UnansweredCounts,
}

/// Outcomes of a dataset's rows.
#[derive(Clone, Debug, Serialize)]
pub struct ValidationReport {
    /// Rows read, after filter and limit.
    pub rows: u64,
    /// Rows that became Samples.
    pub samples: u64,
    /// Rows that should have become Samples but did not.
    pub invalid: u64,
    /// Rows that the filter excluded.
    pub filtered: u64,
    /// Samples that got a number because their ID had occurred before.
    pub renamed: u64,
    /// Reasons why rows are not valid Samples, the most frequent first.
    pub reasons: Vec<Reason>,
    /// Samples without a usable answer. They are valid, because not all metrics need one.
    pub unanswered: Vec<ReferenceProblem>,
}

impl Validation {
    /// Counts a row.
    pub fn add(&mut self, prepared: &PreparedSample<ValidSample>) {
        self.rows += 1;
        let rejection = match &prepared.result {
            Ok(sound) => {
                self.samples += 1;
                sound.answer_problem.into_iter().for_each(|problem| self.unanswered.add(problem, &sound.id));
                return;
            }
            Err(rejection) => rejection,
        };
        self.invalid += u64::from(rejection.is_invalid());
        let place_of = |kind: &str| {
            let is_same = |reason: &Reason| reason.outcome == rejection.outcome && reason.kind == kind;
            self.reasons.iter().position(is_same)
        };
        let (kind, place) = match place_of(&rejection.kind) {
            None if self.reasons.len() >= MAX_REASONS => ("other", place_of("other")),
            place => (rejection.kind.as_str(), place),
        };
        let place = place.unwrap_or_else(|| {
            let (outcome, kind) = (rejection.outcome, kind.to_owned());
            self.reasons.push(Reason { outcome, kind, count: 0, first: Vec::new() });
            self.reasons.len() - 1
        });
        let reason = &mut self.reasons[place];
        reason.count += 1;
        if reason.first.len() < MAX_SHOWN_PROBLEMS {
            reason.first.push(Offender {
                index: prepared.index,
                message: rejection.message.clone(),
                pointer: rejection.pointer.clone(),
                row: rejection.row.to_string(),
            });
        }
    }

    /// Returns the report.
    pub fn finish(self, filtered: u64, renamed: u64) -> ValidationReport {
        let Validation { rows, samples, invalid, mut reasons, unanswered } = self;
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.count));
        let unanswered = unanswered.finish();
        ValidationReport { rows, samples, invalid, filtered, renamed, reasons, unanswered }
    }
}

impl ValidationReport {
    /// Returns whether the share of invalid rows is within the allowed one.
    pub fn is_within(&self, allowed: f64) -> bool {
        // Numbers of rows stay far below 2^53.
        self.invalid as f64 <= allowed * self.rows as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rejection::Rejection;

    fn rejected(index: u64, rejection: Rejection) -> PreparedSample<ValidSample> {
        PreparedSample {
            index,
            row_digest: String::new(),
            preprocess_ms: 0.0,
            result: Err(Box::new(rejection.at("line 1", "{}"))),
        }
    }

    #[test]
    fn samples_without_an_answer_are_valid_and_counted() {
        let mut validation = Validation::default();
        let problems = [None, Some(AnswerProblem::NoOption), Some(AnswerProblem::Missing)];
        for (index, answer_problem) in
            (0..).zip(problems.into_iter().chain([Some(AnswerProblem::Missing); 4]))
        {
            let sound = ValidSample { id: format!("q{index}"), answer_problem };
            let row_digest = String::new();
            validation.add(&PreparedSample { index, row_digest, preprocess_ms: 0.0, result: Ok(sound) });
        }
        let report = validation.finish(0, 0);
        assert_eq!((report.samples, report.invalid), (7, 0));
        let found: Vec<_> =
            report.unanswered.iter().map(|one| (one.kind, one.count, one.first.join(" "))).collect();
        assert_eq!(
            found,
            [("missing_reference", 5, "q2 q3 q4".to_owned()), ("unknown_reference", 1, "q1".to_owned())]
        );
    }

    #[test]
    fn reasons_are_counted_and_the_first_rows_kept() {
        let mut validation = Validation::default();
        for index in 0..5 {
            validation
                .add(&rejected(index, Rejection::of_sample("invalid_sample", "no id".to_owned(), None)));
        }
        validation.add(&rejected(5, Rejection::skipped("empty".to_owned())));
        let report = validation.finish(2, 1);
        assert_eq!((report.rows, report.samples, report.invalid), (6, 0, 5));
        assert_eq!(report.reasons.iter().map(|reason| reason.count).collect::<Vec<_>>(), [5, 1]);
        assert_eq!(report.reasons[0].first.len(), MAX_SHOWN_PROBLEMS);
        assert_eq!(report.reasons[0].first[0].message, "line 1: no id");
        assert!(!report.is_within(0.5) && report.is_within(0.9));
    }
}
