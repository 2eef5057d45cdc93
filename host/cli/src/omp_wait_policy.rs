//! How the threads of llama.cpp wait for each other.

/// Has OpenMP's threads wait as [`gage_backend::thread_environment`] says, unless the user says otherwise. OpenMP
/// reads its variables before `main`, so the program starts itself anew with them: only where a model will run in
/// this process, for it doubles the time that starting takes, and before anything is said or written.
#[cfg(unix)]
pub(crate) fn set() {
    use std::os::unix::process::CommandExt as _;
    let variables = gage_backend::thread_environment();
    if variables.is_empty() {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        // Comes back only when it fails; the program then goes on as it is.
        let error =
            std::process::Command::new(program).args(std::env::args_os().skip(1)).envs(variables).exec();
        tracing::debug!("cannot say how threads wait: {error}");
    }
}

#[cfg(not(unix))]
pub(crate) fn set() {}
