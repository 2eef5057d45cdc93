//! Secrets within addresses: the user, the password, and credentials among the parameters.

use super::{is_secret_key, literals};
use gage_secrets::SECRET_MARK;
use std::borrow::Cow;
use std::ops::Range;

/// Characters that end a user or a host of an address without a scheme, and that a user never contains.
const DELIMITERS: &str = "\"'`,<>()[]{}=;";

/// Providers of models, which precede the name of a model and a colon.
const PROVIDERS: [&str; 3] = ["openai", "anthropic", "gemini"];

/// Removes the users, passwords and secret parameters of addresses from a text, so that it may be recorded; `key`
/// is the key of the text.
pub fn without_users<'t>(key: &str, text: &'t str) -> Cow<'t, str> {
    let places = secrets_in(key, text);
    if places.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut end) = (String::with_capacity(text.len()), 0);
    for place in places {
        out.push_str(&text[end..place.start]);
        out.push_str(SECRET_MARK);
        end = place.end;
    }
    out.push_str(&text[end..]);
    Cow::Owned(out)
}

/// Returns the ranges of users with their passwords, and of secret parameters' values, in order.
pub(crate) fn secrets_in(key: &str, text: &str) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = Vec::new();
    for (start, word) in words(text) {
        let users = match word.contains("://") {
            true => users_of_addresses(word),
            // Without a key the text is a line of a message, which errs on the side of showing too little.
            false if key.is_empty() && names_model(word) => Vec::new(),
            false if key.is_empty() || key.contains("proxy") => user_of_proxy(word).into_iter().collect(),
            false => Vec::new(),
        };
        let parameters = if word.contains("://") { secret_parameters(word) } else { Vec::new() };
        let found = users.into_iter().chain(parameters);
        places.extend(found.map(|place| start + place.start..start + place.end));
    }
    places.retain(|place| !place.is_empty() && !is_public(&text[place.clone()]));
    // The longer of two ranges with the same start wins.
    places.sort_by_key(|place| (place.start, std::cmp::Reverse(place.end)));
    places.dedup_by(|later, before| later.start < before.end);
    places
}

/// Returns true if the text is not secret: a redaction mark, or a password that consists only of variables.
fn is_public(secret: &str) -> bool {
    let password = secret.split_once(':').map_or(secret, |(_, password)| password);
    secret == SECRET_MARK || password == SECRET_MARK || literals(password).iter().all(|part| part.is_empty())
}

/// Splits at whitespace, and returns each word with its position.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split_inclusive(char::is_whitespace).map(move |word| {
        let place = start;
        start += word.len();
        (place, word.trim_end())
    })
}

/// Returns the ranges of `user:password` in addresses with a scheme.
fn users_of_addresses(word: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let last_at = word.rfind('@');
    let mut from = 0;
    while let Some(scheme) = word[from..].find("://") {
        let start = from + scheme + 3;
        let rest = &word[start..];
        let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
        let ends = [authority.rfind('@'), authority.find('@')];
        let end = ends.into_iter().flatten().find(|end| is_user(&authority[..*end]));
        // A password with a slash in it, which should be spelled `%2F`.
        let end = end.or_else(|| {
            let (_, port) = authority.split_once(':')?;
            let is_port = port.starts_with(|first: char| first.is_ascii_digit() || "${".contains(first));
            let end = last_at?.checked_sub(start);
            let end = end.filter(|_| !is_port && !port.is_empty() && !authority.contains('@'))?;
            is_user(&rest[..end]).then_some(end)
        });
        if let Some(end) = end {
            found.push(start..start + end);
        }
        from = start + end.unwrap_or(0);
    }
    found
}

/// Returns true if the text before an `@` is a user, optionally with a password, which may contain anything.
fn is_user(text: &str) -> bool {
    let (user, password) =
        text.split_once(':').map_or((text, None), |(user, password)| (user, Some(password)));
    // `http://a.b:80","x@y`: a port, followed by something else.
    let is_port = |password: &str| {
        let behind = password.trim_start_matches(|one: char| one.is_ascii_digit());
        behind.len() < password.len()
            && behind.starts_with(|one: char| DELIMITERS.contains(one))
            && behind.contains("\",")
    };
    !user.contains(|one: char| DELIMITERS.contains(one) && !"{}".contains(one))
        && !password.is_some_and(is_port)
}

/// Returns whether a word names a model and its server without a scheme: `openai:model@localhost`.
fn names_model(word: &str) -> bool {
    let provider = word.split(':').next().unwrap_or_default();
    let provider = provider.rsplit(|one: char| DELIMITERS.contains(one)).next().unwrap_or_default();
    PROVIDERS.contains(&provider)
}

/// Returns the range of `user:password` in a proxy without a scheme: `user:password@host`.
fn user_of_proxy(word: &str) -> Option<Range<usize>> {
    let end = word.rfind('@')?;
    let password = word[..end].split_once(':')?.1;
    let start =
        word.rfind(['=', '"', '\'']).filter(|at| *at < word.find(':').unwrap_or(0)).map_or(0, |at| at + 1);
    (!password.is_empty() && !password.contains('/')).then_some(start..end)
}

/// Returns true if the parameter of an address holds a secret.
fn is_secret_parameter(name: &str) -> bool {
    is_secret_key(name) || ["key", "sig", "pass"].contains(&name.to_lowercase().as_str())
}

/// Returns true if a secret was already redacted, regardless of what closes the address after the mark. The mark's
/// own brace does not count.
fn is_mark(value: &str) -> bool {
    value.strip_prefix(SECRET_MARK).is_some_and(|rest| rest.chars().all(|one| CLOSING.contains(&one)))
}

/// Characters that may follow an address without being part of it.
const CLOSING: [char; 6] = ['"', '\'', '`', ',', '>', ')'];

/// Returns the ranges of the values of secret parameters: `?api_key=…`.
fn secret_parameters(word: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let Some(query) = word.find('?') else { return found };
    let mut at = query + 1;
    for part in word[query + 1..].split(['&', '#']) {
        if let Some((name, value)) = part.split_once('=')
            && is_secret_parameter(name)
            && !value.starts_with("${")
            && !is_mark(value)
        {
            let start = at + name.len() + 1;
            let value = value.trim_end_matches(CLOSING);
            found.push(start..start + value.len());
        }
        at += part.len() + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_secret_parameters_of_addresses_are_redacted() {
        for (address, public) in [
            ("http://me:sk@a.b/c@d", "http://(secret)@a.b/c@d"),
            ("http://a.b/c@d", "http://a.b/c@d"),
            ("hub:a/b.gguf@main", "hub:a/b.gguf@main"),
            ("see http://me@a.b, http://a:b@c", "see http://(secret)@a.b, http://(secret)@c"),
            ("http://me:p,w\"x'@a.b:80/v1", "http://(secret)@a.b:80/v1"),
            ("http://me:p/w@a.b/v1", "http://(secret)@a.b/v1"),
            ("http://me:p@w@a.b/v1", "http://(secret)@a.b/v1"),
            ("https://a.b/v1?api_key=sk-1&size=2", "https://a.b/v1?api_key=(secret)&size=2"),
            ("https://a.b/v1?api_key=${KEY}", "https://a.b/v1?api_key=${KEY}"),
            ("http://a.b:80/x,y@z", "http://a.b:80/x,y@z"),
            (
                "https://a.b/v1?key=k1&sig=s1&token=t1&se=2",
                "https://a.b/v1?key=(secret)&sig=(secret)&token=(secret)&se=2",
            ),
            ("who?key=a.b", "who?key=a.b"),
            ("me:pw@[::1]:80", "(secret)@[::1]:80"),
            ("me:p,w\"x@10.0.0.1:3128", "(secret)@10.0.0.1:3128"),
            ("Bearer ${MY_TOKEN}", "Bearer ${MY_TOKEN}"),
            ("{\"a\":\"http://a.b:80\",\"b\":\"x@y\"}", "{\"a\":\"http://a.b:80\",\"b\":\"x@y\"}"),
            ("me@example.org", "me@example.org"),
            ("Question: what is a@b?", "Question: what is a@b?"),
            ("http://(secret)@a.b", "http://(secret)@a.b"),
            // The recorded form, read again.
            ("https://a.b/v1?sig=(secret)", "https://a.b/v1?sig=(secret)"),
            ("(see https://a.b/v1?sig=(secret)),", "(see https://a.b/v1?sig=(secret)),"),
            ("(see https://a.b/v1?sig=s1),", "(see https://a.b/v1?sig=(secret)),"),
            ("http://me:${PW}@a.b", "http://me:${PW}@a.b"),
            ("http://me:${PW:-}@a.b", "http://me:${PW:-}@a.b"),
            ("http://me:${PW:-p}@a.b", "http://(secret)@a.b"),
            ("http://me:x${PW}@a.b", "http://(secret)@a.b"),
            ("http://me:@a.b", "http://me:@a.b"),
            ("http://${H}:${P}/a@b", "http://${H}:${P}/a@b"),
        ] {
            assert_eq!(without_users("proxy", address), public, "{address}");
        }
        for text in
            ["name:tag@main", "me:pw@host", "sk-proj-0123456789", "Bearer abc-1234.x", "a.b/v1?token=t1"]
        {
            assert_eq!(without_users("model", text), text);
        }
    }
}
