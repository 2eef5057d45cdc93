//! Which rows are no Samples, and why.

use crate::preparation::Prepared;
use gage_core::Outcome;
use serde::Serialize;

/// Offenders that are kept of each reason.
const SHOWN: usize = 3;
/// Reasons that are told apart; further ones are counted together.
const MOST_REASONS: usize = 64;

/// Rows of one reason, the first of them with what is wrong.
#[derive(Clone, Debug, Serialize)]
pub struct Reason {
    /// How the rows end: `invalid_sample`, `skipped`, `plugin_error`, `plugin_timeout`.
    pub outcome: Outcome,
    /// A short name of what is wrong, as in `invalid_row`.
    pub kind: String,
    /// How many there are.
    pub count: u64,
    /// The first of them.
    pub first: Vec<Offender>,
}

/// A row that is no Sample.
#[derive(Clone, Debug, Serialize)]
pub struct Offender {
    /// Its place in the run, from 0.
    pub index: u64,
    /// What is wrong with it, with its file and its line.
    pub message: String,
    /// JSON pointer to what is to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The beginning of the row.
    pub row: String,
}

/// Counts what becomes of the rows of a dataset.
#[derive(Clone, Debug, Default)]
pub struct Validation {
    rows: u64,
    samples: u64,
    invalid: u64,
    reasons: Vec<Reason>,
}

/// What became of the rows of a dataset.
#[derive(Clone, Debug, Serialize)]
pub struct ValidationReport {
    /// Rows that were read, after filter and limit.
    pub rows: u64,
    /// Those that became Samples.
    pub samples: u64,
    /// Those that did not, and ought to have.
    pub invalid: u64,
    /// Rows that the filter left out.
    pub filtered: u64,
    /// Samples whose id had occurred before, and which got a number.
    pub renamed: u64,
    /// Why rows are no Samples, the most frequent reason first.
    pub reasons: Vec<Reason>,
}

impl Validation {
    /// Counts a row.
    pub fn add<K>(&mut self, prepared: &Prepared<K>) {
        self.rows += 1;
        let rejection = match &prepared.result {
            Ok(_) => {
                self.samples += 1;
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
            None if self.reasons.len() >= MOST_REASONS => ("other", place_of("other")),
            place => (rejection.kind.as_str(), place),
        };
        let place = place.unwrap_or_else(|| {
            let (outcome, kind) = (rejection.outcome, kind.to_owned());
            self.reasons.push(Reason { outcome, kind, count: 0, first: Vec::new() });
            self.reasons.len() - 1
        });
        let reason = &mut self.reasons[place];
        reason.count += 1;
        if reason.first.len() < SHOWN {
            reason.first.push(Offender {
                index: prepared.index,
                message: rejection.message.clone(),
                pointer: rejection.pointer.clone(),
                row: rejection.row.to_string(),
            });
        }
    }

    /// What came of it.
    pub fn finish(self, filtered: u64, renamed: u64) -> ValidationReport {
        let Validation { rows, samples, invalid, mut reasons } = self;
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.count));
        ValidationReport { rows, samples, invalid, filtered, renamed, reasons }
    }
}

impl ValidationReport {
    /// Whether there are no more invalid rows than a share of all.
    pub fn is_within(&self, allowed: f64) -> bool {
        // Numbers of rows stay far below 2^53.
        self.invalid as f64 <= allowed * self.rows as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rejection::Rejection;

    fn rejected(index: u64, rejection: Rejection) -> Prepared {
        Prepared { index, row_digest: String::new(), result: Err(Box::new(rejection.at("line 1", "{}"))) }
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
        assert_eq!(report.reasons[0].first.len(), SHOWN);
        assert_eq!(report.reasons[0].first[0].message, "line 1: no id");
        assert!(!report.is_within(0.5) && report.is_within(0.9));
    }
}
