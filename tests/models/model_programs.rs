//! The program that runs models: beside `gage-host`, installed or named, missing, or from another build; and its kernels.

use crate::started_runs::tiny;
use crate::support::{CommandOutput, Workspace, program_file};
use gage_model_protocol::{
    BuildInfo, Confinement, FromModel, GpuDevice, Greeting, KernelBuild, KernelVariant, LoadedModel,
    ModelFacts, ModelOptions, PROTOCOL_VERSION, Settings, UnusedKernels, write_frame,
};
use std::collections::BTreeMap;
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

/// Returns the greeting of a program with these kernels.
fn greeting(variant: &str, unused_kernels: Vec<UnusedKernels>) -> Greeting {
    let build = BuildInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: PROTOCOL_VERSION,
        variant: variant.parse::<KernelVariant>().expect("a variant"),
        modules: BTreeMap::new(),
        devices: Vec::new(),
        llama_cpp_2: String::new(),
        llama_cpp_sys_2: String::new(),
    };
    let confinement =
        Confinement { privileges: Ok(()), files: Ok(1), system_calls: Ok(()), reaches_gpus: true };
    Greeting { build, confinement, unused_kernels, free_gpu_memory: BTreeMap::new(), problem: None }
}

/// Writes a program that sends a greeting, and cannot run a model. It notes its arguments in `NAME-arguments`.
#[cfg(unix)]
fn write_program(workspace: &Workspace, name: &str, greeting: &Greeting) -> PathBuf {
    let mut frame = Vec::new();
    write_frame(&mut frame, greeting).expect("a frame");
    workspace.write(&format!("{name}-greeting"), frame);
    let script = "#!/bin/sh\necho \"$@\" >\"$0-arguments\"\ncat \"$0-greeting\"\n";
    let file = workspace.write(name, script);
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    file
}

/// Installs a program that has loaded `baseline`, beside kernels for GPUs.
#[cfg(unix)]
fn write_installation(workspace: &Workspace) -> PathBuf {
    let reason = "the NVIDIA driver is missing (libcuda.so.1)".to_owned();
    let mut greeting = greeting("baseline", vec![UnusedKernels { name: KernelBuild::Cuda, reason }]);
    let digest = gage_core::Digest::of_bytes(b"kernels");
    greeting.build.modules.insert("libggml-cpu-haswell.so".to_owned(), digest);
    write_program(workspace, "lib/gage-host/gage-model", &greeting);
    for kernels in ["baseline", "cuda"] {
        let folder = workspace.path("lib/gage-host/kernels").join(kernels);
        std::fs::create_dir_all(folder).expect("a folder");
    }
    program_folder(workspace, &[])
}

/// The installed program gets the folders of its kernels, those for GPUs first.
#[cfg(unix)]
#[test]
fn installed_kernels_are_offered_and_reported() {
    let workspace = Workspace::new();
    let folder = write_installation(&workspace);
    let doctor = |arguments: &[&str]| {
        let mut command = std::process::Command::new(folder.join("gage-host"));
        command
            .env("PATH", "/nowhere")
            .env("GGML_BACKEND_PATH", "/nowhere/x.so")
            .arg("doctor")
            .args(arguments);
        CommandOutput::of(command.output().expect("the program runs")).expect_code(0)
    };
    let json = doctor(&["--json"]).stdout_json();
    let root = workspace.path("lib/gage-host").canonicalize().expect("a path");
    let arguments = workspace.read("lib/gage-host/gage-model-arguments");
    let expected = format!("--kernels {0}/kernels/cuda --kernels {0}/kernels/baseline", root.display());
    assert!(arguments.trim_end().ends_with(&expected), "{arguments}");
    let states = &json["model_program"]["kernels"];
    assert_eq!(states[0]["name"], "cuda");
    assert_eq!(states[0]["reason"], "the NVIDIA driver is missing (libcuda.so.1)");
    assert_eq!(states[1], serde_json::json!({"name": "baseline", "is_in_use": true, "reason": null}));
    let text = doctor(&[]).stdout;
    for expected in ["cuda: not used: the NVIDIA driver is missing (libcuda.so.1)", "baseline: in use"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }

    // With a GPU.
    let mut greeting = greeting("cuda 9.0", Vec::new());
    greeting.build.modules.insert("libggml-cuda.so".to_owned(), gage_core::Digest::of_bytes(b""));
    let device =
        GpuDevice { name: "CUDA0".to_owned(), description: "NVIDIA H200".to_owned(), memory_bytes: 3 << 30 };
    greeting.build.devices.push(device);
    greeting.free_gpu_memory.insert("CUDA0".to_owned(), 1 << 30);
    write_program(&workspace, "lib/gage-host/gage-model", &greeting);
    let text = doctor(&[]).stdout;
    for expected in ["(cuda 9.0)", "cuda: in use", "CUDA0: NVIDIA H200, 3.0 GiB of memory, 1.0 GiB free"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[cfg(unix)]
#[test]
fn kernels_that_a_suite_names_must_be_used() {
    let workspace = Workspace::new();
    let folder = write_installation(&workspace);
    let set = |kernels: &str| format!("backends.tiny.config.kernels={kernels}");
    for (kernels, expected) in [
        (
            "cuda",
            "the kernels `cuda` cannot be used: the NVIDIA driver is missing (libcuda.so.1); installed are `cuda`",
        ),
        ("vulkan", "the kernels `vulkan` are not in "),
    ] {
        let refused = run_from(&workspace, &folder, &["--set", &set(kernels)]).expect_code(2);
        assert!(refused.stderr.contains(expected), "{kernels}: {}", refused.stderr);
    }
    // The program ends after its greeting, so no run succeeds.
    let auto = run_from(&workspace, &folder, &[]);
    assert_eq!(auto.stderr.matches("no GPU is used, although").count(), 1, "{}", auto.stderr);
    let chosen = run_from(&workspace, &folder, &["--set", &set("baseline")]);
    assert!(!chosen.stderr.contains("no GPU is used"), "{}", chosen.stderr);

    let greeting = Greeting {
        problem: Some("it was given no kernels for the processor".to_owned()),
        ..greeting("baseline", Vec::new())
    };
    write_program(&workspace, "lib/gage-host/gage-model", &greeting);
    let broken = run_from(&workspace, &folder, &[]).expect_code(2);
    assert!(broken.stderr.contains("cannot run models: it was given no kernels"), "{}", broken.stderr);
}

/// The program ends after it has loaded the model, so no run succeeds.
#[cfg(unix)]
#[test]
fn replicas_warn_once_that_no_gpu_is_used() {
    let workspace = Workspace::new();
    let folder = write_installation(&workspace);
    let loaded = LoadedModel {
        facts: ModelFacts::default(),
        settings: Settings::resolve(&ModelOptions::new(PathBuf::from("m.gguf")), 512, 640)
            .expect("in bounds"),
        kernels: "CPU".to_owned(),
        projector: None,
        grammar: None,
        build: greeting("baseline", Vec::new()).build,
    };
    let messages = workspace.path("lib/gage-host/gage-model-greeting");
    let mut frames = std::fs::read(&messages).expect("a greeting");
    write_frame(&mut frames, &FromModel::Opened(Box::new(loaded))).expect("a frame");
    std::fs::write(&messages, frames).expect("written");
    let ended = run_from(&workspace, &folder, &["--set", "backends.tiny.config.replicas=2"]);
    assert!(ended.stderr.matches("in a process of its own").count() > 1, "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("no GPU is used, although").count(), 1, "{}", ended.stderr);
}

/// The program of the tests has its kernels compiled in.
#[test]
fn compiled_in_kernels_are_baseline() {
    let workspace = Workspace::new();
    let (baseline, other) = ("backends.tiny.config.kernels=baseline", "backends.tiny.config.kernels=avx512");
    let one = ["run", &tiny(), "--max-samples", "1", "--run-id"];
    workspace.run(&[&one[..], &["r", "--set", baseline]].concat()).expect_code(0);
    let refused = workspace.run(&[&one[..], &["s", "--set", other]].concat()).expect_code(2);
    assert!(
        refused
            .stderr
            .contains("are compiled in (`baseline`), and the suite asks for `avx512`; leave `kernels` out"),
        "{}",
        refused.stderr
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
    run_whole_from(&workspace, &folder, &locked).expect_code(0);
    let check = workspace.read("tiny.gage.lock");
    assert!(check.contains("kernel_variant: baseline"), "{check}");

    // A program with other kernels: it sends a greeting, but cannot run a model.
    let other = write_program(&workspace, "other", &greeting("cuda", Vec::new()));
    let run_locked = || {
        let mut command = workspace.program();
        command.env("GAGE_HOST_MODEL_PROGRAM", &other).args(["run", &tiny(), "--log", "info"]).args(locked);
        let refused = CommandOutput::of(command.output().expect("the program runs")).expect_code(3).stderr;
        assert!(refused.contains("the kernel variant `baseline`"), "{refused}");
        assert!(!refused.contains("in a process of its own"), "{refused}");
        refused
    };
    let refused = run_locked();
    assert!(refused.contains("are compiled in, and built for `cuda`"), "{refused}");
    // Other kernels are installed beside the program.
    std::fs::create_dir_all(workspace.path("kernels/cuda")).expect("a folder");
    let refused = run_locked();
    assert!(refused.contains("the kernels `baseline` are not in "), "{refused}");
    assert!(refused.contains("installed are `cuda`"), "{refused}");
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
