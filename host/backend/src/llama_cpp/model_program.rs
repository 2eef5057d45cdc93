//! The program `gage-model`: how it is found and started, and whether it matches this gage-host.
//!
//! The kernels that it may load are in folders beside it: see `kernel_selection`.

use super::kernel_selection::{
    InstalledKernels, KernelRequest, KernelSelection, LACKING, missing_instructions,
};
use super::model_environment::model_environment;
use super::model_process::{MAX_EXIT_TIME, ModelProcess, ProcessEnd};
use gage_config::Kernels;
use gage_core::{ResourceShortage, installation_folders, spawn_thread};
use gage_model_protocol::{
    Command as ModelCommand, Confinement, GPU_LOG_TARGET, Greeting, KernelBuild, KernelVariant, read_frame,
};
use std::env::{self, consts::EXE_SUFFIX};
use std::ffi::OsStr;
use std::io::{self, BufReader};
use std::path::{self, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Environment variable with the path of the program, for builds in other places.
const PROGRAM_VARIABLE: &str = "GAGE_HOST_MODEL_PROGRAM";

/// Name of the program.
const PROGRAM_NAME: &str = "gage-model";

/// Remedy for a missing or wrong program.
const REMEDY: &str = "install gage-model with gage-host from the same build (from the sources: `make release`, or `cargo \
                      build --package gage-llama`), or set GAGE_HOST_MODEL_PROGRAM to its path";

/// Remedies for a program that cannot compute, each with a part of its reason.
const PROBLEM_REMEDIES: [(&str, &str); 2] = [
    (
        LACKING,
        "install kernels for this processor (`make release` builds `sse42` for x86-64 processors with SSE 4.2)",
    ),
    ("cannot open shared object file", "install the library that is missing"),
];

/// Remedy for a program that ends while it loads kernels.
const DAMAGE_REMEDY: &str = "a file of the installation may be damaged: install gage-host again, or choose other kernels with \
                             `kernels` of the backend";

/// Remedy for a program that does not answer.
const SILENCE_REMEDY: &str = "the driver of a GPU may hang: check whether `nvidia-smi` ends, or use the processor with \
                              `kernels: baseline`";

/// Default filter of the logs of the program.
const DEFAULT_LOG_FILTER: &str = "warn";

/// Time within which a process must send its greeting. Until then it loads its kernels and starts the drivers of GPUs.
const MAX_GREETING_TIME: Duration = Duration::from_secs(120);

/// Program that runs models, and the filter of its logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelProgram {
    /// File of the program.
    ///
    /// Defaults to the path in the variable `GAGE_HOST_MODEL_PROGRAM`, the file next to this program, the one in
    /// `../lib/gage-host` from there, or the first on PATH. Relative folders on PATH are skipped.
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
    /// True if it warns that GPUs are not used, or hold only some layers.
    warns_about_gpus: bool,
    max_greeting_time: Duration,
}

/// First message of a process; `None` if it exited first.
type ReadGreeting = io::Result<Option<Greeting>>;

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
        Ok(FoundProgram {
            file,
            log_filter: self.log_filter.clone(),
            kernels,
            warns_about_gpus: true,
            max_greeting_time: MAX_GREETING_TIME,
        })
    }

    /// Finds the file of the program. Its path is absolute, so that the started program is the one beside the kernels.
    fn locate(&self) -> Result<PathBuf, String> {
        let set = || env::var_os(PROGRAM_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(file) = self.file.clone().or_else(set) {
            return path::absolute(&file).map_err(|error| format!("{}: {error}", file.display()));
        }
        let folders = installation_folders();
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

/// Finds the program in the first of some folders that has it, or else in those of the variable `PATH`.
///
/// Relative folders of `PATH` are skipped: they depend on the working folder.
fn first_file(folders: &[PathBuf], path: &OsStr) -> Option<PathBuf> {
    let on_path = env::split_paths(path).filter(|folder| folder.is_absolute());
    let folders = folders.iter().cloned().chain(on_path);
    folders.map(|folder| folder.join(format!("{PROGRAM_NAME}{EXE_SUFFIX}"))).find(|file| file.is_file())
}

impl FoundProgram {
    /// Returns the program for a further replica of a model, which does not repeat warnings about GPUs.
    pub(super) fn without_gpu_warnings(&self) -> FoundProgram {
        let filter = self.log_filter.as_deref().unwrap_or(DEFAULT_LOG_FILTER);
        let log_filter = Some(format!("{filter},{GPU_LOG_TARGET}=error"));
        FoundProgram { log_filter, warns_about_gpus: false, ..self.clone() }
    }

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
        let child = program.spawn().inspect_err(|error| {
            if let Some(shortage) = ResourceShortage::of_process(error) {
                shortage.while_doing(format!("{}: {error}", self.file.display())).report();
            }
        })?;
        ModelProcess::new(child, command)
    }

    /// Reads the greeting of a process; `None` if it exited first. The caller limits the time.
    ///
    /// # Errors
    /// If it is a different program, or from a different build.
    pub(super) fn greet(&self, stdout: &mut BufReader<ChildStdout>) -> Result<Option<Greeting>, String> {
        self.checked(read_frame::<Greeting>(stdout))
    }

    fn checked(&self, read: ReadGreeting) -> Result<Option<Greeting>, String> {
        let file = self.file.display();
        let greeting = match read {
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
            return Err(format!("{file} cannot run models: {}", self.described_problem(problem)));
        }
        self.kernels.check(&self.file, &greeting.build, &greeting.unused_kernels)?;
        log_confinement(&greeting.confinement);
        Ok(Some(greeting))
    }

    /// Describes why the program cannot compute, and what to do about it.
    fn described_problem(&self, problem: &str) -> String {
        let withheld = self.kernels.lacking_instructions().map(|reasons| format!(" ({reasons})"));
        let reason = format!("{problem}{}", withheld.unwrap_or_default());
        let known = PROBLEM_REMEDIES.iter().find(|(part, _)| reason.contains(part));
        let remedy = known.map_or(REMEDY, |(_, remedy)| *remedy);
        format!("{reason}; {remedy}")
    }

    /// Warns if the processor is used although kernels for GPUs are installed, unless the suite or a lock chose it.
    pub(super) fn warn_without_gpu(&self, greeting: &Greeting) {
        if !self.warns_about_gpus {
            return;
        }
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
    /// If it cannot be started, does not answer in time, exits, or is a different program.
    pub(super) fn start_greeted(
        &self,
        command: Option<&ModelCommand>,
    ) -> Result<(ModelProcess, Greeting), String> {
        let started = self.start(command, Interrupts::Received);
        let process =
            started.map_err(|error| format!("{} cannot be started: {error}", self.file.display()))?;
        let (mut process, read) = self.first_message(process)?;
        match self.checked(read)? {
            Some(greeting) => Ok((process, greeting)),
            None => Err(self.described_unready(&process.end())),
        }
    }

    /// Describes the end of a process that sent no greeting. Until then it only loads its libraries and its kernels.
    pub(super) fn described_unready(&self, end: &ProcessEnd) -> String {
        let names = self.kernels.folders.iter().filter_map(|folder| folder.file_name());
        let names: Vec<String> = names.map(|name| format!("`{}`", name.display())).collect();
        let (loading, remedy) = match names.is_empty() {
            true => (String::new(), REMEDY),
            false => (format!(" while it loaded the kernels {}", names.join(", ")), DAMAGE_REMEDY),
        };
        end.described_as(&format!("{}: {}{loading}; {remedy}", self.file.display(), end.cause()))
    }

    /// Reads the first message of a process. One that does not send it in time is killed.
    fn first_message(&self, mut process: ModelProcess) -> Result<(ModelProcess, ReadGreeting), String> {
        let (handle, file) = (process.handle.clone(), self.file.display());
        let (sender, receiver) = channel();
        let read = move || {
            let read = read_frame::<Greeting>(&mut process.stdout);
            // Without a receiver, the time is over and the process does not exit. It is dropped when it does.
            let _ = sender.send((process, read));
        };
        spawn_thread("model greeting", read)
            .map_err(|shortage| format!("{file} cannot be asked: {}", shortage.report()))?;
        if let Ok(first) = receiver.recv_timeout(self.max_greeting_time) {
            return Ok(first);
        }
        handle.kill();
        let seconds = self.max_greeting_time.as_secs();
        let reason = format!("{file} did not answer within {seconds} s while it loaded its kernels");
        Err(match receiver.recv_timeout(MAX_EXIT_TIME) {
            Ok((mut process, _)) => {
                process.end().described_as(&format!("{reason}, and was killed; {SILENCE_REMEDY}"))
            }
            Err(_) => format!("{reason}, and does not exit, although it was killed; {SILENCE_REMEDY}"),
        })
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

#[cfg(test)]
mod tests;
