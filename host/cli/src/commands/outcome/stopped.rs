//! Last lines of a run that was stopped.

use super::OutcomeOf;
use crate::terminal;
use gage_runner::StopReason;

/// Returns what is recorded of samples without an answer, if this number of samples failed by themselves before the end.
fn unanswered_line(failed: u64) -> String {
    if failed == 0 {
        return "Unanswered samples are not recorded".to_owned();
    }
    let (are, them) = if failed == 1 { ("is", "it") } else { ("are", "them") };
    format!(
        "{} {are} recorded as `backend_error`, and resuming asks {them} again. Other unanswered samples are not recorded",
        terminal::count_of(failed, "sample")
    )
}

/// Prints why a run was stopped, with the cause of the manifest, and what is recorded of samples without an answer: `failed`
/// failed by themselves before the end. The command that resumes the run follows.
pub(super) fn print(reason: &StopReason, cause: Option<&str>, failed: u64, of: OutcomeOf<'_>) {
    let unanswered = unanswered_line(failed);
    match reason {
        StopReason::Requested if of == OutcomeOf::Recorded => {
            terminal::eprint_line("interrupted; some answers are not scored: score the run again");
        }
        StopReason::Requested => {
            let cause = cause.map(|cause| format!(" ({cause})")).unwrap_or_default();
            terminal::eprint_line(format_args!("interrupted{}", gage_core::printable_line(&cause)));
        }
        StopReason::Budget(text) => {
            terminal::eprint_line(format_args!(
                "incomplete: a budget is used up: {text}; continue with a larger one"
            ));
        }
        StopReason::BackendRefused { backend_id, message } => {
            let message = format!("the backend `{backend_id}` refuses every request: {message}");
            let help = format!("fix the cause, then continue the run. {unanswered}");
            terminal::usage_error(&gage_core::printable_line(&message), Some(&help));
        }
        StopReason::ServerLost { backend_id, message } => {
            terminal::eprint_line(format_args!(
                "interrupted: the server of the backend `{}` is lost: {}",
                gage_core::printable_line(backend_id),
                gage_core::printable_line(message)
            ));
            terminal::eprint_line(format_args!("{unanswered}. When the server is back, continue the run"));
        }
        StopReason::ModelLost { backend_id, message } => {
            let message = format!("the model of the backend `{backend_id}` is lost: {message}");
            let help = format!("check the model file and the memory, then continue the run. {unanswered}");
            terminal::usage_error(&gage_core::printable_line(&message), Some(&help));
        }
        // The lines of the shortfall and of the batch say what is missing.
        StopReason::FailFast(_) | StopReason::AwaitsBatch => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_failed_are_not_called_unrecorded() {
        assert_eq!(unanswered_line(0), "Unanswered samples are not recorded");
        let one = unanswered_line(1);
        assert!(
            one.starts_with("1 sample is recorded as `backend_error`, and resuming asks it again."),
            "{one}"
        );
        let many = unanswered_line(153);
        assert!(many.starts_with("153 samples are recorded as `backend_error`, and"), "{many}");
    }
}
