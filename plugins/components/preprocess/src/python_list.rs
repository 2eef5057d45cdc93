//! Lists spelled as a text: as JSON, or as printed by Python.

use gage_row_kit::fields::text;
use gage_sdk::serde_json::{self, Value};
use std::iter::Peekable;
use std::str::Chars;

/// Returns the items of a text like `['a', "b's", 3]` or `["a", "b"]`; `None` if it is not such a list.
pub(crate) fn read(list: &str) -> Option<Vec<String>> {
    let list = list.trim();
    let inner = list.strip_prefix('[')?.strip_suffix(']')?;
    if let Ok(Value::Array(items)) = serde_json::from_str(list) {
        return items.iter().map(|item| text(item).map(|text| text.into_owned())).collect();
    }
    let mut items = Vec::new();
    let mut rest = inner.chars().peekable();
    loop {
        skip_space(&mut rest);
        let Some(&first) = rest.peek() else { return Some(items) };
        items.push(match first {
            '\'' | '"' => quoted(&mut rest)?,
            _ => bare(&mut rest)?,
        });
        skip_space(&mut rest);
        match rest.next() {
            // The last item may also be followed by a comma.
            Some(',') => {}
            None => return Some(items),
            Some(_) => return None,
        }
    }
}

fn skip_space(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|character| character.is_whitespace()).is_some() {}
}

/// Reads a number or a name: anything before the next comma, without brackets or quotes.
fn bare(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut item = String::new();
    while let Some(character) = rest.next_if(|character| *character != ',') {
        if matches!(character, '[' | ']' | '(' | ')' | '{' | '}' | '\'' | '"') {
            return None;
        }
        item.push(character);
    }
    let item = item.trim_end();
    (!item.is_empty() && item != "None").then(|| item.to_owned())
}

fn quoted(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    let quote = rest.next()?;
    let mut item = String::new();
    loop {
        match rest.next()? {
            '\\' => escape(rest, &mut item)?,
            character if character == quote => return Some(item),
            character => item.push(character),
        }
    }
}

/// Reads the escape after a backslash. An escape that is unknown to Python keeps its backslash.
fn escape(rest: &mut Peekable<Chars<'_>>, item: &mut String) -> Option<()> {
    let code = |rest: &mut Peekable<Chars<'_>>, digits: usize| {
        let text: String = rest.by_ref().take(digits).collect();
        let is_whole = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_whole.then(|| u32::from_str_radix(&text, 16).ok().and_then(char::from_u32)).flatten()
    };
    let character = match rest.next()? {
        same @ ('\\' | '\'' | '"') => same,
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '0' => '\0',
        'x' => code(rest, 2)?,
        'u' => code(rest, 4)?,
        'U' => code(rest, 8)?,
        other => {
            item.push('\\');
            other
        }
    };
    item.push(character);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists() {
        for (text, expected) in [
            ("['a', 'b']", Some(vec!["a", "b"])),
            (r#"["a", "b"]"#, Some(vec!["a", "b"])),
            (r#"['a', "b's", 'c\'d']"#, Some(vec!["a", "b's", "c'd"])),
            (r"['$\\frac{1}{2}$', '\xb0C', '\u00e9', '\d']", Some(vec!["$\\frac{1}{2}$", "°C", "é", "\\d"])),
            ("['a, b', 'c]']", Some(vec!["a, b", "c]"])),
            ("[1, -2.5, True]", Some(vec!["1", "-2.5", "True"])),
            (" ['a',\n 'b',] ", Some(vec!["a", "b"])),
            ("[]", Some(vec![])),
            ("['a' 'b']", None),
            ("['a", None),
            ("['a'", None),
            ("[None]", None),
            ("[['a']]", None),
            ("[,]", None),
            ("a", None),
            ("", None),
        ] {
            let expected = expected.map(|items| items.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(read(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_python_prints_is_read(items in proptest::collection::vec("[^\n\r\t\0]{0,12}", 0..6)) {
            let printed: Vec<String> =
                items.iter().map(|item| format!("'{}'", item.replace('\\', "\\\\").replace('\'', "\\'"))).collect();
            prop_assert_eq!(read(&format!("[{}]", printed.join(", "))), Some(items));
        }

        #[test]
        fn any_text_is_read_or_not(text in "\\[?.{0,40}\\]?") {
            let _ = read(&text);
        }
    }
}
