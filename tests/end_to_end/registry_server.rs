//! A registry of OCI artifacts on the loopback interface, for tests. It keeps blobs and manifests in memory.
//!
//! It injects the requested faults, and stops when it is dropped; requests then find no listener.

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};
use sha2::Digest as _;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// Name and password of the only account.
const ACCOUNT: &str = "user:pass-word";

/// Token that the registry issues for the account.
const TOKEN: &str = "the-token";

const MAX_REQUEST_BYTES: usize = 1 << 28;

/// The comment of [`Fault::Comment`].
pub(crate) const COMMENT: &str = "# edited meanwhile\n";

/// Number of pieces that [`Fault::Longer`] adds, and the bytes of each.
const ADDED_PIECES: usize = 1_024;
const ADDED_PIECE_BYTES: usize = 1 << 16;

/// Maximum time that a test waits for a request.
const REQUEST_LIMIT: Duration = Duration::from_secs(60);

/// Login that a registry demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Login {
    /// A token of the registry's own service, in exchange for name and password.
    Token,
    /// Name and password with every request.
    Basic,
}

/// A fault of the registry, until it is cleared.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// Changes one byte in the middle of the body; headers are those of the right bytes.
    Altered,
    /// Adds 64 MiB to the body, and states no length.
    Longer,
    /// Breaks the connection in the middle of the body.
    Cut,
    /// Sends the right body in many small pieces.
    Pieces,
    /// Sends no answer while the registry lives.
    Hang,
    /// Answers with this status.
    Status(u16),
    /// Redirects to this address.
    Redirect(String),
    /// Adds a comment to this file, as a person may while a command fetches. The answer is right.
    Comment(PathBuf),
}

#[derive(Clone)]
struct Manifest {
    media_type: String,
    bytes: Bytes,
}

#[derive(Default)]
struct Content {
    /// Blobs by digest, of all repositories.
    blobs: BTreeMap<String, Bytes>,
    /// Manifests by repository and digest.
    manifests: BTreeMap<(String, String), Manifest>,
    /// Digests of manifests by repository and tag.
    tags: BTreeMap<(String, String), String>,
    uploads: Vec<Vec<u8>>,
    /// Requests so far, such as `GET /v2/a/tags/list`.
    requests: Vec<String>,
    /// Faults with a part of the requests to which they happen.
    faults: Vec<(String, Fault)>,
    login: Option<Login>,
    has_referrers: bool,
    is_redirecting: bool,
}

struct Shared {
    content: Mutex<Content>,
    /// Signals a new request.
    arrived: Condvar,
    address: SocketAddr,
    /// A second server, to which requests for blobs are redirected.
    storage: SocketAddr,
}

/// The registry.
pub(crate) struct RegistryServer {
    /// Runs the server for as long as it lives.
    _runtime: tokio::runtime::Runtime,
    shared: Arc<Shared>,
}

impl RegistryServer {
    /// Starts an open registry without the API of referrers.
    pub(crate) fn start() -> RegistryServer {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let listen = || runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let (registry, storage) = (listen(), listen());
        let shared = Arc::new(Shared {
            content: Mutex::default(),
            arrived: Condvar::new(),
            address: registry.local_addr().expect("an address"),
            storage: storage.local_addr().expect("an address"),
        });
        let app = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        runtime.spawn(async move { axum::serve(registry, app).await });
        let app = Router::new().fallback(answer_from_storage).with_state(Arc::clone(&shared));
        runtime.spawn(async move { axum::serve(storage, app).await });
        RegistryServer { _runtime: runtime, shared }
    }

    /// Returns the host and port of references.
    pub(crate) fn address(&self) -> String {
        self.shared.address.to_string()
    }

    /// Returns a reference such as `oci://127.0.0.1:5000/metrics/word-recall:0.1.0`.
    pub(crate) fn reference(&self, name: &str) -> String {
        format!("oci://{}/{name}", self.shared.address)
    }

    /// Demands a login from now on.
    pub(crate) fn demand_login(&self, login: Login) {
        self.shared.content.lock().login = Some(login);
    }

    /// Answers requests for referrers from now on.
    pub(crate) fn offer_referrers(&self) {
        self.shared.content.lock().has_referrers = true;
    }

    /// Redirects requests for blobs to another server from now on.
    pub(crate) fn redirect_blobs(&self) {
        self.shared.content.lock().is_redirecting = true;
    }

    /// Injects a fault into all requests with this part, such as `GET /v2/` or a digest.
    pub(crate) fn fault(&self, part: &str, fault: Fault) {
        self.shared.content.lock().faults.push((part.to_owned(), fault));
    }

    /// Removes the faults.
    pub(crate) fn clear_faults(&self) {
        self.shared.content.lock().faults.clear();
    }

    /// Returns the requests since the start or the last call.
    pub(crate) fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.content.lock().requests)
    }

    /// Waits for a request with this part.
    #[cfg(unix)]
    pub(crate) fn wait_for_request(&self, part: &str) {
        let mut content = self.shared.content.lock();
        while !content.requests.iter().any(|request| request.contains(part)) {
            let waited = self.shared.arrived.wait_for(&mut content, REQUEST_LIMIT);
            assert!(!waited.timed_out(), "no request with {part}");
        }
    }

    /// Returns the digest that a tag names.
    pub(crate) fn digest_of(&self, repository: &str, tag: &str) -> String {
        let content = self.shared.content.lock();
        let digest = content.tags.get(&(repository.to_owned(), tag.to_owned()));
        digest.cloned().unwrap_or_else(|| panic!("no tag {tag}: {:?}", content.tags))
    }

    /// Returns the tags of a repository.
    pub(crate) fn tags(&self, repository: &str) -> Vec<String> {
        self.shared.content.lock().tags_of(repository)
    }

    /// Returns the manifest that a tag names.
    pub(crate) fn manifest(&self, repository: &str, tag: &str) -> Value {
        let digest = self.digest_of(repository, tag);
        let content = self.shared.content.lock();
        let manifest = &content.manifests[&(repository.to_owned(), digest)];
        serde_json::from_slice(&manifest.bytes).expect("JSON")
    }

    /// Stores a manifest below a tag without a client.
    pub(crate) fn put_manifest(&self, repository: &str, tag: &str, manifest: &Value) {
        let media_type = manifest["mediaType"].as_str().unwrap_or_default().to_owned();
        let bytes = Bytes::from(manifest.to_string());
        self.shared.content.lock().store(repository, tag, Manifest { media_type, bytes });
    }
}

/// Returns the `config.json` of docker with the account of a registry.
pub(crate) fn docker_config(registry: &str) -> String {
    json!({"auths": {registry: {"auth": STANDARD.encode(ACCOUNT)}}}).to_string()
}

/// Returns the SHA-256 of bytes in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An answer before a fault changes it.
struct Answer {
    status: StatusCode,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
}

impl Answer {
    fn of(status: StatusCode, headers: Vec<(&'static str, String)>) -> Answer {
        Answer { status, headers, body: Bytes::new() }
    }

    fn json(value: &Value) -> Answer {
        let headers = vec![("content-type", "application/json".to_owned())];
        Answer { status: StatusCode::OK, headers, body: Bytes::from(value.to_string()) }
    }

    fn error(status: StatusCode, code: &str) -> Answer {
        Answer { status, ..Answer::json(&json!({"errors": [{"code": code, "message": "of the fixture"}]})) }
    }

    /// Returns the response, with a fault of its body.
    fn with_fault(self, fault: Option<&Fault>) -> Response {
        let mut response = Response::builder().status(self.status);
        for (name, value) in self.headers {
            response = response.header(name, value);
        }
        let middle = self.body.len() / 2;
        let body = match fault {
            Some(Fault::Altered) => {
                let mut bytes = self.body.to_vec();
                if let Some(byte) = bytes.get_mut(middle) {
                    *byte ^= 1;
                }
                Body::from(bytes)
            }
            Some(Fault::Longer) => {
                let added = vec![Bytes::from_static(&[0; ADDED_PIECE_BYTES]); ADDED_PIECES];
                stream([vec![self.body], added].concat().into_iter().map(Ok).collect())
            }
            Some(Fault::Cut) => {
                response = response.header(header::CONTENT_LENGTH, self.body.len());
                stream(vec![Ok(self.body.slice(..middle)), Err(std::io::Error::other("cut"))])
            }
            Some(Fault::Pieces) => {
                stream(self.body.chunks(1_000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect())
            }
            _ => Body::from(self.body),
        };
        response.body(body).expect("a response")
    }
}

fn stream(pieces: Vec<Result<Bytes, std::io::Error>>) -> Body {
    Body::from_stream(futures::stream::iter(pieces))
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let fault = note(&shared, &parts.method, &parts.uri.to_string());
    match &fault {
        Some(Fault::Hang) => std::future::pending::<()>().await,
        Some(Fault::Status(status)) => {
            let status = StatusCode::from_u16(*status).expect("a status");
            return Answer::error(status, "FAULT").with_fault(None);
        }
        Some(Fault::Redirect(to)) => {
            let headers = vec![("location", to.clone())];
            return Answer::of(StatusCode::TEMPORARY_REDIRECT, headers).with_fault(None);
        }
        Some(Fault::Comment(file)) => {
            let text = std::fs::read_to_string(file).expect("a file");
            std::fs::write(file, text + COMMENT).expect("written");
        }
        _ => {}
    }
    let Ok(body) = to_bytes(body, MAX_REQUEST_BYTES).await else {
        return Answer::error(StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE").with_fault(None);
    };
    let query = parts.uri.query().unwrap_or_default().replace("%3A", ":");
    let asked = RequestParts { method: &parts.method, query: &query, headers: &parts.headers, body };
    let answer = match shared.refusal(parts.uri.path(), &parts.headers) {
        Some(refusal) => refusal,
        None => shared.answer(parts.uri.path(), asked),
    };
    answer.with_fault(fault.as_ref())
}

/// Answers as a store of objects, which accepts no login of the registry.
async fn answer_from_storage(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let fault = note(&shared, request.method(), &format!("storage:{}", request.uri()));
    let digest = request.uri().path().trim_start_matches('/').to_owned();
    let answer = match request.headers().contains_key(header::AUTHORIZATION) {
        true => Answer::error(StatusCode::BAD_REQUEST, "TWO_LOGINS"),
        false => shared.content.lock().blob(&digest),
    };
    answer.with_fault(fault.as_ref())
}

/// Notes a request, and returns its fault.
fn note(shared: &Shared, method: &Method, target: &str) -> Option<Fault> {
    let mut content = shared.content.lock();
    let request = format!("{method} {target}");
    let fault = content.faults.iter().find(|(part, _)| request.contains(part));
    let fault = fault.map(|(_, fault)| fault.clone());
    content.requests.push(request);
    shared.arrived.notify_all();
    fault
}

/// A request with its body.
struct RequestParts<'r> {
    method: &'r Method,
    query: &'r str,
    headers: &'r HeaderMap,
    body: Bytes,
}

impl RequestParts<'_> {
    fn parameter(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find_map(|(key, value)| (key == name).then_some(value))
    }
}

/// Answers a request for a part of a repository.
type Handler = fn(&mut Content, &str, &str, RequestParts<'_>) -> Answer;

impl Shared {
    /// Returns the refusal of a request without the login, and the answer of the service of tokens.
    fn refusal(&self, path: &str, headers: &HeaderMap) -> Option<Answer> {
        let login = self.content.lock().login?;
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let account = format!("Basic {}", STANDARD.encode(ACCOUNT));
        let expected = match login {
            Login::Token if path != "/token" => format!("Bearer {TOKEN}"),
            _ => account,
        };
        if given != Some(expected.as_str()) {
            let challenge = match login {
                Login::Token => format!("Bearer realm=\"http://{}/token\",service=\"fixture\"", self.address),
                Login::Basic => "Basic realm=\"fixture\"".to_owned(),
            };
            let mut refusal = Answer::error(StatusCode::UNAUTHORIZED, "UNAUTHORIZED");
            refusal.headers.push(("www-authenticate", challenge));
            return Some(refusal);
        }
        (path == "/token").then(|| Answer::json(&json!({"token": TOKEN})))
    }

    fn answer(&self, path: &str, asked: RequestParts<'_>) -> Answer {
        let mut content = self.content.lock();
        let Some(path) = path.strip_prefix("/v2/").filter(|path| !path.is_empty()) else {
            return Answer::json(&json!({}));
        };
        if let Some(repository) = path.strip_suffix("/tags/list") {
            return content.tag_list(repository, &asked);
        }
        let handlers: [(&str, Handler); 3] = [
            ("/blobs/uploads/", Content::upload),
            ("/manifests/", Content::manifest),
            ("/referrers/", Content::referrers),
        ];
        for (part, handle) in handlers {
            if let Some((repository, rest)) = path.split_once(part) {
                return handle(&mut content, repository, rest, asked);
            }
        }
        match path.split_once("/blobs/") {
            Some((_, digest)) if content.is_redirecting && asked.method == Method::GET => {
                let to = format!("http://{}/{digest}", self.storage);
                Answer::of(StatusCode::TEMPORARY_REDIRECT, vec![("location", to)])
            }
            Some((_, digest)) => content.blob(digest),
            None => Answer::error(StatusCode::NOT_FOUND, "UNSUPPORTED"),
        }
    }
}

impl Content {
    fn blob(&self, digest: &str) -> Answer {
        let Some(bytes) = self.blobs.get(digest) else {
            return Answer::error(StatusCode::NOT_FOUND, "BLOB_UNKNOWN");
        };
        let headers = vec![
            ("content-type", "application/octet-stream".to_owned()),
            ("docker-content-digest", digest.to_owned()),
        ];
        Answer { status: StatusCode::OK, headers, body: bytes.clone() }
    }

    /// Begins, continues or ends an upload.
    fn upload(&mut self, repository: &str, id: &str, asked: RequestParts<'_>) -> Answer {
        let id = match id.parse::<usize>() {
            Ok(id) if id < self.uploads.len() => id,
            _ => {
                self.uploads.push(Vec::new());
                self.uploads.len() - 1
            }
        };
        let upload = &mut self.uploads[id];
        upload.extend_from_slice(&asked.body);
        let location = format!("/v2/{repository}/blobs/uploads/{id}?state=of-the-fixture");
        let range = format!("0-{}", upload.len().saturating_sub(1));
        let Some(digest) = asked.parameter("digest") else {
            return Answer::of(StatusCode::ACCEPTED, vec![("location", location), ("range", range)]);
        };
        let bytes = std::mem::take(upload);
        if format!("sha256:{}", sha256(&bytes)) != digest {
            return Answer::error(StatusCode::BAD_REQUEST, "DIGEST_INVALID");
        }
        let location = format!("/v2/{repository}/blobs/{digest}");
        let digest = digest.to_owned();
        self.blobs.insert(digest.clone(), bytes.into());
        Answer::of(StatusCode::CREATED, vec![("location", location), ("docker-content-digest", digest)])
    }

    /// Stores or returns a manifest; `reference` is a tag or a digest.
    fn manifest(&mut self, repository: &str, reference: &str, asked: RequestParts<'_>) -> Answer {
        if asked.method == Method::PUT {
            let media_type = asked.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
            let media_type = media_type.unwrap_or_default().to_owned();
            let subject: Value = serde_json::from_slice(&asked.body).unwrap_or_default();
            let subject = subject["subject"]["digest"].as_str().map(str::to_owned);
            let digest = self.store(repository, reference, Manifest { media_type, bytes: asked.body });
            let location = format!("/v2/{repository}/manifests/{digest}");
            let mut headers = vec![("location", location), ("docker-content-digest", digest)];
            headers.extend(subject.filter(|_| self.has_referrers).map(|subject| ("oci-subject", subject)));
            return Answer::of(StatusCode::CREATED, headers);
        }
        let named = self.tags.get(&(repository.to_owned(), reference.to_owned())).cloned();
        let digest = named.unwrap_or_else(|| reference.to_owned());
        match self.manifests.get(&(repository.to_owned(), digest.clone())) {
            Some(manifest) => Answer {
                status: StatusCode::OK,
                headers: vec![
                    ("content-type", manifest.media_type.clone()),
                    ("docker-content-digest", digest),
                ],
                body: manifest.bytes.clone(),
            },
            None => Answer::error(StatusCode::NOT_FOUND, "MANIFEST_UNKNOWN"),
        }
    }

    fn store(&mut self, repository: &str, reference: &str, manifest: Manifest) -> String {
        let digest = format!("sha256:{}", sha256(&manifest.bytes));
        if !reference.starts_with("sha256:") {
            self.tags.insert((repository.to_owned(), reference.to_owned()), digest.clone());
        }
        self.manifests.insert((repository.to_owned(), digest.clone()), manifest);
        digest
    }

    fn tags_of(&self, repository: &str) -> Vec<String> {
        self.tags.keys().filter(|(name, _)| name == repository).map(|(_, tag)| tag.clone()).collect()
    }

    fn tag_list(&self, repository: &str, asked: &RequestParts<'_>) -> Answer {
        let last = asked.parameter("last").unwrap_or_default();
        let count = asked.parameter("n").and_then(|count| count.parse().ok()).unwrap_or(usize::MAX);
        let tags: Vec<String> =
            self.tags_of(repository).into_iter().filter(|tag| tag.as_str() > last).take(count).collect();
        match tags.is_empty() && last.is_empty() {
            true => Answer::error(StatusCode::NOT_FOUND, "NAME_UNKNOWN"),
            false => Answer::json(&json!({"name": repository, "tags": tags})),
        }
    }

    fn referrers(&mut self, repository: &str, subject: &str, _: RequestParts<'_>) -> Answer {
        if !self.has_referrers {
            return Answer::error(StatusCode::NOT_FOUND, "UNSUPPORTED");
        }
        let mut found = Vec::new();
        for ((name, digest), manifest) in &self.manifests {
            let content: Value = serde_json::from_slice(&manifest.bytes).unwrap_or_default();
            if name == repository && content["subject"]["digest"] == subject {
                found.push(json!({
                    "mediaType": manifest.media_type, "digest": digest, "size": manifest.bytes.len(),
                    "artifactType": content["artifactType"],
                }));
            }
        }
        let media_type = "application/vnd.oci.image.index.v1+json";
        let mut answer =
            Answer::json(&json!({"schemaVersion": 2, "mediaType": media_type, "manifests": found}));
        answer.headers = vec![("content-type", media_type.to_owned())];
        answer
    }
}
