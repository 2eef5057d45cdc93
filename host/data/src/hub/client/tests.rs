use super::*;

#[test]
fn redirects_lead_only_to_allowed_addresses() {
    let cases = [
        ("https://hub.test/a/b", "/c", Some("https://hub.test/c")),
        ("https://hub.test/a/b", "https://cdn.test/x?sig=1", Some("https://cdn.test/x?sig=1")),
        ("http://hub.test/a", "https://hub.test/a", Some("https://hub.test/a")),
        ("https://hub.test/a", "http://hub.test/a", None),
        ("https://hub.test/a", "file:///etc/passwd", None),
        ("https://hub.test/a", "", Some("https://hub.test/a")),
    ];
    for (from, location, expected) in cases {
        let headers = HeaderMap::from_iter([(LOCATION, HeaderValue::from_static(location))]);
        let found = redirected(&Url::parse(from).expect("a URL"), &headers).ok();
        assert_eq!(found.as_ref().map(Url::as_str), expected, "{from} {location}");
    }
    let from = Url::parse("http://hub.test").expect("a URL");
    assert!(redirected(&from, &HeaderMap::new()).is_err());
}

#[test]
fn statuses_become_specific_errors() {
    let cases: [(u16, &str, bool, Option<&str>, &[&str]); 9] = [
        (401, "GatedRepo", false, None, &["gated", "HF_TOKEN", "401"]),
        (403, "GatedRepo", true, None, &["gated", "ask for access"]),
        (401, "RepoNotFound", false, None, &["does not exist", "private or gated", "HF_TOKEN"]),
        (401, "", true, None, &["refuses the token", "HF_TOKEN"]),
        (404, "RepoNotFound", false, None, &["no dataset 'o/d'"]),
        (404, "RevisionNotFound", false, None, &["no revision 'main'"]),
        (404, "EntryNotFound", false, Some("x.csv"), &["no file 'x.csv'"]),
        (404, "", false, None, &["no dataset 'o/d'", "no revision 'main'"]),
        (400, "", false, None, &["400", "http://hub.test/x:"]),
    ];
    let url = Url::parse("http://user:pass@hub.test/x?signature=secret#f").expect("a URL");
    for (status, code, has_token, path, parts) in cases {
        let mut headers = HeaderMap::new();
        headers.insert("x-error-code", HeaderValue::from_static(code));
        headers.insert("x-error-message", HeaderValue::from_static("because"));
        let asked = RequestTarget { kind: HubKind::Dataset, name: "o/d", revision: "main", path };
        let status = StatusCode::from_u16(status).expect("a status");
        let text = final_error(&url, status, &headers, asked, has_token).to_string();
        for part in parts.iter().chain(&["because"]) {
            assert!(text.contains(part), "{text:?} lacks {part:?}");
        }
        assert!(!text.contains("secret") && !text.contains("pass@"), "{text}");
        let of_model =
            final_error(&url, status, &headers, RequestTarget { kind: HubKind::Model, ..asked }, has_token);
        assert!(!of_model.to_string().contains("dataset"), "{of_model}");
    }
}
