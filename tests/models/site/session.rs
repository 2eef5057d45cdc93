//! A session of a page: a folder, a shell that remembers, and a server.

use super::fragment::whole_suite;
use super::page::Block;
use crate::server::{Server, completion};
use crate::support::{CommandOutput, Workspace, program_file, repository};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use wiremock::{Request, ResponseTemplate};

/// The address that pages use for a server of the reader's own.
const SERVER: &str = "http://localhost:8000";

/// The folder and the state of a page's shell.
pub(super) struct Session {
    workspace: Workspace,
    server: Server,
    /// The output of the last commands.
    output: String,
}

impl Session {
    pub(super) fn start() -> Session {
        let workspace = Workspace::new();
        copy(&repository().join("config"), &workspace.path("config"));
        Session { workspace, server: Server::start(respond), output: String::new() }
    }

    /// Runs a block.
    pub(super) fn run(&mut self, block: &Block) -> Result<(), String> {
        if block.is_skipped() {
            return Ok(());
        }
        let text = block.text.replace(SERVER, &self.server.server.uri());
        if let Some(file) = block.value("file") {
            self.workspace.write(file, text);
            return Ok(());
        }
        match block.language.as_str() {
            "sh" => self.run_commands(&text, block.value("exit").unwrap_or("0")),
            "text" if block.has("output") => self.compare_output(&text),
            "yaml" => self.validate(&text),
            _ => Ok(()),
        }
    }

    fn run_commands(&mut self, commands: &str, code: &str) -> Result<(), String> {
        let state = self.workspace.path(".session");
        let state = state.display();
        let script = format!(
            "set -euo pipefail\nif [ -f {state} ]; then . {state}; fi\n{commands}\n{{ export -p; printf 'cd %q\\n' \"$PWD\"; }} > {state}\n"
        );
        let ended = self.shell(&script);
        self.output = format!("{}{}", ended.stdout, ended.stderr);
        match ended.code.map(|code| code.to_string()) {
            Some(found) if found == code => Ok(()),
            _ => Err(format!("expected exit code {code}\n{commands}\n{}", ended.transcript())),
        }
    }

    fn shell(&self, script: &str) -> CommandOutput {
        let program = program_file("gage-host");
        let folder = program.parent().expect("a folder").display();
        let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
        let mut command = std::process::Command::new("bash");
        command
            .args(["-c", script])
            .current_dir(self.workspace.path(""))
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.workspace.path(""))
            .env("GAGE_CACHE_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
            .env("OMP_WAIT_POLICY", "passive")
            .stdin(std::process::Stdio::null());
        CommandOutput::of(command.output().expect("bash runs"))
    }

    /// Fails unless the lines are in the output of the last commands, in this order. `…` is any text within a line; a line of
    /// `…` alone is any lines.
    fn compare_output(&self, expected: &str) -> Result<(), String> {
        let mut found = self.output.lines();
        for wanted in expected.lines().filter(|line| !line.trim().is_empty() && line.trim() != "…") {
            if !found.any(|line| is_like(line, wanted)) {
                return Err(format!("the output lacks the line\n{wanted}\nin\n{}", self.output));
            }
        }
        Ok(())
    }

    fn validate(&self, text: &str) -> Result<(), String> {
        let suite = match text.contains("api_version:") {
            true => text.to_owned(),
            false => match whole_suite(text) {
                Some(suite) => suite,
                None => return Ok(()),
            },
        };
        let path = self.workspace.write("block.yaml", &suite);
        if !self.workspace.path("rows.jsonl").exists() {
            self.workspace
                .write("rows.jsonl", "{\"id\": \"1\", \"question\": \"2 + 2?\", \"answer\": \"4\"}\n");
        }
        let ended = self.shell(&format!("gage-host validate {}", path.display()));
        match ended.code {
            Some(0) => Ok(()),
            _ => Err(format!("the suite is not valid\n{suite}\n{}", ended.transcript())),
        }
    }
}

/// Returns whether a line is as wanted; white space at the ends does not count.
fn is_like(line: &str, wanted: &str) -> bool {
    let mut rest = line.trim();
    let mut is_first = true;
    let parts: Vec<&str> = wanted.trim().split('…').collect();
    for (index, part) in parts.iter().enumerate() {
        let part = if index == 0 { part.trim_start() } else { part };
        let at = match rest.find(part) {
            Some(at) if !is_first || at == 0 => at,
            _ => return false,
        };
        if index + 1 == parts.len() && !part.is_empty() && !rest.ends_with(part) {
            return false;
        }
        rest = rest.get(at + part.len()..).unwrap_or_default();
        is_first = false;
    }
    parts.len() > 1 || rest.is_empty()
}

/// Answers as a model, and as a judge that likes every answer.
fn respond(request: &Request) -> ResponseTemplate {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let mut prompt = String::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        let _ = writeln!(prompt, "{}", message["content"]);
    }
    completion(if prompt.contains("\\\"verdict\\\"") {
        "{\"verdict\": \"correct\", \"score\": 1, \"reason\": \"The answer is right.\"}"
    } else if prompt.contains("CORRECT: ") {
        "The answer is right.\nCORRECT: YES\nSCORE: 1.0"
    } else {
        "4"
    })
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).expect("copied")),
        }
    }
}
