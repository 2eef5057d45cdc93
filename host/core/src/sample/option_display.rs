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
    if shows_all(messages, options) {
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

/// Returns whether messages show all options as a list, in their order. Words of a question that happen to be options do
/// not count.
pub(super) fn shows_all(messages: &[Message], options: &[ChoiceOption]) -> bool {
    if messages.iter().any(|message| shows_plain_list(message, options)) {
        return true;
    }
    let texts: Vec<String> = messages.iter().map(|message| collapsed(&text_of(&message.content))).collect();
    let text = texts.join("\n");
    let is_media = |part: &ContentPart| matches!(part, ContentPart::Media { .. });
    let has_media = messages.iter().any(|message| message.content.iter().any(is_media));
    let mut from = 0;
    options.iter().all(|option| {
        let words = match has_media {
            true => words_beside_images(&option.content),
            false => option.content.split_whitespace().collect(),
        };
        // An option without words is an image, or has nothing to show.
        let end = if words.is_empty() { Some(from) } else { end_of_item(&text, from, &option.id, &words) };
        from = end.unwrap_or(from);
        end.is_some()
    })
}

/// Returns the words of an option without places of images, as in `<image 2>`: the image itself is there instead.
fn words_beside_images(option: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = option;
    while let Some((before, place)) = rest.split_once("<image") {
        let Some((number, behind)) = place.split_once('>') else { break };
        let digits = number.trim_start_matches([' ', '_']);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        words.extend(before.split_whitespace());
        rest = behind;
    }
    words.extend(rest.split_whitespace());
    words
}

/// Returns whether a message shows all options as most preprocessors write them: a line for each, as in `A. Shark`. Other
/// lists take a hundred times as long to recognize.
fn shows_plain_list(message: &Message, options: &[ChoiceOption]) -> bool {
    let [ContentPart::Text { text, .. }] = message.content.as_slice() else { return false };
    let mut lines = text.split('\n');
    let is_item = |line: &str, option: &ChoiceOption| {
        let text = line.strip_prefix(option.id.as_str()).and_then(|line| line.strip_prefix(". "));
        text == Some(option.content.trim())
    };
    options.iter().all(|option| !option.id.is_empty() && lines.any(|line| is_item(line, option)))
}

/// Returns the end of the first list item with an option, at `from` or later.
fn end_of_item(text: &str, from: usize, id: &str, words: &[&str]) -> Option<usize> {
    text[from..].char_indices().find_map(|(offset, _)| {
        let (before, item) = text.split_at(from + offset);
        let is_line = before.is_empty() || before.ends_with('\n');
        // An id within a line begins an item after a punctuation mark, or directly after the item before.
        let begins_item = || {
            let is_after_item = from > 0 && !before[from..].contains(char::is_alphanumeric);
            is_line || is_after_item || !before.trim_end().ends_with(char::is_alphanumeric)
        };
        let as_line = if is_line { after_line(item, id, words) } else { None };
        let labelled = || after_labelled(item, id, words).filter(|_| begins_item());
        let rest = as_line.or_else(labelled)?;
        Some(text.len() - rest.len())
    })
}

/// Returns the text after a line that consists of the words, which may follow a bullet, a number or an id.
fn after_line<'t>(line: &'t str, id: &str, words: &[&str]) -> Option<&'t str> {
    let plain = line.trim_start_matches(['-', '*', '•', '(', ' ']);
    let mut start = plain.char_indices().take(3);
    let mark = start.find(|(_, character)| ['.', ')', ':'].contains(character));
    let numbered = mark.and_then(|(place, _)| plain[place + 1..].strip_prefix(' '));
    let labelled = after_id(plain, id).and_then(|rest| rest.strip_prefix(' '));
    let is_end = |rest: &&str| {
        let rest = rest.trim_start_matches([' ', '.', ',', ';', '*']);
        rest.is_empty() || rest.starts_with('\n')
    };
    let candidates = [Some(line), Some(plain), numbered, labelled];
    candidates.into_iter().flatten().find_map(|start| after_words(start, words).filter(is_end))
}

/// Returns the text after an id and the words, as in `(A) Shark` or `A: Shark`.
fn after_labelled<'t>(item: &'t str, id: &str, words: &[&str]) -> Option<&'t str> {
    let rest = after_id(item.trim_start_matches(['(', '[', '*', '_', '"', '`', '\'']), id)?;
    let is_marker = |character: char| " \n.):]-*_\"'`".contains(character);
    let length = rest.find(|character: char| !is_marker(character)).unwrap_or(rest.len());
    // The option may itself begin with such a character.
    (1..=length).find_map(|length| {
        let (marker, start) = rest.split_at(length);
        if marker.contains(['.', ')', ':', ']']) { after_words(start, words) } else { None }
    })
}

/// Returns the text after an id at its start.
fn after_id<'t>(text: &'t str, id: &str) -> Option<&'t str> {
    let start = text.get(..id.len())?;
    (!id.is_empty() && start.eq_ignore_ascii_case(id)).then(|| &text[id.len()..])
}

/// Returns the text after whole words at its start.
fn after_words<'t>(text: &'t str, words: &[&str]) -> Option<&'t str> {
    let mut rest = text;
    for (number, word) in words.iter().enumerate() {
        if number > 0 {
            rest = rest.strip_prefix([' ', '\n'])?;
        }
        rest = rest.strip_prefix(*word)?;
    }
    // `2` is not shown by `2.5`.
    let goes_on = rest.strip_prefix(['.', ',']).unwrap_or(rest);
    let is_cut =
        rest.starts_with(char::is_alphanumeric) || goes_on.starts_with(|next: char| next.is_ascii_digit());
    (!is_cut).then_some(rest)
}

/// Returns a text with each run of white space replaced by a line break, if it has one, or else by one space.
fn collapsed(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    let mut gap = None;
    for character in text.trim().chars() {
        if character.is_whitespace() {
            gap = if character == '\n' || gap == Some('\n') { Some('\n') } else { Some(' ') };
        } else {
            collapsed.extend(gap.take());
            collapsed.push(character);
        }
    }
    collapsed
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
    fn images_in_place_of_options_are_shown() {
        let image = json!({"type": "image_url", "image_url": {"url": "a.png"}});
        let text = |text: &str| json!({"type": "text", "text": text});
        let options = json!([
            {"id": "A", "content": "Shark"}, {"id": "B", "content": "<image 1>"},
            {"id": "C", "content": "fin of <image_2>"},
        ]);
        let written = [text("Which?\n(A) Shark\n(B) "), image.clone(), text("\n(C) fin of "), image.clone()];
        let shown_as = |content: &[Value], options: &Value| {
            shown(json!([{"role": "user", "content": content}]), options.clone(), "B")
        };
        assert_eq!(shown_as(written.as_slice(), &options), "Which?\n(A) Shark\n(B) \n(C) fin of ");
        let without_image = [text("Which?\n(A) Shark\n(B)\n(C) fin of")];
        assert!(shown_as(without_image.as_slice(), &options).ends_with(ANSWER_WITH_LETTER));
        let no_place = json!([{"id": "A", "content": "Shark"}, {"id": "B", "content": "<image x>"}]);
        assert!(shown_as(written.as_slice(), &no_place).ends_with(ANSWER_WITH_LETTER));
    }

    #[test]
    fn words_of_a_question_are_not_its_options() {
        let numbered = json!([{"id": "1", "content": "apple"}, {"id": "2", "content": "pears"}]);
        let animals = json!([{"id": "A", "content": "dog"}, {"id": "B", "content": "cat"}]);
        let numbers = json!([{"id": "A", "content": "2"}, {"id": "B", "content": "4"}]);
        for (text, options) in [
            ("There are 1 apple and 2 pears. Which fruit is more frequent?", &numbered),
            ("I have a dog and plan B: cat. Which is bigger?", &animals),
            ("I have plan A: dog and plan B: cat. Which is better?", &animals),
            ("Is a dog or a cat bigger?", &animals),
            ("Which is larger, 2 or 4?", &numbers),
            ("A. 2.5\nB. 4", &numbers),
            ("B. cat\nA. dog", &animals),
            ("A. dog", &animals),
        ] {
            let messages = json!([{"role": "user", "content": text}]);
            assert!(shown(messages, options.clone(), "B").starts_with(&format!("{text}\n\n")), "{text}");
        }
        let negative = json!([{"id": "A", "content": "-5"}, {"id": "B", "content": "(a) or (b)"}]);
        for (text, options) in [
            ("Which?\nA dog\nB cat", &animals),
            ("Which? **A.** dog, **B.** cat", &animals),
            ("Which? A. dog B. cat", &animals),
            ("Which? [a] dog; [b] cat", &animals),
            ("Which is larger?\nA. 2\nB. 4.", &numbers),
            ("Which?\nA. -5\nB. (a) or\n(b)", &negative),
        ] {
            let messages = json!([{"role": "user", "content": text}]);
            assert_eq!(shown(messages, options.clone(), "B"), text);
        }
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
