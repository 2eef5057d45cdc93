//! What the program prints when a signal ends it.

use crate::interruption::{ARGUMENTS, BlockingServer};
use crate::support::{CommandOutput, Workspace, rows, send_signal, suite};
use std::io::{BufRead, BufReader, Read as _};
use std::process::Stdio;

#[test]
fn second_signal_prints_the_command_that_resumes_the_run() {
    const MAX_SIGNALS: usize = 1_000;
    let blocking = BlockingServer::start(10);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    workspace.write("suite.yaml", suite(&blocking.server.backend(""), "[exact_match]"));
    let mut child = workspace.start(&ARGUMENTS);
    blocking.wait_until_blocked();
    // Signals that come at the same moment count as one.
    let has_ended = (0..MAX_SIGNALS).any(|_| {
        send_signal(&child, "INT");
        child.try_wait().expect("a child").is_some()
    });
    if !has_ended {
        child.kill().expect("killed");
    }
    let ended = CommandOutput::wait_for(child).expect_code(130);
    let expected = "ended at once\nnext: gage-host run suite.yaml --run-id r --concurrency 4 --resume\n";
    assert!(ended.stderr.ends_with(expected), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("next: ").count(), 1, "{}", ended.stderr);
}

/// Reads lines of the standard error stream up to one with a text. Returns false if there is none.
fn read_up_to(expected: &str, stderr: &mut impl BufRead, text: &mut String) -> bool {
    while !text.contains(expected) {
        if stderr.read_line(text).expect("a line") == 0 {
            return false;
        }
    }
    true
}

#[test]
fn interrupted_run_names_the_server_that_was_away() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let closed = listener.local_addr().expect("an address");
    drop(listener);
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(40));
    let config = format!("base_url: 'http://{closed}/v1', model: m, proxy: none, outage_limit: 600");
    let backend = format!("type: openai_http\n    config: {{{config}}}");
    workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
    let mut child = workspace.start(&ARGUMENTS);
    let (mut stderr, mut text) = (BufReader::new(child.stderr.take().expect("a pipe")), String::new());
    assert!(read_up_to("is away: connection refused", &mut stderr, &mut text), "{text}");
    send_signal(&child, "INT");
    stderr.read_to_string(&mut text).expect("a text");
    assert_eq!(child.wait().expect("a child").code(), Some(130), "{text}");
    gage_recorded_messages::record_output(&text);
    let expected =
        format!("interrupted (server away: http://{closed}: connection refused)\nnext: gage-host run ");
    assert!(text.contains(&expected), "{text}");
    assert_eq!(text.matches("next: ").count(), 1, "{text}");
}

#[test]
fn interruption_while_a_plugin_is_compiled_prints_a_line() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(4));
    let backend = "type: openai_http\n    config: {base_url: 'http://127.0.0.1:9', model: m}";
    workspace.write("suite.yaml", suite(backend, "[exact_match]"));
    let mut command = workspace.program();
    command.args(["validate", "suite.yaml"]).env("GAGE_CACHE_DIR", workspace.path("cache"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let (mut stderr, mut text) = (BufReader::new(child.stderr.take().expect("a pipe")), String::new());
    // A compilation of less than a second is not shown.
    if read_up_to("compiling the plugin", &mut stderr, &mut text) {
        send_signal(&child, "INT");
        stderr.read_to_string(&mut text).expect("a text");
        assert!(text.ends_with("\ninterrupted\n"), "{text}");
        assert_eq!(child.wait().expect("a child").code(), Some(130), "{text}");
        return;
    }
    assert_eq!(child.wait().expect("a child").code(), Some(0), "{text}");
}
