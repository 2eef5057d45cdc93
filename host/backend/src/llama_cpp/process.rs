//! Runs a model in its own process, which is restarted after a crash or a hang.

use super::hang_watchdog::WatchdogLimits;
use super::model_client::{ClientState, LoadResult, ModelClient, model_lost, watch_process};
use super::model_process::ModelProcess;
use super::model_program::{FoundProgram, Interrupts};
use crate::api::{BackendError, BackendErrorKind};
use gage_core::spawn_thread;
use gage_model_protocol::{Command, FromModel, ModelOptions, ToModel, read_frame, write_frame};
use std::fmt::Display;
use std::io::BufReader;
use std::ops::ControlFlow;
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Weak};
use tokio::sync::oneshot;

/// Number of consecutive crashes and hangs after which the model is not restarted.
const MAX_CRASHES: u32 = 3;

/// Reason why a process ended on its own.
enum ProcessExit {
    /// The client was dropped.
    Dropped,
    /// The process cannot load the model, or is not the right program.
    Refused(String),
    /// The process ended before it was ready.
    Unready,
    /// The process crashed, or was killed because it hung, possibly after answering requests.
    Crashed { has_answered: bool },
}

/// Returns the message that there is no model because its process did not start, or ended.
pub fn not_started(reason: impl Display) -> String {
    format!("the model could not be started: {reason}")
}

/// Starts the process, which ends when the link is dropped. Must be called in an async runtime, which watches it.
///
/// # Errors
/// If no thread can be created.
pub fn start(
    options: ModelOptions,
    program: FoundProgram,
    limits: WatchdogLimits,
) -> Result<(Arc<ModelClient>, oneshot::Receiver<LoadResult>), String> {
    let link = Arc::new(ModelClient::default());
    let (opening, opened) = oneshot::channel();
    link.state().opening = Some(opening);
    let weak = Arc::downgrade(&link);
    spawn_thread("llama.cpp host", move || supervise(&weak, &options, &program))
        .map_err(|shortage| not_started(shortage.report()))?;
    tokio::spawn(watch_process(Arc::downgrade(&link), limits));
    Ok((link, opened))
}

/// Runs the process, and restarts it after each crash or hang.
fn supervise(link: &Weak<ModelClient>, options: &ModelOptions, program: &FoundProgram) {
    let mut crashes_in_a_row = 0;
    loop {
        let Some(strong) = link.upgrade() else { return };
        // Nothing is pinned before the first load.
        if let Err(reason) = strong.check_files_before_reload() {
            return strong.state().fail_all(model_lost(reason));
        }
        let next = strong.state().options_of_next_load(options);
        let mut process = match launch(&strong, &next, program) {
            Ok(process) => process,
            Err(reason) => return strong.state().fail_all(model_lost(reason)),
        };
        drop(strong);
        let exit = listen(link, program, &mut process.stdout, crashes_in_a_row == 0);
        // From here on the process is not killed again: its exit status is about to be collected.
        let hang = link.upgrade().and_then(|client| client.state().on_process_end());
        let end = process.end();
        let (how, while_loading) = match (hang, &exit) {
            (None, ProcessExit::Unready) => {
                let how = program.described_unready(&end);
                (how.clone(), how)
            }
            (None, _) => (end.described(), end.described_while_loading(&options.model_path)),
            (Some(hang), _) => {
                let how = end.described_as(&hang.to_string());
                (how.clone(), format!("{how}, while it loaded the model"))
            }
        };
        let Some(strong) = link.upgrade() else { return };
        let has_answered = match exit {
            ProcessExit::Dropped => return,
            ProcessExit::Refused(message) => return strong.state().fail_all(model_lost(message)),
            ProcessExit::Unready => false,
            ProcessExit::Crashed { has_answered } => has_answered,
        };
        crashes_in_a_row = if has_answered { 1 } else { crashes_in_a_row + 1 };
        tracing::error!("{how}");
        if strong.state().after_crash(&how, while_loading, crashes_in_a_row).is_break() {
            return;
        }
    }
}

/// Starts a process and sends it the waiting requests.
fn launch(
    client: &ModelClient,
    options: &ModelOptions,
    program: &FoundProgram,
) -> Result<ModelProcess, String> {
    let command = Command::Serve(Box::new(options.clone()));
    let mut process = program.start(Some(&command), Interrupts::Ignored).map_err(|error| {
        format!("the model process cannot be started: {}: {error}", program.file.display())
    })?;
    let (outbox, inbox) = channel();
    if let Some(stdin) = process.stdin.take() {
        spawn_thread("llama.cpp asks", move || write_all(stdin, &inbox))
            .map_err(|shortage| format!("the model process cannot be asked: {}", shortage.report()))?;
    }
    client.state().on_launch(process.handle.clone(), outbox);
    tracing::info!(
        pid = process.handle.id(),
        program = %program.file.display(),
        model = %options.model_path.display(),
        "a model runs in a process of its own"
    );
    Ok(process)
}

impl ClientState {
    /// Fails requests that cannot be retried after a crash. Returns `Continue` if the process is to be restarted.
    ///
    /// `while_loading` is the error of a model that was never loaded. Its file would crash every further process.
    fn after_crash(&mut self, how: &str, while_loading: String, crashes_in_a_row: u32) -> ControlFlow<()> {
        if self.ended.is_some() {
            return ControlFlow::Break(());
        }
        if self.opening.is_some() {
            self.fail_all(model_lost(while_loading));
            return ControlFlow::Break(());
        }
        self.on_crash(|| {
            BackendError::new(BackendErrorKind::ModelCrashed, format!("{how}, twice with this request"))
        });
        if crashes_in_a_row < MAX_CRASHES {
            return ControlFlow::Continue(());
        }
        self.fail_all(model_lost(format!(
            "{how}; this was the crash or hang number {crashes_in_a_row} without an answer between them"
        )));
        ControlFlow::Break(())
    }
}

/// Writes messages until there are no more or the process stops reading.
fn write_all(mut stdin: ChildStdin, inbox: &Receiver<ToModel>) {
    for message in inbox {
        if let Err(error) = write_frame(&mut stdin, &message) {
            tracing::debug!(%error, "the model process accepts no more requests");
            return;
        }
    }
}

/// Reads what the process sends until it ends. The first process of a model warns if it uses no GPU.
fn listen(
    link: &Weak<ModelClient>,
    program: &FoundProgram,
    stdout: &mut BufReader<ChildStdout>,
    is_first: bool,
) -> ProcessExit {
    match program.greet(stdout) {
        Ok(Some(greeting)) if is_first => program.warn_without_gpu(&greeting),
        Ok(Some(_)) => {}
        Ok(None) => return ProcessExit::Unready,
        Err(message) => return ProcessExit::Refused(message),
    }
    let mut has_answered = false;
    loop {
        let message = match read_frame::<FromModel>(stdout) {
            Ok(Some(message)) => message,
            Ok(None) => break,
            Err(error) => {
                tracing::debug!(%error, "the model process sent an unexpected message");
                break;
            }
        };
        let Some(link) = link.upgrade() else { return ProcessExit::Dropped };
        let is_refused = matches!(message, FromModel::Refused(_));
        has_answered |= matches!(message, FromModel::Done(..));
        link.on_message(message);
        if is_refused {
            return ProcessExit::Refused("the model could not be loaded".to_owned());
        }
    }
    if link.strong_count() == 0 { ProcessExit::Dropped } else { ProcessExit::Crashed { has_answered } }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use gage_config::Kernels;
    use gage_model_protocol::{BuildInfo, Confinement, Greeting, KernelBuild, PROTOCOL_VERSION};
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;
    use std::time::Duration;

    /// A program that greets like `gage-model`, and is then ended by a signal as if the model file had crashed it.
    #[tokio::test(flavor = "multi_thread")]
    async fn file_that_crashes_its_reader_is_loaded_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let build = BuildInfo {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: PROTOCOL_VERSION,
            variant: KernelBuild::Baseline.into(),
            modules: BTreeMap::new(),
            devices: Vec::new(),
            llama_cpp_2: String::new(),
            llama_cpp_sys_2: String::new(),
        };
        let confinement =
            Confinement { privileges: Ok(()), files: Ok(1), system_calls: Ok(()), reaches_gpus: false };
        let mut greeting = Vec::new();
        let sent = Greeting {
            build,
            confinement,
            unused_kernels: Vec::new(),
            free_gpu_memory: BTreeMap::new(),
            problem: None,
        };
        write_frame(&mut greeting, &sent).expect("a frame");
        std::fs::write(folder.path().join("greeting"), greeting).expect("written");
        let file = folder.path().join("gage-model");
        let script =
            "#!/bin/sh\necho started >>\"${0%/*}/starts\"\ncat \"${0%/*}/greeting\"\nkill -SEGV $$\n";
        std::fs::write(&file, script).expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("set");

        let program = crate::ModelProgram { file: Some(file), log_filter: None };
        let program = program.find(Kernels::Auto, None).expect("the file");
        let options = ModelOptions::new(PathBuf::from("hostile.gguf"));
        let (client, opened) =
            start(options, program, WatchdogLimits::new(Duration::from_secs(600), 0)).expect("threads");
        let error = opened.await.expect("an answer").expect_err("it crashes");
        for part in ["the model file hostile.gguf cannot be loaded", "SIGSEGV", "may be damaged"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        let refused = client.state().ended.clone().expect("it ended");
        assert_eq!(refused.kind, BackendErrorKind::ModelLost);
        let starts = std::fs::read_to_string(folder.path().join("starts")).expect("read");
        assert_eq!(starts, "started\n");
    }
}
