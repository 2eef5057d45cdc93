//! The program that runs models: beside `gage-host` or named, missing, or from another build.

use crate::started_runs::tiny;
use crate::support::{CommandOutput, Workspace, program_file};
use gage_model_protocol::{BuildInfo, Confinement, Greeting, KernelBuild, PROTOCOL_VERSION, write_frame};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Creates a folder with a copy of the program, and files under some names next to it.
fn program_folder(workspace: &Workspace, beside: &[(&str, &Path)]) -> PathBuf {
    let folder = workspace.path("bin");
    std::fs::create_dir(&folder).expect("a folder");
    let program = program_file("gage-host");
    for (name, original) in beside.iter().chain(&[("gage-host", program.as_path())]) {
        let file = folder.join(name);
        std::fs::hard_link(original, &file)
            .or_else(|_| std::fs::copy(original, &file).map(|_| ()))
            .expect("the program once more");
    }
    folder
}

/// Runs one sample with the program in a folder.
fn run_from(workspace: &Workspace, folder: &Path, further: &[&str]) -> CommandOutput {
    run_whole_from(workspace, folder, &[&["--max-samples", "1"], further].concat())
}

/// Runs the whole suite with the program in a folder.
fn run_whole_from(workspace: &Workspace, folder: &Path, further: &[&str]) -> CommandOutput {
    let mut command = std::process::Command::new(folder.join("gage-host"));
    let environment = workspace.program();
    command.envs(environment.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", "/nowhere").current_dir(workspace.path("")).stdin(Stdio::null());
    command.args(["run", &tiny(), "--quiet", "--log", "info"]).args(further);
    CommandOutput::of(command.output().expect("the program runs"))
}

/// A variant named for a processor must be built for it, and `kernels` sets whether it may be used.
#[cfg(target_arch = "x86_64")]
#[test]
fn variant_beside_the_program_is_used_where_the_machine_can() {
    let workspace = Workspace::new();
    let model = program_file("gage-model");
    let folder = program_folder(&workspace, &[("gage-model", &model), ("gage-model-avx512", &model)]);
    let flags = ["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_vnni"];
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let runs_here = flags.iter().all(|flag| cpu.contains(flag));
    let baseline =
        run_from(&workspace, &folder, &["--set", "backends.tiny.config.kernels=baseline"]).expect_code(0);
    let line = baseline.stderr.lines().find(|line| line.contains("in a process of its own")).expect("a line");
    assert!(!line.contains("gage-model-avx512"), "{line}");
    // The file is a copy of the baseline, which is detected before it runs a model.
    let auto = run_from(&workspace, &folder, &["--set", "backends.tiny.config.kernels=auto"]);
    assert_eq!(auto.code, Some(if runs_here { 2 } else { 0 }), "{}", auto.transcript());
    assert_eq!(
        auto.stderr.contains("gage-model-avx512 is not what its name says"),
        runs_here,
        "{}",
        auto.stderr
    );
}

#[cfg(unix)]
#[test]
fn missing_or_wrong_model_program_is_named_with_the_remedy() {
    let workspace = Workspace::new();
    let folder = program_folder(&workspace, &[]);
    let missing = run_from(&workspace, &folder, &[]).expect_code(2);
    assert!(
        missing.stderr.contains("is neither in ") && missing.stderr.contains("make release"),
        "{}",
        missing.stderr
    );
    let other = workspace.write("bin/gage-model", "#!/bin/sh\necho 'what is this?'\nread answer\n");
    std::fs::set_permissions(other, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    let wrong = run_from(&workspace, &folder, &[]).expect_code(2);
    assert!(wrong.stderr.contains("gage-model is not gage-model"), "{}", wrong.stderr);
    let named = workspace
        .program()
        .env("GAGE_HOST_MODEL_PROGRAM", program_file("gage-model"))
        .args(["run", &tiny(), "--quiet", "--max-samples", "1"])
        .output();
    CommandOutput::of(named.expect("the program runs")).expect_code(0);
}

/// A locked run uses the kernels that its lock pins. If they cannot run, no model is loaded.
#[cfg(unix)]
#[test]
fn locked_run_uses_the_kernels_of_its_lock() {
    let workspace = Workspace::new();
    let model = program_file("gage-model");
    let folder = program_folder(&workspace, &[("gage-model", &model)]);
    let lock = workspace.path("tiny.gage.lock");
    let lock = lock.to_str().expect("a path");
    workspace.run(&["lock", &tiny(), "--lock", lock]).expect_code(0);
    let locked = ["--locked", "--lock", lock];
    // The copy under the better name is never started: it would be refused.
    let file = workspace.path("bin/gage-model-avx512");
    std::fs::copy(&model, file).expect("a copy");
    run_whole_from(&workspace, &folder, &locked).expect_code(0);
    let check = workspace.read("tiny.gage.lock");
    assert!(check.contains("kernel_variant: baseline"), "{check}");

    // A program with other kernels: it sends a greeting, but cannot run a model.
    let mut greeting = Vec::new();
    let build = BuildInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL_VERSION,
        variant: KernelBuild::Cuda.into(),
        llama_cpp_2: String::new(),
        llama_cpp_sys_2: String::new(),
    };
    let confinement =
        Confinement { privileges: Ok(()), files: Ok(1), system_calls: Ok(()), reaches_gpus: true };
    write_frame(&mut greeting, &Greeting { build, confinement }).expect("a frame");
    std::fs::write(workspace.path("other-greeting"), greeting).expect("written");
    let other = workspace.write("other", "#!/bin/sh\ncat \"$0-greeting\"\n");
    std::fs::set_permissions(&other, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    let mut command = workspace.program();
    command.env("GAGE_HOST_MODEL_PROGRAM", &other).args(["run", &tiny(), "--log", "info"]).args(locked);
    let refused = CommandOutput::of(command.output().expect("the program runs")).expect_code(3);
    assert!(
        refused.stderr.contains("the kernel variant `baseline`")
            && refused.stderr.contains("built for `cuda`"),
        "{}",
        refused.stderr
    );
    assert!(!refused.stderr.contains("in a process of its own"), "{}", refused.stderr);
    assert_eq!(std::fs::read_dir(workspace.path("runs")).expect("the first run").count(), 1);
}

/// The tests use a build without GPU kernels.
#[test]
fn layers_for_a_gpu_that_is_not_there_are_told_once() {
    let workspace = Workspace::new();
    let set = "backends.tiny.config.gpu_layers=99";
    let arguments = ["run", &tiny(), "--run-id", "r", "--max-samples", "1", "--set", set];
    let ended = workspace.run(&arguments).expect_code(0);
    assert_eq!(ended.stderr.matches("`gpu_layers` has no effect").count(), 1, "{}", ended.stderr);
    let manifest = workspace.json("r", "manifest.json");
    assert_eq!(manifest["identity"]["backends"]["tiny"]["details"]["gpu_layers"], 0);
}

/// A kernel may lack Landlock. The others are part of every kernel that a distribution supports.
#[cfg(target_os = "linux")]
#[test]
fn doctor_reports_the_confinement_of_the_model_process() {
    let workspace = Workspace::new();
    let json = workspace.run(&["doctor", "--json"]).expect_code(0).stdout_json();
    let parts = json["model_program"]["confinement"].as_array().expect("parts");
    let is_in_force = |name: &str| {
        let part = parts.iter().find(|part| part["name"] == name).expect("a part");
        part["is_in_force"].as_bool().expect("a truth value")
    };
    assert!(is_in_force("privileges") && is_in_force("system calls"), "{json:#}");
    let text = workspace.run(&["doctor"]).expect_code(0).stdout;
    for (name, part) in [("model program", "gage-model"), ("environment", "only variables of OpenMP")] {
        assert!(text.lines().any(|line| line.starts_with(name) && line.contains(part)), "{name}: {text}");
    }
    let landlock = if is_in_force("files") { "(Landlock " } else { "not limited: " };
    assert!(text.lines().any(|line| line.starts_with("files") && line.contains(landlock)), "{text}");
    let variables = [("GAGE_HOST_MODEL_PROGRAM", "/nowhere/gage-model")];
    let missing = workspace.run_with_env(variables, &["doctor"]).expect_code(0).stdout;
    assert!(missing.contains("cannot be used: /nowhere/gage-model cannot be started"), "{missing}");
}
