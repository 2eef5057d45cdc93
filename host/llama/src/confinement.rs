//! Confinement of this process, before it reads a model file: code that a hostile file smuggles in has nothing to steal.
//!
//! The host starts the process with an almost empty environment. Here it gives up its privileges, and limits itself to
//! the files of the model (`file_access`) and to harmless system calls (`system_calls`). A build that computes on GPUs
//! also reaches their devices and drivers.

#[cfg(target_os = "linux")]
mod file_access;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod system_calls;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

use gage_model_protocol::Confinement;
use std::path::PathBuf;

/// Confines this process. It must have a single thread: the rules hold for the calling thread and for those that it
/// starts.
///
/// `model_files` and the modules in `kernel_folders` stay readable. A part that the system lacks is left out, and the
/// result has the reason.
#[cfg(target_os = "linux")]
pub fn confine(model_files: &[PathBuf], kernel_folders: &[PathBuf], reaches_gpus: bool) -> Confinement {
    let privileges = give_up_privileges(reaches_gpus).map_err(|error| error.to_string());
    let files = file_access::restrict(model_files, kernel_folders, reaches_gpus);
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    let system_calls = system_calls::refuse(reaches_gpus);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let system_calls = Err(format!("there is no filter for {}", std::env::consts::ARCH));
    Confinement { privileges, files, system_calls, reaches_gpus }
}

/// Returns that this system can confine nothing.
#[cfg(not(target_os = "linux"))]
pub fn confine(_model_files: &[PathBuf], _kernel_folders: &[PathBuf], reaches_gpus: bool) -> Confinement {
    let reason = || "this needs Linux".to_owned();
    Confinement { privileges: Err(reason()), files: Err(reason()), system_calls: Err(reason()), reaches_gpus }
}

/// Gives up all privileges but the one to read files of others, which root needs for models of other users. Allows no
/// core file and, without GPUs, no written file. Drivers of GPUs write to files in memory, and to the folder of compiled
/// kernels that `CUDA_CACHE_PATH` names.
#[cfg(target_os = "linux")]
fn give_up_privileges(reaches_gpus: bool) -> std::io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs};
    set_no_new_privs(true)?;
    let CapabilitySets { effective, permitted, inheritable: _ } = capabilities(None)?;
    let kept = CapabilitySet::DAC_READ_SEARCH;
    let sets = CapabilitySets {
        effective: effective & kept,
        permitted: permitted & kept,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets)?;
    let nothing = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, nothing)?;
    if !reaches_gpus {
        setrlimit(Resource::Fsize, nothing)?;
    }
    Ok(())
}

/// Closes all descriptors but the standard streams: gage-host may have inherited some from its own parent. Must be
/// called before this program opens a file.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no safe function closes descriptors that this program did not open")]
pub fn close_inherited_descriptors() {
    use std::ffi::c_uint;
    const FIRST: c_uint = 3;
    const NO_FLAGS: c_uint = 0;
    // SAFETY: nothing in this program owns a descriptor yet. A kernel before 5.9 refuses the call, which does no harm.
    unsafe {
        libc::syscall(libc::SYS_close_range, FIRST, c_uint::MAX, NO_FLAGS);
    }
}

/// Does nothing on a system that cannot do it safely.
#[cfg(not(target_os = "linux"))]
pub fn close_inherited_descriptors() {}
