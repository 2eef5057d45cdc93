//! What is secret within addresses: who asks, with which password, and keys among the parameters.

use super::{is_secret_key, literals};
use gage_core::SECRET_MARK;
use std::borrow::Cow;
use std::ops::Range;

/// Keys whose values may look like `user:password@host` and are none: `model: name:tag@revision`.
const NO_ADDRESSES: [&str; 8] =
    ["model", "model_path", "hub_id", "revision", "pattern", "template", "text", "content"];

/// What ends a user or a host of an address without a scheme, and what a user never holds.
const DELIMITERS: &str = "\"'`,<>()[]{}=;";

/// A text without the users, the passwords and the secret parameters of the addresses in it, as it may be written down;
/// `key` is the one that it stands under.
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

/// Where users with their passwords, and the values of secret parameters, stand in a text, from the front.
pub(super) fn secrets_in(key: &str, text: &str) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = Vec::new();
    let mut is_behind_bearer = false;
    for (start, word) in words(text) {
        let users = match word.contains("://") {
            true => users_of_addresses(word),
            false if NO_ADDRESSES.contains(&key) => None.into_iter().collect(),
            false => user_without_scheme(word).into_iter().collect(),
        };
        let is_address = word.contains("://") || !users.is_empty() || is_path_with_query(word);
        let parameters = if is_address { secret_parameters(word) } else { Vec::new() };
        let token = bearer_token(word).filter(|_| is_behind_bearer);
        is_behind_bearer =
            word.trim_start_matches(|one: char| !one.is_ascii_alphanumeric()).eq_ignore_ascii_case("bearer");
        let found = token.into_iter().chain(users).chain(parameters);
        let found = found.chain(web_tokens(word)).chain(keys_by_shape(word));
        places.extend(found.map(|place| start + place.start..start + place.end));
    }
    places.retain(|place| !place.is_empty() && !is_public(&text[place.clone()]));
    // Of two that begin alike the longer one.
    places.sort_by_key(|place| (place.start, std::cmp::Reverse(place.end)));
    places.dedup_by(|later, before| later.start < before.end);
    places
}

/// Whether what would be a secret is none: a mark of one, or a password that is only named by variables.
fn is_public(secret: &str) -> bool {
    let password = secret.split_once(':').map_or(secret, |(_, password)| password);
    secret == SECRET_MARK || password == SECRET_MARK || literals(password).iter().all(|part| part.is_empty())
}

/// What stands between blanks, with its place.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split_inclusive(char::is_whitespace).map(move |word| {
        let place = start;
        start += word.len();
        (place, word.trim_end())
    })
}

/// `user:password` of each address with a scheme.
fn users_of_addresses(word: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
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
            let end = rest.rfind('@').filter(|_| !is_port && !port.is_empty() && !authority.contains('@'))?;
            is_user(&rest[..end]).then_some(end)
        });
        if let Some(end) = end {
            found.push(start..start + end);
        }
        from = start + end.unwrap_or(0);
    }
    found
}

/// Whether what stands before an `@` is a user, perhaps with a password, which may hold anything.
fn is_user(text: &str) -> bool {
    let (user, password) =
        text.split_once(':').map_or((text, None), |(user, password)| (user, Some(password)));
    // `http://a.b:80","x@y`: a port, and then something else.
    let is_port = |password: &str| {
        let behind = password.trim_start_matches(|one: char| one.is_ascii_digit());
        behind.len() < password.len()
            && behind.starts_with(|one: char| DELIMITERS.contains(one))
            && behind.contains("\",")
    };
    !user.contains(|one: char| DELIMITERS.contains(one) && !"{}".contains(one))
        && !password.is_some_and(is_port)
}

/// `user:password` of `user:password@host`, where no scheme says that it is an address.
fn user_without_scheme(word: &str) -> Option<Range<usize>> {
    let end = word.rfind('@')?;
    let (before, host) = (&word[..end], &word[end + 1..]);
    let host = host.trim_end_matches(|one: char| DELIMITERS.contains(one) && one != ']');
    let named = &host[..host.find(['/', '?', '#']).unwrap_or(host.len())];
    let (name, port) = match named.rsplit_once(':') {
        Some((name, port)) if !named.ends_with(']') => (name, Some(port)),
        _ => (named, None),
    };
    let in_brackets = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|one| one.is_ascii_alphanumeric() || "-._".contains(one))
    };
    let is_host = is_name(name)
        || in_brackets
            .is_some_and(|name| name.chars().all(|one| one.is_ascii_hexdigit() || ":.".contains(one)));
    if !is_host || port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return None;
    }
    let colon = before.find(':')?;
    let is_of_user = |one: char| one.is_alphanumeric() || "._%+~-".contains(one);
    let user = before[..colon]
        .rfind(|one| !is_of_user(one))
        .map_or(0, |place| place + before[place..].chars().next().map_or(1, char::len_utf8));
    let password = &before[colon + 1..];
    let is_other = before[..user].ends_with(['/', ':', '@']) || password.is_empty() || password.contains('/');
    (user < colon && !is_other).then_some(user..end)
}

/// `host.example/path?name=value`, an address without its scheme.
fn is_path_with_query(word: &str) -> bool {
    let Some((path, query)) = word.split_once('?') else { return false };
    let is_part = |one: char| one.is_alphanumeric() || "-._~%/:$+@{}".contains(one);
    path.contains(['/', '.']) && path.chars().all(is_part) && query.contains('=')
}

/// What begins like the keys that well-known services hand out, and is long and odd enough to be one.
fn keys_by_shape(word: &str) -> Vec<Range<usize>> {
    const BEGINNINGS: [&str; 14] = [
        "sk-",
        "sk_live_",
        "rk_live_",
        "ghp_",
        "gho_",
        "ghs_",
        "github_pat_",
        "glpat-",
        "hf_",
        "xoxb-",
        "xoxp-",
        "AIza",
        "AKIA",
        "gsk_",
    ];
    const MIN_CHARS: usize = 8;
    let is_of_key = |one: char| one.is_ascii_alphanumeric() || one == '-' || one == '_';
    let mut found = Vec::new();
    let mut start = 0;
    for part in word.split(|one| !is_of_key(one)) {
        let behind = BEGINNINGS.iter().find_map(|begin| part.strip_prefix(begin));
        // `sk-learn-pipeline` is none.
        if behind
            .is_some_and(|rest| rest.len() >= MIN_CHARS && rest.contains(|one: char| one.is_ascii_digit()))
        {
            found.push(start..start + part.len());
        }
        start += part.len();
        start += word[start..].chars().next().map_or(0, char::len_utf8);
    }
    found
}

/// A token of the web (JWT): a header in Base64, which always begins with `eyJ`, and two more parts behind points.
fn web_tokens(word: &str) -> Vec<Range<usize>> {
    const MIN_CHARS: usize = 20;
    let is_of_token = |one: char| one.is_ascii_alphanumeric() || "-_.".contains(one);
    let mut found = Vec::new();
    let mut start = 0;
    for part in word.split(|one| !is_of_token(one)) {
        let token = part.trim_end_matches('.');
        if token.starts_with("eyJ") && token.matches('.').count() == 2 && token.len() >= MIN_CHARS {
            found.push(start..start + token.len());
        }
        start += part.len();
        start += word[start..].chars().next().map_or(0, char::len_utf8);
    }
    found
}

/// What stands behind `Bearer`, where it is long and odd enough to be a token: `the bearer certificates` is none.
fn bearer_token(word: &str) -> Option<Range<usize>> {
    const MIN_CHARS: usize = 8;
    const LONG: usize = 20;
    let is_of_token = |one: char| one.is_ascii_alphanumeric() || "-._~+/=".contains(one);
    let token = &word[..word.find(|one| !is_of_token(one)).unwrap_or(word.len())];
    let token = token.trim_end_matches('.');
    let is_odd = token.contains(|one: char| one.is_ascii_digit()) && token.len() >= MIN_CHARS;
    (is_odd || token.len() >= LONG).then_some(0..token.len())
}

/// Whether the parameter of an address holds a secret.
fn is_secret_parameter(name: &str) -> bool {
    is_secret_key(name) || ["key", "sig", "pass"].contains(&name.to_lowercase().as_str())
}

/// Whether a secret was taken out already, whatever closes the address behind the mark: its own brace closes none.
fn is_mark(value: &str) -> bool {
    value.strip_prefix(SECRET_MARK).is_some_and(|rest| rest.chars().all(|one| CLOSING.contains(&one)))
}

/// What may stand behind an address and is none of it.
const CLOSING: [char; 6] = ['"', '\'', '`', ',', '>', ')'];

/// The values of parameters with names of secrets: `?api_key=…`.
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
    fn users_and_secret_parameters_are_left_out_and_what_only_looks_like_them_stays() {
        for (address, public) in [
            ("http://me:sk@a.b/c@d", "http://(secret)@a.b/c@d"),
            ("http://a.b/c@d", "http://a.b/c@d"),
            ("hub:a/b.gguf@main", "hub:a/b.gguf@main"),
            ("see http://me@a.b, http://a:b@c", "see http://(secret)@a.b, http://(secret)@c"),
            ("http://me:p,w\"x'@a.b:80/v1", "http://(secret)@a.b:80/v1"),
            ("http://me:p/w@a.b/v1", "http://(secret)@a.b/v1"),
            ("http://me:p@w@a.b/v1", "http://(secret)@a.b/v1"),
            ("me:pw@host", "(secret)@host"),
            ("me:p,w\"x@10.0.0.1:3128/a", "(secret)@10.0.0.1:3128/a"),
            ("me:pw@[::1]:80", "(secret)@[::1]:80"),
            ("--proxy=me:pw@host", "--proxy=(secret)@host"),
            ("https://a.b/v1?api_key=sk-1&size=2", "https://a.b/v1?api_key=(secret)&size=2"),
            ("https://a.b/v1?api_key=${KEY}", "https://a.b/v1?api_key=${KEY}"),
            ("http://a.b:80/x,y@z", "http://a.b:80/x,y@z"),
            (
                "https://a.b/v1?key=k1&sig=s1&token=t1&se=2",
                "https://a.b/v1?key=(secret)&sig=(secret)&token=(secret)&se=2",
            ),
            ("a.b/v1?token=t1", "a.b/v1?token=(secret)"),
            ("who?key=a.b", "who?key=a.b"),
            ("use sk-proj-0123456789, or hf_abcdefghij1", "use (secret), or (secret)"),
            ("AKIA0123456789ABCDEF gsk_abcdefgh1", "(secret) (secret)"),
            ("Bearer abc-1234.x, then", "Bearer (secret), then"),
            ("{\"a\": \"bearer abcdefghijklmnopqrst\"}", "{\"a\": \"bearer (secret)\"}"),
            (
                "Bearer of 12345678 shares, bearer certificates",
                "Bearer of 12345678 shares, bearer certificates",
            ),
            ("Bearer ${MY_TOKEN}", "Bearer ${MY_TOKEN}"),
            ("it is eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOjF9.c2ln-_A.", "it is (secret)."),
            ("eyJhbGciOiJIUzI1NiJ9 AKIA", "eyJhbGciOiJIUzI1NiJ9 AKIA"),
            ("sk-learn-pipeline sk-1 task-sk-0123456789", "sk-learn-pipeline sk-1 task-sk-0123456789"),
            ("{\"a\":\"http://a.b:80\",\"b\":\"x@y\"}", "{\"a\":\"http://a.b:80\",\"b\":\"x@y\"}"),
            ("name:tag@sha256:0123456789ab", "name:tag@sha256:0123456789ab"),
            ("org/name:tag@main", "org/name:tag@main"),
            ("me@example.org", "me@example.org"),
            ("Question: what is a@b?", "Question: what is a@b?"),
            ("http://(secret)@a.b", "http://(secret)@a.b"),
            // As it was recorded, and is read again.
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
            assert_eq!(without_users("proxy", address), public);
        }
        assert_eq!(without_users("model", "name:tag@main"), "name:tag@main");
    }
}
