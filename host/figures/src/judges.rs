//! Judge figures: the number of answers for which judges gave no readable reply.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Reply counts of a judge of a task. All counts are of answers, regardless of the number of prompts and retries per
/// answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgeFigure {
    /// The judge.
    pub judge_id: String,
    /// Answers that the judge was asked about and replied to. A failed backend gives no reply.
    pub asked: u64,
    /// Answers with a readable reply, whether the first or a later one.
    pub readable: u64,
    /// Answers without a readable reply after all retries.
    pub unreadable: u64,
    /// Answers about which the judge was asked more than once, because its first reply was unreadable.
    pub asked_again: u64,
    /// Readable over asked; 0 if the judge was not asked.
    pub coverage: f64,
}

/// Counts the answers that the judges of a task were asked about.
pub(crate) struct JudgeTally(Vec<JudgeFigure>);

impl JudgeTally {
    pub(crate) fn new(judge_ids: &[String]) -> JudgeTally {
        let figure = |judge_id: &String| JudgeFigure { judge_id: judge_id.clone(), ..JudgeFigure::default() };
        JudgeTally(judge_ids.iter().map(figure).collect())
    }

    /// Adds the judge output of an answer: the object of the only judge, or objects by judge id.
    pub(crate) fn add(&mut self, judge_output: &Value) {
        let is_one = self.0.len() == 1;
        for judge in &mut self.0 {
            let own = if is_one { Some(judge_output) } else { judge_output["judges"].get(&judge.judge_id) };
            let Some(own) = own.and_then(Value::as_object) else { continue };
            let is_unreadable = own.contains_key("unparseable");
            judge.asked += 1;
            judge.unreadable += u64::from(is_unreadable);
            judge.readable += u64::from(!is_unreadable);
            let attempts = own.get("attempts").and_then(Value::as_u64);
            judge.asked_again += u64::from(attempts.is_some_and(|attempts| attempts > 1));
        }
    }

    pub(crate) fn finish(mut self) -> Vec<JudgeFigure> {
        for judge in self.0.iter_mut().filter(|judge| judge.asked > 0) {
            judge.coverage = judge.readable as f64 / judge.asked as f64;
        }
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn counts(judge_ids: &[&str], outputs: &[Value]) -> Vec<(u64, u64, u64, u64, f64)> {
        let judge_ids: Vec<String> = judge_ids.iter().map(|id| (*id).to_owned()).collect();
        let mut tally = JudgeTally::new(&judge_ids);
        outputs.iter().for_each(|output| tally.add(output));
        let counts = tally
            .finish()
            .into_iter()
            .map(|judge| (judge.asked, judge.readable, judge.unreadable, judge.asked_again, judge.coverage));
        counts.collect()
    }

    #[test]
    fn each_judge_is_counted_for_itself() {
        let read = json!({"score": 1.0, "attempts": 1});
        let read_late = json!({"score": 1.0, "attempts": 2});
        let lost = json!({"unparseable": "no line", "attempts": 3});
        let without_attempts = json!({"unparseable": "no line"});
        assert_eq!(
            counts(&["a"], &[read.clone(), read_late.clone(), lost.clone(), without_attempts, Value::Null]),
            [(4, 2, 2, 2, 0.5)]
        );
        let both = |a: &Value, b: &Value| json!({"score": 1.0, "read": 1, "judges": {"a": a, "b": b}});
        assert_eq!(
            counts(&["a", "b"], &[both(&read, &lost), both(&read_late, &lost), Value::Null]),
            [(2, 2, 0, 1, 1.0), (2, 0, 2, 2, 0.0)]
        );
        assert_eq!(counts(&["a"], &[]), [(0, 0, 0, 0, 0.0)]);
    }
}
