//! Finds scores in a damaged journal that have lost their answer.

use super::entries::{Entries, EntryState};
use super::key::LineKey;
use super::line_position;
use std::collections::HashMap;

/// Follows the lines of a damaged journal in order, with the places at which lines are lost.
#[derive(Debug, Default)]
pub(in crate::journal) struct AnswerTracker {
    tasks: HashMap<String, Entries>,
    /// Number of lines and losses so far.
    places: u64,
    /// Place of the last loss, counted from 1; 0 if there was none.
    last_loss: u64,
}

impl AnswerTracker {
    /// Notes that lines are lost before the next one.
    pub(in crate::journal) fn note_loss(&mut self) {
        self.places += 1;
        self.last_loss = self.places;
    }

    /// Adds the next line. Returns false if it holds scores whose answer is lost, or may be lost.
    ///
    /// A sample can have several answers, and its scores belong to the last one before them. A line of scores does not
    /// say which answer that was. If lines are lost between an answer and scores, the scored answer may be among them.
    ///
    /// # Errors
    /// If the line is not a record.
    pub(in crate::journal) fn add(&mut self, json: &[u8]) -> serde_json::Result<bool> {
        let key = LineKey::read(json)?;
        self.places += 1;
        let position = line_position(&key, self.places);
        let last_loss = self.last_loss;
        let entries = self.tasks.entry(key.task_id.into_owned()).or_default();
        // The position of an entry's record is its place here.
        let is_before_loss = entries.get(position.index).is_some_and(|entry| entry.record() < last_loss);
        match position.state {
            EntryState::Scored if is_before_loss => Ok(false),
            _ => Ok(entries.add(&position)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of a line of the sample 0.
    fn line(rest: &str) -> String {
        format!(r#"{{"line":2,"task_id":"t","index":0,"row_digest":"0","outcome":"scored"{rest}"#)
    }

    #[test]
    fn scores_need_an_answer_with_no_loss_in_between() {
        let answer = line(r#","awaits_scores":true,"sample":{}}"#);
        let unjudged = line(r#","awaits_scores":true,"awaits_judges":true,"sample":{}}"#);
        let failure = line(r#","sample":{}}"#);
        let scores = line(r#","scores":{"scored_together":1}}"#);
        let (answer, unjudged) = (Some(answer.as_str()), Some(unjudged.as_str()));
        let (failure, scores, loss) = (Some(failure.as_str()), Some(scores.as_str()), None);
        for (case, lines, accepts_last) in [
            ("an answer", vec![answer, scores], true),
            ("scored again", vec![answer, scores, scores], true),
            ("no answer", vec![scores], false),
            ("the answer is lost", vec![loss, scores], false),
            ("only the question of the judge is there", vec![unjudged, scores], false),
            ("a failure that was tried again", vec![failure, loss, scores], false),
            ("an answer before the loss", vec![answer, scores, loss, scores], false),
            ("an answer after the loss", vec![loss, answer, scores], true),
            ("answered again after the loss", vec![answer, loss, answer, scores], true),
        ] {
            let mut tracker = AnswerTracker::default();
            let mut is_accepted = true;
            for line in &lines {
                match line {
                    Some(line) => is_accepted = tracker.add(line.as_bytes()).unwrap(),
                    None => tracker.note_loss(),
                }
            }
            assert_eq!(is_accepted, accepts_last, "{case}");
        }
        assert!(AnswerTracker::default().add(b"{").is_err());
    }
}
