//! Tests with scripts in place of the program.

use super::*;
#[cfg(unix)]
use gage_model_protocol::write_frame;
#[cfg(unix)]
use gage_recorded_messages::RecordedError as _;
use std::path::Path;

#[test]
fn program_beside_this_one_comes_before_installed_ones() {
    let (prefix, on_path) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let folders = gage_core::installation_folders_of(&prefix.path().join("bin/gage-host"));
    let found = || first_file(&folders, on_path.path().as_os_str());
    assert_eq!(found(), None);
    let (installed, beside) = (prefix.path().join("lib/gage-host"), prefix.path().join("bin"));
    for folder in [on_path.path(), installed.as_path(), beside.as_path()] {
        std::fs::create_dir_all(folder).expect("a folder");
        let file = folder.join(format!("{PROGRAM_NAME}{EXE_SUFFIX}"));
        std::fs::write(&file, "").expect("written");
        assert_eq!(found(), Some(file));
    }
}

#[test]
fn program_does_not_depend_on_the_working_folder() {
    let found = ModelProgram { file: Some(PathBuf::from("gage-model")), log_filter: None }.locate();
    assert_eq!(found, Ok(env::current_dir().expect("a folder").join("gage-model")));
    let folder = tempfile::tempdir_in(".").expect("a folder");
    std::fs::write(folder.path().join(format!("{PROGRAM_NAME}{EXE_SUFFIX}")), "").expect("written");
    let relative = Path::new(folder.path().file_name().expect("a name"));
    assert!(relative.join(format!("{PROGRAM_NAME}{EXE_SUFFIX}")).is_file());
    assert_eq!(first_file(&[], relative.as_os_str()), None);
    let absolute = path::absolute(relative).expect("a path");
    assert!(first_file(&[], absolute.as_os_str()).is_some());
}

/// A script in place of the program.
#[cfg(unix)]
struct Script {
    folder: tempfile::TempDir,
    program: ModelProgram,
}

#[cfg(unix)]
impl Script {
    fn new(commands: &str) -> Script {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("gage-model");
        std::fs::write(&file, format!("#!/bin/sh\n{commands}\n")).expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("set");
        Script { folder, program: ModelProgram { file: Some(file), log_filter: None } }
    }

    /// Creates a script that notes its arguments and sends bytes.
    fn that_sends(bytes: &[u8]) -> Script {
        let script = Script::new("echo \"$@\" >\"${0%/*}/arguments\"\ncat \"${0%/*}/greeting\"");
        std::fs::write(script.folder.path().join("greeting"), bytes).expect("written");
        script
    }

    fn that_greets(greeting: &serde_json::Value) -> Script {
        let mut frame = Vec::new();
        write_frame(&mut frame, greeting).expect("a frame");
        Script::that_sends(&frame)
    }

    fn find(&self, kernels: Kernels) -> FoundProgram {
        self.program.find(kernels, None).expect("the file")
    }

    fn greet(&self, kernels: Kernels) -> Result<Option<Greeting>, String> {
        let found = self.find(kernels);
        let command = ModelCommand::CountTokens(PathBuf::from("x.gguf"));
        let mut process = found.start(Some(&command), Interrupts::Received).expect("started");
        let greeted = found.greet(&mut process.stdout);
        process.end();
        greeted
    }
}

/// Returns the greeting of a program of this version.
#[cfg(unix)]
fn greeting(variant: &str) -> serde_json::Value {
    let build = serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"), "protocol": gage_model_protocol::PROTOCOL_VERSION,
        "variant": variant, "modules": {}, "devices": [], "llama_cpp_2": "0", "llama_cpp_sys_2": "0",
    });
    let confinement =
        Confinement { privileges: Ok(()), files: Ok(1), system_calls: Ok(()), reaches_gpus: false };
    serde_json::json!({
        "build": build, "confinement": confinement, "unused_kernels": [], "free_gpu_memory": {},
    })
}

#[cfg(unix)]
#[test]
fn other_programs_and_other_builds_are_refused() {
    let error = Script::that_sends(b"hello, world").greet(Kernels::Auto).expect_err("another program");
    assert!(error.contains("is not gage-model") && error.contains(PROGRAM_VARIABLE), "{error}");
    assert_eq!(Script::that_sends(b"").greet(Kernels::Auto), Ok(None));
    let mut newer = greeting("baseline");
    newer["build"]["version"] = "99.0.0".into();
    let error = Script::that_greets(&newer).greet(Kernels::Auto).expect_err("another build");
    assert!(error.contains("does not belong to this gage-host: it is version 99.0.0"), "{error}");
}

/// A damaged kernel module or a missing library, for example.
#[cfg(unix)]
#[test]
fn program_that_ends_before_its_greeting_is_not_the_model() {
    let script = Script::new("echo 'libllama.so.0 is missing' >&2\nkill -BUS $$");
    let found = script.find(Kernels::Auto);
    let error = found.start_greeted(None).err().expect("it ends").recorded("model_files");
    for part in ["was ended by the signal 7 (SIGBUS", PROGRAM_VARIABLE, "libllama.so.0 is missing"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let mut loading = found.clone();
    loading.kernels.folders = ["/opt/kernels/avx512", "/opt/kernels/baseline"].map(PathBuf::from).to_vec();
    let error = loading.start_greeted(None).err().expect("it ends").recorded("model_files");
    for part in ["while it loaded the kernels `avx512`, `baseline`", "install gage-host again"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn kernels_of_the_program_must_be_those_of_the_request() {
    let script = Script::that_greets(&greeting("baseline"));
    assert!(script.greet(Kernels::Auto).is_ok_and(|greeting| greeting.is_some()));
    let error = script.greet(Kernels::Avx512).expect_err("another variant");
    let expected = "are compiled in (`baseline`), and the suite asks for `avx512`; leave `kernels` out";
    assert!(error.contains(expected), "{error}");
    let program = &script.program;
    assert_eq!(program.check_variant(&KernelBuild::Baseline.into()), Ok(()));
    let error = program.check_variant(&KernelBuild::Cuda.into()).expect_err("another variant");
    assert!(error.contains("are compiled in, and built for `baseline`"), "{error}");
    let script = Script::that_greets(&greeting("cuda 8.6"));
    let locked = |text: &str| script.program.check_variant(&text.parse().expect("a variant"));
    assert_eq!(locked("cuda 8.6"), Ok(()));
    let error = locked("cuda 9.0").expect_err("another GPU");
    assert!(error.ends_with("the compute capability of this machine's GPUs is 8.6, not 9.0"), "{error}");
}

#[cfg(unix)]
#[test]
fn remedy_belongs_to_the_problem() {
    let for_processor = "install kernels for this processor";
    for (problem, is_processor_old, expected) in [
        ("it was given no kernels for the processor", false, "for the processor; install gage-model with"),
        (
            "it was given no kernels for the processor",
            true,
            "for the processor (`baseline`: this processor lacks some of AVX2); install kernels for this processor",
        ),
        ("(`baseline`: this processor lacks instructions that it needs)", false, for_processor),
        (
            "(`baseline`: libgomp.so.1: cannot open shared object file: No such file or directory)",
            false,
            "; install the library that is missing",
        ),
    ] {
        let mut broken = greeting("baseline");
        broken["problem"] = problem.into();
        let script = Script::that_greets(&broken);
        std::fs::create_dir_all(script.folder.path().join("kernels/baseline")).expect("a folder");
        let mut found = script.find(Kernels::Auto);
        let lacks = |_| is_processor_old.then_some("AVX2");
        let installed = InstalledKernels::beside(&found.file);
        found.kernels = installed.select(KernelRequest::Auto, lacks).expect("a selection");
        let error = found.start_greeted(None).err().expect("refused").recorded("model_files");
        assert!(error.contains(&format!("cannot run models: {problem}")), "{error}");
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn program_that_does_not_answer_is_killed() {
    let script = Script::new("exec sleep 3600");
    let found = FoundProgram { max_greeting_time: Duration::ZERO, ..script.find(Kernels::Auto) };
    let error = found.start_greeted(None).err().expect("no answer").recorded("model_files");
    let expected =
        "gage-model did not answer within 0 s while it loaded its kernels, and was killed; the driver";
    assert!(error.contains(expected), "{error}");
}

#[cfg(unix)]
#[test]
fn further_replica_does_not_repeat_warnings_about_gpus() {
    let script = Script::that_greets(&greeting("baseline"));
    for (filter, first, further) in [
        (None, "", "--log warn,gage_llama::gpus=error"),
        (Some("info"), "--log info", "--log info,gage_llama::gpus=error"),
    ] {
        let found = FoundProgram { log_filter: filter.map(str::to_owned), ..script.find(Kernels::Auto) };
        for (program, expected) in [(found.clone(), first), (found.without_gpu_warnings(), further)] {
            let (mut process, _) = program.start_greeted(None).expect("a greeting");
            process.end();
            let arguments = script.folder.path().join("arguments");
            let arguments = std::fs::read_to_string(arguments).expect("arguments");
            assert_eq!(arguments.trim_end(), expected);
        }
    }
}
