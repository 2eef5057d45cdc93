//! `judge` of the step `judge`: the judge that reads replies in the form that the suite's own prompt requests.

use super::old_keys::{each_mapping, path_of};
use crate::note::Notes;
use crate::tree::{Mapping, Tree};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Names of the reason for a score in a judge's JSON reply.
const REASON_KEYS: [&str; 5] = ["reason", "explanation", "reasoning", "rationale", "justification"];

/// Chooses a judge for every step `judge` that has none.
pub(super) fn convert(document: &mut Mapping, notes: &mut Notes) {
    let prompts = texts_of_judges(document);
    for key in ["custom", "builtin"] {
        if let Some(Tree::Map(section)) = document.get_mut(key) {
            convert_section(section, key, &prompts, notes);
        }
    }
    each_mapping(document, "tasks", |task, path| convert_section(task, path, &prompts, notes));
}

/// Returns the text of the prompt of each judge, by adapter.
fn texts_of_judges(document: &Mapping) -> BTreeMap<String, String> {
    let list = |key: &str| document.get(key).and_then(Tree::as_list).unwrap_or_default();
    let prompts: BTreeMap<&str, String> = list("prompts")
        .iter()
        .filter_map(Tree::as_map)
        .filter_map(|prompt| Some((prompt.text("prompt_id")?, text_of(prompt))))
        .collect();
    let roles = list("role_adapters").iter().filter_map(Tree::as_map);
    let judges = roles.filter(|role| role.text("role_type") == Some("judge_model"));
    let text = |role: &Mapping| {
        let text = prompts.get(role.text("prompt_id")?)?;
        Some((role.text("adapter_id")?.to_owned(), text.clone()))
    };
    judges.filter_map(text).collect()
}

/// Joins all texts of a prompt.
fn text_of(prompt: &Mapping) -> String {
    let own = ["system_prompt", "template"].into_iter().filter_map(|key| prompt.text(key));
    let messages = prompt.get("messages").and_then(Tree::as_list).unwrap_or_default();
    let messages = messages.iter().filter_map(Tree::as_map).filter_map(|message| message.text("content"));
    own.chain(messages).collect::<Vec<_>>().join("\n")
}

fn convert_section(section: &mut Mapping, path: &str, prompts: &BTreeMap<String, String>, notes: &mut Notes) {
    let Some(Tree::List(steps)) = section.get_mut("steps") else { return };
    for (number, step) in steps.iter_mut().enumerate() {
        let Tree::Map(step) = step else { continue };
        if step.text("step") != Some("judge") || step.has("judge") || step.has("judges") {
            continue;
        }
        let text = match step.text("adapter_id") {
            Some(adapter) => prompts.get(adapter),
            None => prompts.values().next().filter(|_| prompts.len() == 1),
        };
        let Some((judge, form)) = text.and_then(|text| judge_for(text)) else { continue };
        step.set("judge", Tree::of_json(judge));
        let place = path_of(&format!("{path}.steps[{number}]"), "judge");
        notes
            .changed(place, format!("the prompt of the judge requests {form}"), step.comments_of("judge"))
            .help("add `scale` if the judge's scores are not from 0 to 1");
    }
}

/// Returns the judge that reads the replies that a prompt requests, and their form. `None` for the usual form.
fn judge_for(text: &str) -> Option<(Value, &'static str)> {
    if let Some(labels) = lettered_labels(text) {
        let letters: String = labels.keys().map(String::as_str).collect();
        let grade =
            json!({"labels": labels, "pattern": format!("\\b([{letters}])\\b"), "ignore_case": false});
        return Some((json!({"grade": grade}), "a letter"));
    }
    let has_key = |key: &str| text.contains(&format!("\"{key}\""));
    let key = ["score", "rating"].into_iter().find(|key| has_key(key))?;
    if !text.contains('{') || text.contains("SCORE:") {
        return None;
    }
    let mut verdict = json!({"score_key": key});
    if let Some(reason) = REASON_KEYS.into_iter().find(|key| has_key(key)) {
        verdict["explanation_key"] = reason.into();
    }
    Some((json!({"json_verdict": verdict}), "a JSON object"))
}

/// Returns the scores of lettered labels, such as of the lines `A: CORRECT` and `B: INCORRECT`.
fn lettered_labels(text: &str) -> Option<BTreeMap<String, f64>> {
    let label = |line: &str| {
        let line = line.trim().trim_start_matches(['-', '*', '(', ' ']);
        let (letter, rest) = line.split_at_checked(1)?;
        let rest = rest
            .trim_start_matches(')')
            .strip_prefix([':', '=', '.'])
            .or(line.get(1..)?.strip_prefix(')'))?;
        let word: String =
            rest.trim_start().chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect();
        let is_label = letter.chars().all(|letter| letter.is_ascii_uppercase()) && word.len() > 2;
        is_label.then(|| (letter.to_owned(), score_of(&word)))
    };
    let labels: BTreeMap<String, f64> = text.lines().filter_map(label).collect();
    (labels.len() > 1 && labels.values().any(|score| *score == 1.0)).then_some(labels)
}

fn score_of(label: &str) -> f64 {
    match label {
        "CORRECT" | "YES" | "TRUE" | "EQUIVALENT" => 1.0,
        label if label.starts_with("PARTIAL") => 0.5,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_of_the_reply_is_read_off_the_prompt() {
        let letters = json!({"A": 1.0, "B": 0.0, "C": 0.0});
        let grade = json!({"grade": {"labels": letters, "pattern": "\\b([ABC])\\b", "ignore_case": false}});
        let two = json!({"A": 1.0, "B": 0.0});
        let two = json!({"grade": {"labels": two, "pattern": "\\b([AB])\\b", "ignore_case": false}});
        for (text, expected) in [
            (
                "Grade it as one of:\nA: CORRECT\nB: INCORRECT\nC: NOT_ATTEMPTED\nReturn the letter.",
                Some(&grade),
            ),
            ("- (A) CORRECT\n- (B) INCORRECT", Some(&two)),
            ("1) CORRECT: A\n2) SCORE: 0.9", None),
            ("CORRECT: yes or no\nSCORE: 0 to 1", None),
            ("A: first answer\nB: second answer", None),
            (
                "Reply with {\"score\": 0-10, \"reason\": \"…\"}",
                Some(&json!({"json_verdict": {"score_key": "score", "explanation_key": "reason"}})),
            ),
            ("Say \"score\" as you like", None),
        ] {
            let found = judge_for(text).map(|(judge, _)| judge);
            assert_eq!(found.as_ref(), expected, "{text}");
        }
    }
}
