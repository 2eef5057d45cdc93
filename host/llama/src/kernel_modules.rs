//! Kernel modules: llama.cpp's backends as shared libraries, in a build with the feature `dynamic-backends`.
//!
//! Each folder holds one kernel build and is named after it, such as `baseline` or `cuda`. Only the folders that
//! gage-host names are searched.

use gage_model_protocol::KernelBuild;
use llama_cpp_2::list_llama_ggml_backend_devices;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Folders given on the command line.
static FOLDERS: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Sets the folders whose modules are loaded when llama.cpp starts. Only the first call counts.
pub fn set_kernel_folders(folders: Vec<PathBuf>) {
    let _ = FOLDERS.set(folders);
}

/// Returns the folders whose modules are loaded.
pub fn kernel_folders() -> &'static [PathBuf] {
    FOLDERS.get().map(Vec::as_slice).unwrap_or_default()
}

/// Loads the modules of each folder.
///
/// # Errors
/// If a folder does not exist, or this build has its kernels compiled in.
pub fn load_kernel_modules() -> Result<(), String> {
    for folder in kernel_folders() {
        let shown = folder.display();
        if !folder.is_absolute() || !folder.is_dir() || folder.to_str().is_none() {
            return Err(format!("the kernel folder {shown} is not the absolute path of a folder in UTF-8"));
        }
        load_from(folder)?;
    }
    Ok(())
}

#[cfg(feature = "dynamic-backends")]
fn load_from(folder: &Path) -> Result<(), String> {
    llama_cpp_2::llama_backend::load_backends_from_path(folder);
    Ok(())
}

#[cfg(not(feature = "dynamic-backends"))]
fn load_from(folder: &Path) -> Result<(), String> {
    Err(format!("the kernels of this gage-model are compiled in; it cannot load {}", folder.display()))
}

/// Returns the kernel builds that the folders are named after.
pub fn folder_builds() -> Vec<KernelBuild> {
    let named = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<KernelBuild>().ok();
    kernel_folders().iter().filter_map(named).collect()
}

/// Returns the kernels that were loaded: those of a GPU that was found, or else those for the processor. llama.cpp must be
/// running.
pub fn loaded_build() -> Option<KernelBuild> {
    let devices = list_llama_ggml_backend_devices();
    let has_device = |build: KernelBuild| {
        devices.iter().any(|device| device.backend.eq_ignore_ascii_case(&build.to_string()))
    };
    let builds = folder_builds();
    let for_gpu = builds.iter().copied().find(|build| build.is_for_gpus() && has_device(*build));
    for_gpu.or_else(|| builds.iter().copied().find(|build| !build.is_for_gpus()))
}
