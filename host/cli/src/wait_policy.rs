//! How the threads of llama.cpp wait for each other.

/// Has OpenMP's threads sleep while they wait rather than spin, unless the user says otherwise.
/// On cores that do other work as well, spinning makes two threads slower than one. OpenMP
/// reads the variable before `main`, so the program starts itself anew with it: only where a model will run in
/// this process, for it doubles the time that starting takes, and before anything is said or written.
#[cfg(unix)]
pub(crate) fn make_passive() {
    use std::os::unix::process::CommandExt as _;
    const VARIABLE: &str = "OMP_WAIT_POLICY";
    if std::env::var_os(VARIABLE).is_some() {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        // Comes back only when it fails; the program then goes on as it is.
        let error = std::process::Command::new(program)
            .args(std::env::args_os().skip(1))
            .env(VARIABLE, "passive")
            .exec();
        tracing::debug!("cannot set {VARIABLE}: {error}");
    }
}

#[cfg(not(unix))]
pub(crate) fn make_passive() {}
