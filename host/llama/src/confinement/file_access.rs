//! Files that a confined process can open, limited by Landlock.

use gage_config::model_parts;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use std::ffi::OsStr;
use std::path::PathBuf;

/// Version of Landlock whose access rights are limited. An older kernel limits fewer.
const VERSION: ABI = ABI::V6;

/// Facts about the machine and this process that llama.cpp, OpenMP and the standard library read.
const MACHINE: [&str; 7] = [
    "/dev/urandom",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/self",
    "/proc/stat",
    "/sys/devices/system",
    "/sys/fs/cgroup",
];

/// Shared libraries of the system, for kernel modules and drivers that are loaded at run time.
const LIBRARIES: [&str; 7] =
    ["/etc/ld.so.cache", "/lib", "/lib64", "/nix/store", "/run/opengl-driver", "/usr/lib", "/usr/lib64"];

/// Further files that drivers of GPUs read.
const DRIVERS: [&str; 7] =
    ["/etc/glvnd", "/etc/nvidia", "/etc/vulkan", "/proc", "/sys", "/usr/local", "/usr/share"];

/// Beginnings of the names of GPU devices in `/dev`.
const DEVICES: [&str; 4] = ["dri", "dxg", "kfd", "nvidia"];

/// Variables with lists of files and folders that the dynamic linker and Vulkan read.
const PATH_VARIABLES: [&str; 3] = ["LD_LIBRARY_PATH", "VK_DRIVER_FILES", "VK_ICD_FILENAMES"];

/// Variable with the folder in which CUDA keeps kernels that it compiled.
const KERNEL_CACHE_VARIABLE: &str = "CUDA_CACHE_PATH";

/// Paths that a confined process can open. Those that do not exist are left out.
#[derive(Debug, Default)]
struct AllowedPaths {
    readable: Vec<PathBuf>,
    devices: Vec<PathBuf>,
    writable: Vec<PathBuf>,
}

/// Limits the files that this thread, and those that it starts, can open. Returns the version of Landlock.
///
/// # Errors
/// Returns the reason why the kernel enforces nothing.
pub(super) fn restrict(
    model_files: &[PathBuf],
    kernel_folders: &[PathBuf],
    reaches_gpus: bool,
) -> Result<u32, String> {
    let paths = AllowedPaths::new(model_files, kernel_folders, reaches_gpus);
    let status = paths.restrict().map_err(|error| format!("Landlock cannot be used: {error}"))?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, LandlockStatus::NotEnabled) => {
            Err("Landlock is disabled on this machine".to_owned())
        }
        (RulesetStatus::NotEnforced, _) => Err("this kernel has no Landlock".to_owned()),
        (_, LandlockStatus::Available { effective_abi, .. }) => Ok(effective_abi.min(VERSION) as u32),
        (_, _) => Err("Landlock reports no version".to_owned()),
    }
}

impl AllowedPaths {
    fn new(model_files: &[PathBuf], kernel_folders: &[PathBuf], reaches_gpus: bool) -> AllowedPaths {
        let mut readable: Vec<PathBuf> = MACHINE.iter().map(PathBuf::from).collect();
        readable.extend(model_files.iter().flat_map(|file| model_parts(file)));
        readable.extend_from_slice(kernel_folders);
        if reaches_gpus || !kernel_folders.is_empty() {
            readable.extend(LIBRARIES.iter().map(PathBuf::from));
            for value in PATH_VARIABLES.iter().filter_map(std::env::var_os) {
                readable.extend(std::env::split_paths(&value).filter(|path| path.is_absolute()));
            }
        }
        let mut paths = AllowedPaths { readable, ..AllowedPaths::default() };
        if reaches_gpus {
            paths.readable.extend(DRIVERS.iter().map(PathBuf::from));
            paths.devices = devices();
            let cache = std::env::var_os(KERNEL_CACHE_VARIABLE).map(PathBuf::from);
            paths.writable.extend(cache.filter(|folder| folder.is_absolute()));
        }
        paths
    }

    fn restrict(&self) -> Result<RestrictionStatus, RulesetError> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        let control = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::WriteFile | AccessFs::IoctlDev;
        let write = AccessFs::from_all(VERSION) & !AccessFs::Execute;
        Ruleset::default()
            .handle_access(AccessFs::from_all(VERSION))?
            .handle_access(AccessNet::from_all(VERSION))?
            .scope(Scope::from_all(VERSION))?
            .create()?
            .add_rules(path_beneath_rules(&self.readable, read))?
            .add_rules(path_beneath_rules(&self.devices, control))?
            .add_rules(path_beneath_rules(&self.writable, write))?
            .restrict_self()
    }
}

/// Returns the GPU devices of this machine.
fn devices() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    let is_gpu = |name: &OsStr| {
        name.to_str().is_some_and(|name| DEVICES.iter().any(|device| name.starts_with(device)))
    };
    entries.filter(|entry| is_gpu(&entry.file_name())).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_and_libraries_are_reachable_only_if_they_are_used() {
        let model = [PathBuf::from("m.gguf")];
        let modules = [PathBuf::from("/opt/modules/baseline")];
        let has = |paths: &AllowedPaths, sought: &str| paths.readable.contains(&PathBuf::from(sought));
        let plain = AllowedPaths::new(&model, &[], false);
        assert!(has(&plain, "m.gguf") && !has(&plain, "/usr/lib") && !has(&plain, "/proc"));
        assert!(plain.devices.is_empty() && plain.writable.is_empty());
        let loaded = AllowedPaths::new(&model, &modules, false);
        assert!(has(&loaded, "/opt/modules/baseline") && has(&loaded, "/usr/lib") && !has(&loaded, "/proc"));
        let gpu = AllowedPaths::new(&model, &[], true);
        assert!(has(&gpu, "m.gguf") && has(&gpu, "/usr/lib") && has(&gpu, "/proc"));
    }
}
