//! The program `gage-model`: how it is found and started, and whether it matches this gage-host.
//!
//! The kernels that it may load are in folders beside it: see `kernel_selection`.

use super::kernel_selection::{InstalledKernels, KernelRequest, KernelSelection, missing_instructions};
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

/// Folder of the program in an installation, beside the folder of this program.
const INSTALL_FOLDER: &str = "lib/gage-host";

/// Remedy for a missing or wrong program.
const REMEDY: &str = "install gage-model with gage-host from the same build (from the sources: `make release`, or `cargo \
                      build --package gage-llama`), or set GAGE_HOST_MODEL_PROGRAM to its path";

/// Time that a killed process may take to exit. It takes longer only if it waits for a device that hangs.
const MAX_EXIT_TIME: Duration = Duration::from_secs(10);

/// Program that runs models, and the filter of its logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelProgram {
    /// File of the program.
    ///
    /// Defaults to the path in the variable `GAGE_HOST_MODEL_PROGRAM`, the file next to this program, the one in
    /// `../lib/gage-host` from there, or the first on PATH.
    pub file: Option<PathBuf>,
    /// Filter of its logs; default `warn`.
    pub log_filter: Option<String>,
}

/// A program that was found, and the kernels that it may load.
#[derive(Clone, Debug)]
pub(super) struct FoundProgram {
    pub(super) file: PathBuf,
    log_filter: Option<String>,
    kernels: KernelSelection,
}

/// The program that models run in by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelProgramReport {
    /// Its file.
    pub file: PathBuf,
    /// Its greeting.
    pub greeting: Greeting,
    /// The installed kernels, best first, each with the reason if it is not used. Empty if the kernels are compiled in.
    pub kernels: Vec<(KernelBuild, Option<String>)>,
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

    /// Starts the program that models run in by default, without a model.
    ///
    /// # Errors
    /// Returns the reason why it cannot run.
    pub fn report(&self) -> Result<ModelProgramReport, String> {
        let program = self.find(Kernels::Auto, None)?;
        let (_, greeting) = program.start_greeted(None)?;
        let kernels = program.kernels.states(&greeting.unused_kernels);
        Ok(ModelProgramReport { file: program.file, greeting, kernels })
    }

    /// Finds the program, and chooses its kernels: those that a lock pins, or else those that the configuration allows.
    pub(super) fn find(
        &self,
        kernels: Kernels,
        pinned: Option<&KernelVariant>,
    ) -> Result<FoundProgram, String> {
        self.find_with(KernelRequest::new(kernels, pinned))
    }

    /// Finds the program for work that needs no GPU.
    pub(super) fn find_for_processor(&self) -> Result<FoundProgram, String> {
        self.find_with(KernelRequest::Processor)
    }

    fn find_with(&self, request: KernelRequest) -> Result<FoundProgram, String> {
        let file = self.locate()?;
        let kernels = InstalledKernels::beside(&file).select(request, missing_instructions)?;
        Ok(FoundProgram { file, log_filter: self.log_filter.clone(), kernels })
    }

    /// Finds the file of the program.
    fn locate(&self) -> Result<PathBuf, String> {
        let set = || env::var_os(PROGRAM_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(file) = self.file.clone().or_else(set) {
            return Ok(file);
        }
        let own = env::current_exe().and_then(|file| file.canonicalize()).ok();
        let folders = own.as_deref().map(program_folders).unwrap_or_default();
        let on_path = env::var_os("PATH").unwrap_or_default();
        first_file(&folders, &on_path).ok_or_else(|| {
            let searched = folders.iter().map(|folder| format!("in {}, nor ", folder.display()));
            let searched: String = searched.collect();
            format!(
                "models are run by the program {PROGRAM_NAME}, which is neither {searched}on PATH; {REMEDY}"
            )
        })
    }
}

/// Returns the folders in which the model program of this program may be.
fn program_folders(own: &Path) -> Vec<PathBuf> {
    let Some(beside) = own.parent() else { return Vec::new() };
    let installed = beside.parent().map(|prefix| prefix.join(INSTALL_FOLDER));
    std::iter::once(beside.to_owned()).chain(installed).collect()
}

/// Finds the program in the first of some folders that has it, or else in those of the variable `PATH`.
fn first_file(folders: &[PathBuf], path: &OsStr) -> Option<PathBuf> {
    let folders = folders.iter().cloned().chain(env::split_paths(path));
    folders.map(|folder| folder.join(format!("{PROGRAM_NAME}{EXE_SUFFIX}"))).find(|file| file.is_file())
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
        for folder in &self.kernels.folders {
            program.arg("--kernels").arg(folder);
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
        if let Some(problem) = &greeting.problem {
            return Err(format!("{file} cannot run models: {problem}; {REMEDY}"));
        }
        self.kernels.check(&self.file, &greeting.build, &greeting.unused_kernels)?;
        log_confinement(&greeting.confinement);
        Ok(Some(greeting))
    }

    /// Warns if the processor is used although kernels for GPUs are installed, unless the suite or a lock chose it.
    pub(super) fn warn_without_gpu(&self, greeting: &Greeting) {
        if let Some(reasons) = self.kernels.unused_gpus(&greeting.build, &greeting.unused_kernels) {
            tracing::warn!(
                "no GPU is used, although kernels for GPUs are installed: {reasons}. To use the processor without \
                 this warning, set `kernels: {}`; `gage-host doctor` shows all kernels",
                greeting.build.variant.build
            );
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
    fn program_beside_this_one_comes_before_installed_ones() {
        let (prefix, on_path) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let folders = program_folders(&prefix.path().join("bin/gage-host"));
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

    #[cfg(unix)]
    #[test]
    fn other_programs_and_other_builds_are_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("gage-model");
        let build = |version: &str, variant: &str| {
            let build = serde_json::json!({
                "version": version, "protocol": gage_model_protocol::PROTOCOL_VERSION, "variant": variant,
                "modules": {}, "devices": [], "llama_cpp_2": "0", "llama_cpp_sys_2": "0",
            });
            let confinement =
                Confinement { privileges: Ok(()), files: Ok(1), system_calls: Ok(()), reaches_gpus: false };
            serde_json::json!({
                "build": build, "confinement": confinement, "unused_kernels": [], "free_gpu_memory": {},
            })
        };
        let mut greeting = Vec::new();
        let script = |bytes: &[u8]| {
            std::fs::write(folder.path().join("greeting"), bytes).expect("written");
            std::fs::write(&file, "#!/bin/sh\ncat \"${0%/*}/greeting\"\n").expect("written");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("set");
        };
        let program = ModelProgram { file: Some(file.clone()), log_filter: None };
        let greet = |kernels| {
            let found = program.find(kernels, None).expect("the file");
            let command = ModelCommand::CountTokens(PathBuf::from("x.gguf"));
            let mut process = found.start(Some(&command), Interrupts::Received).expect("started");
            let greeted = found.greet(&mut process.stdout);
            process.end();
            greeted
        };
        script(b"hello, world");
        let error = greet(Kernels::Auto).expect_err("another program");
        assert!(error.contains("is not gage-model") && error.contains(PROGRAM_VARIABLE), "{error}");
        script(b"");
        assert_eq!(greet(Kernels::Auto), Ok(None));
        write_frame(&mut greeting, &build("99.0.0", "baseline")).expect("a frame");
        script(&greeting);
        let error = greet(Kernels::Auto).expect_err("another build");
        assert!(error.contains("does not belong to this gage-host: it is version 99.0.0"), "{error}");
        greeting.clear();
        write_frame(&mut greeting, &build(env!("CARGO_PKG_VERSION"), "baseline")).expect("a frame");
        script(&greeting);
        assert!(greet(Kernels::Auto).is_ok_and(|greeting| greeting.is_some()));
        let error = greet(Kernels::Avx512).expect_err("another variant");
        assert!(
            error.contains(
                "are compiled in (`baseline`), and the suite asks for `avx512`; leave `kernels` out"
            ),
            "{error}"
        );
        assert_eq!(program.check_variant(&KernelBuild::Baseline.into()), Ok(()));
        let error = program.check_variant(&KernelBuild::Cuda.into()).expect_err("another variant");
        assert!(error.contains("are compiled in, and built for `baseline`"), "{error}");
        greeting.clear();
        let mut broken = build(env!("CARGO_PKG_VERSION"), "baseline");
        broken["problem"] = "it was given no kernels for the processor".into();
        write_frame(&mut greeting, &broken).expect("a frame");
        script(&greeting);
        let error = greet(Kernels::Auto).expect_err("no kernels");
        assert!(
            error.contains("cannot run models: it was given no kernels for the processor; install"),
            "{error}"
        );
        greeting.clear();
        write_frame(&mut greeting, &build(env!("CARGO_PKG_VERSION"), "cuda 8.6")).expect("a frame");
        script(&greeting);
        let locked = |text: &str| program.check_variant(&text.parse().expect("a variant"));
        assert_eq!(locked("cuda 8.6"), Ok(()));
        let error = locked("cuda 9.0").expect_err("another GPU");
        assert!(error.ends_with("the compute capability of this machine's GPUs is 8.6, not 9.0"), "{error}");
    }
}
