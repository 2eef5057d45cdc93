//! Shortages of the machine, which end a call with one error in place of those that follow from them.

use crate::RunnerError;
use crate::error::with_causes;
use gage_core::{ResourceShortage, ShortageWatch, ensure_file_descriptors};

/// Minimum number of files that can be opened at the start of a call. A run of one task and one plugin opens 20, and one
/// more for each request in flight.
const MIN_FREE_FILE_DESCRIPTORS: usize = 28;

/// Does the work of a call. If the machine has too little of a resource, the error says so, whatever followed from it.
pub(crate) fn watched<T>(
    work: impl FnOnce(ShortageWatch) -> Result<T, RunnerError>,
) -> Result<T, RunnerError> {
    let shortages = ShortageWatch::start();
    ensure_file_descriptors(MIN_FREE_FILE_DESCRIPTORS).map_err(|shortage| error_of(&shortage, None))?;
    match work(shortages) {
        Ok(value) => match shortages.shortage() {
            None => Ok(value),
            Some(shortage) => Err(error_of(&shortage, None)),
        },
        Err(error @ RunnerError::Shortage { .. }) => Err(error),
        Err(error) => Err(match (error.shortage(), shortages.shortage()) {
            (Some(shortage), _) => error_of(&shortage, Some(&error)),
            (None, Some(shortage)) => error_of(&shortage, None),
            (None, None) => error,
        }),
    }
}

/// Returns the error for a shortage, with the text of the error that it caused.
fn error_of(shortage: &ResourceShortage, error: Option<&RunnerError>) -> RunnerError {
    let sentence = shortage.resource().sentence();
    let message = match error.map(|error| with_causes(error)) {
        None => shortage.to_string(),
        Some(text) if text.contains(sentence) => text,
        Some(text) => format!("{text}: {sentence}"),
    };
    RunnerError::Shortage { message, run_id: None }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use gage_core::MachineResource;
    use gage_engine::RunError;
    use gage_record::RecordError;
    use std::io;
    use std::path::Path;

    fn of_file(code: i32) -> RunnerError {
        let source = io::Error::from_raw_os_error(code);
        RunnerError::Record(RecordError::io("sync", Path::new("journal"), source))
    }

    #[test]
    fn errors_that_follow_from_a_shortage_name_it() {
        let of_thread = ResourceShortage::new(MachineResource::Threads).while_doing("cannot start");
        for (error, expected) in [
            (
                of_file(28),
                "failed to sync journal: No space left on device (os error 28): out of disk space; ",
            ),
            (
                of_file(24),
                "failed to sync journal: Too many open files (os error 24): out of file descriptors; ",
            ),
            (RunnerError::Run(RunError::Shortage(of_thread.clone())), "cannot start: out of threads; "),
            (
                RunnerError::io("cannot start the async runtime", of_thread),
                "cannot start the async runtime: cannot start: out of threads; ",
            ),
        ] {
            let found = watched(|_| Err::<(), _>(error)).expect_err("an error");
            assert!(matches!(found, RunnerError::Shortage { .. }), "{found}");
            assert!(found.to_string().starts_with(expected), "{found}");
        }
    }

    #[test]
    fn other_errors_are_kept() {
        let found = watched(|_| Err::<(), _>(of_file(2))).expect_err("an error");
        assert!(matches!(found, RunnerError::Record(_)), "{found}");
        assert_eq!(watched(|_| Ok(1)).ok(), Some(1));
    }
}
