//! What is never written down: which keys hold a secret, and what of a text that names one may be shown.

use crate::expand::closing_brace;
use std::borrow::Cow;

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
    let key = snake_case(key);
    // `api_key_1` is one of several.
    let key =
        key.trim_end_matches(|character: char| character.is_ascii_digit() || character == '_').to_owned();
    matches!(
        key.as_str(),
        "headers" | "extra_headers" | "token" | "auth" | "jwt" | "pwd" | "passcode" | "api_keys"
    ) || ENDS.iter().any(|name| key.ends_with(name))
}

/// A name of any spelling in one: `accessToken`, `Access-Token`, `access_token`.
fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut was_lower = false;
    for character in name.chars() {
        if character.is_uppercase() && was_lower {
            out.push('_');
        }
        was_lower = character.is_lowercase() || character.is_ascii_digit();
        match character {
            '-' => out.push('_'),
            other => out.extend(other.to_lowercase()),
        }
    }
    out
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
            if is_secret && !value.starts_with(['{', '|', '>', '&', '*']) {
                let blank = behind.len() - value.len();
                // Of a list all that stands on its line.
                let end = if value.starts_with('[') { value.trim_end().len() } else { end_of_scalar(value) };
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

/// A text with asterisks in the place of users and queries of addresses, which may hold a password or a key, and of what stands
/// before the `@` of `user:password@host`; as long as it was. References to variables stay.
pub(crate) fn masked_addresses(text: &str) -> String {
    let is_end = |character: char| character.is_whitespace() || "\"'`,<>".contains(character);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (word, behind) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
        let begin = word.find("://").map(|place| place + 3);
        let address = &word[begin.unwrap_or(0)..];
        let authority = address.split(['/', '?', '#']).next().unwrap_or_default();
        // Without a scheme it has to look like a user and a password.
        let user = authority.rfind('@').filter(|end| begin.is_some() || authority[..*end].contains(':'));
        let user = user.unwrap_or(0);
        let is_address = begin.is_some() || user > 0;
        let query = address.find('?').filter(|_| is_address).map_or(address.len(), |query| query + 1);
        out.push_str(&word[..begin.unwrap_or(0)]);
        out.push_str(&stars(&address[..user]));
        out.push_str(&address[user..query.max(user)]);
        out.push_str(&stars(&address[query.max(user)..]));
        let end = behind.chars().next().map_or(0, char::len_utf8);
        out.push_str(&behind[..end]);
        rest = &behind[end..];
    }
    out
}

/// A text without the users and the passwords of the addresses in it.
pub fn without_users(text: &str) -> Cow<'_, str> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, address)) = rest.split_once("://") {
        let end = address.find(|one: char| one.is_whitespace() || "/?#\"'`,<>".contains(one));
        let (authority, behind) = address.split_at(end.unwrap_or(address.len()));
        let host = authority.rfind('@').map_or(authority, |end| &authority[end..]);
        let mark = if host.len() < authority.len() { SECRET } else { "" };
        out.push_str(&format!("{before}://{mark}{host}"));
        rest = behind;
    }
    out.push_str(rest);
    if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

/// What an override of the command line sets, as it may be shown: nothing of a secret.
pub(crate) fn masked_override(path: &str, text: &str) -> String {
    if !path.split('.').any(is_secret_key) {
        return masked(text);
    }
    let start = text.strip_prefix(path).map_or(0, |_| path.len() + 1).min(text.len());
    format!("{}{}", &text[..start], stars(&text[start..]))
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

/// Whether a text takes a part of itself from a variable whose name says that it is secret: `HUB_TOKEN`, and not
/// `MAX_TOKENS`, which would change unseen.
pub(crate) fn names_secret(written: &str) -> bool {
    const WORDS: [&str; 11] = [
        "KEY",
        "KEYS",
        "APIKEY",
        "TOKEN",
        "SECRET",
        "SECRETS",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "CREDENTIAL",
        "CREDENTIALS",
    ];
    written.split("${").skip(1).any(|rest| {
        let name = rest.split([':', '}']).next().unwrap_or_default().to_uppercase();
        name.split(['_', '-', '.']).any(|word| WORDS.contains(&word))
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
            ("accessToken", true),
            ("SecretAccessKey", true),
            ("maxNewTokens", false),
            ("api_keys", true),
        ] {
            assert_eq!(is_secret_key(key), is_secret, "{key}");
        }
        for (written, is_secret) in [
            ("${MAX_TOKENS:-16}", false),
            ("${MONKEY}", false),
            ("a ${HF_TOKEN} b", true),
            ("${runtime.global.api_key:-}", true),
        ] {
            assert_eq!(names_secret(written), is_secret, "{written}");
        }
        assert_eq!(public_part("a/${TOKEN:-sk-1}/b"), "a/${TOKEN:-}/b");
        for (address, public) in [
            ("http://me:sk@a.b/c@d", "http://(secret)@a.b/c@d"),
            ("http://a.b/c@d", "http://a.b/c@d"),
            ("hub:a/b.gguf@main", "hub:a/b.gguf@main"),
            ("see http://me@a.b, http://a:b@c", "see http://(secret)@a.b, http://(secret)@c"),
        ] {
            assert_eq!(without_users(address), public);
        }
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
            ("api_key: [sk-1, sk-2]", "api_key: ************"),
            ("proxy: me:sk@a.b:1", "proxy: *****@a.b:1"),
            ("model: hub:a/b.gguf@main", "model: hub:a/b.gguf@main"),
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
