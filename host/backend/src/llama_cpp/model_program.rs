//! The program `gage-model`: how it is found and started, and whether it matches this gage-host.
//!
//! llama.cpp's kernels are compiled for a kind of processor. A build for a newer one (`gage-model-avx512`) may be
//! installed next to the program.

use super::log_forwarding::LogForwarder;
use super::model_environment::model_environment;
use super::process_handle::ProcessHandle;
use gage_config::Kernels;
use gage_core::ResourceShortage;
use gage_model_protocol::{
    Command as ModelCommand, Confinement, Greeting, KernelBuild, KernelVariant, read_frame, write_frame,
};
use serde::de::DeserializeOwned;
use std::env::{self, consts::EXE_SUFFIX};
use std::ffi::OsStr;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Environment variable with the path of the program, for builds in other places.
const PROGRAM_VARIABLE: &str = "GAGE_HOST_MODEL_PROGRAM";

/// Name of the program.
const PROGRAM_NAME: &str = "gage-model";

/// Remedy for a missing or wrong program.
const REMEDY: &str = "install gage-model beside gage-host from the same build (from the sources: `make release`, or `cargo \
                      build --package gage-llama`), or set GAGE_HOST_MODEL_PROGRAM to its path";

/// Time that a killed process may take to exit. It takes longer only if it waits for a device that hangs.
const MAX_EXIT_TIME: Duration = Duration::from_secs(10);

/// Program that runs models, and the filter of its logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelProgram {
    /// File of the program.
    ///
    /// Defaults to the path in the variable `GAGE_HOST_MODEL_PROGRAM`, the file next to this program, or the first on
    /// PATH.
    pub file: Option<PathBuf>,
    /// Filter of its logs; default `warn`.
    pub log_filter: Option<String>,
}

/// A program that was found.
#[derive(Clone, Debug)]
pub(super) struct FoundProgram {
    pub(super) file: PathBuf,
    log_filter: Option<String>,
    /// Kernel variant that it must have; `None` for any.
    variant: Option<RequiredVariant>,
}

/// A kernel variant that a program must have, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RequiredVariant {
    /// The file name promises it.
    Named(KernelBuild),
    /// A lock pins it.
    Pinned(KernelVariant),
}

/// A started process and its streams. It is killed on drop.
pub(super) struct ModelProcess {
    pub(super) handle: ProcessHandle,
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: BufReader<ChildStdout>,
    pub(super) log: Option<LogForwarder>,
    is_ended: bool,
}

/// End of a process.
pub(super) struct ProcessEnd {
    /// `None` if it does not exit.
    status: Option<ExitStatus>,
    /// Its last warnings and errors.
    log: Vec<String>,
}

/// Handling of interrupts from the terminal by a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interrupts {
    /// Interrupts are for the run, which then ends the model.
    Ignored,
    /// Interrupts end the process, as they end this program.
    Received,
}

impl ModelProgram {
    /// Checks that a kernel variant pinned by a lock is installed and runs on this machine. Loads no model.
    ///
    /// # Errors
    /// Returns the reason why it cannot run.
    pub fn check_variant(&self, variant: &KernelVariant) -> Result<(), String> {
        self.find(Kernels::Auto, Some(variant))?.start_greeted(None).map(drop)
    }

    /// Starts the program that models run in by default, without a model. Returns its file and its greeting.
    ///
    /// # Errors
    /// Returns the reason why it cannot run.
    pub fn greeting(&self) -> Result<(PathBuf, Greeting), String> {
        let program = self.find(Kernels::Auto, None)?;
        let (_, greeting) = program.start_greeted(None)?;
        Ok((program.file, greeting))
    }

    /// Finds the program in the variant that a lock pins, or else in the best one that this machine can run and the
    /// configuration allows.
    pub(super) fn find(
        &self,
        kernels: Kernels,
        pinned: Option<&KernelVariant>,
    ) -> Result<FoundProgram, String> {
        let found = |file, variant| FoundProgram { file, log_filter: self.log_filter.clone(), variant };
        let named = self
            .file
            .clone()
            .or_else(|| env::var_os(PROGRAM_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from));
        // A configured file is used as it is.
        if let Some(file) = named {
            return Ok(found(file, pinned.cloned().map(RequiredVariant::Pinned)));
        }
        let own = env::current_exe().ok();
        let beside = own.as_deref().and_then(Path::parent);
        let on_path = env::var_os("PATH").unwrap_or_default();
        let Some(file) = first_file(beside, &on_path) else {
            let folder =
                beside.map_or_else(|| "its folder".to_owned(), |folder| folder.display().to_string());
            return Err(format!(
                "models are run by the program {PROGRAM_NAME}, which is neither in {folder} nor on PATH; {REMEDY}"
            ));
        };
        if let Some(pinned) = pinned {
            let file = pinned_file(file, pinned.build)?;
            return Ok(found(file, Some(RequiredVariant::Pinned(pinned.clone()))));
        }
        let variants = match kernels {
            Kernels::Auto => variants(),
            Kernels::Baseline => Vec::new(),
        };
        let best = variants.into_iter().filter(|(_, runs_here)| *runs_here).find_map(|(variant, _)| {
            let file = variant_file(&file, variant);
            file.is_file().then(|| found(file, Some(RequiredVariant::Named(variant))))
        });
        Ok(best.unwrap_or_else(|| found(file, None)))
    }
}

/// Finds the program in a folder, or else in the first folder of a list that has it.
fn first_file(folder: Option<&Path>, path: &OsStr) -> Option<PathBuf> {
    let folders = folder.map(Path::to_owned).into_iter().chain(env::split_paths(path));
    folders.map(|folder| folder.join(format!("{PROGRAM_NAME}{EXE_SUFFIX}"))).find(|file| file.is_file())
}

/// Returns the variants that may be next to the program, best first, and whether this machine can run each.
fn variants() -> Vec<(KernelBuild, bool)> {
    #[cfg(target_arch = "x86_64")]
    {
        let has_avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni");
        vec![(KernelBuild::Avx512, has_avx512)]
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vec::new()
}

/// Returns the file of a variant that a lock pins.
///
/// Variants without their own file, such as those for GPUs, are builds of the program itself.
fn pinned_file(program: PathBuf, pinned: KernelBuild) -> Result<PathBuf, String> {
    let own_file = variants().into_iter().find(|(variant, _)| *variant == pinned);
    let Some((_, runs_here)) = own_file else { return Ok(program) };
    let file = variant_file(&program, pinned);
    match (runs_here, file.is_file()) {
        (false, _) => Err("this machine's processor lacks instructions that it needs".to_owned()),
        (true, false) => Err(format!("there is no {}; {REMEDY}", file.display())),
        (true, true) => Ok(file),
    }
}

/// Returns the path of a variant next to the program, such as `gage-model-avx512` next to `gage-model`.
fn variant_file(program: &Path, variant: KernelBuild) -> PathBuf {
    let stem = program.file_stem().unwrap_or_default().to_string_lossy();
    program.with_file_name(format!("{stem}-{variant}{EXE_SUFFIX}"))
}

impl FoundProgram {
    /// Starts the program with a command, or only for its greeting.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start(
        &self,
        command: Option<&ModelCommand>,
        interrupts: Interrupts,
    ) -> io::Result<ModelProcess> {
        let mut program = Command::new(&self.file);
        if let Some(filter) = &self.log_filter {
            program.args(["--log", filter]);
        }
        program
            .env_clear()
            .envs(model_environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        if interrupts == Interrupts::Ignored {
            use std::os::unix::process::CommandExt as _;
            program.process_group(0);
        }
        #[cfg(not(unix))]
        let _ = interrupts;
        let mut child = program.spawn().inspect_err(|error| {
            if let Some(shortage) = ResourceShortage::of_process(error) {
                shortage.while_doing(format!("{}: {error}", self.file.display())).report();
            }
        })?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let Some((mut stdin, stdout)) = stdin.zip(stdout) else {
            return Err(io::Error::other("it has no standard streams"));
        };
        // If the program has already exited, the missing greeting will show it.
        let stdin = command.is_some_and(|command| write_frame(&mut stdin, command).is_ok()).then_some(stdin);
        let (handle, stdout) = (ProcessHandle::new(child), BufReader::new(stdout));
        let mut process = ModelProcess { handle, stdin, stdout, log: None, is_ended: false };
        process.log = stderr.map(LogForwarder::start).transpose()?;
        Ok(process)
    }

    /// Reads the greeting of a process; `None` if it exited first.
    ///
    /// # Errors
    /// If it is a different program, or from a different build.
    pub(super) fn greet(&self, stdout: &mut BufReader<ChildStdout>) -> Result<Option<Greeting>, String> {
        let file = self.file.display();
        let greeting = match read_frame::<Greeting>(stdout) {
            Ok(Some(greeting)) => greeting,
            Ok(None) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => {
                return Err(format!(
                    "{file} is not {PROGRAM_NAME}: its greeting cannot be read ({error}); {REMEDY}"
                ));
            }
        };
        greeting.build.check().map_err(|difference| {
            format!("{file} does not belong to this gage-host: {difference}; {REMEDY}")
        })?;
        let found = &greeting.build.variant;
        match &self.variant {
            Some(RequiredVariant::Pinned(pinned)) if pinned.build != found.build => {
                Err(format!("the kernels of {file} are built for `{}`; {REMEDY}", found.build))
            }
            Some(RequiredVariant::Pinned(pinned)) if pinned != found => Err(format!(
                "the compute capability of this machine's GPUs is {}, not {}",
                capability_of(found),
                capability_of(pinned)
            )),
            Some(RequiredVariant::Named(named)) if *named != found.build => Err(format!(
                "{file} is not what its name says: its kernels are built for `{}`, not for `{named}`; {REMEDY}",
                found.build
            )),
            _ => {
                log_confinement(&greeting.confinement);
                Ok(Some(greeting))
            }
        }
    }

    /// Starts the program and reads its greeting.
    ///
    /// # Errors
    /// If it cannot be started, exits, or is a different program.
    pub(super) fn start_greeted(
        &self,
        command: Option<&ModelCommand>,
    ) -> Result<(ModelProcess, Greeting), String> {
        let started = self.start(command, Interrupts::Received);
        let mut process =
            started.map_err(|error| format!("{} cannot be started: {error}", self.file.display()))?;
        match self.greet(&mut process.stdout)? {
            Some(greeting) => Ok((process, greeting)),
            None => Err(process.end().described()),
        }
    }
}

/// Logs what keeps a process from the rest of the machine. `gage-host doctor` shows the same.
fn log_confinement(confinement: &Confinement) {
    for part in confinement.parts() {
        let (name, description) = (part.name, part.description);
        match part.is_in_force {
            true => tracing::debug!("confinement of the model process, {name}: {description}"),
            false => tracing::info!("confinement of the model process, {name}: {description}"),
        }
    }
}

fn capability_of(variant: &KernelVariant) -> &str {
    variant.compute_capability.as_deref().unwrap_or("unknown")
}

impl ModelProcess {
    /// Sends a text and reads the answer to it.
    ///
    /// # Errors
    /// Returns how the process ended.
    pub(super) fn ask<T: DeserializeOwned>(&mut self, text: &str) -> Result<T, String> {
        let sent = self.stdin.as_mut().is_some_and(|stdin| write_frame(stdin, &text).is_ok());
        let answer = if sent { self.read() } else { Err(self.end()) };
        answer.map_err(|end| end.described())
    }

    /// Reads a message.
    ///
    /// # Errors
    /// Returns how the process ended.
    pub(super) fn read<T: DeserializeOwned>(&mut self) -> Result<T, ProcessEnd> {
        match read_frame::<T>(&mut self.stdout) {
            Ok(Some(message)) => Ok(message),
            Ok(None) | Err(_) => Err(self.end()),
        }
    }

    /// Ends the process, which may still be running (and hang), and returns how it ended.
    pub(super) fn end(&mut self) -> ProcessEnd {
        self.is_ended = true;
        self.stdin = None;
        self.handle.kill();
        let status = self.handle.wait_up_to(MAX_EXIT_TIME);
        let log = self.log.take();
        // The log of a process that does not exit has no end to wait for.
        let log = match status {
            Some(_) => log.map(LogForwarder::finish),
            None => log.map(LogForwarder::last_lines),
        };
        ProcessEnd { status, log: log.unwrap_or_default() }
    }
}

impl Drop for ModelProcess {
    fn drop(&mut self) {
        if !self.is_ended {
            self.end();
        }
    }
}

impl ProcessEnd {
    /// Describes how the process ended, including its last log lines.
    pub(super) fn described(&self) -> String {
        self.described_as(&self.cause())
    }

    /// Describes how a process ended that was loading a model file, including its last log lines.
    pub(super) fn described_while_loading(&self, file: &Path) -> String {
        let is_crash = self.status.and_then(signal).is_some_and(|(number, _)| CRASHES.contains(&number));
        let advice = match is_crash {
            true => {
                "; the file may be damaged, or made to attack its reader: fetch it again from a source that you trust"
            }
            false => "",
        };
        let file = file.display();
        self.described_as(&format!("the model file {file} cannot be loaded: {}{advice}", self.cause()))
    }

    fn cause(&self) -> String {
        let cause = match self.status {
            Some(status) => match signal(status) {
                Some((number, name)) => format!("was ended by the signal {number} ({name})"),
                None => format!("ended with the {status}").replace("exit status: ", "exit status "),
            },
            None => "does not exit, although it was killed".to_owned(),
        };
        format!("the model process {cause}")
    }

    /// Describes an end whose cause is known, including the last log lines.
    pub(super) fn described_as(&self, how: &str) -> String {
        let said = match self.log.is_empty() {
            true => String::new(),
            false => format!("; its last output: {}", self.log.join(" | ")),
        };
        format!("{how}{said}")
    }
}

/// Signals of a process that crashed: failed assertion, bus error, arithmetic error, invalid memory access, and on Linux a
/// system call of another architecture.
const CRASHES: [i32; 5] = [6, 7, 8, 11, 31];

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<(i32, &'static str)> {
    use std::os::unix::process::ExitStatusExt as _;
    let number = status.signal()?;
    let name = match number {
        4 => "SIGILL: this machine lacks an instruction that llama.cpp was built for",
        6 => "SIGABRT: an assertion of llama.cpp failed",
        7 => "SIGBUS: the model file may have changed",
        8 => "SIGFPE",
        9 => "SIGKILL: memory may have run out",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        31 => "SIGSYS: it made a system call that is refused",
        _ => "see `man 7 signal`",
    };
    Some((number, name))
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<(i32, &'static str)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_beside_this_one_comes_before_those_on_the_path() {
        let (beside, on_path) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let file = |folder: &Path| folder.join(format!("{PROGRAM_NAME}{EXE_SUFFIX}"));
        let found = || first_file(Some(beside.path()), on_path.path().as_os_str());
        assert_eq!(found(), None);
        std::fs::write(file(on_path.path()), "").expect("written");
        assert_eq!(found(), Some(file(on_path.path())));
        std::fs::write(file(beside.path()), "").expect("written");
        assert_eq!(found(), Some(file(beside.path())));
    }

    #[test]
    fn variants_are_named_after_the_program() {
        let file = variant_file(Path::new("/bin/gage-model"), KernelBuild::Avx512);
        assert_eq!(file, Path::new(&format!("/bin/gage-model-avx512{EXE_SUFFIX}")));
    }

    #[cfg(unix)]
    #[test]
    fn other_programs_and_other_builds_are_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("gage-model");
        let build = |version: &str, variant: &str| {
            let build = serde_json::json!({
                "version": version, "protocol": gage_model_protocol::PROTOCOL_VERSION, "variant": variant,
                "llama_cpp_2": "0", "llama_cpp_sys_2": "0",
            });
            let confinement =
                Confinement { privileges: Ok(()), files: Ok(1), system_calls: Ok(()), reaches_gpus: false };
            serde_json::json!({"build": build, "confinement": confinement})
        };
        let mut greeting = Vec::new();
        let script = |bytes: &[u8]| {
            std::fs::write(folder.path().join("greeting"), bytes).expect("written");
            std::fs::write(&file, "#!/bin/sh\ncat \"${0%/*}/greeting\"\n").expect("written");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("set");
        };
        let greet = |variant| {
            let found = FoundProgram { file: file.clone(), log_filter: None, variant };
            let command = ModelCommand::CountTokens(PathBuf::from("x.gguf"));
            let mut process = found.start(Some(&command), Interrupts::Received).expect("started");
            let greeted = found.greet(&mut process.stdout);
            process.end();
            greeted
        };
        script(b"hello, world");
        let error = greet(None).expect_err("another program");
        assert!(error.contains("is not gage-model") && error.contains(PROGRAM_VARIABLE), "{error}");
        script(b"");
        assert_eq!(greet(None), Ok(None));
        write_frame(&mut greeting, &build("99.0.0", "baseline")).expect("a frame");
        script(&greeting);
        let error = greet(None).expect_err("another build");
        assert!(error.contains("does not belong to this gage-host: it is version 99.0.0"), "{error}");
        greeting.clear();
        write_frame(&mut greeting, &build(env!("CARGO_PKG_VERSION"), "baseline")).expect("a frame");
        script(&greeting);
        assert!(greet(None).is_ok_and(|build| build.is_some()));
        let error = greet(Some(RequiredVariant::Named(KernelBuild::Avx512))).expect_err("another variant");
        assert!(error.contains("built for `baseline`, not for `avx512`"), "{error}");
        let program = ModelProgram { file: Some(file.clone()), log_filter: None };
        assert_eq!(program.check_variant(&KernelBuild::Baseline.into()), Ok(()));
        let error = program.check_variant(&KernelBuild::Cuda.into()).expect_err("another variant");
        assert!(error.contains("are built for `baseline`"), "{error}");
        greeting.clear();
        write_frame(&mut greeting, &build(env!("CARGO_PKG_VERSION"), "cuda 8.6")).expect("a frame");
        script(&greeting);
        let locked = |text: &str| program.check_variant(&text.parse().expect("a variant"));
        assert_eq!(locked("cuda 8.6"), Ok(()));
        let error = locked("cuda 9.0").expect_err("another GPU");
        assert!(error.ends_with("the compute capability of this machine's GPUs is 8.6, not 9.0"), "{error}");
    }
}
