//! Shortages of the machine, which end every command with the exit code of a failed machine.

use crate::exit_code::ExitCode;
use crate::terminal;
use gage_core::{ResourceShortage, ShortageWatch, ensure_file_descriptors};
use std::io::Write as _;

/// Minimum number of files that a command must be able to open. The runtime for signals alone opens 6, and panics without them.
const MIN_FREE_FILE_DESCRIPTORS: usize = 12;

/// Advice after a shortage, if it is not known which run was affected.
pub(crate) const RETRY_HELP: &str =
    "remove the cause, then start the command again; a run that has begun is continued with --resume";

/// Checks that the process can open the files that every command needs.
///
/// # Errors
/// Fails if there are too few file descriptors.
pub(crate) fn check_descriptors() -> anyhow::Result<()> {
    Ok(ensure_file_descriptors(MIN_FREE_FILE_DESCRIPTORS)?)
}

/// Ends the process with a message when a library panics because the system refuses a thread, memory or a file descriptor. Some
/// of them would wait forever while they unwind.
pub(crate) fn end_after_panics() {
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        match panic.payload_as_str().and_then(ResourceShortage::of_panic) {
            Some(shortage) => {
                let _ = writeln!(std::io::stderr(), "error: {shortage}\n  help: {RETRY_HELP}");
                std::process::exit(ExitCode::Internal as i32);
            }
            // The caller reports it as an error.
            None if gage_core::panic_is_caught() => {}
            None => others(panic),
        }
    }));
}

/// Returns the exit code of a command, and prints its error. A command that fails after a shortage ends as a failure of the
/// machine, because its own error may only follow from the shortage.
pub(crate) fn exit_code_of(result: anyhow::Result<ExitCode>) -> ExitCode {
    let reported = ShortageWatch::default().shortage();
    match (result.or_else(|error| error.downcast::<ExitCode>()), reported) {
        (Ok(code @ (ExitCode::Done | ExitCode::Internal | ExitCode::Interrupted)), _) | (Ok(code), None) => {
            code
        }
        (Ok(_), Some(shortage)) => {
            terminal::usage_error(&shortage.to_string(), Some(RETRY_HELP));
            ExitCode::Internal
        }
        (Err(error), reported) => {
            match text_of_shortage(&error, reported) {
                Some(text) => {
                    terminal::usage_error(&text, Some(RETRY_HELP));
                }
                None => terminal::eprint_error(&error),
            }
            ExitCode::Internal
        }
    }
}

/// Returns the text of an error with what is short and which limit is likely, if it is due to a shortage.
fn text_of_shortage(error: &anyhow::Error, reported: Option<ResourceShortage>) -> Option<String> {
    let text = format!("{error:#}");
    let cause: &(dyn std::error::Error + 'static) = error.as_ref();
    let sentence = ResourceShortage::find(cause).or(reported)?.resource().sentence();
    Some(if text.contains(sentence) { text } else { format!("{text}: {sentence}") })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use anyhow::Context as _;
    use std::io;

    #[test]
    fn error_of_the_system_says_what_is_short() {
        let failed = |code: i32| -> anyhow::Error {
            let failed: io::Result<()> = Err(io::Error::from_raw_os_error(code));
            failed.context("cannot write a").expect_err("an error")
        };
        let full = text_of_shortage(&failed(28), None).unwrap_or_default();
        let expected = "cannot write a: No space left on device (os error 28): out of disk space; ";
        assert!(full.starts_with(expected), "{full}");
        assert_eq!(text_of_shortage(&failed(2), None), None);
        let known = ResourceShortage::find(&io::Error::from_raw_os_error(24)).expect("a shortage");
        let once = text_of_shortage(&anyhow::Error::new(known.clone()), Some(known.clone()));
        assert_eq!(once, Some(known.to_string()));
    }

    #[test]
    fn exit_codes_of_commands_are_kept() {
        for code in [ExitCode::Done, ExitCode::Configuration, ExitCode::Interrupted] {
            assert_eq!(exit_code_of(Ok(code)), code);
            assert_eq!(exit_code_of(Err(code.into())), code);
        }
    }
}
