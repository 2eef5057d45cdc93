//! Redaction of the suite's lines in diagnostics.

use super::addresses::{secrets_in, words};
use super::is_secret_key;
use crate::placeholder::closing_brace;
use std::ops::Range;

/// Replaces secret values with asterisks in the lines of a suite that an error shows. The length does not change.
/// References to variables stay. The text may be incomplete YAML.
pub(crate) fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut within_headers = 0_usize;
    let mut block_of_headers: Option<usize> = None;
    let mut block_of_secret: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        let is_blank = line.trim().is_empty();
        if block_of_headers.is_some_and(|of| indent <= of && !is_blank) {
            block_of_headers = None;
        }
        // The items of a list may have the same indentation as its key.
        let is_item = |of: usize| indent == of && line.trim_start().starts_with("- ");
        if block_of_secret.is_some_and(|of| indent <= of && !is_item(of) && !is_blank) {
            block_of_secret = None;
        }
        if block_of_secret.is_some() {
            // The continuation lines of a multi-line text, or of a list.
            out.push_str(&stars(line));
            continue;
        }
        let mut rest = line;
        while let Some(colon) = rest.find(':') {
            let (before, behind) = rest.split_at(colon + 1);
            out.push_str(before);
            let name: String = before[..colon]
                .trim_end_matches(['"', '\'', ' '])
                .chars()
                .rev()
                .take_while(|character| character.is_ascii_alphanumeric() || "_-".contains(*character))
                .collect();
            let name: String = name.chars().rev().collect();
            let is_headers = matches!(name.to_lowercase().as_str(), "headers" | "extra_headers");
            let value = behind.trim_start_matches(' ');
            if is_headers && value.starts_with('{') {
                within_headers += 1;
            } else if is_headers && value.trim_start().is_empty() {
                block_of_headers = Some(indent);
            }
            let is_secret = !is_headers
                && behind.starts_with([' ', '"', '\'', '\n', '\r'])
                && (within_headers > 0
                    || block_of_headers.is_some()
                    || is_secret_key(&name)
                    || name == "pass");
            rest = behind;
            // Everything with deeper indentation belongs to the first key of a line.
            let key = before[..colon].trim_start_matches([' ', '-']);
            let is_first =
                before.len() + behind.len() == line.len() && key.trim_matches(['"', '\'', ' ']) == name;
            if is_secret && is_first {
                block_of_secret = Some(colon - key.len());
            }
            if is_secret {
                let blank = behind.len() - value.len();
                // For a list or a mapping, the rest of its line.
                let end = match value.starts_with(['[', '{', '|', '>', '!', '&', '*']) {
                    true => value.trim_end().len(),
                    false => end_of_scalar(value),
                };
                out.push_str(&behind[..blank]);
                out.push_str(&stars(&value[..end]));
                rest = &value[end..];
            }
            if within_headers > 0 && rest.starts_with('}') {
                within_headers -= 1;
            }
        }
        out.push_str(rest);
    }
    masked_addresses(&out)
}

/// Replaces users and queries of addresses, which may hold a password or a key, with asterisks. Also replaces the
/// text before the `@` of `user:password@host`. The length does not change. References to variables stay.
pub(crate) fn masked_addresses(text: &str) -> String {
    let mut places = secrets_in("", text);
    let users = places.len();
    for (start, word) in words(text) {
        // The users are in order.
        let next = places[..users].partition_point(|place| place.start < start);
        let has_user = places[..users].get(next).is_some_and(|place| place.start < start + word.len());
        let Some(begin) = word.find("://").or(has_user.then_some(0)) else { continue };
        // A further question mark belongs to the same query.
        if let Some(query) = word[begin..].find('?') {
            let from = start + begin + query + 1;
            let rest = &word[begin + query + 1..];
            // A quote or a comma within a key does not end it.
            let key = rest.trim_end_matches(|one: char| "\"'`,<>]})".contains(one));
            let end = rest[key.len()..].find(|one: char| "\"'`,<>".contains(one));
            places.push(from..from + end.map_or(rest.len(), |end| key.len() + end));
        }
    }
    starred(text.to_owned(), &places)
}

/// Replaces the given ranges with asterisks, except references to variables. The length does not change.
pub(crate) fn starred(mut text: String, places: &[Range<usize>]) -> String {
    for place in places {
        let Some(secret) = text.get(place.clone()) else { continue };
        let stars = stars(secret);
        text.replace_range(place.clone(), &stars);
    }
    text
}

/// Returns the displayable value of a command-line override, without secrets.
pub(crate) fn masked_override(path: &str, text: &str) -> String {
    if !path.split('.').any(is_secret_key) {
        return masked(text);
    }
    let start = text.strip_prefix(path).map_or(0, |_| path.len() + 1).min(text.len());
    format!("{}{}", &text[..start], stars(&text[start..]))
}

/// Returns the end of a plain or quoted scalar of one line.
fn end_of_scalar(value: &str) -> usize {
    if let Some(quote) = value.chars().next().filter(|first| ['"', '\''].contains(first)) {
        let (mut is_escaped, mut characters) = (false, value.char_indices().skip(1).peekable());
        while let Some((place, one)) = characters.next() {
            match one {
                _ if is_escaped => is_escaped = false,
                '\\' if quote == '"' => is_escaped = true,
                // A single quote is doubled within single quotes.
                '\'' if quote == '\'' && characters.peek().is_some_and(|(_, next)| *next == '\'') => {
                    characters.next();
                }
                _ if one == quote => return place + 1,
                _ => {}
            }
        }
        return value.trim_end().len();
    }
    let mut inside = 0_usize;
    for (at, character) in value.char_indices() {
        match character {
            '{' => inside += 1,
            '}' if inside > 0 => inside -= 1,
            ',' | '}' | ']' | '\n' if inside == 0 => return at,
            _ => {}
        }
    }
    value.len()
}

/// Replaces each byte with an asterisk, except line breaks, references to variables, and quotes around a single
/// reference.
fn stars(value: &str) -> String {
    if let Some((quote, reference)) = quoted_reference(value) {
        return format!("{quote}{}{quote}", stars(reference));
    }
    let blank = |text: &str| -> String {
        text.split_inclusive('\n')
            .map(|line| match line.strip_suffix('\n') {
                Some(line) => "*".repeat(line.len()) + "\n",
                None => "*".repeat(line.len()),
            })
            .collect()
    };
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(start) = rest.find("${") {
        out.push_str(&blank(&rest[..start]));
        let length = closing_brace(&rest[start + 2..]).map_or(rest.len() - start, |length| length + 3);
        let (reference, behind) = rest[start..].split_at(length);
        match reference.split_once(":-") {
            // A default is as secret as the value.
            Some((name, default)) => {
                out.push_str(name);
                out.push_str(":-");
                out.push_str(&blank(&default[..default.len().saturating_sub(1)]));
                out.push('}');
            }
            None => out.push_str(reference),
        }
        rest = behind;
    }
    out.push_str(&blank(rest));
    out
}

/// Returns the quote and the text within it, if a value is a single reference to a variable in quotes.
fn quoted_reference(value: &str) -> Option<(char, &str)> {
    let quote = value.chars().next().filter(|first| ['"', '\''].contains(first))?;
    let inner = value.strip_prefix(quote)?.strip_suffix(quote)?;
    let length = closing_brace(inner.strip_prefix("${")?)?;
    (length + 3 == inner.len()).then_some((quote, inner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shown_lines_hold_no_secret_and_keep_their_length() {
        for (line, shown) in [
            ("api_key: sk-123, timout: 3", "api_key: ******, timout: 3"),
            ("config: {api_key: 'sk, 1', model: m}", "config: {api_key: *******, model: m}"),
            ("config: {api_key: 'sk'', 1', model: m}", "config: {api_key: *********, model: m}"),
            ("config: {api_key: \"sk\\\", 1\", model: m}", "config: {api_key: *********, model: m}"),
            ("api_key: ${KEY:-sk-1}", "api_key: ${KEY:-****}"),
            ("api_key: \"${KEY}\"", "api_key: \"${KEY}\""),
            ("{api_key: '${KEY:-}', model: m}", "{api_key: '${KEY:-}', model: m}"),
            ("api_key: \"${KEY:-sk}\" # x", "api_key: \"${KEY:-**}\" # x"),
            ("api_key: \"${A}${B}\"", "api_key: *${A}${B}*"),
            ("api_key: \"sk${KEY}\"", "api_key: ***${KEY}*"),
            ("headers: {X-A: b, Authorization: Bearer t}", "headers: {X-A: *, Authorization: ********}"),
            ("headers:\n  X-A: bé\nmodel: m", "headers:\n  X-A: ***\nmodel: m"),
            ("base_url: http://127.0.0.1:9/v1", "base_url: http://127.0.0.1:9/v1"),
            (
                "base_url: 'https://me:sk@a.b/v1?key=sk-1' # x",
                "base_url: 'https://*****@a.b/v1?********' # x",
            ),
            ("api_key: [sk-1, sk-2]", "api_key: ************"),
            ("proxy: me:sk@a.b:1", "proxy: *****@a.b:1"),
            ("proxy: http://me:s,k\"@a.b:1", "proxy: http://*******@a.b:1"),
            ("model: hub:a/b.gguf@main", "model: hub:a/b.gguf@main"),
            ("model: [openai:m@localhost:1]", "model: [openai:m@localhost:1]"),
            ("a: [http://a?k=1, http://b?${K}]", "a: [http://a?***, http://b?${K}*"),
            ("- api_key: |\n    one\n    two\n  model: m", "- api_key: *\n*******\n*******\n  model: m"),
            ("api_key: >-\n  one\nmodel: m", "api_key: **\n*****\nmodel: m"),
            ("api_key:\n  one\nmodel: m", "api_key:\n*****\nmodel: m"),
            ("api_key: \"one\n  two\"\nmodel: m", "api_key: ****\n******\nmodel: m"),
            ("api_key:\n- one\nmodel: m", "api_key:\n*****\nmodel: m"),
            ("config: {api_key: a,\n  model: m}", "config: {api_key: *,\n  model: m}"),
            ("token: 12345", "token: *****"),
            ("secret: {a: sk-1,\n  b: sk-2}\nmodel: m", "secret: *********\n**********\nmodel: m"),
            ("api_key: &a sk-1", "api_key: *******"),
            ("login: {user: me, pass: pw-1}", "login: {user: me, pass: ****}"),
        ] {
            assert_eq!(masked(line), shown);
            assert_eq!(masked(line).len(), line.len());
        }
    }

    proptest! {
        #[test]
        fn whatever_stands_there_keeps_its_length(text in any::<String>(), key in "(api_key: ?|headers: |a: http://|x?://@)") {
            let text = format!("{key}{text}");
            prop_assert_eq!(masked(&text).len(), text.len());
        }
    }
}
