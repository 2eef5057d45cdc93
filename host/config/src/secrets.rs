//! What is never written down: which keys hold a secret, and what of a text that names one may be shown.

use crate::expand::closing_brace;

/// What stands in the place of a secret.
const SECRET: &str = "(secret)";

/// Whether the value of a key, and everything below it, is never written down.
pub fn is_secret_key(key: &str) -> bool {
    const ENDS: [&str; 8] =
        ["api_key", "apikey", "authorization", "password", "secret", "_token", "credential", "credentials"];
    let key = key.to_lowercase().replace('-', "_");
    matches!(key.as_str(), "headers" | "extra_headers" | "token")
        || ENDS.iter().any(|name| key.ends_with(name))
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
        assert_eq!(public_part("a/${TOKEN:-sk-1}/b"), "a/${TOKEN:-}/b");
    }
}
