//! The client against a registry of the tests, with faults.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

mod fixture;
mod signatures;

use axum::http::Method;
use fixture::{Access, BASIC, Content, Fault, REPOSITORY, Registry, TOKEN};
use gage_config::{AllowedResources, Permissions};
use gage_core::{Digest, OciReference};
use gage_oci::{MAX_TAGS, OciClient, OciError, OciErrorKind, OciSettings, PackageDescription};
use gage_packages::{NewPackage, package_manifest};
use gage_recorded_messages::RecordedError as _;
use gage_signature::Signature;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

const MAX_COMPONENT_BYTES: usize = 1 << 20;
const COMPONENT: &[u8] = b"the component";
const CONFIG: &[u8] = b"{}";

/// Returns settings without credentials, and without waits between requests.
fn settings() -> OciSettings {
    OciSettings { docker_config: None, first_retry_wait: Duration::ZERO, ..OciSettings::default() }
}

fn client() -> OciClient {
    client_with(settings())
}

fn client_with(settings: OciSettings) -> OciClient {
    OciClient::new(settings).expect("a client")
}

/// Returns a client with docker's configuration, whose folder must be kept.
fn client_of_docker(config: &serde_json::Value) -> (tempfile::TempDir, OciClient) {
    let folder = tempfile::tempdir().expect("a folder");
    let path: PathBuf = folder.path().join("config.json");
    std::fs::write(&path, config.to_string()).expect("written");
    let client = client_with(OciSettings { docker_config: Some(path), ..settings() });
    (folder, client)
}

fn manifest() -> Vec<u8> {
    package_manifest(CONFIG, COMPONENT, "x.wasm", &BTreeMap::new())
}

/// Returns a registry with one package, `metrics/x:1`.
fn content() -> Content {
    let mut content = Content::default();
    content.put_manifest("1", &manifest());
    content.put_blob(CONFIG);
    content.put_blob(COMPONENT);
    content
}

fn simple(payload: &[u8], signature: &str) -> Signature {
    Signature::Simple { payload: payload.to_vec(), signature: signature.to_owned() }
}

fn bundle(bytes: &[u8]) -> Signature {
    Signature::Bundle(bytes.to_vec())
}

/// Checks an error, and that it shows no secret.
fn check(error: &OciError, kind: OciErrorKind, text: &str) {
    let message = error.recorded("plugins");
    assert!(message.contains(text), "{text}: {message}");
    assert_eq!(error.kind, kind, "{message}");
    assert!([BASIC, TOKEN, "password-1"].iter().all(|secret| !message.contains(secret)), "{message}");
}

async fn pull(registry: &Registry) -> Result<NewPackage, OciError> {
    client().pull(&registry.reference("1"), MAX_COMPONENT_BYTES).await
}

#[tokio::test]
async fn a_pushed_package_comes_back_with_its_signatures() {
    for has_referrers in [true, false] {
        let registry = Registry::start(Content { has_referrers, ..Content::default() }).await;
        let (client, reference) = (client(), registry.reference("0.1.0"));
        let about = PackageDescription { exports: vec!["a:b/c".to_owned()], ..PackageDescription::default() };
        let pushed = client.push(&reference, COMPONENT.to_vec(), &about).await.unwrap();
        assert_eq!(pushed.component, Digest::of_bytes(COMPONENT));
        let signatures = [bundle(b"one"), bundle(b"two"), simple(b"three", "YQ=="), simple(b"three", "Yg==")];
        for signature in signatures.iter().chain(&signatures) {
            client.attach(&reference, pushed.manifest, signature).await.unwrap();
        }
        let pulled = client.pull(&reference, MAX_COMPONENT_BYTES).await.unwrap();
        assert_eq!(pulled.component, COMPONENT);
        assert_eq!(Digest::of_bytes(&pulled.manifest), pushed.manifest);
        assert_eq!(pulled.signatures.len(), 4, "{has_referrers}");
        assert!(signatures.iter().all(|signature| pulled.signatures.contains(signature)));

        let again = client.push(&reference.with_tag("0.2.0"), COMPONENT.to_vec(), &about).await.unwrap();
        assert_eq!(again, pushed);
        let by_digest = reference.with_digest(pushed.manifest);
        let resolved = client.resolve(&by_digest).await.unwrap();
        assert_eq!((resolved.manifest, resolved.component), (pushed.manifest, pushed.component));
        assert_eq!(resolved.size, COMPONENT.len() as u64);
        let mut tags = client.tags(&reference).await.unwrap();
        tags.sort();
        assert_eq!(tags, ["0.1.0", "0.2.0"]);
    }
}

#[tokio::test]
async fn a_faulty_answer_is_an_error() {
    use OciErrorKind::{
        Digest as WrongDigest, Invalid, NotFound, Refused, TooLarge, Unavailable, Unreachable,
    };
    let component = format!("blobs/{}", Digest::of_bytes(COMPONENT));
    let config = format!("blobs/{}", Digest::of_bytes(CONFIG));
    let said = r#"{"errors": [{"code": "DENIED", "message": "a\nreason"}]}"#;
    let other_digest = Digest::of_bytes(b"other").to_string();
    let mut two_layers: serde_json::Value = serde_json::from_slice(&manifest()).unwrap();
    two_layers["layers"] = json!([two_layers["layers"][0], two_layers["layers"][0]]);
    let other_layer = String::from_utf8(manifest()).unwrap().replace("application/wasm", "application/x-tar");
    let index = br#"{"schemaVersion": 2, "manifests": []}"#.to_vec();
    let large = 5 << 20;
    for (path, fault, kind, text) in [
        ("manifests/1", Fault::Status(404, ""), NotFound, "the registry does not have it (404"),
        ("manifests/1", Fault::Status(403, said), OciErrorKind::Unauthorized, "DENIED: a\\nreason"),
        ("manifests/1", Fault::Status(429, ""), Unavailable, "gets too many requests"),
        ("manifests/1", Fault::Status(500, "<html>"), Unavailable, "answers 500"),
        ("manifests/1", Fault::Status(503, ""), Unavailable, "the server cannot answer now"),
        ("manifests/1", Fault::Status(400, ""), Refused, "answers 400"),
        ("manifests/1", Fault::Body(b"{".to_vec()), Invalid, "its manifest cannot be read"),
        ("manifests/1", Fault::Body(index), Invalid, "an index of several manifests"),
        ("manifests/1", Fault::Body(two_layers.to_string().into_bytes()), Invalid, "has 2 layers"),
        ("manifests/1", Fault::Body(other_layer.into_bytes()), Invalid, "media type 'application/x-tar'"),
        (
            "manifests/1",
            Fault::Header("docker-content-digest", other_digest),
            WrongDigest,
            "the manifest differs",
        ),
        ("manifests/1", Fault::Length(large), TooLarge, "the manifest has more than 4194304 bytes"),
        ("manifests/1", Fault::Endless, TooLarge, "the manifest has more than 4194304 bytes"),
        ("manifests/1", Fault::Cut, Unreachable, ""),
        (&component, Fault::Status(404, ""), NotFound, "the registry does not have it"),
        (
            &component,
            Fault::Body(b"THE component".to_vec()),
            WrongDigest,
            "the component differs from its digest",
        ),
        (&component, Fault::Body(b"the".to_vec()), WrongDigest, "the component differs from its digest"),
        (&component, Fault::Length(1 << 40), TooLarge, "the component has more than 13 bytes"),
        (&component, Fault::Endless, TooLarge, "the component has more than 13 bytes"),
        (&component, Fault::Cut, Unreachable, ""),
        (&config, Fault::Body(b"[]".to_vec()), WrongDigest, "the configuration differs"),
        (
            "manifests/1",
            Fault::Redirect("/v2/metrics/x/manifests/1".to_owned()),
            Refused,
            "more than 5 redirects",
        ),
        ("manifests/1", Fault::Redirect("ftp://r.example".to_owned()), Invalid, "without a valid target"),
    ] {
        let mut content = content();
        content.faults.insert(path.to_owned(), fault);
        let registry = Registry::start(content).await;
        check(&pull(&registry).await.unwrap_err(), kind, text);
    }
}

#[tokio::test]
async fn a_registry_that_sends_nothing_is_not_waited_for() {
    let component = format!("blobs/{}", Digest::of_bytes(COMPONENT));
    for (path, fault, text) in [
        ("manifests/1", Fault::Hang, "no answer within"),
        ("manifests/1", Fault::Stall, "the manifest stalls: no bytes for"),
        (&component, Fault::Hang, "no answer within"),
        (&component, Fault::Stall, "the component stalls: no bytes for"),
    ] {
        let mut content = content();
        content.faults.insert(path.to_owned(), fault);
        let registry = Registry::start(content).await;
        let limit = Duration::from_millis(200);
        let settings = OciSettings { connect: limit, stall: limit, ..settings() };
        let pulled = client_with(settings).pull(&registry.reference("1"), MAX_COMPONENT_BYTES).await;
        check(&pulled.unwrap_err(), OciErrorKind::Timeout, text);
    }
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let closed: OciReference = format!("oci://127.0.0.1:{port}/{REPOSITORY}:1").parse().unwrap();
    let error = client().resolve(&closed).await.unwrap_err();
    check(&error, OciErrorKind::Unreachable, "check the network and the name of the registry");
}

#[tokio::test]
async fn a_download_that_is_too_slow_is_given_up() {
    let mut content = content();
    content.faults.insert(format!("blobs/{}", Digest::of_bytes(COMPONENT)), Fault::Stall);
    let registry = Registry::start(content).await;
    let reference = registry.reference("1");
    let settings = OciSettings { slow_start: Duration::from_millis(200), ..settings() };
    let error = client_with(settings).pull(&reference, MAX_COMPONENT_BYTES).await.unwrap_err();
    check(&error, OciErrorKind::Timeout, "under 65536 bytes per second on average");
}

#[tokio::test]
async fn a_busy_registry_is_asked_again() {
    let busy = |status, wait: Option<&str>| Fault::Busy(status, wait.map(str::to_owned));
    for (fault, expected) in [
        (busy(429, None), 3),
        (busy(502, None), 3),
        (busy(503, Some("0")), 3),
        (busy(504, Some("Fri, 31 Dec 1999 23:59:59 GMT")), 3),
        (busy(429, Some("11")), 1),
        (busy(500, Some("0")), 1),
        (busy(404, Some("0")), 1),
    ] {
        let mut content = content();
        content.faults.insert("manifests/1".to_owned(), fault.clone());
        content.faults.insert("uploads/".to_owned(), fault.clone());
        let registry = Registry::start(content).await;
        client().resolve(&registry.reference("1")).await.unwrap_err();
        assert_eq!(registry.take_requests().len(), expected, "{fault:?}");
        let about = PackageDescription::default();
        client().push(&registry.reference("2"), b"new".to_vec(), &about).await.unwrap_err();
        let written = registry.take_requests().iter().filter(|(method, ..)| *method == Method::POST).count();
        assert_eq!(written, 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_component_that_is_too_large_is_not_asked_for() {
    let registry = Registry::start(content()).await;
    let error = client().pull(&registry.reference("1"), 12).await.unwrap_err();
    check(&error, OciErrorKind::TooLarge, "the component has 13 bytes, and at most 12 are allowed");
    let component = Digest::of_bytes(COMPONENT).to_string();
    assert!(registry.take_requests().iter().all(|(_, path, _)| !path.contains(&component)));
}

#[tokio::test]
async fn a_reference_with_a_digest_gets_only_that_manifest() {
    let registry = Registry::start(content()).await;
    let digest = Digest::of_bytes(&manifest());
    let reference = registry.reference("gone").with_digest(digest);
    assert_eq!(client().pull(&reference, MAX_COMPONENT_BYTES).await.unwrap().component, COMPONENT);
    let other = package_manifest(CONFIG, b"another", "x.wasm", &BTreeMap::new());
    registry.change(|content| {
        content.faults.insert(format!("manifests/{digest}"), Fault::Body(other));
    });
    let error = client().resolve(&reference).await.unwrap_err();
    check(&error, OciErrorKind::Digest, "the manifest differs from its digest");
}

#[tokio::test]
async fn credentials_are_sent_when_the_registry_asks() {
    let answer = || json!({"token": TOKEN}).to_string();
    let own_token = || Access::Token { realm: None, answer: answer() };
    let password = json!({"auth": BASIC});
    let wrong = json!({"username": "user", "password": "other-password-1"});
    let identity = json!({"identitytoken": "identity-token-1"});
    let is = |access: Access, answer: &str| match access {
        Access::Token { realm, .. } => Access::Token { realm, answer: answer.to_owned() },
        access => access,
    };
    let realm = |realm: &str| Access::Token { realm: Some(realm.to_owned()), answer: answer() };
    for (access, entry, expected) in [
        (Access::Basic, Some(&password), None),
        (Access::Basic, None, Some("authentication required; log in")),
        (Access::Basic, Some(&wrong), Some("does not let you read this repository")),
        (Access::Basic, Some(&identity), Some("does not let you read this repository")),
        (own_token(), None, None),
        (own_token(), Some(&password), None),
        (own_token(), Some(&identity), None),
        (is(own_token(), r#"{"access_token": "token-of-fixture-1"}"#), None, None),
        (
            is(own_token(), r#"{"token": "other-token-1"}"#),
            None,
            Some("does not let you read this repository"),
        ),
        (is(own_token(), r#"{"token": "a\nb"}"#), None, Some("gives no valid token")),
        (is(own_token(), "[]"), None, Some("gives no valid token")),
        (realm("http://r.example/token"), Some(&password), Some("only https is allowed")),
        (realm("ftp://127.0.0.1/token"), Some(&password), Some("only https is allowed")),
    ] {
        let registry = Registry::start(Content { access: access.clone(), ..content() }).await;
        let auths = entry.map(|entry| json!({registry.address.to_string(): entry})).unwrap_or_default();
        let (_folder, client) = client_of_docker(&json!({"auths": auths}));
        let pulled = client.pull(&registry.reference("1"), MAX_COMPONENT_BYTES).await;
        match (pulled, expected) {
            (Ok(pulled), None) => assert_eq!(pulled.component, COMPONENT),
            (Err(error), Some(text)) => {
                let message = error.recorded("plugins");
                assert!(message.contains(text), "{access:?}: {message}");
                assert!([BASIC, TOKEN, "password-1"].iter().all(|secret| !message.contains(secret)));
            }
            (pulled, expected) => assert_eq!(pulled.is_err(), expected.is_some(), "{access:?} {entry:?}"),
        }
    }
}

#[tokio::test]
async fn a_server_of_tokens_that_fails_is_named() {
    for (status, kind) in [
        (400, OciErrorKind::Unauthorized),
        (429, OciErrorKind::Unavailable),
        (500, OciErrorKind::Unavailable),
        (302, OciErrorKind::Refused),
    ] {
        let access = Access::Token { realm: None, answer: String::new() };
        let mut content = Content { access, ..content() };
        content.faults.insert("service=fixture".to_owned(), Fault::Status(status, ""));
        let registry = Registry::start(content).await;
        check(&pull(&registry).await.unwrap_err(), kind, "gives no token (");
    }
}

#[tokio::test]
async fn a_token_is_asked_for_once_and_for_one_repository() {
    let access = Access::Token { realm: None, answer: json!({"token": TOKEN}).to_string() };
    let registry = Registry::start(Content { access, ..content() }).await;
    let (_folder, client) =
        client_of_docker(&json!({"auths": {registry.address.to_string(): {"auth": BASIC}}}));
    client.pull(&registry.reference("1"), MAX_COMPONENT_BYTES).await.unwrap();
    let requests = registry.take_requests();
    let tokens: Vec<_> = requests.iter().filter(|(_, path, _)| path.starts_with("/token")).collect();
    assert_eq!(tokens.len(), 1);
    assert!(tokens[0].1.contains("scope=repository%3Ametrics%2Fx%3Apull"), "{tokens:?}");
    assert_eq!(tokens[0].2, Some(format!("Basic {BASIC}")));
    let others = requests.iter().filter(|(_, path, _)| !path.starts_with("/token"));
    assert!(others.skip(1).all(|(_, _, authorization)| *authorization == Some(format!("Bearer {TOKEN}"))));
    client.push(&registry.reference("2"), COMPONENT.to_vec(), &PackageDescription::default()).await.unwrap();
    let requests = registry.take_requests();
    assert!(requests.iter().any(|(_, path, _)| path.contains("pull%2Cpush")), "{requests:?}");
}

#[tokio::test]
async fn a_helper_for_credentials_is_named_when_it_is_needed() {
    let registry = Registry::start(Content { access: Access::Basic, ..content() }).await;
    let (_folder, client) = client_of_docker(&json!({"credsStore": "desktop"}));
    let error = client.resolve(&registry.reference("1")).await.unwrap_err();
    check(&error, OciErrorKind::Unauthorized, "in the helper 'desktop', which is not supported");
}

#[tokio::test]
async fn the_target_of_a_redirect_gets_no_credentials() {
    let other = Registry::start(content()).await;
    let registry = Registry::start(Content { access: Access::Basic, ..content() }).await;
    let path = format!("/v2/{REPOSITORY}/blobs/{}", Digest::of_bytes(COMPONENT));
    let to = format!("http://{}{path}?signed=hidden", other.address);
    registry.change(|content| {
        content.faults.insert(path.clone(), Fault::Redirect(to));
    });
    let (_folder, client) = client_of_docker(&json!({"auths": {
        registry.address.to_string(): {"auth": BASIC}, other.address.to_string(): {"auth": BASIC},
    }}));
    let pulled = client.pull(&registry.reference("1"), MAX_COMPONENT_BYTES).await;
    // The answer of the other server has the digest, so that it is accepted.
    assert!(pulled.is_ok_and(|pulled| pulled.component == COMPONENT));
    let requests = other.take_requests();
    assert_eq!(requests.len(), 1);
    assert_eq!((&requests[0].0, &requests[0].2), (&Method::GET, &None));
}

#[tokio::test]
async fn only_allowed_hosts_are_connected_to() {
    let registry = Registry::start(content()).await;
    let permissions = Permissions::restricted(AllowedResources::default());
    let client = client_with(OciSettings { permissions, ..settings() });
    let error = client.resolve(&registry.reference("1")).await.unwrap_err();
    check(&error, OciErrorKind::Refused, "allow it with `--allow-net 127.0.0.1:");
    assert!(registry.take_requests().is_empty());
}

#[tokio::test]
async fn lists_of_tags_are_bounded_and_stay_on_their_server() {
    let list = |tags: Vec<String>| Fault::Body(json!({"tags": tags}).to_string().into_bytes());
    let link = Fault::Header("link", "<https://r.example/next>; rel=\"next\"".to_owned());
    let endless = Fault::Header("link", format!("</v2/{REPOSITORY}/tags/list?n=1000>; rel=\"next\""));
    let many = list((0..=MAX_TAGS).map(|tag| tag.to_string()).collect());
    for (fault, kind, text) in [
        (many, OciErrorKind::TooLarge, "more than 10000 tags"),
        (endless, OciErrorKind::TooLarge, "the list of tags has more than 100 pages"),
        (link, OciErrorKind::Refused, "names a next page on another server"),
        (Fault::Body(b"[".to_vec()), OciErrorKind::Invalid, "the list of tags cannot be read"),
        (Fault::Endless, OciErrorKind::TooLarge, "the list of tags has more than"),
    ] {
        let mut content = content();
        content.faults.insert("tags/list?n=1000".to_owned(), fault);
        let registry = Registry::start(content).await;
        check(&client().tags(&registry.reference("1")).await.unwrap_err(), kind, text);
    }
    let mut content = content();
    let texts = ["1", "-x", "a/b", &format!("sha256-{}.sig", Digest::of_bytes(b"x").hex()), "2"];
    let texts = texts.map(str::to_owned).to_vec();
    content.faults.insert("tags/list?n=1000".to_owned(), list(texts));
    let registry = Registry::start(content).await;
    assert_eq!(client().tags(&registry.reference("1")).await.unwrap(), ["1", "2"]);
}

#[tokio::test]
async fn a_push_that_fails_changes_no_tag() {
    let component = Digest::of_bytes(b"new");
    let other_digest = || Fault::Header("docker-content-digest", Digest::of_bytes(b"other").to_string());
    for (path, fault, kind, text) in [
        (
            "uploads/",
            Fault::Status(403, ""),
            OciErrorKind::Unauthorized,
            "does not let you write to this repository",
        ),
        ("uploads/", Fault::Status(202, ""), OciErrorKind::Invalid, "where a blob is uploaded to"),
        (
            "uploads/",
            Fault::Header("location", "http://r.example/x".to_owned()),
            OciErrorKind::Refused,
            "without TLS",
        ),
        ("uploads/", Fault::Redirect("/x".to_owned()), OciErrorKind::Refused, "a request that writes"),
        (&component.hex(), Fault::Status(404, ""), OciErrorKind::NotFound, "the registry does not have it"),
        ("manifests/2", Fault::Status(400, ""), OciErrorKind::Refused, "answers 400"),
        ("manifests/2", other_digest(), OciErrorKind::Digest, "the registry stored something else"),
    ] {
        let mut content = content();
        content.faults.insert(path.to_owned(), fault.clone());
        let registry = Registry::start(content).await;
        let about = PackageDescription::default();
        let error = client().push(&registry.reference("2"), b"new".to_vec(), &about).await.unwrap_err();
        check(&error, kind, text);
        let is_stored = matches!(fault, Fault::Header("docker-content-digest", _));
        registry.change(|content| assert_eq!(content.manifests.contains_key("2"), is_stored, "{path}"));
    }
    let registry = Registry::start(content()).await;
    let pinned = registry.reference("1").with_digest(component);
    let error = client().push(&pinned, b"new".to_vec(), &PackageDescription::default()).await.unwrap_err();
    check(&error, OciErrorKind::Refused, "a plugin is pushed under a tag, without a digest");
}
