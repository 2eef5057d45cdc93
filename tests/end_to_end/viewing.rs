//! `gage-host view`: its address, its messages and its end. The tests of `host/view` open its pages in a browser.

use crate::server::{Server, completion, question_number};
use crate::support::{CommandOutput, Workspace, rows, suite};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use wiremock::ResponseTemplate;

/// The longest wait for a reply or an event.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running viewer.
struct ViewerProcess {
    child: Child,
    /// Address and port.
    address: String,
}

impl ViewerProcess {
    fn start(workspace: &Workspace, arguments: &[&str]) -> ViewerProcess {
        ViewerProcess::spawn(workspace.program(), arguments)
    }

    fn spawn(mut command: Command, arguments: &[&str]) -> ViewerProcess {
        command.arg("view").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a stream")).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        ViewerProcess { address: address.unwrap_or_else(|| panic!("{line:?}")).to_owned(), child }
    }

    /// Requests a path. Returns the status and the body of the reply.
    fn get(&self, path: &str) -> (u16, String) {
        self.ask(&format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n"))
    }

    /// Sends a request. Returns the status and the body of the reply.
    fn ask(&self, request: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a bound");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status"), body.to_owned())
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }

    /// Ends the viewer as Ctrl-C does.
    fn interrupt(mut self) -> CommandOutput {
        let killed = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(killed.expect("kill runs").success());
        let mut stderr = String::new();
        self.child.stderr.take().expect("a stream").read_to_string(&mut stderr).expect("text");
        gage_recorded_messages::record_output(&stderr);
        let status = self.child.wait().expect("it ends");
        CommandOutput { code: status.code(), stdout: String::new(), stderr }
    }
}

/// Returns the JSON lines of the blocks of a report with this name.
fn report_lines(page: &str, name: &str) -> Vec<Value> {
    let begin = format!("<script type=\"text/plain\" data-block=\"{name}\">");
    let decode = |block: &str| {
        let packed = STANDARD.decode(block.split_once('<').expect("an end").0).expect("Base64");
        let lines = std::io::read_to_string(GzDecoder::new(&packed[..])).expect("gzip");
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect::<Vec<Value>>()
    };
    page.split(&begin).skip(1).flat_map(decode).collect()
}

#[test]
fn viewer_follows_a_live_run_and_ends_on_ctrl_c() {
    let (sender, asked) = mpsc::channel();
    let is_released = Arc::new(AtomicBool::new(false));
    let (sender, released) = (std::sync::Mutex::new(sender), Arc::clone(&is_released));
    // The last eight requests are refused until they are released. They are not held, since an earlier one may need a retry.
    let server = Server::start(move |request| {
        let number = question_number(request);
        if number >= 32 && !released.load(Ordering::SeqCst) {
            let _ = sender.lock().expect("a lock").send(());
            return ResponseTemplate::new(503).insert_header("retry-after", "1");
        }
        completion(&format!("answer {number}"))
    });
    let backend = server.backend(", max_retries: 100");
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    workspace.write("suite.yaml", suite(&backend, "[exact_match]") + "metadata: {name: questions}\n");
    std::fs::create_dir(workspace.path("runs")).expect("a folder");
    let viewing = ViewerProcess::start(&workspace, &["--port", "0"]);
    assert_eq!(viewing.json("/data/runs")["runs"], json!([]));

    let mut command = workspace.program();
    command.args(["run", "suite.yaml", "--run-id", "r", "--concurrency", "1", "--quiet"]);
    let mut run = command.stdout(Stdio::null()).spawn().expect("it starts");
    asked.recv_timeout(TIMEOUT).expect("the model was asked");
    // Events and scores are written a little after answers.
    let until = Instant::now() + TIMEOUT;
    let now = loop {
        let now = viewing.json("/data/runs/r");
        if (now["done"] == 32 && now["total"] == 40) || Instant::now() > until {
            break now;
        }
    };
    assert_eq!((&now["done"], &now["total"], &now["is_live"]), (&json!(32), &json!(40), &json!(true)));
    assert_eq!(now["tasks"][0]["metrics"][0]["value"], 1.0, "{now:#}");
    let listed = viewing.json("/data/runs");
    assert_eq!(
        (&listed["runs"][0]["status"], &listed["runs"][0]["suite"]),
        (&json!("live"), &json!("questions"))
    );
    assert!(viewing.get("/runs/r").1.contains("Figures so far"));

    is_released.store(true, Ordering::SeqCst);
    assert!(run.wait().expect("it ends").success());
    let texts = report_lines(&viewing.get("/runs/r").1, "texts");
    let requests: Vec<&Value> = texts.iter().map(|text| &text["requests"][0]["messages"][0]).collect();
    assert_eq!(requests.len(), 40);
    for message in requests {
        assert!(
            message["role"] == "user" && message["content"].to_string().contains("question"),
            "{message}"
        );
    }
    assert_eq!(viewing.json("/data/runs")["runs"][0]["status"], "complete");
    let history = viewing.json("/data/history");
    assert_eq!(history["trends"][0]["points"][0]["figure"]["value"], 1.0, "{history:#}");
    let ended = viewing.interrupt().expect_code(0);
    assert_eq!(ended.stderr, "showing runs until Ctrl-C\n");
}

#[test]
fn a_note_leaves_a_run_verified() {
    let server = Server::start(|_| completion("answer 1"));
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(2));
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
    workspace.run(&["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let viewing = ViewerProcess::start(&workspace, &["--port", "0"]);
    let of_server = report_lines(&viewing.get("/runs/r").1, "server");
    let token = of_server[0]["token"].as_str().expect("a token");
    let samples = workspace.samples("r");
    let (task_id, sample_id) = (&samples[0]["task_id"], &samples[0]["sample_id"]);
    let note = json!({"task_id": task_id, "index": 0, "sample_id": sample_id, "label": 0.5, "note": "half"});
    let note = note.to_string();
    let head = "POST /data/runs/r/notes HTTP/1.0\r\nHost: localhost\r\nOrigin: http://localhost\r\n";
    let request = format!("{head}X-Gage-Token: {token}\r\nContent-Length: {}\r\n\r\n{note}", note.len());
    assert_eq!(viewing.ask(&request), (200, "true".to_owned()));
    viewing.interrupt().expect_code(0);
    assert!(workspace.read("runs/r/notes.jsonl").contains("half"));

    let verified = workspace.run(&["verify", "r"]).expect_code(0);
    assert!(!verified.stdout.contains("notes.jsonl"), "{}", verified.stdout);
}

#[test]
fn merged_run_is_shown_and_its_shards_are_not_listed() {
    let server = Server::answering();
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    workspace.write("suite.yaml", suite(&server.backend(""), "[exact_match]"));
    for shard in ["1/2", "2/2"] {
        let run = ["run", "suite.yaml", "--run-id", "r", "--shard", shard, "--quiet"];
        workspace.run(&run).expect_code(0);
    }
    workspace.run(&["merge", "r", "--quiet"]).expect_code(0);
    let viewing = ViewerProcess::start(&workspace, &["--port", "0"]);
    let runs = viewing.json("/data/runs")["runs"].clone();
    assert_eq!(
        (runs.as_array().map(Vec::len), &runs[0]["status"]),
        (Some(1), &json!("complete")),
        "{runs:#}"
    );
    let (status, page) = viewing.get("/runs/r");
    assert_eq!((status, report_lines(&page, "texts").len()), (200, 40));
    viewing.interrupt().expect_code(0);
}

#[test]
fn unusable_folders_and_addresses_are_reported() {
    let workspace = Workspace::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    workspace.write("runs/one/manifest.json", "{}");
    workspace.write("a-file", "");
    let cases: [(&[&str], &[&str]); 6] = [
        (
            &["runs", "--port", &port],
            &["cannot listen at 127.0.0.1", "another program listens there", "--port"],
        ),
        (&["none"], &["none", "No such file", "name the folder"]),
        (&["a-file"], &["a-file", "ot a directory"]),
        (&["runs/one"], &["is the folder of one run", "runs", "gage-host report"]),
        (&["--host", "203.0.113.7", "--port", "0"], &["cannot listen at 203.0.113.7", "--host"]),
        (&["--port", "70000"], &["70000"]),
    ];
    for (arguments, parts) in cases {
        let ended = workspace.run(&[&["view"], arguments].concat()).expect_code(2);
        for part in parts {
            assert!(ended.stderr.contains(part), "{arguments:?}: {part}\n{}", ended.stderr);
        }
    }
}

#[test]
fn listening_on_other_addresses_gives_a_warning() {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("runs")).expect("a folder");
    let viewing = ViewerProcess::start(&workspace, &["--port", "0", "--host", "0.0.0.0"]);
    assert!(viewing.address.starts_with("127.0.0.1:"), "{}", viewing.address);
    assert_eq!(viewing.get("/").0, 200);
    let ended = viewing.interrupt().expect_code(0);
    assert!(ended.stderr.contains("warning") && ended.stderr.contains("no password"), "{}", ended.stderr);
}

#[test]
fn missing_browser_gives_a_warning() {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("runs")).expect("a folder");
    let mut command = workspace.program();
    // A folder without programs.
    command.env("PATH", workspace.path("runs")).env_remove("BROWSER");
    let viewing = ViewerProcess::spawn(command, &["--port", "0", "--open"]);
    assert_eq!(viewing.get("/").0, 200);
    let ended = viewing.interrupt().expect_code(0);
    assert!(ended.stderr.contains("warning: no browser could be opened; go to http://"), "{}", ended.stderr);
}
