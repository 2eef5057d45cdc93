//! Secrets of a document: the keys and variables that hold one, and the public form of a text that names one.

mod addresses;
mod context;
mod diagnostics;
mod redact;

use crate::placeholder::{closing_brace, nests_too_deep};
pub(crate) use addresses::secrets_in;
pub use addresses::without_users;
pub use context::{SecretContext, granted_names};
pub(crate) use diagnostics::{masked, masked_addresses, masked_override, starred};
use gage_secrets::SECRET_MARK as SECRET;

/// Returns true if the value of a key, and everything below it, is never recorded.
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
    // Prefixes of special tokens of models.
    const OF_MODELS: [&str; 16] = [
        "audio", "bos", "cls", "end", "eos", "first", "image", "mask", "next", "pad", "sep", "special",
        "start", "stop", "unk", "video",
    ];
    let key = snake_case(key);
    // `api_key_1` is one of several keys.
    let key =
        key.trim_end_matches(|character: char| character.is_ascii_digit() || character == '_').to_owned();
    let is_no_secret = key.strip_suffix("_token").is_some_and(|front| {
        let (first, last) = (front.split('_').next(), front.rsplit('_').next());
        // `max_new_token` is a misspelt limit.
        OF_MODELS.contains(&last.unwrap_or(front)) || matches!(first, Some("max" | "min"))
    });
    if is_no_secret {
        return false;
    }
    matches!(
        key.as_str(),
        "headers" | "extra_headers" | "token" | "auth" | "jwt" | "pwd" | "passcode" | "api_keys"
    ) || ENDS.iter().any(|name| key.ends_with(name))
}

/// Converts a name in any style to snake case: `accessToken`, `Access-Token`, `access_token`.
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

/// Returns true if a text refers to a variable whose name indicates a secret: `HUB_TOKEN`, but not `MAX_TOKENS`,
/// whose changes must be visible.
pub(crate) fn names_secret(written: &str) -> bool {
    written.split("${").skip(1).any(|rest| is_secret_name(rest.split([':', '}']).next().unwrap_or_default()))
}

/// Removes the defaults of variables with secret names from an unexpanded text.
pub fn without_secret_defaults(written: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(written.len()), written);
    while let Some(start) = rest.find("${") {
        let inner = &rest[start + 2..];
        let Some(length) = closing_brace(inner) else { break };
        out.push_str(&rest[..start]);
        let shown = match inner[..length].split_once(":-") {
            Some((name, default)) if is_secret_name(name) && !is_plain(default) => {
                let public = public_text(default);
                format!("{name}:-{}", if public == SECRET { "" } else { &public })
            }
            Some((name, default)) => format!("{name}:-{}", without_secret_defaults(default)),
            None => inner[..length].to_owned(),
        };
        out.push_str(&format!("${{{shown}}}"));
        rest = &inner[length + 1..];
    }
    out.push_str(rest);
    out
}

/// Returns true if a value is a number or a boolean. Such a value is only a secret under a secret key: the value of
/// `${MAX_KEYS:-8}` must stay visible.
pub(crate) fn is_plain(value: &str) -> bool {
    value.parse::<f64>().is_ok() || matches!(value, "true" | "false")
}

/// Returns true if a variable of this name contains a secret.
pub fn is_secret_name(name: &str) -> bool {
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
    /// Last words of names that only describe keys and tokens: `ANSWER_KEY_FIELD`, `TOKEN_LIMIT`.
    const OTHERS: [&str; 8] = ["FIELD", "FIELDS", "COLUMN", "COUNT", "LIMIT", "MODE", "STYLE", "TYPE"];
    let name = name.to_uppercase();
    let mut words = name.split(['_', '-', '.']).rev().peekable();
    words.peek().is_some_and(|last| !OTHERS.contains(last)) && words.any(|word| WORDS.contains(&word))
}

/// Returns the text of a secret before `${…}` was replaced, without its secret parts. Names of variables stay
/// (`Bearer ${KEY}`); their defaults and other text do not (`${KEY:-sk-1}` becomes `${KEY:-}`).
pub fn public_text(written: &str) -> String {
    const SCHEMES: [&str; 4] = ["", "bearer", "basic", "token"];
    match without_defaults(written) {
        Some((public, literal)) if SCHEMES.contains(&literal.trim().to_lowercase().as_str()) => public,
        _ => SECRET.to_owned(),
    }
}

/// Returns the public form of a non-secret value that contains a secret part: other text stays.
pub(crate) fn public_part(written: &str) -> String {
    without_defaults(written).map_or_else(|| SECRET.to_owned(), |(public, _)| public)
}

/// Returns a text without the defaults of its variables, and its literal parts. Returns `None` if it contains a
/// `${` that is not a variable.
fn without_defaults(written: &str) -> Option<(String, String)> {
    let (mut public, mut literal, mut rest) = (String::new(), String::new(), written);
    while let Some(start) = rest.find("${") {
        let (before, inner) = (&rest[..start], &rest[start + 2..]);
        let length = closing_brace(inner)?;
        if before.ends_with('$') {
            // An escaped `${` is ordinary text.
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

/// Returns the literal parts of a text, including the defaults of its variables. Messages may contain texts that
/// the parser rejected, so a text whose variables nest too deep is returned whole.
pub(crate) fn literals(text: &str) -> Vec<&str> {
    if nests_too_deep(text) {
        return vec![text];
    }
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let inner = &rest[start + 2..];
        let Some(length) = closing_brace(inner) else { break };
        found.push(&rest[..start]);
        if let Some((_, default)) = inner[..length].split_once(":-") {
            found.extend(literals(default));
        }
        rest = &inner[length + 1..];
    }
    found.push(rest);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_a_variable_may_say_that_it_is_no_secret() {
        for (name, is_secret) in [
            ("HUB_TOKEN", true),
            ("OPENAI_API_KEY", true),
            ("KEY_OF_SERVER", true),
            ("MAX_TOKENS", false),
            ("ANSWER_KEY_FIELD", false),
            ("TOKEN_LIMIT", false),
            ("", false),
        ] {
            assert_eq!(is_secret_name(name), is_secret, "{name}");
        }
    }

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
            ("eos_token", false),
            ("my_image_token", false),
            ("friend_token", true),
            ("max_new_token", false),
            ("maxToken", false),
            ("maxwell_token", true),
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
        for (written, public) in [
            ("a/${TOKEN:-sk-1}/b", "a/${TOKEN:-}/b"),
            ("${A:-${TOKEN:-sk-1}} ${B:-c}", "${A:-${TOKEN:-}} ${B:-c}"),
            ("${TOKEN:-${A}}", "${TOKEN:-${A}}"),
            ("${runtime.global.key_rows:-2}", "${runtime.global.key_rows:-2}"),
            ("no ${", "no ${"),
        ] {
            assert_eq!(without_secret_defaults(written), public);
        }
    }
}
