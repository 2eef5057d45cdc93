//! Programs of models that run in the sandbox: the metrics `python_tests` and `javascript_tests` with right, wrong and hostile
//! candidates. Their components are files of the installation.

use crate::languages::{cache_folder, is_there};
use crate::support::{CommandOutput, Workspace, program_file, repository};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// An installation of the program.
struct Installation {
    folder: tempfile::TempDir,
}

impl Installation {
    /// Creates one without optional components.
    fn new() -> Installation {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).expect("a folder");
        let program = program_file("gage-host");
        fs::hard_link(&program, bin.join("gage-host"))
            .or_else(|_| fs::copy(&program, bin.join("gage-host")).map(drop))
            .expect("the program once more");
        Installation { folder }
    }

    /// Creates one with a component.
    fn with(component: &Path) -> Installation {
        let installation = Installation::new();
        let file = installation.copy_of(component);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::copy(component, file).expect("copied");
        installation
    }

    /// Returns the path of its copy of a component.
    fn copy_of(&self, component: &Path) -> PathBuf {
        let name = component.file_name().expect("a name");
        self.folder.path().join("lib/gage-host/plugins").join(name)
    }

    /// Runs its program in a workspace.
    fn run(&self, workspace: &Workspace, arguments: &[&str]) -> CommandOutput {
        let mut command = Command::new(self.folder.path().join("bin/gage-host"));
        let environment = workspace.program();
        command.env_clear().envs(environment.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(workspace.path("")).args(arguments).stdin(Stdio::null());
        CommandOutput::of(command.output().expect("the program runs"))
    }
}

/// Returns the component for Python, which is built once. `None` if there is no Python to build it with.
fn component() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(|| has_python().then(|| build("python-runner", "python_tests"))).as_deref()
}

/// Returns the component for JavaScript, which is built once. `None` if there is no Node or no Python to build it with.
fn javascript_component() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT
        .get_or_init(|| (has_node() && has_python()).then(|| build("javascript-runner", "javascript_tests")))
        .as_deref()
}

fn has_python() -> bool {
    let is_found = is_there("python3", &["-c", "import ensurepip, sys; print(sys.version_info[1])"], 10);
    if !is_found {
        eprintln!("skipped: there is no Python 3.10 with venv");
    }
    is_found
}

fn has_node() -> bool {
    let is_found = is_there("node", &["--version"], 20) && is_there("npm", &["--version"], 1);
    if !is_found {
        eprintln!("skipped: there is no Node 20 with npm");
    }
    is_found
}

/// Builds a component with the script of a folder in `tools`.
fn build(tool: &str, name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let built = Command::new(repository().join("tools").join(tool).join("build.sh"))
        .arg(&folder)
        .env("GAGE_CACHE_DIR", cache_folder())
        .stdin(Stdio::null())
        .output()
        .expect("the script runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    folder.join(format!("{name}.wasm"))
}

/// Entry of `plugins` with the usual fuel, so that endless loops end soon.
fn less_fuel(name: &str) -> String {
    format!("plugins: [{{id: {name}, source: {name}, limits: {{fuel_per_item: 500000000}}}}]\n")
}

fn passes_its_cases(component: Option<&Path>, name: &str, cases: &str, expected: &str) {
    let Some(component) = component else { return };
    let workspace = Workspace::new();
    workspace.write("plugins.yaml", less_fuel(name));
    let cases = repository().join("tests/code").join(cases).display().to_string();
    let arguments = ["plugin", "test", name, "--config", "plugins.yaml", "--cases", &cases];
    let tested = Installation::with(component).run(&workspace, &arguments).expect_code(0);
    // Before it is what programs printed.
    let last = tested.stdout.lines().last().unwrap_or_default();
    assert_eq!(
        last,
        format!("{expected} cases passed; pure: results are the same alone, in batches and shuffled")
    );
}

/// Writes a suite that names the metric, and one row with its right answer.
fn write_suite(workspace: &Workspace) {
    let rows = fs::read_to_string(repository().join("tests/code/humaneval.jsonl")).expect("the rows");
    let row = rows.lines().next().expect("a row");
    let answer: Value = serde_json::from_str(row).expect("JSON");
    workspace.write("rows.jsonl", row);
    workspace.write("answers.jsonl", json!({"answer": answer["canonical_solution"]}).to_string());
    workspace.write(
        "suite.yaml",
        "datasets: rows.jsonl\nanswers: answers.jsonl\nprompt: '{{ prompt }}'\nmetrics: [python_tests]\n",
    );
}

#[test]
fn component_that_is_not_installed_is_reported_once() {
    let (installation, workspace) = (Installation::new(), Workspace::new());
    write_suite(&workspace);
    workspace.write("entry.yaml", less_fuel("python_tests") + &workspace.read("suite.yaml"));
    for command in [
        &["validate", "suite.yaml"][..],
        &["validate", "entry.yaml"],
        &["metrics", "python_tests"],
        &["plugin", "inspect", "python_tests"],
    ] {
        let ended = installation.run(&workspace, command).expect_code(2);
        let message = "the metric 'python_tests' is not installed: there is no python_tests.wasm in ";
        assert_eq!(ended.stderr.matches(message).count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains("/lib/gage-host/plugins"), "{}", ended.stderr);
        assert!(ended.stderr.contains("`make python-runner`"), "{}", ended.stderr);
    }
    let ended = installation.run(&workspace, &["metrics", "javascript_tests"]).expect_code(2);
    assert!(ended.stderr.contains("`make javascript-runner`"), "{}", ended.stderr);
}

#[test]
fn installed_component_is_listed_as_it_describes_itself() {
    for (component, name) in [(component(), "python_tests"), (javascript_component(), "javascript_tests")] {
        if let Some(component) = component {
            is_listed_as_it_describes_itself(component, name);
        }
    }
}

fn is_listed_as_it_describes_itself(component: &Path, name: &str) {
    let (installation, workspace) = (Installation::with(component), Workspace::new());
    let json = |arguments: &[&str]| installation.run(&workspace, arguments).expect_code(0).stdout_json();
    let own = json(&["plugin", "inspect", name, "--json"]);
    assert_eq!(
        (&own["limits"]["fuel_per_item"], &own["limits"]["wall_time"]),
        (&json!(10_000_000_000_u64), &json!(60.0))
    );
    let listed = json(&["list", "--json"]);
    let entry = |kind: &str| {
        let mut entries = listed[kind].as_array().expect("a list").iter();
        entries.find(|entry| entry["name"] == name).expect("the component")
    };
    let (metric, plugin) = (entry("metrics"), entry("plugins"));
    let file = fs::canonicalize(installation.copy_of(component)).expect("the component");
    assert_eq!(plugin["source"], file.display().to_string());
    for key in ["description", "version", "digest"] {
        assert_eq!(plugin[key], own[key], "{key}");
    }
    let members = own["members"].as_array().expect("members");
    assert_eq!(members.len(), 1);
    for (key, value) in members[0].as_object().expect("a member") {
        assert_eq!(metric[key], *value, "{key}: record the description in host/bundle/descriptions again");
    }
    let explained = json(&["metrics", name, "--json"]);
    assert_eq!(explained["name"], name);
}

#[test]
fn lock_pins_the_installed_component() {
    let Some(component) = component() else { return };
    let (installation, workspace) = (Installation::with(component), Workspace::new());
    write_suite(&workspace);
    installation.run(&workspace, &["lock", "suite.yaml"]).expect_code(0);
    installation.run(&workspace, &["run", "suite.yaml", "--locked", "--run-id", "r"]).expect_code(0);
    assert_eq!(workspace.json("r", "summary.json")["metrics"][0]["value"], 1.0);
    let limits = &workspace.json("r", "manifest.json")["identity"]["plugins"]["python_tests"]["limits"];
    assert_eq!(limits["fuel_per_item"], json!(10_000_000_000_u64));
    for (content, found) in [(Some("no component"), "sha256:"), (None, "(nothing)")] {
        match content {
            Some(text) => fs::write(installation.copy_of(component), text).expect("written"),
            None => fs::remove_file(installation.copy_of(component)).expect("removed"),
        }
        let ended = installation.run(&workspace, &["run", "suite.yaml", "--locked"]).expect_code(3);
        let row = ended.stderr.lines().find(|line| line.contains("plugins.python_tests.digest"));
        assert!(row.is_some_and(|row| row.contains(found)), "{}", ended.stderr);
    }
}

#[test]
fn programs_pass_exactly_if_they_are_right() {
    passes_its_cases(component(), "python_tests", "candidates.jsonl", "151 of 151");
}

#[test]
fn hostile_programs_do_not_pass() {
    passes_its_cases(component(), "python_tests", "hostile.jsonl", "148 of 148");
}

/// Right, wrong and hostile programs, and tests that cannot be used.
#[test]
fn programs_in_javascript_pass_exactly_if_they_are_right() {
    passes_its_cases(javascript_component(), "javascript_tests", "javascript.jsonl", "213 of 213");
}

/// Rows of the shape of HumanEval, with two answers for each: the right program and an endless loop.
#[test]
fn pass_at_k_counts_programs_that_do_not_end() {
    let Some(component) = component() else { return };
    let workspace = Workspace::new();
    let rows = fs::read_to_string(repository().join("tests/code/humaneval.jsonl")).expect("the rows");
    let rows: Vec<&str> = rows.lines().take(6).collect();
    workspace.write("rows.jsonl", rows.join("\n"));
    let answers: String = rows
        .iter()
        .enumerate()
        .map(|(place, row)| {
            let row: Value = serde_json::from_str(row).expect("JSON");
            let other = if place % 2 == 0 {
                json!("    while True: pass\n")
            } else {
                row["canonical_solution"].clone()
            };
            format!("{}\n{}\n", json!({"answer": row["canonical_solution"]}), json!({"answer": other}))
        })
        .collect();
    workspace.write("answers.jsonl", answers);
    workspace.write(
        "suite.yaml",
        format!(
            "{}datasets: rows.jsonl\nanswers: answers.jsonl\nprompt: '{{{{ prompt }}}}'\n\
             custom: {{repeat: 2}}\n\
             metrics: [{{metric_id: solved, implementation: python_tests, \
             aggregation: {{pass_at_k: {{k: [1, 2]}}}}}}]\n",
            less_fuel("python_tests")
        ),
    );
    let installation = Installation::with(component);
    installation.run(&workspace, &["run", "suite.yaml", "--run-id", "r"]).expect_code(0);
    let metric = &workspace.json("r", "summary.json")["metrics"][0];
    assert_eq!((&metric["value"], &metric["n"]), (&json!(0.75), &json!(6)));
    assert_eq!(metric["error_tags"], json!([{"tag": "timeout", "count": 3}]));
    let error = metric["stderr"].as_f64().expect("a standard error");
    assert!((error - 0.0125_f64.sqrt()).abs() < 1e-9, "{error}");
}
