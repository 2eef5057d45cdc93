//! Reaching a server through proxies, and trusting custom certificates.

use super::tunnels::{encrypted, tunnelling, without_tls};
use super::{ask, backend, config, server};
use gage_backend::{BackendErrorKind, HttpHosts, OpenOptions, open};
use gage_config::{AllowedResources, Permissions};
use gage_load_server::{Reply, completion};
use gage_plugin::{HostOptions, PluginHost, Registry};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

fn address(url: &str) -> SocketAddr {
    url.trim_start_matches("http://").parse().expect("an address")
}

/// Options of a backend without retries.
const ONCE: &str = ", model: m, max_retries: 0";

#[tokio::test]
async fn a_proxy_gets_the_request_with_its_whole_address_and_who_asks() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let asked = Arc::clone(&seen);
    let proxy = server(move |request| {
        let by = request.header("proxy-authorization").unwrap_or("nobody");
        asked.lock().expect("a lock").push(format!("{} as {by}", request.path));
        completion(by).into()
    });
    let url = proxy.url();
    let keys = format!("{ONCE}, proxy: '{url}'");
    let backend = backend("openai_http", "http://models.invalid", &keys, &OpenOptions::default()).await;
    let reply = ask(backend.as_ref(), "q").await.expect("an answer");
    let sent = seen.lock().expect("a lock").pop().unwrap_or_default();
    assert_eq!(sent, "http://models.invalid/chat/completions as nobody");
    assert_eq!(reply.output.answer, "nobody");
    assert_eq!(proxy.requests(), 1);
}

#[tokio::test]
async fn a_proxy_that_refuses_is_told_with_what_it_said() {
    let proxy = server(|_| Reply::new(407, "text/plain", "who are you?").into());
    let keys = format!("{ONCE}, proxy: '{}'", proxy.url());
    let backend = backend("openai_http", "http://models.invalid", &keys, &OpenOptions::default()).await;
    let error = ask(backend.as_ref(), "q").await.expect_err("a refusal");
    assert!(error.message.contains("407") && error.message.contains("who are you?"), "{error}");
}

#[tokio::test]
async fn own_authority_is_trusted_only_where_named() {
    let plain = server(|_| completion("4").into());
    let (tls, authority) = encrypted(address(&plain.url())).await;
    let url = format!("https://{}", tls.address);
    let unknown = backend("openai_http", &url, ONCE, &OpenOptions::default()).await;
    let error = ask(unknown.as_ref(), "q").await.expect_err("nobody vouches for it");
    assert_eq!((error.kind, plain.requests()), (BackendErrorKind::Connection, 0));
    assert!(error.message.contains("certificate") && error.message.contains("ca_certificate"), "{error}");

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("authority.pem");
    std::fs::write(&path, authority).expect("written");
    let keys = format!("{ONCE}, ca_certificate: '{}'", path.display());
    let known = backend("openai_http", &url, &keys, &OpenOptions::default()).await;
    assert_eq!(ask(known.as_ref(), "q").await.expect("an answer").output.answer, "4");

    // Through a proxy, the connection is the same, in a tunnel whose contents the proxy cannot read.
    let proxy = tunnelling().await;
    let keys = format!("{keys}, proxy: 'http://{}'", proxy.address);
    let tunnelled = backend("openai_http", &url, &keys, &OpenOptions::default()).await;
    assert_eq!(ask(tunnelled.as_ref(), "q").await.expect("an answer").output.answer, "4");
    assert_eq!((proxy.connections.load(Ordering::SeqCst), plain.requests()), (1, 2));
}

#[tokio::test]
async fn a_port_without_tls_is_named() {
    let plain = without_tls().await;
    let url = format!("https://{}", plain.address);
    let backend = backend("openai_http", &url, ONCE, &OpenOptions::default()).await;
    let error = ask(backend.as_ref(), "q").await.expect_err("no TLS");
    assert_eq!(error.kind, BackendErrorKind::Connection);
    let expected = "the server does not speak TLS on this port; is `http://` meant?";
    assert!(error.message.contains(expected), "{error}");
}

/// A client checks the host itself, whatever was checked before.
#[tokio::test]
async fn host_that_is_not_allowed_is_never_connected_to() {
    let server = server(|_| completion("4").into());
    let restricted = |hosts: &[String]| {
        let net = hosts.iter().map(|host| host.parse().expect("a host")).collect();
        let permissions = Permissions::restricted(AllowedResources { net, ..AllowedResources::default() });
        OpenOptions { hosts: HttpHosts::default().restricted(&permissions), ..OpenOptions::default() }
    };
    let registry = Registry::new(PluginHost::new(&HostOptions::default()).expect("an engine"), &[]);
    let config = config("openai_http", &server.url(), ONCE);
    let Err(errors) = open(&config.backends[0], &registry, &restricted(&[])).await else {
        panic!("the backend was opened")
    };
    let expected = format!("the suite may not connect to the host {}", address(&server.url()));
    assert!(errors.iter().any(|error| error.message == expected), "{errors:?}");
    assert_eq!(server.requests(), 0);

    let allowed = restricted(&[address(&server.url()).to_string()]);
    let backend = backend("openai_http", &server.url(), ONCE, &allowed).await;
    assert_eq!(ask(backend.as_ref(), "q").await.expect("an answer").output.answer, "4");
}
