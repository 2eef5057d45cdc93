//! What is never written down: which keys hold a secret, and what of a text that names one may be shown.

use crate::expand::closing_brace;

/// What stands in the place of a secret.
const SECRET: &str = "(secret)";

/// Whether the value of a key, and everything below it, is never written down.
pub fn is_secret_key(key: &str) -> bool {
    const ENDS: [&str; 18] = [
        "api_key",
        "apikey",
        "auth_key",
        "cookie",
        "passphrase",
        "signature",
        "subscription_key",
        "secret_key",
        "access_key",
        "private_key",
        "authorization",
        "password",
        "passwd",
        "bearer",
        "secret",
        "_token",
        "credential",
        "credentials",
    ];
    let key = key.to_lowercase().replace('-', "_");
    // `api_key_1` is one of several.
    let key =
        key.trim_end_matches(|character: char| character.is_ascii_digit() || character == '_').to_owned();
    matches!(key.as_str(), "headers" | "extra_headers" | "token")
        || ENDS.iter().any(|name| key.ends_with(name))
}

/// A text with asterisks in the place of values that are secret, as long as it was: for the lines of a suite that an error
/// shows. References to variables stay.
pub(crate) fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut within_headers = 0_usize;
    let mut block_of_headers: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        if block_of_headers.is_some_and(|of| indent <= of && !line.trim().is_empty()) {
            block_of_headers = None;
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
            } else if is_headers && value.trim().is_empty() {
                block_of_headers = Some(indent);
            }
            let is_secret = !is_headers
                && behind.starts_with([' ', '"', '\''])
                && (within_headers > 0 || block_of_headers.is_some() || is_secret_key(&name));
            rest = behind;
            if is_secret && !value.starts_with(['{', '[', '|', '>', '&', '*']) {
                let blank = behind.len() - value.len();
                let end = end_of_scalar(value);
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

/// A text with asterisks in the place of users and queries of addresses, which may hold a password or a key; as long as it
/// was. References to variables stay.
pub(crate) fn masked_addresses(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("://") {
        let (before, address) = rest.split_at(start + 3);
        out.push_str(before);
        let is_end = |character: char| character.is_whitespace() || "\"'`,<>".contains(character);
        let (address, behind) = address.split_at(address.find(is_end).unwrap_or(address.len()));
        let authority = address.split(['/', '?', '#']).next().unwrap_or_default();
        let user = authority.rfind('@').unwrap_or(0);
        let query = address.find('?').map_or(address.len(), |query| query + 1);
        out.push_str(&stars(&address[..user]));
        out.push_str(&address[user..query]);
        out.push_str(&stars(&address[query..]));
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Where a plain or quoted scalar of one line ends.
fn end_of_scalar(value: &str) -> usize {
    if let Some(quote) = value.chars().next().filter(|first| ['"', '\''].contains(first)) {
        return value[1..].find(quote).map_or_else(|| value.trim_end().len(), |end| end + 2);
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

/// Asterisks for all but references to variables, as many bytes as there were.
fn stars(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(start) = rest.find("${") {
        out.push_str(&"*".repeat(start));
        let length = closing_brace(&rest[start + 2..]).map_or(rest.len() - start, |length| length + 3);
        let (reference, behind) = rest[start..].split_at(length);
        match reference.split_once(":-") {
            // A default is as secret as the value.
            Some((name, default)) => {
                out.push_str(name);
                out.push_str(":-");
                out.push_str(&"*".repeat(default.len().saturating_sub(1)));
                out.push('}');
            }
            None => out.push_str(reference),
        }
        rest = behind;
    }
    out.push_str(&"*".repeat(rest.len()));
    out
}

/// Whether a text takes a part of itself from a variable whose name says that it is secret.
pub(crate) fn names_secret(written: &str) -> bool {
    const PARTS: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];
    written.split("${").skip(1).any(|rest| {
        let name = rest.split([':', '}']).next().unwrap_or_default().to_uppercase();
        PARTS.iter().any(|part| name.contains(part))
    })
}

/// The value of a secret as it was written, before `${…}` was replaced in it, without whatever of it is
/// itself secret: names of variables stay (`Bearer ${KEY}`), their defaults and other text do not
/// (`${KEY:-sk-1}` becomes `${KEY:-}`).
pub fn public_text(written: &str) -> String {
    const SCHEMES: [&str; 4] = ["", "bearer", "basic", "token"];
    match without_defaults(written) {
        Some((public, literal)) if SCHEMES.contains(&literal.trim().to_lowercase().as_str()) => public,
        _ => SECRET.to_owned(),
    }
}

/// The same for a value that is no secret itself and takes a part from one: other text stays.
pub(crate) fn public_part(written: &str) -> String {
    without_defaults(written).map_or_else(|| SECRET.to_owned(), |(public, _)| public)
}

/// A text without the defaults of its variables, and what of it is no variable; nothing where it holds a
/// `${` that is none.
fn without_defaults(written: &str) -> Option<(String, String)> {
    let (mut public, mut literal, mut rest) = (String::new(), String::new(), written);
    while let Some(start) = rest.find("${") {
        let (before, inner) = (&rest[..start], &rest[start + 2..]);
        let length = closing_brace(inner)?;
        if before.ends_with('$') {
            // An escaped `${` is text like any other.
            return None;
        }
        literal.push_str(before);
        let shown = match inner[..length].split_once(":-") {
            None => inner[..length].to_owned(),
            Some((name, default)) => {
                let default = public_text(default);
                format!("{name}:-{}", if default == SECRET { "" } else { &default })
            }
        };
        public.push_str(&format!("{before}${{{shown}}}"));
        rest = &inner[length + 1..];
    }
    literal.push_str(rest);
    public.push_str(rest);
    Some((public, literal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_variables_stay_and_secrets_do_not() {
        for (written, public) in [
            ("${KEY}", "${KEY}"),
            ("${KEY:-}", "${KEY:-}"),
            ("${KEY:-sk-1}", "${KEY:-}"),
            ("${KEY:-${OTHER:-sk-1}}", "${KEY:-${OTHER:-}}"),
            ("Bearer ${KEY}", "Bearer ${KEY}"),
            ("Bearer sk-1 ${KEY}", "(secret)"),
            ("sk-${KEY}", "(secret)"),
            ("sk-1", "(secret)"),
            ("$${KEY}", "(secret)"),
            ("${KEY", "(secret)"),
            ("", ""),
        ] {
            assert_eq!(public_text(written), public, "{written}");
        }
        for (key, is_secret) in [
            ("api_key_1", true),
            ("client_secret_key", true),
            ("bearer", true),
            ("passwd", true),
            ("max_tokens", false),
            ("stop_token_ids", false),
            ("prompt_cache_key", false),
            ("Ocp-Apim-Subscription-Key", true),
            ("cookie", true),
            ("passphrase", true),
            ("answer_key", false),
        ] {
            assert_eq!(is_secret_key(key), is_secret, "{key}");
        }
        assert_eq!(public_part("a/${TOKEN:-sk-1}/b"), "a/${TOKEN:-}/b");
    }

    #[test]
    fn lines_that_are_shown_hold_no_secret_and_are_as_long_as_they_were() {
        for (line, shown) in [
            ("api_key: sk-123, timout: 3", "api_key: ******, timout: 3"),
            ("config: {api_key: 'sk, 1', model: m}", "config: {api_key: *******, model: m}"),
            ("api_key: ${KEY:-sk-1}", "api_key: ${KEY:-****}"),
            ("api_key: \"${KEY}\"", "api_key: *${KEY}*"),
            ("headers: {X-A: b, Authorization: Bearer t}", "headers: {X-A: *, Authorization: ********}"),
            ("headers:\n  X-A: bé\nmodel: m", "headers:\n  X-A: ***\nmodel: m"),
            ("base_url: http://127.0.0.1:9/v1", "base_url: http://127.0.0.1:9/v1"),
            (
                "base_url: 'https://me:sk@a.b/v1?key=sk-1' # x",
                "base_url: 'https://*****@a.b/v1?********' # x",
            ),
            ("a: [http://a?k=1, http://b?${K}]", "a: [http://a?***, http://b?${K}*"),
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
