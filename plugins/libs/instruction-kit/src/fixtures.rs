//! Results of lm-evaluation-harness, NLTK and langdetect, recorded by `tests/fixtures/instructions.py`.

use crate::sentences::sentences;
use crate::words::each_word;
use crate::{follow, instructions, language};
use gage_sdk::serde_json::{self, Value};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/fixtures/instructions.jsonl");

/// Returns the lines that have a member.
fn lines(member: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(FIXTURES).unwrap_or_else(|error| panic!("{FIXTURES}: {error}"));
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line.get(member).is_some()).collect()
}

fn text(line: &Value, member: &str) -> String {
    line[member].as_str().unwrap_or_default().to_owned()
}

/// Returns what is expected of a line: its members, or those of `ours` where gage-host is known to differ.
fn expected(line: &Value) -> &Value {
    line.get("ours").unwrap_or(line)
}

/// Fails unless the lines have so many known differences, each of which is one.
fn check_known(lines: &[Value], members: [&str; 2], count: usize) {
    let known: Vec<&Value> = lines.iter().filter(|line| line.get("ours").is_some()).collect();
    for line in &known {
        assert!(members.iter().any(|member| line[member] != line["ours"][member]), "no difference: {line}");
    }
    assert_eq!(known.len(), count);
}

/// Fails with the first of the differences.
fn compare(differences: &[String], count: usize, least: usize) {
    let shown: Vec<&str> = differences.iter().take(20).map(String::as_str).collect();
    assert!(differences.is_empty(), "{} of {count} differ:\n{}", differences.len(), shown.join("\n"));
    assert!(count >= least, "{count}");
}

#[test]
fn instructions_are_followed_as_the_harness_finds() {
    let lines = lines("strict");
    let mut differences = Vec::new();
    let mut count = 0;
    for line in &lines {
        let given = instructions(&line["instruction_id_list"], &line["kwargs"]).unwrap();
        let verdicts = follow(&given, &text(line, "response")).unwrap();
        for (place, instruction) in given.iter().enumerate() {
            count += 1;
            let found = (Some(verdicts.strict[place]), Some(verdicts.loose[place]));
            let verdict = |member: &str| expected(line)[member][place].as_bool();
            let expected = (verdict("strict"), verdict("loose"));
            if found != expected {
                let (name, arguments, response) =
                    (&instruction.name, &line["kwargs"][place], &line["response"]);
                differences.push(format!("{name} {arguments} {response}: {found:?}, not {expected:?}"));
            }
        }
    }
    compare(&differences, count, 400);
    check_known(&lines, ["strict", "loose"], 1);
}

#[test]
fn sentences_and_words_are_those_of_nltk() {
    let lines = lines("sentences");
    let mut differences = Vec::new();
    for line in &lines {
        let text = text(line, "text");
        let mut words: Vec<String> = Vec::new();
        each_word(&text, |word| words.push(word.to_owned()));
        let found: [Value; 2] = [sentences(&text).collect::<Vec<_>>().into(), words.into()];
        for (found, member) in found.into_iter().zip(["sentences", "words"]) {
            let expected = &expected(line)[member];
            if found != *expected {
                differences.push(format!("{found}\n  not {expected}"));
            }
        }
    }
    compare(&differences, lines.len(), 100);
    check_known(&lines, ["sentences", "words"], 11);
}

#[test]
fn languages_are_those_of_langdetect() {
    let lines = lines("language");
    let mut differences = Vec::new();
    for line in &lines {
        let found = language::detect(&text(line, "text"));
        if found.as_deref() != line["language"].as_str() {
            differences.push(format!("{found:?}, not {line}"));
        }
    }
    compare(&differences, lines.len(), 300);
}
