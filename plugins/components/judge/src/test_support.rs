//! Runs a judge as the host does.

use gage_sdk::judge::{Case, Generation, Judge, Verdict};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, json};

/// Creates a case with an answer.
pub(crate) fn case(sample: Value, answer: &str) -> Case {
    Case { sample_id: "s1".to_owned(), sample, model_output: json!({ "answer": answer }) }
}

/// Returns the last message of the first prompt.
pub(crate) fn user_text<J: Judge>(params: Value, case: &Case) -> String {
    let prompts = J::prepare(params).and_then(|judge| judge.render(case));
    let message = prompts.ok().and_then(|prompts| prompts.into_iter().next()?.messages.pop());
    message.map(|message| message.content).unwrap_or_default()
}

/// Returns the judge's output; the replies must be usable.
pub(crate) fn output<J: Judge>(params: Value, case: &Case, replies: &[&str]) -> Value {
    match parse::<J>(params, case, replies) {
        Ok(Verdict::Output(output)) => output,
        other => panic!("{replies:?}: {other:?}"),
    }
}

/// Returns the reason why the replies are unparseable; they must be.
pub(crate) fn reason<J: Judge>(params: Value, case: &Case, replies: &[&str]) -> String {
    match parse::<J>(params, case, replies) {
        Ok(Verdict::Unparseable(reason)) => reason,
        other => panic!("{replies:?}: {other:?}"),
    }
}

fn parse<J: Judge>(params: Value, case: &Case, replies: &[&str]) -> Result<Verdict, PluginError> {
    let replies: Vec<Generation> = replies.iter().map(|reply| Generation::of(*reply)).collect();
    J::prepare(params)?.parse(case, &replies)
}
