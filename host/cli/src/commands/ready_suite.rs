//! Ready suites as the suite of a command: `run gsm8k`, as `run suite.yaml`.

use super::setup;
use crate::arguments::ConfigArguments;
use crate::exit_code::ExitCode;
use crate::{environment, terminal};
use gage_suite::ReadySuite;
use std::path::{Path, PathBuf};

/// Writes the file of the ready suite that a command line names. A path that exists wins over the name.
///
/// # Errors
/// The code of the printed error.
pub(super) fn resolve(config: &mut ConfigArguments) -> Result<(), ExitCode> {
    if config.ready_file.is_none() {
        config.ready_file = ready_file(&config.path())?;
    }
    Ok(())
}

/// Returns the written file of the ready suite of this name. `None` for a file, and for other names.
///
/// # Errors
/// The code of the printed error.
pub(super) fn ready_file(named: &Path) -> Result<Option<PathBuf>, ExitCode> {
    let ready = named.to_str().filter(|_| !named.is_file()).and_then(ReadySuite::named);
    ready.map(written).transpose()
}

/// Writes the file of a ready suite, and returns its path.
///
/// # Errors
/// The code of the printed error.
pub(super) fn written(suite: &ReadySuite) -> Result<PathBuf, ExitCode> {
    let Some(cache) = environment::cache_folder() else {
        let message = "there is no cache folder for the suite, because HOME is not set";
        return Err(terminal::usage_error(message, Some("set HOME, or GAGE_CACHE_DIR")));
    };
    suite.write_below(&cache).map_err(setup::refuse_suite)
}
