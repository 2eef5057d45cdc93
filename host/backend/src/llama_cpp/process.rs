//! A model in a process of its own, which is started again when it crashes.

use super::captured_log::LOG_TARGET;
use super::load_options::{LlamaCppOpenError, ModelOptions};
use super::log_forwarding::LogForwarder;
use super::model_client::{LoadResult, ModelClient, model_lost};
use super::omp_wait_policy::thread_environment;
use super::pinned_files::FileUse;
use super::protocol::{FromModel, ToModel, VERSION, read_frame, write_frame};
use crate::api::{BackendError, BackendErrorKind};
use std::io::BufReader;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Weak};
use tokio::sync::oneshot;

/// Crashes in a row after which no model is started any more.
const MAX_CRASHES: u32 = 3;

/// How this program calls itself to run a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelProgram {
    /// The file of the program.
    pub program: PathBuf,
    /// With what arguments it calls [`serve_model`](crate::serve_model).
    pub arguments: Vec<String>,
}

/// How a process ended that was not asked to.
enum ProcessExit {
    /// Nobody needs the model any more.
    Dropped,
    /// It said that it cannot load the model.
    Refused,
    /// It crashed, after it answered a request or not.
    Crashed { has_answered: bool },
}

/// Starts the process, which ends when the link is dropped.
///
/// # Errors
/// When no thread can be had.
pub fn start(
    options: ModelOptions,
    program: ModelProgram,
) -> Result<(Arc<ModelClient>, oneshot::Receiver<LoadResult>), LlamaCppOpenError> {
    let link = Arc::new(ModelClient::default());
    let (opening, opened) = oneshot::channel();
    link.state().opening = Some(opening);
    let weak = Arc::downgrade(&link);
    std::thread::Builder::new()
        .name("llama.cpp process".to_owned())
        .spawn(move || supervise(&weak, &options, &program))
        .map_err(|error| LlamaCppOpenError::Ended(error.to_string()))?;
    Ok((link, opened))
}

/// Runs the process, and again after each crash.
fn supervise(link: &Weak<ModelClient>, options: &ModelOptions, program: &ModelProgram) {
    let mut in_a_row = 0;
    loop {
        let Some(strong) = link.upgrade() else { return };
        // Nothing is pinned before the first load.
        if let Err(reason) = strong.files.check(FileUse::Reload) {
            return strong.state().fail_all(model_lost(reason));
        }
        let (mut child, stdin, stdout, relay) = match spawn(program) {
            Ok(spawned) => spawned,
            Err(error) => {
                return strong
                    .state()
                    .fail_all(model_lost(format!("the process of the model cannot be started: {error}")));
            }
        };
        let (outbox, inbox) = channel();
        let open = ToModel::Open { version: VERSION, options: Box::new(options.clone()) };
        // Cannot fail while the inbox is in hand.
        let _ = outbox.send(open);
        let writer = std::thread::Builder::new()
            .name("llama.cpp requests".to_owned())
            .spawn(move || write_all(stdin, &inbox));
        if let Err(error) = writer {
            let message = format!("the process of the model cannot be asked: {error}");
            let _ = child.kill().and_then(|()| child.wait());
            return strong.state().fail_all(model_lost(message));
        }
        {
            let mut state = strong.state();
            state.process_id = Some(child.id());
            state.outbox = Some(outbox);
            state.send_pending();
        }
        tracing::info!(
            pid = child.id(),
            program = %program.program.display(),
            model = %options.model_path.display(),
            "a model runs in a process of its own"
        );
        drop(strong);
        let end = listen(link, stdout);
        // It may hang rather than have ended.
        let _ = child.kill();
        let status = child.wait();
        let log = relay.finish();
        let Some(strong) = link.upgrade() else { return };
        let has_answered = match end {
            ProcessExit::Dropped => return,
            ProcessExit::Refused => {
                let message = "the model could not be loaded".to_owned();
                return strong.state().fail_all(model_lost(message));
            }
            ProcessExit::Crashed { has_answered } => has_answered,
        };
        in_a_row = if has_answered { 1 } else { in_a_row + 1 };
        let how = described(status.as_ref().ok(), &log);
        tracing::error!("{how}");
        let mut state = strong.state();
        state.process_id = None;
        if state.ended.is_some() {
            return;
        }
        if state.opening.is_some() {
            let message = format!("{how}, while it loaded the model");
            return state.fail_all(model_lost(message));
        }
        state.on_crash(|| {
            BackendError::new(BackendErrorKind::ModelCrashed, format!("{how}, twice with this request"))
        });
        if in_a_row >= MAX_CRASHES {
            let message =
                format!("{how}; this was the crash number {in_a_row} without an answer between them");
            return state.fail_all(model_lost(message));
        }
    }
}

type SpawnedProcess = (Child, ChildStdin, ChildStdout, LogForwarder);

fn spawn(program: &ModelProgram) -> std::io::Result<SpawnedProcess> {
    let mut command = Command::new(&program.program);
    command
        .args(&program.arguments)
        .envs(thread_environment())
        // A failed assertion is to end it with its own signal, and to write nothing to the stream of its answers.
        .env("GGML_NO_BACKTRACE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        // An interrupt from the terminal is for the run, which then ends the model.
        command.process_group(0);
    }
    let mut child = command.spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let relay = stderr.map(LogForwarder::start).transpose()?;
    match (stdin, stdout, relay) {
        (Some(stdin), Some(stdout), Some(relay)) => Ok((child, stdin, stdout, relay)),
        _ => Err(std::io::Error::other("it has no standard streams")),
    }
}

/// Writes messages until there are no more, or nobody reads them.
fn write_all(mut stdin: ChildStdin, inbox: &Receiver<ToModel>) {
    for message in inbox {
        if let Err(error) = write_frame(&mut stdin, &message) {
            tracing::debug!(%error, "the process of the model takes no more requests");
            return;
        }
    }
}

/// Hears what the process says until it ends.
fn listen(link: &Weak<ModelClient>, stdout: ChildStdout) -> ProcessExit {
    let mut reader = BufReader::new(stdout);
    let mut has_answered = false;
    loop {
        let message = match read_frame::<FromModel>(&mut reader) {
            Ok(Some(message)) => message,
            Ok(None) => break,
            Err(error) => {
                tracing::debug!(%error, "the process of the model said something else");
                break;
            }
        };
        let Some(link) = link.upgrade() else { return ProcessExit::Dropped };
        let is_refused = matches!(message, FromModel::Refused(_));
        has_answered |= matches!(message, FromModel::Done(..));
        link.on_message(message);
        if is_refused {
            return ProcessExit::Refused;
        }
    }
    if link.strong_count() == 0 { ProcessExit::Dropped } else { ProcessExit::Crashed { has_answered } }
}

/// How a process ended, with what it said last.
fn described(status: Option<&ExitStatus>, log: &[String]) -> String {
    let how = match status {
        Some(status) => match signal(*status) {
            Some((number, name)) => format!("was ended by the signal {number} ({name})"),
            None => format!("ended with the {status}").replace("exit status: ", "exit status "),
        },
        None => "ended".to_owned(),
    };
    let said = if log.is_empty() { String::new() } else { format!("; it said last: {}", log.join(" | ")) };
    format!("the process of the model {how}{said}")
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<(i32, &'static str)> {
    use std::os::unix::process::ExitStatusExt as _;
    let number = status.signal()?;
    let name = match number {
        4 => "SIGILL: this machine lacks an instruction that llama.cpp was built for",
        6 => "SIGABRT: a check of llama.cpp's failed",
        7 => "SIGBUS: perhaps the model file changed",
        8 => "SIGFPE",
        9 => "SIGKILL: perhaps memory ran out",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => "see `man 7 signal`",
    };
    Some((number, name))
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<(i32, &'static str)> {
    None
}

/// Runs a model for another process of this program, over the standard streams. Comes back when that has
/// ended or the model cannot be loaded.
///
/// # Errors
/// When the first message is not the one that it should be.
pub fn serve_model() -> std::io::Result<()> {
    let mut stdin = std::io::stdin().lock();
    let mut stdout = std::io::stdout().lock();
    let first = read_frame::<ToModel>(&mut stdin)?;
    let options = match first {
        Some(ToModel::Open { version: VERSION, options }) => *options,
        Some(ToModel::Open { version, .. }) => {
            let reason = format!(
                "the program was replaced while it ran: its parts speak the versions {version} and {VERSION}; start the run again"
            );
            return write_frame(&mut stdout, &FromModel::Refused(reason));
        }
        Some(_) => return Err(std::io::Error::other("the first message must say what to load")),
        None => return Ok(()),
    };
    drop(stdin);
    let (sender, inbox) = channel();
    std::thread::Builder::new().name("requests".to_owned()).spawn(move || {
        let mut stdin = BufReader::new(std::io::stdin().lock());
        while let Ok(Some(message)) = read_frame::<ToModel>(&mut stdin) {
            if sender.send(message).is_err() {
                break;
            }
        }
        // Whoever asked is gone; the model may be in the middle of a long call.
        std::process::exit(0);
    })?;
    super::worker::run(options, &inbox, |message| match write_frame(&mut stdout, &message) {
        Ok(()) => std::ops::ControlFlow::Continue(()),
        Err(error) => {
            tracing::debug!(target: LOG_TARGET, %error, "nobody reads answers any more");
            std::ops::ControlFlow::Break(())
        }
    });
    Ok(())
}
