//! A model in a process of its own that is killed, and `gage-host model`.

use crate::hub_server::{Fault, HubServer};
use crate::support::{CommandOutput, Workspace, repository};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};

fn tiny() -> String {
    repository().join("config/custom/tiny.yaml").display().to_string()
}

fn model() -> String {
    repository().join("config/models/gage-tiny.gguf").display().to_string()
}

/// A run that has answered some samples, with the process of its model and what is left of its log.
#[cfg(unix)]
fn under_way(workspace: &Workspace, run_id: &str) -> (Child, u32, BufReader<std::process::ChildStderr>) {
    under_way_with(workspace, run_id, &[])
}

#[cfg(unix)]
fn under_way_with(
    workspace: &Workspace,
    run_id: &str,
    further: &[&str],
) -> (Child, u32, BufReader<std::process::ChildStderr>) {
    let mut command = workspace.program();
    command.args(["run", &tiny(), "--run-id", run_id, "--quiet", "--json", "--log", "info"]).args(further);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut log = BufReader::new(child.stderr.take().expect("piped"));
    let mut model = None;
    let mut line = String::new();
    while model.is_none() {
        line.clear();
        assert!(log.read_line(&mut line).expect("UTF-8") > 0, "the run ended without a model");
        let pid = line.split("pid=").nth(1).and_then(|rest| rest.split_whitespace().next());
        model = pid.filter(|_| line.contains("in a process of its own")).and_then(|pid| pid.parse().ok());
    }
    let journal = workspace.path(&format!("runs/{run_id}/journal/000001.jsonl"));
    while std::fs::read_to_string(&journal).map_or(0, |text| text.lines().count()) < 10 {
        assert!(child.try_wait().expect("a child").is_none(), "the run ended too early");
        std::thread::yield_now();
    }
    (child, model.expect("told"), log)
}

#[cfg(unix)]
fn kill(pid: u32) {
    let status = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status();
    assert!(status.expect("kill runs").success());
}

#[cfg(unix)]
#[test]
fn a_model_that_is_killed_costs_a_run_nothing() {
    let workspace = Workspace::new();
    let (child, model, mut log) = under_way(&workspace, "killed");
    kill(model);
    let rest = std::thread::spawn(move || {
        let mut rest = String::new();
        log.read_to_string(&mut rest).map(|_| rest)
    });
    let ended = child.wait_with_output().expect("the program ends");
    let log = rest.join().expect("no panic").expect("UTF-8");
    assert_eq!(ended.status.code(), Some(0), "{log}");
    assert!(log.contains("ended by the signal 9 (SIGKILL"), "{log}");
    workspace.run(&["run", &tiny(), "--run-id", "whole", "--quiet"]).expect_code(0);
    for file in ["samples.jsonl", "summary.json"] {
        assert_eq!(
            workspace.read(&format!("runs/killed/{file}")),
            workspace.read(&format!("runs/whole/{file}")),
            "{file}"
        );
    }
}

/// A model that crashes whenever it is started is given up, and nothing that was answered is lost.
#[cfg(unix)]
#[test]
fn a_model_that_crashes_again_and_again_ends_the_run_as_incomplete() {
    let workspace = Workspace::new();
    let (child, model, mut log) = under_way(&workspace, "given-up");
    kill(model);
    let rest = std::thread::spawn(move || {
        let (mut rest, mut line) = (String::new(), String::new());
        while log.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            let pid = line.split("pid=").nth(1).and_then(|rest| rest.split_whitespace().next());
            if let Some(pid) = pid.filter(|_| line.contains("in a process of its own")) {
                kill(pid.parse().expect("a number"));
            }
            rest.push_str(&line);
            line.clear();
        }
        rest
    });
    let ended = child.wait_with_output().expect("the program ends");
    let log = rest.join().expect("no panic");
    assert_eq!(ended.status.code(), Some(4), "{log}");
    assert!(log.contains("without an answer between them"), "{log}");
    assert!(log.contains("the model of the backend `tiny` is lost"), "{log}");
    // The model is there again, and what it answered before is not asked once more.
    workspace.run(&["run", &tiny(), "--resume", "given-up", "--quiet"]).expect_code(0);
    workspace.run(&["run", &tiny(), "--run-id", "whole", "--quiet"]).expect_code(0);
    assert_eq!(workspace.read("runs/given-up/samples.jsonl"), workspace.read("runs/whole/samples.jsonl"));
}

/// A run with a copy of the model, under way; with the copy, its process and what becomes of its log.
#[cfg(unix)]
fn under_way_with_copy(
    workspace: &Workspace,
    run_id: &str,
) -> (Child, u32, std::path::PathBuf, std::thread::JoinHandle<String>) {
    let copy = workspace.path("copy.gguf");
    std::fs::copy(model(), &copy).expect("copied");
    let set = format!("backends.tiny.config.model_path={}", copy.display());
    let (child, pid, mut log) = under_way_with(workspace, run_id, &["--set", &set]);
    let rest = std::thread::spawn(move || {
        let mut rest = String::new();
        log.read_to_string(&mut rest).expect("UTF-8");
        rest
    });
    (child, pid, copy, rest)
}

#[cfg(unix)]
#[test]
fn replaced_model_is_not_loaded_after_a_crash() {
    let workspace = Workspace::new();
    let (child, pid, copy, rest) = under_way_with_copy(&workspace, "replaced");
    std::fs::copy(model().replace("gage-tiny.gguf", "gage-tiny-early.gguf"), workspace.path("other"))
        .and_then(|_| std::fs::rename(workspace.path("other"), &copy))
        .expect("replaced");
    kill(pid);
    let ended = child.wait_with_output().expect("the program ends");
    let log = rest.join().expect("no panic");
    assert_eq!(ended.status.code(), Some(2), "{log}");
    assert!(log.contains("copy.gguf changed after the model was loaded: its digest is sha256:"), "{log}");
    assert!(!workspace.path("runs/replaced/summary.json").exists());
    // With the first model back, the answers that it gave are kept.
    std::fs::copy(model(), &copy).expect("restored");
    let set = format!("backends.tiny.config.model_path={}", copy.display());
    workspace.run(&["run", &tiny(), "--resume", "replaced", "--quiet", "--set", &set]).expect_code(0);
    workspace.run(&["run", &tiny(), "--run-id", "whole", "--quiet"]).expect_code(0);
    assert_eq!(workspace.read("runs/replaced/samples.jsonl"), workspace.read("runs/whole/samples.jsonl"));
}

#[cfg(unix)]
#[test]
fn overwritten_model_ends_the_run_without_figures() {
    let workspace = Workspace::new();
    let (child, _, copy, rest) = under_way_with_copy(&workspace, "overwritten");
    // The last byte belongs to a weight: the model goes on, with another number in it.
    let mut bytes = std::fs::read(&copy).expect("read");
    *bytes.last_mut().expect("a byte") ^= 1;
    std::fs::OpenOptions::new()
        .write(true)
        .open(&copy)
        .and_then(|mut file| std::io::Write::write_all(&mut file, &bytes))
        .expect("written in place");
    let ended = child.wait_with_output().expect("the program ends");
    let log = rest.join().expect("no panic");
    assert_eq!(ended.status.code(), Some(2), "{log}");
    assert!(log.contains("copy.gguf changed after the model was loaded"), "{log}");
    assert!(!workspace.path("runs/overwritten/summary.json").exists());
}

/// The build that suits the machine runs the model.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_build_beside_the_program_runs_models_where_the_machine_can() {
    let workspace = Workspace::new();
    let original = std::path::PathBuf::from(workspace.program().get_program());
    std::fs::create_dir(workspace.path("bin")).expect("a folder");
    for name in ["gage-host", "gage-host-avx512"] {
        let file = workspace.path(&format!("bin/{name}"));
        std::fs::hard_link(&original, &file)
            .or_else(|_| std::fs::copy(&original, &file).map(|_| ()))
            .expect("the program once more");
    }
    let runs_here = ["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512vnni"];
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let runs_here = runs_here.iter().all(|flag| cpu.contains(&flag.replace("avx512vnni", "avx512_vnni")));
    for (kernels, expected) in [("auto", runs_here), ("baseline", false)] {
        let set = format!("backends.tiny.config.kernels={kernels}");
        let mut command = std::process::Command::new(workspace.path("bin/gage-host"));
        let environment = workspace.program();
        command.envs(environment.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(workspace.path("")).stdin(Stdio::null());
        command.args(["run", &tiny(), "--quiet", "--max-samples", "1", "--log", "info", "--set", &set]);
        let ended = CommandOutput::of(command.output().expect("the program runs")).expect_code(0);
        let line = ended.stderr.lines().find(|line| line.contains("in a process of its own")).expect("told");
        assert_eq!(line.contains("gage-host-avx512"), expected, "{kernels}: {line}");
    }
}

/// Whatever way a run ends, its model does not outlive it.
#[cfg(target_os = "linux")]
#[test]
fn a_run_that_is_killed_takes_its_model_along() {
    let workspace = Workspace::new();
    let (mut child, model, _log) = under_way(&workspace, "gone");
    child.kill().expect("killed");
    child.wait().expect("gone");
    // Ends with the process, or when nobody has asked yet how it ended.
    loop {
        let state = std::fs::read_to_string(format!("/proc/{model}/stat"));
        if state.is_err() || state.is_ok_and(|state| state.contains(") Z ")) {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_model_runs_in_the_process_where_that_is_asked_for() {
    let workspace = Workspace::new();
    for isolation in ["thread", "process"] {
        let set = format!("backends.tiny.config.isolation={isolation}");
        let arguments =
            ["run", &tiny(), "--run-id", isolation, "--quiet", "--max-samples", "20", "--set", &set];
        workspace.run(&arguments).expect_code(0);
    }
    assert_eq!(workspace.read("runs/thread/samples.jsonl"), workspace.read("runs/process/samples.jsonl"));
}

/// The tests are of a build without kernels for a GPU.
#[test]
fn layers_for_a_gpu_that_is_not_there_are_told_once() {
    let workspace = Workspace::new();
    let set = "backends.tiny.config.gpu_layers=99";
    for isolation in ["thread", "process"] {
        let isolated = format!("backends.tiny.config.isolation={isolation}");
        let arguments =
            ["run", &tiny(), "--run-id", isolation, "--max-samples", "1", "--set", set, "--set", &isolated];
        let ended = workspace.run(&arguments).expect_code(0);
        assert_eq!(ended.stderr.matches("`gpu_layers` has no effect").count(), 1, "{}", ended.stderr);
        let manifest = workspace.json(isolation, "manifest.json");
        assert_eq!(manifest["identity"]["backends"]["tiny"]["details"]["gpu_layers"], 0);
    }
}

#[test]
fn a_model_file_is_inspected_without_loading_it() {
    let workspace = Workspace::new();
    let shown = workspace.run(&["model", "inspect", &model()]).expect_code(0);
    for expected in ["llama", "Q8_0", "640 tokens", "0.9 million"] {
        assert!(shown.stdout.contains(expected), "{expected}: {}", shown.stdout);
    }
    let json = workspace.run(&["model", "inspect", &model(), "--json", "--slots", "2"]).expect_code(0);
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json["architecture"], "llama");
    assert_eq!(json["memory"]["slots"], 2);
    assert!(json["chat_template"].as_str().is_some_and(|template| template.contains("<|")), "{json}");
    workspace.write("none.gguf", "PK");
    let refused = workspace.run(&["model", "inspect", "none.gguf"]).expect_code(2);
    assert!(refused.stderr.contains("is not in the GGUF format"), "{}", refused.stderr);
}

#[test]
fn model_files_are_listed_with_those_that_are_none() {
    let workspace = Workspace::new();
    std::fs::create_dir(workspace.path("models")).expect("a folder");
    std::fs::copy(model(), workspace.path("models/tiny.gguf")).expect("copied");
    workspace.write("models/deeper/none.GGUF", "GGUF");
    workspace.write("models/notes.txt", "no model");
    let shown = workspace.run(&["model", "list", "models"]).expect_code(0);
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert!(
        lines.len() == 2 && lines[0].contains("cut off") && lines[1].contains("Q8_0"),
        "{}",
        shown.stdout
    );
    let json = workspace.run(&["model", "list", "models", "--json"]).expect_code(0);
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(2));
    workspace.run(&["model", "list", "nowhere"]).expect_code(2);
}

#[test]
fn a_model_file_is_fetched_once_and_checked() {
    let workspace = Workspace::new();
    let server = HubServer::start();
    let commit = "0123456789abcdef0123456789abcdef01234567";
    server.commit("owner/tiny", "main", commit);
    server.large_file("owner/tiny", "deeper/tiny.gguf", std::fs::read(model()).expect("the model"));
    server.file("owner/tiny", "README.md", "a model");
    // The connection breaks once; the fetch goes on where it was.
    server.fault("deeper/tiny.gguf", Fault::CutAfter(100_000));
    let cache = workspace.path("cache");
    let fetch = |arguments: &[&str]| {
        let mut command = workspace.program();
        command.args(["model", "fetch"]).args(arguments).args(["--endpoint", &server.endpoint(), "--quiet"]);
        CommandOutput::of(command.env("GAGE_CACHE_DIR", &cache).output().expect("the program runs"))
    };
    let file = fetch(&["hub:owner/tiny/deeper/tiny.gguf"]).expect_code(0).stdout;
    assert_eq!(std::fs::read(file.trim()).expect("fetched"), std::fs::read(model()).expect("the model"));
    assert_eq!(server.seen_of("deeper/tiny.gguf").len(), 2);
    let json = fetch(&["hub:owner/tiny/deeper/tiny.gguf@main", "--json", "--offline"]).expect_code(0);
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json["commit"], commit);
    assert_eq!(server.seen_of("deeper/tiny.gguf").len(), 2, "it is there");
    let wrong = "0".repeat(64);
    let refused = fetch(&["hub:owner/tiny/deeper/tiny.gguf", "--sha256", &wrong]).expect_code(2);
    assert!(refused.stderr.contains("has the digest"), "{}", refused.stderr);
    let missing = fetch(&["hub:owner/tiny/other.gguf"]).expect_code(2);
    assert!(missing.stderr.contains("model 'owner/tiny'"), "{}", missing.stderr);
    for reference in ["hub:owner/none/tiny.gguf", "hub:owner/tiny/deeper/tiny.gguf@v9"] {
        let unknown = fetch(&[reference]).expect_code(2).stderr;
        assert!(unknown.contains("model 'owner/") && !unknown.contains("dataset"), "{unknown}");
    }
    let none = fetch(&["hub:owner/tiny/README.md"]).expect_code(2);
    assert!(none.stderr.contains("README.md"), "{}", none.stderr);

    // The same file by its address alone, from a server that says nothing of its digest.
    let address = server.address_of("owner/tiny", commit, "deeper/tiny.gguf");
    let web = fetch(&[&address, "--json"]).expect_code(0);
    let web: Value = serde_json::from_str(&web.stdout).expect("JSON");
    assert_eq!(web["digest"], json["digest"]);
    let digest = web["digest"].as_str().and_then(|text| text.strip_prefix("sha256:")).expect("a digest");
    let again = fetch(&[&address, "--sha256", digest, "--offline"]).expect_code(0);
    assert_eq!(Some(again.stdout.trim()), web["file"].as_str());
    assert_eq!(server.seen_of("deeper/tiny.gguf").len(), 3, "once more, and not twice");
    let refused = fetch(&[&address, "--sha256", &wrong]).expect_code(2);
    assert!(refused.stderr.contains(&wrong), "{}", refused.stderr);
    fetch(&["ftp://example.org/tiny.gguf"]).expect_code(2);
}

/// A suite names the files of its model on a hub: they are fetched once, locked by their digests, and enough without
/// a network.
#[test]
fn a_suite_takes_its_model_from_a_hub() {
    let workspace = Workspace::new();
    let server = HubServer::start();
    let first = "0123456789abcdef0123456789abcdef01234567";
    let read = |name: &str| std::fs::read(repository().join("config/models").join(name)).expect("a model");
    server.commit("owner/tiny", "main", first);
    server.large_file("owner/tiny", "deeper/tiny.gguf", read("gage-tiny.gguf"));
    server.large_file("owner/tiny", "mmproj.gguf", read("gage-tiny-mmproj.gguf"));
    let suite = std::fs::read_to_string(repository().join("config/custom/tiny_pictures.yaml"))
        .expect("a suite")
        .replace("${config_dir}/../models/gage-tiny.gguf", "hub:owner/tiny/deeper/tiny.gguf")
        .replace(
            "${config_dir}/../models/gage-tiny-mmproj.gguf",
            &format!("{}/owner/tiny/resolve/main/mmproj.gguf", server.endpoint()),
        )
        .replace("${config_dir}/..", &repository().join("config").display().to_string());
    workspace.write("suite.yaml", suite);
    let run = |arguments: &[&str]| {
        let mut command = workspace.program();
        command.args(arguments).arg("--quiet");
        command.env("HF_ENDPOINT", server.endpoint()).env("GAGE_CACHE_DIR", workspace.path("cache"));
        CommandOutput::of(command.output().expect("the program runs"))
    };
    // Nothing is fetched to validate, and nothing can be had without a network.
    run(&["validate", "suite.yaml"]).expect_code(0);
    let offline = run(&["run", "suite.yaml", "--offline", "--run-id", "none"]).expect_code(2);
    assert!(offline.stderr.contains("model 'owner/tiny'"), "{}", offline.stderr);
    assert!(server.seen().is_empty(), "{:?}", server.seen().len());
    run(&["lock", "suite.yaml"]).expect_code(0);
    run(&["run", "suite.yaml", "--locked", "--run-id", "locked"]).expect_code(0);
    let fetched = server.seen_of("deeper/tiny.gguf").len();
    assert_eq!((fetched, server.seen_of("mmproj.gguf").len()), (1, 1));
    // The hub is not asked at all.
    let asked = server.seen().len();
    run(&["run", "suite.yaml", "--frozen", "--run-id", "frozen"]).expect_code(0);
    assert_eq!(server.seen().len(), asked);
    assert_eq!(workspace.read("runs/frozen/samples.jsonl"), workspace.read("runs/locked/samples.jsonl"));
    // What the branch means now is another model.
    server.commit("owner/tiny", "main", "1123456789abcdef0123456789abcdef01234567");
    server.large_file("owner/tiny", "deeper/tiny.gguf", read("gage-tiny-early.gguf"));
    server.large_file("owner/tiny", "mmproj.gguf", read("gage-tiny-mmproj.gguf"));
    let other = run(&["run", "suite.yaml", "--locked", "--run-id", "other"]).expect_code(3);
    assert!(other.stderr.contains("file_digest"), "{}", other.stderr);
    let text = workspace.read("suite.yaml");
    workspace.write("suite.yaml", text.replace("hub:owner/tiny/deeper/tiny.gguf", "hub:owner/tiny"));
    let wrong = run(&["validate", "suite.yaml"]).expect_code(2);
    assert!(
        wrong.stderr.contains("names no file") && wrong.stderr.contains("hub:owner/name"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_model_is_measured() {
    let workspace = Workspace::new();
    let arguments = [
        "model",
        "bench",
        &model(),
        "--prompt-tokens",
        "16",
        "--answer-tokens",
        "4",
        "--repeats",
        "1",
        "--json",
    ];
    let json = workspace.run(&arguments).expect_code(0);
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    let figures = json["figures"].as_array().expect("figures");
    assert_eq!(figures.len(), 10, "{json}");
    assert!(
        figures.iter().all(|figure| figure["gage_host"].as_f64().is_some_and(|value| value > 0.0)),
        "{json}"
    );
}
