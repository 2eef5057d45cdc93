//! A hub on the loopback interface, for tests. It lists commits and serves files like the real one, large files
//! through redirects to a second port, and injects the requested faults.
//!
//! Needs `serde_json`, `sha1` and `sha2`; stops when dropped.

use serde_json::json;
use sha1::Digest as _;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A one-time fault of the server.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Breaks the connection after this many bytes of the body.
    CutAfter(usize),
    /// Ends the body after this many bytes, as if it were whole.
    EndAfter(usize),
    /// Answers with this status and these headers.
    Status(u16, Vec<(&'static str, String)>),
    /// Sends wrong bytes of the right length.
    WrongBytes,
    /// Sends the whole file with status 200, regardless of the requested range.
    IgnoreRange,
    /// Sends a range that begins elsewhere.
    OtherRange,
    /// Waits at each of these barriers before sending the file.
    Hold(Vec<Arc<Barrier>>),
}

/// A received request.
#[derive(Clone, Debug)]
pub struct SeenRequest {
    /// True if it came to the port of the large files.
    pub is_large: bool,
    /// Path and query, still encoded.
    pub target: String,
    /// Headers, with lower-case names.
    pub headers: HashMap<String, String>,
    /// Number of body bytes sent.
    pub sent: usize,
}

/// A file of a dataset.
#[derive(Clone)]
struct Stored {
    bytes: Vec<u8>,
    is_large: bool,
}

#[derive(Default)]
struct Dataset {
    /// Commit of each revision.
    revisions: HashMap<String, String>,
    /// Files of each commit.
    commits: HashMap<String, BTreeMap<String, Stored>>,
    token: Option<String>,
}

#[derive(Default)]
struct HubState {
    datasets: HashMap<String, Dataset>,
    faults: HashMap<String, VecDeque<Fault>>,
    seen: Vec<SeenRequest>,
    page: usize,
    large_port: u16,
}

/// The server.
pub struct HubServer {
    address: SocketAddr,
    large_address: SocketAddr,
    state: Arc<Mutex<HubState>>,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl HubServer {
    /// Starts the server, on two free ports.
    pub fn start() -> HubServer {
        let listen = || TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let (small, large) = (listen(), listen());
        let address = small.local_addr().expect("an address");
        let large_address = large.local_addr().expect("an address");
        let state = HubState { page: 1_000, large_port: large_address.port(), ..HubState::default() };
        let state = Arc::new(Mutex::new(state));
        let is_over = Arc::new(AtomicBool::new(false));
        let serve = |listener: TcpListener, is_large| {
            let (state, is_over) = (Arc::clone(&state), Arc::clone(&is_over));
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    if is_over.load(Ordering::SeqCst) {
                        return;
                    }
                    let (Ok(stream), state) = (stream, Arc::clone(&state)) else { continue };
                    std::thread::spawn(move || answer_all(&stream, &state, is_large));
                }
            })
        };
        let threads = vec![serve(small, false), serve(large, true)];
        HubServer { address, large_address, state, is_over, threads }
    }

    /// Returns the address of a large file, as if on a server that states no digests.
    pub fn address_of(&self, name: &str, commit: &str, path: &str) -> String {
        format!(
            "http://{}/large/{}?name={}&commit={commit}",
            self.large_address,
            encoded(path),
            encoded(name)
        )
    }

    /// Returns the address of the hub.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds a dataset if there is none with this name, and an empty commit that a revision resolves to from now on.
    pub fn commit(&self, name: &str, revision: &str, commit: &str) {
        let mut state = lock(&self.state);
        let dataset = state.datasets.entry(name.to_owned()).or_default();
        dataset.revisions.insert(revision.to_owned(), commit.to_owned());
        dataset.commits.entry(commit.to_owned()).or_default();
    }

    /// Adds a file to all commits of a dataset.
    pub fn file(&self, name: &str, path: &str, bytes: impl Into<Vec<u8>>) {
        self.store(name, path, Stored { bytes: bytes.into(), is_large: false });
    }

    /// Adds a file of the large file storage to all commits of a dataset.
    pub fn large_file(&self, name: &str, path: &str, bytes: impl Into<Vec<u8>>) {
        self.store(name, path, Stored { bytes: bytes.into(), is_large: true });
    }

    fn store(&self, name: &str, path: &str, stored: Stored) {
        let mut state = lock(&self.state);
        let dataset = state.datasets.get_mut(name).expect("a dataset");
        for files in dataset.commits.values_mut() {
            files.insert(path.to_owned(), stored.clone());
        }
    }

    /// Hides a dataset from requests without its token.
    pub fn demand_token(&self, name: &str, token: &str) {
        let mut state = lock(&self.state);
        state.datasets.get_mut(name).expect("a dataset").token = Some(token.to_owned());
    }

    /// Injects a fault once, at the next request for a path: that of a file, or `revision` or `tree`. Faults of a
    /// large file occur where its bytes are served.
    pub fn fault(&self, path: &str, fault: Fault) {
        lock(&self.state).faults.entry(path.to_owned()).or_default().push_back(fault);
    }

    /// Sets the number of entries per page of a listing; initially 1,000.
    pub fn page(&self, entries: usize) {
        lock(&self.state).page = entries;
    }

    /// Returns the requests so far.
    pub fn seen(&self) -> Vec<SeenRequest> {
        lock(&self.state).seen.clone()
    }

    /// Returns the requests for the bytes of a large file, or of another file whose bytes were sent.
    pub fn seen_of(&self, path: &str) -> Vec<SeenRequest> {
        let (large, small) = (format!("/large/{path}?"), format!("/{path}"));
        let is_of = |seen: &SeenRequest| match seen.is_large {
            true => seen.target.starts_with(&large),
            false => seen.target.contains("/resolve/") && seen.target.ends_with(&small) && seen.sent > 0,
        };
        self.seen().into_iter().filter(is_of).collect()
    }
}

impl Drop for HubServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // Wakes the threads that wait for a connection.
        for address in [self.address, self.large_address] {
            let _ = TcpStream::connect(address);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// An answer to send.
struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// Number of bytes after which the connection breaks.
    cut: Option<usize>,
    /// Barriers to wait at before sending.
    held: Vec<Arc<Barrier>>,
}

impl Answer {
    fn of(status: u16, headers: Vec<(&'static str, String)>) -> Answer {
        Answer { status, headers, body: Vec::new(), cut: None, held: Vec::new() }
    }

    fn json(value: &serde_json::Value) -> Answer {
        Answer { body: value.to_string().into_bytes(), ..Answer::of(200, Vec::new()) }
    }
}

fn lock(state: &Mutex<HubState>) -> MutexGuard<'_, HubState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer_all(stream: &TcpStream, state: &Mutex<HubState>, is_large: bool) {
    let mut reader = BufReader::new(stream);
    while let Some((target, headers)) = read_request(&mut reader) {
        let answer = {
            let mut state = lock(state);
            let answer = answer(&mut state, is_large, &target, &headers);
            let sent = answer.cut.unwrap_or(answer.body.len()).min(answer.body.len());
            state.seen.push(SeenRequest { is_large, target, headers, sent });
            answer
        };
        for barrier in &answer.held {
            barrier.wait();
        }
        if write_answer(stream, &answer).is_none() || answer.cut.is_some() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> Option<(String, HashMap<String, String>)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let target = line.split(' ').nth(1)?.to_owned();
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.by_ref().take(1 << 16).read_line(&mut line).ok()?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
            }
            None => return Some((target, headers)),
        }
    }
}

fn write_answer(mut stream: &TcpStream, answer: &Answer) -> Option<()> {
    let mut head = format!("HTTP/1.1 {} Whatever\r\n", answer.status);
    let is_open_ended = answer.headers.iter().any(|(name, _)| *name == "connection");
    if !is_open_ended {
        head += &format!("content-length: {}\r\n", answer.body.len());
    }
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    stream.write_all(head.as_bytes()).ok()?;
    let sent = answer.cut.unwrap_or(answer.body.len()).min(answer.body.len());
    stream.write_all(answer.body.get(..sent)?).ok()?;
    stream.flush().ok()?;
    (!is_open_ended).then_some(())
}

fn answer(state: &mut HubState, is_large: bool, target: &str, headers: &HashMap<String, String>) -> Answer {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let parts: Vec<String> = path.trim_start_matches('/').split('/').map(decoded).collect();
    if is_large {
        // /large/<path>?name=<dataset>&commit=<commit>
        let path = parts.get(1..).unwrap_or_default().join("/");
        let value = |key: &str| {
            query.split('&').find_map(|pair| pair.strip_prefix(key)).map(decoded).unwrap_or_default()
        };
        return bytes_of(state, &value("name="), &value("commit="), &path, headers);
    }
    let is_api = parts.first().is_some_and(|part| part == "api");
    // The files of models have no prefix in the path.
    let above =
        usize::from(is_api) + usize::from(is_api || parts.first().is_some_and(|part| part == "datasets"));
    let rest = parts.get(above..).unwrap_or_default();
    let verb = rest.iter().position(|part| ["revision", "tree", "resolve"].contains(&part.as_str()));
    let Some((name, rest)) = verb.map(|at| rest.split_at(at)) else {
        return Answer::of(404, Vec::new());
    };
    let name = name.join("/");
    let verb = rest.first().cloned().unwrap_or_default();
    let revision = rest.get(1).cloned().unwrap_or_default();
    let Some(dataset) = state.datasets.get(&name) else {
        // The hub does not reveal to strangers what exists.
        return Answer::of(401, vec![("x-error-code", "RepoNotFound".to_owned())]);
    };
    if let Some(token) = &dataset.token
        && headers.get("authorization") != Some(&format!("Bearer {token}"))
    {
        return Answer::of(401, vec![("x-error-code", "GatedRepo".to_owned())]);
    }
    let commit = dataset.revisions.get(&revision).cloned().unwrap_or(revision);
    if !dataset.commits.contains_key(&commit) {
        return Answer::of(404, vec![("x-error-code", "RevisionNotFound".to_owned())]);
    }
    match verb.as_str() {
        "revision" => match next_fault(state, "revision") {
            Some(Fault::Status(status, headers)) => Answer::of(status, headers),
            _ => Answer::json(&json!({"id": name, "sha": commit, "private": false})),
        },
        "tree" => match next_fault(state, "tree") {
            Some(Fault::Status(status, headers)) => Answer::of(status, headers),
            _ => tree(state, path, &name, &commit, query),
        },
        _ => resolve(state, &name, &commit, rest.get(2..).unwrap_or_default(), headers),
    }
}

fn resolve(
    state: &mut HubState,
    name: &str,
    commit: &str,
    path: &[String],
    headers: &HashMap<String, String>,
) -> Answer {
    let path = path.join("/");
    let files = state.datasets.get(name).and_then(|dataset| dataset.commits.get(commit));
    let Some(stored) = files.and_then(|files| files.get(&path)) else {
        return Answer::of(404, vec![("x-error-code", "EntryNotFound".to_owned())]);
    };
    if !stored.is_large {
        let mut answer = bytes_of(state, name, commit, &path, headers);
        answer.headers.push(("x-repo-commit", commit.to_owned()));
        return answer;
    }
    let location = format!(
        "http://127.0.0.1:{}/large/{}?name={}&commit={commit}&signature=secret",
        state.large_port,
        encoded(&path),
        encoded(name)
    );
    let headers = vec![
        ("location", location),
        ("x-repo-commit", commit.to_owned()),
        ("x-linked-size", stored.bytes.len().to_string()),
        ("x-linked-etag", format!("\"{}\"", sha256(&stored.bytes))),
    ];
    Answer::of(302, headers)
}

fn bytes_of(
    state: &mut HubState,
    name: &str,
    commit: &str,
    path: &str,
    headers: &HashMap<String, String>,
) -> Answer {
    let fault = next_fault(state, path);
    let files = state.datasets.get(name).and_then(|dataset| dataset.commits.get(commit));
    let Some(stored) = files.and_then(|files| files.get(path)) else {
        return Answer::of(404, Vec::new());
    };
    let mut bytes = stored.bytes.clone();
    let etag = format!("\"{}\"", sha256(&bytes));
    if let Some(Fault::Status(status, headers)) = fault {
        return Answer::of(status, headers);
    }
    if matches!(fault, Some(Fault::WrongBytes)) {
        bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
    }
    let first = headers
        .get("range")
        .filter(|_| !matches!(fault, Some(Fault::IgnoreRange)))
        .filter(|_| headers.get("if-range").is_none_or(|expected| *expected == etag))
        .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok());
    let mut answer = Answer::of(200, vec![("etag", etag)]);
    match first {
        Some(first) if first >= bytes.len() => answer.status = 416,
        Some(first) => {
            let shift = usize::from(matches!(fault, Some(Fault::OtherRange)));
            let first = first - shift;
            let range = format!("bytes {first}-{}/{}", bytes.len() - 1, bytes.len());
            answer.status = 206;
            answer.headers.push(("content-range", range));
            answer.body = bytes.split_off(first);
        }
        None => answer.body = bytes,
    }
    match fault {
        Some(Fault::CutAfter(count)) => answer.cut = Some(count),
        Some(Fault::EndAfter(count)) => {
            answer.body.truncate(count);
            answer.headers.push(("connection", "close".to_owned()));
        }
        Some(Fault::Hold(barriers)) => answer.held = barriers,
        _ => {}
    }
    answer
}

fn tree(state: &HubState, path: &str, name: &str, commit: &str, query: &str) -> Answer {
    let files = state.datasets.get(name).and_then(|dataset| dataset.commits.get(commit));
    let all: Vec<_> = files.into_iter().flatten().collect();
    let from: usize = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("cursor="))
        .and_then(|cursor| cursor.parse().ok())
        .unwrap_or_default();
    let entries = all.iter().skip(from).take(state.page).map(|(path, stored)| {
        let size = stored.bytes.len();
        let mut entry = json!({"type": "file", "path": path, "size": size, "oid": git_oid(&stored.bytes)});
        if stored.is_large {
            entry["lfs"] = json!({"oid": sha256(&stored.bytes), "size": size, "pointerSize": 130});
        }
        entry
    });
    let mut page: Vec<serde_json::Value> = entries.collect();
    page.push(json!({"type": "directory", "path": "some", "size": 0, "oid": "0"}));
    let mut answer = Answer::json(&page.into());
    let next = from + state.page;
    if next < all.len() {
        let link = format!("<{path}?recursive=true&cursor={next}>; rel=\"next\"");
        answer.headers.push(("link", link));
    }
    answer
}

fn next_fault(state: &mut HubState, path: &str) -> Option<Fault> {
    state.faults.get_mut(path)?.pop_front()
}

fn sha256(bytes: &[u8]) -> String {
    hex(&sha2::Sha256::digest(bytes))
}

fn git_oid(bytes: &[u8]) -> String {
    hex(&sha1::Sha1::new().chain_update(format!("blob {}\0", bytes.len())).chain_update(bytes).finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'/' | b'.' | b'-' | b'_' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
