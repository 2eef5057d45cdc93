//! Kernels that `gage-model` loads: for the processor, and a module that stands for CUDA kernels without a GPU.
//!
//! `make test-kernels` builds a `gage-model` that loads its kernels, and runs these tests with it.

use crate::started_runs::tiny;
use crate::support::{CommandOutput, Workspace, program_file, repository};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Variable with the folder of a `gage-model` that loads its kernels, as `tools/model-program.sh` makes it.
const FOLDER_VARIABLE: &str = "GAGE_TEST_MODEL_FOLDER";

/// Copies a folder, with hard links where the file system allows it.
fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy_folder(&entry.path(), &target),
            false => link(&entry.path(), &target),
        }
    }
}

fn link(from: &Path, to: &Path) {
    std::fs::hard_link(from, to).or_else(|_| std::fs::copy(from, to).map(|_| ())).expect("a copy");
}

/// Installs the programs in a workspace as `make install` does.
fn install(workspace: &Workspace) {
    let staged = std::env::var_os(FOLDER_VARIABLE).map(PathBuf::from);
    let staged =
        staged.unwrap_or_else(|| panic!("{FOLDER_VARIABLE} is not set: `make test-kernels` sets it"));
    copy_folder(&staged, &workspace.path("lib/gage-host"));
    std::fs::create_dir(workspace.path("bin")).expect("a folder");
    link(&program_file("gage-host"), &workspace.path("bin/gage-host"));
}

/// Runs the installed program. The dynamic linker also searches these folders.
fn run_installed(workspace: &Workspace, libraries: &[PathBuf], arguments: &[&str]) -> CommandOutput {
    let mut command = Command::new(workspace.path("bin/gage-host"));
    let environment = workspace.program();
    command.env_clear().envs(environment.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("LD_LIBRARY_PATH", std::env::join_paths(libraries).expect("paths"));
    // llama.cpp would load it on its own.
    command.env("GGML_BACKEND_PATH", workspace.path("hostile.so"));
    command.current_dir(workspace.path("")).stdin(Stdio::null()).args(arguments);
    CommandOutput::of(command.output().expect("the program runs"))
}

fn run_one(workspace: &Workspace, libraries: &[PathBuf], run_id: &str, further: &[&str]) -> CommandOutput {
    let suite = tiny();
    let arguments = ["run", &suite, "--max-samples", "1", "--run-id", run_id];
    run_installed(workspace, libraries, &[&arguments, further].concat())
}

fn kernel_variant(workspace: &Workspace, run_id: &str) -> String {
    let manifest = workspace.json(run_id, "manifest.json");
    let details = &manifest["identity"]["backends"]["tiny"]["details"];
    assert!(details.get("kernel_modules").is_none(), "modules are facts: {details}");
    details["kernel_variant"].as_str().expect("a variant").to_owned()
}

/// Compiles a shared library.
fn compile(source: &Path, output: &Path, further: &[&str]) {
    std::fs::create_dir_all(output.parent().expect("a folder")).expect("a folder");
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-o"]).arg(output).arg(source).args(further);
    let ended = command.output().expect("a C compiler");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

/// Compiles a library in place of one of NVIDIA's, and returns its path.
fn stub(workspace: &Workspace, folder: &str, name: &str, code: &str) -> PathBuf {
    let (source, output) = (workspace.write("stub.c", code), workspace.path(folder).join(name));
    compile(&source, &output, &[&format!("-Wl,-soname,{name}")]);
    output
}

/// Returns whether an installed kernel is used, and why it is not.
fn state(workspace: &Workspace, libraries: &[PathBuf], kernels: &str) -> (bool, String) {
    let json = run_installed(workspace, libraries, &["doctor", "--json"]).expect_code(0).stdout_json();
    let all = json["model_program"]["kernels"].as_array().expect("kernels");
    let found =
        all.iter().find(|one| one["name"] == kernels).unwrap_or_else(|| panic!("{kernels}: {json:#}"));
    let reason = found["reason"].as_str().unwrap_or_default().to_owned();
    (found["is_in_use"].as_bool().expect("a truth value"), reason)
}

#[test]
#[ignore = "needs a gage-model that loads its kernels: make test-kernels"]
fn kernels_of_the_processor_are_loaded_by_name() {
    let workspace = Workspace::new();
    install(&workspace);
    let baseline = "backends.tiny.config.kernels=baseline";
    run_one(&workspace, &[], "named", &["--set", baseline]).expect_code(0);
    assert_eq!(kernel_variant(&workspace, "named"), "baseline");
    run_one(&workspace, &[], "auto", &[]).expect_code(0);
    assert!(["baseline", "avx512"].contains(&kernel_variant(&workspace, "auto").as_str()));
    let manifest = workspace.json("named", "manifest.json");
    let modules = manifest["facts"]["tiny"]["kernel_modules"].as_object().expect("modules");
    assert_eq!(modules.len(), 1, "{modules:?}");
    assert!(modules.values().all(|digest| digest.as_str().is_some_and(|text| text.starts_with("sha256:"))));

    #[cfg(target_arch = "x86_64")]
    {
        run_one(&workspace, &[], "old", &["--set", "backends.tiny.config.kernels=sse42"]).expect_code(0);
        assert_eq!(kernel_variant(&workspace, "old"), "sse42");
    }
    let refused =
        run_one(&workspace, &[], "r", &["--set", "backends.tiny.config.kernels=vulkan"]).expect_code(2);
    assert!(refused.stderr.contains("the kernels `vulkan` are not in "), "{}", refused.stderr);
}

/// The three states of a machine without a GPU: no toolkit, no driver, and a driver without devices.
#[test]
#[ignore = "needs a gage-model that loads its kernels: make test-kernels"]
fn cuda_kernels_without_a_gpu_are_explained() {
    let workspace = Workspace::new();
    install(&workspace);
    let toolkit = stub(
        &workspace,
        "toolkit",
        "libcudart.so.13",
        "int cudaGetDeviceCount(int *n) { *n = 0; return 0; }",
    );
    let driver = stub(&workspace, "driver", "libcuda.so.1", "int cuInit(unsigned flags) { return flags; }");
    let source = repository().join("tests/models/fake_cuda.c");
    let module = workspace.path("lib/gage-host/kernels/cuda/libggml-cuda.so");
    let needed = [toolkit.to_str().expect("a path"), driver.to_str().expect("a path")];
    compile(&source, &module, &[&["-Wl,--no-as-needed"], &needed[..]].concat());
    let folder = |library: &Path| library.parent().expect("a folder").to_owned();
    let (toolkit, driver) = (folder(&toolkit), folder(&driver));
    for (number, (libraries, expected)) in [
        (vec![], "the libraries of the CUDA toolkit are missing (libcudart.so.13)"),
        (vec![toolkit.clone()], "the NVIDIA driver is missing (libcuda.so.1)"),
        (vec![toolkit, driver], "it finds no device"),
    ]
    .into_iter()
    .enumerate()
    {
        let run_id = format!("r{number}");
        let run = run_one(&workspace, &libraries, &run_id, &[]).expect_code(0);
        assert_eq!(run.stderr.matches("no GPU is used").count(), 1, "{}", run.stderr);
        assert!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
        assert!(!run.stderr.contains("error: "), "{}", run.stderr);
        assert!(!kernel_variant(&workspace, &run_id).starts_with("cuda"));
        let (is_used, reason) = state(&workspace, &libraries, "cuda");
        assert!(!is_used && reason.starts_with(expected), "{reason}");

        let chosen = ["--set", "backends.tiny.config.kernels=baseline"];
        let silent = run_one(&workspace, &libraries, &format!("s{number}"), &chosen).expect_code(0);
        assert!(!silent.stderr.contains("no GPU is used"), "{}", silent.stderr);
        let forced = ["--set", "backends.tiny.config.kernels=cuda"];
        let refused = run_one(&workspace, &libraries, &format!("f{number}"), &forced).expect_code(2);
        let message = format!("the kernels `cuda` cannot be used: {expected}");
        assert!(
            refused.stderr.contains(&message) && refused.stderr.contains("`baseline`"),
            "{}",
            refused.stderr
        );
    }
}

/// llama.cpp alone would search the working directory, the folder of the program and `GGML_BACKEND_PATH`.
#[test]
#[ignore = "needs a gage-model that loads its kernels: make test-kernels"]
fn kernels_are_loaded_from_no_other_folder() {
    let workspace = Workspace::new();
    install(&workspace);
    let code = "#include <unistd.h>\n__attribute__((constructor)) void f(void) { _exit(77); }";
    let source = workspace.write("hostile.c", code);
    compile(&source, &workspace.path("hostile.so"), &[]);
    for name in ["libggml-cpu.so", "libggml-cuda.so", "lib/gage-host/libggml-cpu.so"] {
        link(&workspace.path("hostile.so"), &workspace.path(name));
    }
    // An empty entry of LD_LIBRARY_PATH is the working directory, here with a file for each library of the program.
    for name in libraries_of_the_program(&workspace) {
        compile(&source, &workspace.path(&name), &[&format!("-Wl,-soname,{name}")]);
    }
    run_one(&workspace, &[PathBuf::from("/x"), PathBuf::new()], "r", &[]).expect_code(0);
    // The program itself prefers its own folder.
    let mut program = Command::new(workspace.path("lib/gage-host/gage-model"));
    program.arg("--version").env("LD_LIBRARY_PATH", "/x:").current_dir(workspace.path(""));
    CommandOutput::of(program.output().expect("the program runs")).expect_code(0);
    std::fs::remove_dir_all(workspace.path("lib/gage-host/kernels")).expect("removed");
    let without = run_one(&workspace, &[], "s", &[]).expect_code(2);
    assert!(without.stderr.contains("it was given no kernels for the processor"), "{}", without.stderr);
    // Modules that are no libraries are named.
    install_module(&workspace, "avx512", b"not a library");
    install_module(&workspace, "baseline", b"not a library");
    let broken = run_one(&workspace, &[], "t", &[]).expect_code(2);
    assert!(broken.stderr.contains("no kernels for the processor can be loaded"), "{}", broken.stderr);
}

/// Returns the names of the shared libraries beside `gage-model`.
fn libraries_of_the_program(workspace: &Workspace) -> Vec<String> {
    let entries = std::fs::read_dir(workspace.path("lib/gage-host")).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let names: Vec<String> = names.filter(|name| name.contains(".so.")).collect();
    for expected in ["libllama.so.0", "libggml-base.so.0", "libgomp.so.1"] {
        assert!(names.iter().any(|name| name == expected), "{expected} is not among {names:?}");
    }
    names
}

fn install_module(workspace: &Workspace, kernels: &str, bytes: &[u8]) {
    workspace.write(&format!("lib/gage-host/kernels/{kernels}/libggml-cpu-{kernels}.so"), bytes);
}

/// An earlier installation has kernels of another llama.cpp, which would not fit the new program.
#[test]
fn refused_installation_changes_nothing() {
    let workspace = Workspace::new();
    let backends = workspace.path("llama-cpp-sys-2-0/out/backends");
    for folder in [&backends, &workspace.path("target/release/kernels")] {
        std::fs::create_dir_all(folder).expect("a folder");
    }
    workspace.write("target/release/gage-model.d", format!("gage-model: {}\n", backends.display()));
    for program in ["gage-host", "gage-model"] {
        workspace.write(&format!("target/release/{program}"), "new");
    }
    let installed =
        ["bin/gage-host", "lib/gage-host/gage-model", "lib/gage-host/kernels/cuda/libggml-cuda.so"]
            .map(|file| workspace.write(&format!("installed/{file}"), "old"));
    workspace.write("installed/lib/gage-host/kernels/cuda/llama-cpp-sys-2.version", "0.0.1\n");
    for further in [&[][..], &["--without-gpu-kernels"]] {
        let mut command = Command::new(repository().join("tools/install.sh"));
        command.arg(workspace.path("installed")).args(further).stdin(Stdio::null());
        command.env("CARGO_TARGET_DIR", workspace.path("target")).env_remove("DESTDIR");
        let ended = command.output().expect("the script runs");
        let message = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{message}");
        assert!(message.contains("is for version 0.0.1 of llama-cpp-sys-2"), "{message}");
        assert!(message.contains("or remove the folder; nothing was changed"), "{message}");
        for file in &installed {
            assert_eq!(std::fs::read_to_string(file).expect("a file"), "old", "{}", file.display());
        }
        assert_eq!(std::fs::read_dir(workspace.path("installed/bin")).expect("a folder").count(), 1);
    }
}
