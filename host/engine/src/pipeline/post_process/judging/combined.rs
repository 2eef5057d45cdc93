//! Combined output of an answer's judges.

use gage_config::ScoreCombination;
use gage_core::Object;
use serde_json::{Value, json};

/// Minimum score that counts as a vote for the answer.
const VOTE_THRESHOLD: f64 = 0.5;

/// Judgement of one judge.
pub(super) enum Judgement {
    /// The output, as metrics read it.
    Output(Object),
    /// No reply could be parsed. Holds the reason, and the replies with their usage.
    Unparseable { reason: String, replies: JudgeReplies },
}

/// The verbatim replies of a judge, and their usage.
#[derive(Debug, Default)]
pub(super) struct JudgeReplies {
    /// The last replies, one for each prompt.
    pub(super) replies: Vec<String>,
    /// Replies of earlier attempts, which could not be parsed.
    pub(super) earlier: Vec<Vec<String>>,
    /// Named token counts, and their cost.
    pub(super) usage: Object,
}

impl JudgeReplies {
    /// Adds the replies to the output of a judge.
    pub(super) fn add_to(self, output: &mut Object) {
        output.insert("attempts".to_owned(), (self.earlier.len() + 1).into());
        output.insert("replies".to_owned(), json!(self.replies));
        if !self.earlier.is_empty() {
            output.insert("earlier_replies".to_owned(), json!(self.earlier));
        }
        output.extend(self.usage);
    }
}

/// Combines judgements into one object. A single judgement is returned as it is.
pub(super) fn output_of(judgements: Vec<(&str, Judgement)>, combine: ScoreCombination) -> Value {
    let object = |judgement: Judgement| match judgement {
        Judgement::Output(output) => output,
        Judgement::Unparseable { reason, replies } => {
            let mut output = Object::from_iter([("unparseable".to_owned(), json!(reason))]);
            replies.add_to(&mut output);
            output
        }
    };
    if judgements.len() == 1 {
        return judgements
            .into_iter()
            .next()
            .map_or(Value::Null, |(_, judgement)| Value::Object(object(judgement)));
    }
    let outputs: Vec<(String, Object)> =
        judgements.into_iter().map(|(id, judgement)| (id.to_owned(), object(judgement))).collect();
    let scores: Vec<f64> = outputs.iter().filter_map(|(_, output)| output.get("score")?.as_f64()).collect();
    let mut combined = Object::new();
    combined.insert("score".to_owned(), json!(combined_score(&scores, combine)));
    let answers = outputs.iter().filter_map(|(_, output)| output.get("answer"));
    if let Some(answer) = most_frequent(answers) {
        combined.insert("answer".to_owned(), answer);
    }
    combined.insert("read".to_owned(), json!(scores.len()));
    let judges: Object = outputs.into_iter().map(|(id, output)| (id, Value::Object(output))).collect();
    combined.insert("judges".to_owned(), Value::Object(judges));
    Value::Object(combined)
}

/// Returns the reason if no judge's reply could be read.
pub(crate) fn unread_reason(output: &Value) -> Option<String> {
    let unread = |output: &Value| output.get("unparseable").and_then(Value::as_str).map(str::to_owned);
    let reasons: Vec<String> = match output.get("judges").and_then(Value::as_object) {
        None => vec![unread(output)?],
        Some(judges) => {
            let reason = |(id, output): (&String, &Value)| Some(format!("{id}: {}", unread(output)?));
            judges.iter().map(reason).collect::<Option<_>>()?
        }
    };
    Some(format!("no reply could be read: {}", reasons.join("; ")))
}

/// Combines the scores of several judges. `None` if there are no scores.
fn combined_score(scores: &[f64], combine: ScoreCombination) -> Option<f64> {
    if scores.is_empty() {
        return None;
    }
    // Judges are few.
    let count = scores.len() as f64;
    Some(match combine {
        ScoreCombination::Mean => scores.iter().sum::<f64>() / count,
        ScoreCombination::Vote => {
            let votes = scores.iter().filter(|score| **score >= VOTE_THRESHOLD).count() as f64;
            match (votes * 2.0).total_cmp(&count) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            }
        }
    })
}

/// Returns the most frequent value, or null on a tie. `None` if there are no values.
fn most_frequent<'v>(values: impl Iterator<Item = &'v Value>) -> Option<Value> {
    let mut counts: Vec<(&Value, usize)> = Vec::new();
    for value in values {
        match counts.iter_mut().find(|(known, _)| *known == value) {
            Some((_, count)) => *count += 1,
            None => counts.push((value, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max()?;
    let mut first = counts.iter().filter(|(_, count)| *count == most);
    let (value, _) = first.next()?;
    Some(if first.next().is_some() { Value::Null } else { (*value).clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_judges_become_one() {
        let output = |score: f64, answer: &str| {
            Judgement::Output(Object::from_iter([
                ("score".to_owned(), json!(score)),
                ("answer".to_owned(), json!(answer)),
            ]))
        };
        let unread = || Judgement::Unparseable {
            reason: "no line".to_owned(),
            replies: JudgeReplies { replies: vec!["x".to_owned()], ..JudgeReplies::default() },
        };
        for (judgements, combine, score, answer) in [
            (
                vec![output(1.0, "A"), output(0.5, "A"), output(0.0, "B")],
                ScoreCombination::Mean,
                json!(0.5),
                json!("A"),
            ),
            (
                vec![output(1.0, "A"), output(0.5, "A"), output(0.0, "B")],
                ScoreCombination::Vote,
                json!(1.0),
                json!("A"),
            ),
            (vec![output(1.0, "A"), output(0.0, "B")], ScoreCombination::Vote, json!(0.5), json!(null)),
            (vec![output(1.0, "A"), unread()], ScoreCombination::Mean, json!(1.0), json!("A")),
            (vec![unread(), unread()], ScoreCombination::Mean, json!(null), json!(null)),
        ] {
            let judgements: Vec<(&str, Judgement)> = ["a", "b", "c"].into_iter().zip(judgements).collect();
            let count = judgements.len();
            let combined = output_of(judgements, combine);
            assert_eq!((&combined["score"], &combined["answer"]), (&score, &answer));
            assert_eq!(combined["judges"].as_object().map(Object::len), Some(count));
        }
        let single = output_of(vec![("a", output(0.25, "A"))], ScoreCombination::Vote);
        assert_eq!(single, json!({"score": 0.25, "answer": "A"}));
    }
}
