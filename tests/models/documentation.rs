//! The commands of the documentation and the shipped suites, unmodified.

use crate::server::{Server, completion};
use crate::support::{CommandOutput, Workspace, program_file, repository};
use std::path::Path;

/// Returns the commands in the code blocks of a page that begin with the program's name.
fn commands_of(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).expect("a page");
    let mut is_code = false;
    let mut commands = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if is_code {
            let line = line.trim().trim_start_matches("$ ");
            let words =
                line.split_whitespace().skip_while(|word| word.contains('=') && !word.starts_with('-'));
            if words.clone().next() == Some("gage-host") {
                commands.push(line.split(" #").next().unwrap_or(line).trim().to_owned());
            }
        }
    }
    commands
}

/// Writes rows in the format of the public datasets, made for this test.
fn write_datasets(workspace: &Workspace) {
    let goal = |number: usize| {
        format!("{{\"goal\":\"Cut bread {number}.\",\"sol1\":\"Use a knife.\",\"sol2\":\"Use a spoon.\"}}\n")
    };
    workspace.write("data/piqa/valid.jsonl", (0..3).map(goal).collect::<String>());
    workspace.write("data/piqa/valid-labels.lst", "0\n0\n0\n");
    workspace.write(
        "data/gsm8k/test.jsonl",
        "{\"question\":\"What is 2 + 2?\",\"answer\":\"2 + 2 = 4\\n#### 4\"}\n",
    );
}

fn run_in_shell(workspace: &Workspace, server: &Server, command: &str) -> CommandOutput {
    let program = program_file("gage-host");
    let path = format!(
        "{}:{}",
        program.parent().expect("a folder").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    // Not next to the suite, where the next command of the README would find it.
    let command = match command.contains("lock") {
        true => format!("{command} --lock {}", workspace.path("suite.gage.lock").display()),
        false => command.to_owned(),
    };
    let output = std::process::Command::new("bash")
        .args(["-c", &command])
        .current_dir(repository())
        .env("PATH", path)
        .env("HOME", workspace.path(""))
        .env("GAGE_CACHE_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
        .env("GAGE_HOST_OUTPUT_DIR", workspace.path("runs"))
        // A locked run uses exactly the locked settings.
        .envs((!command.contains("--locked")).then_some(("GAGE_EVAL_MAX_SAMPLES", "2")))
        .env("LOCAL_DATASETS_ROOT", workspace.path("data"))
        .env("GAGE_MODEL_PATH", repository().join("config/models/gage-tiny.gguf"))
        .env("OPENAI_BASE_URL", format!("{}/v1", server.server.uri()))
        .output();
    CommandOutput::of(output.expect("bash runs"))
}

#[test]
fn commands_for_shipped_suites_work() {
    let workspace = Workspace::new();
    write_datasets(&workspace);
    workspace.write("mine.jsonl", "");
    let server = Server::start(|_| completion("4"));
    let commands = commands_of(&repository().join("config/README.md"));
    assert!(commands.len() >= 5, "{commands:?}");
    for command in commands {
        let ended = run_in_shell(&workspace, &server, &command);
        // A model of 900,000 parameters may be cut off or overwhelmed; it must not fail.
        assert!(matches!(ended.code, Some(0 | 4)), "{command}\n{}", ended.transcript());
        assert!(!ended.stderr.contains("error"), "{command}\n{}", ended.transcript());
    }
}

#[test]
fn every_shipped_suite_is_valid() {
    let workspace = Workspace::new();
    write_datasets(&workspace);
    let server = Server::start(|_| completion("4"));
    let mut count = 0;
    for entry in std::fs::read_dir(repository().join("config/custom")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let ended = run_in_shell(&workspace, &server, &format!("gage-host validate {}", path.display()));
        assert_eq!(ended.code, Some(0), "{}\n{}", path.display(), ended.transcript());
        count += 1;
    }
    assert!(count >= 6, "{count} suites");
}
