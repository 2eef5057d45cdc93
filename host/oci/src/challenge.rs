//! What a registry asks for when it answers 401.

use http_auth::ChallengeParser;
use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

/// Maximum number of challenges that are read.
const MAX_CHALLENGES: usize = 8;

/// A way to authorize requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// A token from a server.
    Bearer {
        /// Address of the server.
        realm: String,
        /// Name of the registry there.
        service: Option<String>,
    },
    /// A user and a password.
    Basic,
}

impl Challenge {
    /// Returns the way that is preferred, a token. `None` if the registry names no known way.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Challenge> {
        let values = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let parsed = values.flat_map(|value| ChallengeParser::new(value).map_while(Result::ok));
        let mut has_basic = false;
        for challenge in parsed.take(MAX_CHALLENGES) {
            has_basic |= challenge.scheme.eq_ignore_ascii_case("Basic");
            if !challenge.scheme.eq_ignore_ascii_case("Bearer") {
                continue;
            }
            let parameter = |name: &str| {
                let found = challenge.params.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.to_unescaped())
            };
            if let Some(realm) = parameter("realm") {
                return Some(Challenge::Bearer { realm, service: parameter("service") });
            }
        }
        has_basic.then_some(Challenge::Basic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_preferred_to_a_password() {
        let bearer = |realm: &str, service: Option<&str>| {
            Some(Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) })
        };
        let full = r#"Bearer realm="https://a.example/token",service="r",scope="repository:x:pull""#;
        for (values, expected) in [
            (&[full][..], bearer("https://a.example/token", Some("r"))),
            (&[r#"bearer Realm="https://a.example""#], bearer("https://a.example", None)),
            (&[r#"Basic realm="r""#, full], bearer("https://a.example/token", Some("r"))),
            (&[r#"Basic realm="r", Bearer realm="https://b.example""#], bearer("https://b.example", None)),
            (&[r#"Basic realm="r""#], Some(Challenge::Basic)),
            (&[r#"Bearer service="r""#], None),
            (&["Negotiate"], None),
            (&["\"=,,"], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(WWW_AUTHENTICATE, value.parse().unwrap());
            }
            assert_eq!(Challenge::of(&headers), expected, "{values:?}");
        }
    }
}
