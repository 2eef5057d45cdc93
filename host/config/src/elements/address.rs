//! Addresses of servers and proxies.

use crate::secrets::masked_addresses;

/// Validates an address. The error holds what is wrong and how to fix it.
pub(crate) fn check(text: &str, key: &str) -> Result<(), (String, String)> {
    const FORM: &str = "write it like http://127.0.0.1:8000/v1";
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let Some(rest) = rest else {
        let shown = masked_addresses(text);
        return Err((format!("`{shown}` is not an HTTP address"), FORM.to_owned()));
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A password that contains a slash would be taken for a port and a path.
    let has_port = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    let has_user = rest.contains('@') && authority.split_once(':').is_some_and(|(_, port)| !has_port(port));
    if authority.contains('@') || has_user && !authority.starts_with('[') || text.contains(['?', '#']) {
        let help = "give a key by `api_key` or `headers`, which are never recorded";
        return Err((format!("`{key}` contains a user, a query or a fragment"), help.to_owned()));
    }
    if text.chars().any(|character| character.is_control() || character.is_whitespace()) {
        return Err((format!("`{key}` contains a space or a control character"), FORM.to_owned()));
    }
    // The colons of an IPv6 address are inside brackets.
    let after = authority.rsplit_once(']').map_or(authority, |(_, after)| after);
    let (host, port) = match after.rsplit_once(':') {
        Some((_, port)) => (authority.strip_suffix(&format!(":{port}")).unwrap_or_default(), Some(port)),
        None => (authority, None),
    };
    if host.is_empty() || (host.starts_with('[') != host.ends_with(']')) {
        return Err((format!("`{text}` names no host"), FORM.to_owned()));
    }
    if let Some(port) = port
        && !port.parse::<u16>().is_ok_and(|number| number > 0)
    {
        let message = format!("`{port}` in `{text}` is not a port");
        return Err((message, "ports are the whole numbers from 1 to 65535".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn addresses_are_checked_down_to_the_port() {
        for good in
            ["http://h", "https://h/v1/", "http://h:1/v1", "http://[::1]:65535/v1", "https://a.b.example/x"]
        {
            assert_eq!(check(good, "base_url"), Ok(()), "{good}");
        }
        for (bad, part) in [
            ("ftp://h", "is not an HTTP address"),
            ("localhost:8000", "is not an HTTP address"),
            ("http://h:70000/v1", "`70000` in"),
            ("http://h:0", "`0` in"),
            ("http://h:", "`` in"),
            ("http://h:8o", "`8o` in"),
            ("http:///v1", "names no host"),
            ("http://:80/v1", "names no host"),
            ("http://[::1/v1", "names no host"),
            ("http://u:p@h/v1", "contains a user"),
            ("http://h/v1?key=x", "contains a user, a query"),
            ("http://h /v1", "contains a space"),
            ("http://u:p/w@h/v1", "contains a user"),
        ] {
            let found = check(bad, "base_url").expect_err(bad).0;
            assert!(found.contains(part), "{bad}: {found}");
        }
    }
}
