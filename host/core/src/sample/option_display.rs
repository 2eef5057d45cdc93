//! The options of a question within its conversation.

use super::ChoiceOption;
use crate::content::{ContentPart, Message, Role, text_of};

/// Instruction after options whose ids are letters.
const ANSWER_WITH_LETTER: &str = "Answer with the letter of the correct option only.";
/// Instruction after options with other ids.
const ANSWER_WITH_ID: &str =
    "Answer with the id of the correct option only, which is the text before its first period.";
/// Instruction if the reference is the text of an option.
const ANSWER_WITH_TEXT: &str = "Answer with the text of the correct option only.";

/// Says if a conversation shows the options of its Sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptionDisplay {
    /// After the question, with an instruction to answer with one of them, unless the messages show them already.
    #[default]
    AfterQuestion,
    /// The messages decide.
    AsWritten,
}

/// Returns the text that follows a question to show its options: one line for each, as in `A. Shark`, and an
/// instruction. `None` if there are no options, or the messages show all of them.
pub(super) fn missing_options(
    messages: &[Message],
    options: &[ChoiceOption],
    label: Option<&str>,
) -> Option<String> {
    if options.is_empty() || !messages.iter().any(|message| message.role == Role::User) {
        return None;
    }
    let texts: Vec<String> = messages.iter().map(|message| text_of(&message.content)).collect();
    if options.iter().all(|option| texts.iter().any(|text| shows(text, option))) {
        return None;
    }
    let lines: Vec<String> =
        options.iter().map(|option| format!("{}. {}", option.id, option.content.trim())).collect();
    Some(format!("{}\n\n{}", lines.join("\n"), instruction(options, label)))
}

/// Appends a text to the last user message, after an empty line.
pub(super) fn append(messages: &mut [Message], text: &str) {
    let Some(last) = messages.iter_mut().rfind(|message| message.role == Role::User) else { return };
    match last.content.last_mut() {
        Some(ContentPart::Text { text: question, .. }) => {
            question.push_str("\n\n");
            question.push_str(text);
        }
        _ => last.content.push(ContentPart::text(text)),
    }
}

fn instruction(options: &[ChoiceOption], label: Option<&str>) -> &'static str {
    let is_letter = |id: &str| id.len() == 1 && id.bytes().all(|byte| byte.is_ascii_alphabetic());
    let names = |text: &str, label: &str| text.trim().eq_ignore_ascii_case(label.trim());
    let is_text = label.is_some_and(|label| {
        options.iter().any(|option| names(&option.content, label))
            && !options.iter().any(|option| names(&option.id, label))
    });
    match is_text {
        true => ANSWER_WITH_TEXT,
        false if options.iter().all(|option| is_letter(&option.id)) => ANSWER_WITH_LETTER,
        false => ANSWER_WITH_ID,
    }
}

/// Returns whether a text shows an option: on a line of its own, or after its id, as in `(A) Shark` or `A: Shark`.
fn shows(text: &str, option: &ChoiceOption) -> bool {
    let content = collapsed(&option.content);
    if content.is_empty() {
        return true;
    }
    let is_marker = |character: char| character.is_whitespace() || ".):]-*_\"'`".contains(character);
    let follows_id = |before: &str| {
        let before = before.trim_end_matches(is_marker);
        let Some(start) = before.len().checked_sub(option.id.len()) else { return false };
        let matches = before.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(&option.id));
        matches && !before[..start].ends_with(char::is_alphanumeric)
    };
    let whole = collapsed(text);
    let is_whole = |rest: &str| !rest.starts_with(char::is_alphanumeric);
    let is_at = |start: usize| follows_id(&whole[..start]) && is_whole(&whole[start + content.len()..]);
    text.lines().any(|line| without_bullet(&collapsed(line)) == content)
        || whole.match_indices(&content).any(|(start, _)| is_at(start))
}

/// Returns a line without a leading bullet or number, such as `-`, `2.` or `(b)`.
fn without_bullet(line: &str) -> &str {
    let line = line.trim_start_matches(['-', '*', '•', '(', ' ']);
    match line.split_once(['.', ')', ':']) {
        Some((bullet, rest)) if bullet.chars().count() <= 2 && rest.starts_with(' ') => rest.trim_start(),
        _ => line,
    }
}

/// Returns a text with each run of white space replaced by one space.
fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OptionDisplay, Sample};
    use serde_json::{Value, json};

    fn shown(messages: Value, options: Value, label: &str) -> String {
        let sample = json!({
            "schema_version": "v1", "id": "q", "messages": messages, "options": options, "label": label,
            "references": [{"answer": label}],
        });
        let sample = Sample::from_value(sample).expect("a Sample");
        let conversation = sample.conversation(OptionDisplay::AfterQuestion);
        conversation.last().map(|message| text_of(&message.content)).unwrap_or_default()
    }

    fn letters() -> Value {
        json!([{"id": "A", "content": "Shark"}, {"id": "B", "content": "Dolphin"}])
    }

    #[test]
    fn options_follow_the_question() {
        let question = json!([{"role": "user", "content": "Which one is a mammal?"}]);
        assert_eq!(
            shown(question.clone(), letters(), "B"),
            "Which one is a mammal?\n\nA. Shark\nB. Dolphin\n\nAnswer with the letter of the correct option only."
        );
        assert!(shown(question.clone(), letters(), "Dolphin").ends_with(ANSWER_WITH_TEXT));
        let numbered = json!([{"id": "1", "content": "Shark"}, {"id": "2", "content": "Dolphin"}]);
        assert!(shown(question.clone(), numbered, "2").ends_with(ANSWER_WITH_ID));
        assert_eq!(shown(question, json!([]), "B"), "Which one is a mammal?");
    }

    #[test]
    fn options_in_the_messages_are_not_repeated() {
        for text in [
            "Which?\nA. Shark\nB. Dolphin",
            "Which? (A) Shark (B) Dolphin",
            "Which?\n- Shark\n- Dolphin",
            "Which?\n1) Shark\n2) Dolphin",
            "Which? A: Shark, B: Dolphin",
            "A) Shark\nB)  Dolphin\nWhich?",
        ] {
            let messages = json!([{"role": "user", "content": text}]);
            assert_eq!(shown(messages, letters(), "B"), text);
        }
        for text in
            ["Is a Shark or a Dolphin a mammal?", "Which?\nA. Shark", "Which?\nA. Sharks\nB. Dolphins?"]
        {
            let messages = json!([{"role": "user", "content": text}]);
            assert!(shown(messages, letters(), "B").contains("\nA. Shark\nB. Dolphin\n"), "{text}");
        }
        let in_system = json!([
            {"role": "system", "content": "A. Shark\nB. Dolphin"}, {"role": "user", "content": "Which?"},
        ]);
        assert_eq!(shown(in_system, letters(), "B"), "Which?");
    }

    #[test]
    fn examples_show_their_options_too() {
        let sample = json!({
            "schema_version": "v1", "id": "q", "references": [],
            "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": [
                {"type": "text", "text": "Which?"}, {"type": "image_url", "image_url": {"url": "a.png"}},
            ]}],
            "options": letters(),
            "few_shot_examples": [{
                "messages": [{"role": "user", "content": "And?"}], "options": [{"id": "A", "content": "Cat"}],
                "references": [{"answer": "A"}],
            }],
        });
        let sample = Sample::from_value(sample).expect("a Sample");
        let texts = |display: OptionDisplay| -> Vec<String> {
            sample.conversation(display).iter().map(|message| text_of(&message.content)).collect()
        };
        let instruction = ANSWER_WITH_LETTER;
        assert_eq!(
            texts(OptionDisplay::AfterQuestion),
            [
                "s".to_owned(),
                format!("And?\n\nA. Cat\n\n{instruction}"),
                "A".to_owned(),
                format!("Which?A. Shark\nB. Dolphin\n\n{instruction}"),
            ]
        );
        assert_eq!(texts(OptionDisplay::AsWritten), ["s", "And?", "A", "Which?"]);
    }
}
