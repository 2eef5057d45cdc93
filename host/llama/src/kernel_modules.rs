//! Kernel modules: llama.cpp's backends as shared libraries, in a build with the feature `dynamic-backends`.
//!
//! Each folder holds one kernel build and is named after it, such as `baseline` or `cuda`. Only the folders that
//! gage-host names are searched. Kernels for GPUs are used if they find a device. One build for the processor is used
//! in any case: `baseline` beside those for GPUs, so that their variant says all about the kernels, or else the first.

use crate::captured_log::captured_without_errors;
use crate::gpus::gpus;
use crate::module_error::reason_in;
use gage_core::Digest;
use gage_model_protocol::{GpuDevice, KernelBuild, UnusedKernels};
use llama_cpp_2::LlamaBackendDevice;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tracing::Level;

/// Whether this build loads its kernels. Otherwise they are compiled in.
pub const LOADS_KERNELS: bool = cfg!(feature = "dynamic-backends");

/// Beginning and end of the file name of a module.
const MODULE_PREFIX: &str = if cfg!(windows) { "ggml-" } else { "libggml-" };
const MODULE_SUFFIX: &str = if cfg!(windows) { ".dll" } else { ".so" };

/// Folders given on the command line.
static FOLDERS: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Kernels of this process.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LoadedKernels {
    /// Kernels for GPUs, which found a device.
    pub for_gpus: Option<KernelBuild>,
    /// Kernels for the processor; `None` if those are compiled in.
    pub for_processor: Option<KernelBuild>,
    /// Digests of the modules of both, by file name.
    pub modules: BTreeMap<String, Digest>,
    /// Kernels that were given and are not used.
    pub unused: Vec<UnusedKernels>,
}

/// A folder with the modules of one kernel build.
#[derive(Clone, Debug)]
struct KernelFolder {
    path: PathBuf,
    build: KernelBuild,
}

/// Sets the folders whose modules are loaded when llama.cpp starts. Only the first call counts.
pub fn set_kernel_folders(folders: Vec<PathBuf>) {
    let _ = FOLDERS.set(folders);
}

/// Returns the folders whose modules are loaded. None if the kernels are compiled in.
pub fn kernel_folders() -> &'static [PathBuf] {
    if LOADS_KERNELS { given_folders() } else { &[] }
}

fn given_folders() -> &'static [PathBuf] {
    FOLDERS.get().map(Vec::as_slice).unwrap_or_default()
}

/// Returns whether kernels for GPUs are loaded if they find a device.
pub fn may_load_gpu_kernels() -> bool {
    let is_for_gpus = |path: &PathBuf| KernelFolder::new(path).is_ok_and(|folder| folder.build.is_for_gpus());
    kernel_folders().iter().any(is_for_gpus)
}

/// Loads the kernels of the given folders.
///
/// # Errors
/// If a folder cannot be used at all, or none has kernels that this processor can run.
pub fn load_kernel_modules() -> Result<LoadedKernels, String> {
    let folders =
        given_folders().iter().map(|path| KernelFolder::new(path)).collect::<Result<Vec<_>, _>>()?;
    if LOADS_KERNELS {
        return load_best(folders, &mut KernelFolder::load);
    }
    let reason = "the kernels of this gage-model are compiled in";
    let unused = folders.iter().map(|folder| folder.unused(reason.to_owned())).collect();
    Ok(LoadedKernels { unused, ..LoadedKernels::default() })
}

/// Loads kernels for GPUs, and then those for the processor. `load` returns why a folder is not used.
fn load_best(
    folders: Vec<KernelFolder>,
    load: &mut dyn FnMut(&KernelFolder) -> Result<(), String>,
) -> Result<LoadedKernels, String> {
    let (for_gpus, mut for_processor): (Vec<_>, Vec<_>) =
        folders.into_iter().partition(|folder| folder.build.is_for_gpus());
    let mut unused = Vec::new();
    let gpu_folder = load_first(for_gpus, load, &mut unused);
    if gpu_folder.is_some() {
        for_processor.sort_by_key(|folder| folder.build != KernelBuild::Baseline);
    }
    let was_given = !for_processor.is_empty();
    let Some(processor_folder) = load_first(for_processor, load, &mut unused) else {
        let is_for_processor = |kernels: &&UnusedKernels| !kernels.name.is_for_gpus();
        let reasons = unused.iter().filter(is_for_processor);
        let reasons: Vec<String> = reasons.map(|one| format!("`{}`: {}", one.name, one.reason)).collect();
        return Err(match was_given {
            true => format!("no kernels for the processor can be loaded ({})", reasons.join("; ")),
            false => "it was given no kernels for the processor".to_owned(),
        });
    };
    let mut modules = processor_folder.digests()?;
    if let Some(folder) = &gpu_folder {
        modules.extend(folder.digests()?);
    }
    Ok(LoadedKernels {
        for_gpus: gpu_folder.map(|folder| folder.build),
        for_processor: Some(processor_folder.build),
        modules,
        unused,
    })
}

/// Loads the first folder that can be used, and returns it. Adds the others to `unused`.
fn load_first(
    folders: Vec<KernelFolder>,
    load: &mut dyn FnMut(&KernelFolder) -> Result<(), String>,
    unused: &mut Vec<UnusedKernels>,
) -> Option<KernelFolder> {
    let mut used: Option<KernelFolder> = None;
    for folder in folders {
        let loaded = match &used {
            Some(used) => Err(format!("`{}` is used instead", used.build)),
            None => load(&folder),
        };
        match loaded {
            Ok(()) => used = Some(folder),
            Err(reason) => unused.push(folder.unused(reason)),
        }
    }
    used
}

impl KernelFolder {
    fn new(path: &Path) -> Result<KernelFolder, String> {
        let shown = path.display();
        if !path.is_absolute() || !path.is_dir() {
            return Err(format!("the kernel folder {shown} is not the absolute path of a folder"));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let build = name.parse::<KernelBuild>().map_err(|_| {
            let known = KernelBuild::BEST_FIRST.map(|build| build.to_string());
            format!("the kernel folder {shown} has the name of no kernels: {}", known.join(", "))
        })?;
        Ok(KernelFolder { path: path.to_owned(), build })
    }

    fn unused(&self, reason: String) -> UnusedKernels {
        UnusedKernels { name: self.build, reason }
    }

    /// Returns the warning about a damaged module.
    fn damage(&self, reason: &str) -> String {
        format!("the kernels `{}` are left out: {reason}; install gage-host again", self.build)
    }

    /// Returns the modules in the folder. Other files, such as libraries that the modules need, are left out.
    fn modules(&self) -> Result<Vec<PathBuf>, String> {
        let unreadable = |error: std::io::Error| format!("{} cannot be read: {error}", self.path.display());
        let mut modules = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(MODULE_PREFIX) && name.ends_with(MODULE_SUFFIX) {
                modules.push(entry.path());
            }
        }
        modules.sort();
        Ok(modules)
    }

    /// Loads the modules. llama.cpp keeps those that it can load, also if they find no device.
    fn load(&self) -> Result<(), String> {
        let modules = self.modules()?;
        if modules.is_empty() || (!self.build.is_for_gpus() && modules.len() > 1) {
            let folder = self.path.display();
            return Err(format!("{folder} holds {} modules instead of one", modules.len()));
        }
        modules
            .iter()
            .try_for_each(|module| check_whole(module))
            .inspect_err(|reason| tracing::warn!("{}", self.damage(reason)))?;
        let load_all = || modules.iter().filter(|module| load_module(module)).count();
        // The reason is part of the greeting.
        let (loaded, log) = captured_without_errors(Level::INFO, load_all);
        if loaded == 0 {
            return Err(reason_in(&log, MODULE_SUFFIX));
        }
        // Kernels for other GPUs that were loaded before found no device.
        match self.build.is_for_gpus() && gpus().is_empty() {
            true => Err("it finds no device".to_owned()),
            false => Ok(()),
        }
    }

    fn digests(&self) -> Result<BTreeMap<String, Digest>, String> {
        let digest = |module: PathBuf| -> Result<(String, Digest), String> {
            let name = module.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let digest = File::open(&module).and_then(Digest::of_reader);
            let digest = digest.map_err(|error| format!("{} cannot be read: {error}", module.display()))?;
            Ok((name, digest))
        };
        self.modules()?.into_iter().map(digest).collect()
    }
}

/// Checks that a module is a library that was written to its end. Loading another one would end the process with a signal.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn check_whole(module: &Path) -> Result<(), String> {
    let shown = module.display();
    let file = File::open(module).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    // The table of sections is at the end.
    object::read::elf::ElfFile64::<object::Endianness, _>::parse(&object::ReadCache::new(file))
        .map(drop)
        .map_err(|error| format!("{shown} is damaged: {error}"))
}

/// Checks nothing.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn check_whole(_: &Path) -> Result<(), String> {
    Ok(())
}

/// Loads a module into llama.cpp. Returns false if it is not loaded; llama.cpp then logs why.
#[cfg(feature = "dynamic-backends")]
#[expect(
    unsafe_code,
    reason = "the safe function of llama-cpp-2 loads whole folders, and hides why it fails"
)]
fn load_module(module: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(module.as_os_str().as_encoded_bytes()) else { return false };
    // SAFETY: the path ends with a zero byte. The module is part of this installation, and is never unloaded.
    unsafe { !llama_cpp_sys_2::ggml_backend_load(path.as_ptr()).is_null() }
}

/// Loads nothing: the kernels are compiled in.
#[cfg(not(feature = "dynamic-backends"))]
fn load_module(_: &Path) -> bool {
    false
}

/// Returns the GPUs that llama.cpp computes on, each with its free memory in bytes. llama.cpp must be running.
pub fn gpu_devices() -> Vec<(GpuDevice, u64)> {
    let bytes = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let device = |gpu: LlamaBackendDevice| {
        let device = GpuDevice {
            name: gpu.name,
            description: gpu.description.trim().to_owned(),
            memory_bytes: bytes(gpu.memory_total),
        };
        (device, bytes(gpu.memory_free))
    };
    gpus().into_iter().map(device).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;

    /// Creates folders of kernels, each with one module.
    fn folders(root: &Path, names: &[&str]) -> Vec<KernelFolder> {
        let folder = |name: &&str| {
            let path = root.join(name);
            std::fs::create_dir_all(&path).expect("a folder");
            std::fs::write(path.join(format!("{MODULE_PREFIX}{name}{MODULE_SUFFIX}")), name)
                .expect("written");
            KernelFolder::new(&path).expect("the name of kernels")
        };
        names.iter().map(folder).collect()
    }

    #[test]
    fn gpus_come_first_and_baseline_is_beside_them() {
        let root = tempfile::tempdir().expect("a folder");
        let all: &[&str] = &["avx512", "baseline", "vulkan", "cuda"];
        type Case<'c> = (&'c [&'c str], &'c [&'c str], &'c str, &'c str, &'c [&'c str]);
        let cases: [Case<'_>; 5] = [
            (all, all, "vulkan", "baseline", &["cuda", "avx512"]),
            (all, &["cuda", "avx512", "baseline"], "cuda", "baseline", &["vulkan", "avx512"]),
            (all, &["cuda", "avx512"], "cuda", "avx512", &["vulkan", "baseline"]),
            (all, &["avx512", "baseline"], "", "avx512", &["vulkan", "cuda", "baseline"]),
            (&["sse42"], &["sse42"], "", "sse42", &[]),
        ];
        for (given, usable, gpus, processor, unused) in cases {
            let mut load = |folder: &KernelFolder| match usable.contains(&folder.build.to_string().as_str()) {
                true => Ok(()),
                false => Err("it cannot be used".to_owned()),
            };
            let kernels = load_best(folders(root.path(), given), &mut load).expect("kernels");
            let name = |build: Option<KernelBuild>| build.map(|build| build.to_string()).unwrap_or_default();
            let used = (name(kernels.for_gpus), name(kernels.for_processor));
            assert_eq!(used, (gpus.to_owned(), processor.to_owned()));
            let names: Vec<String> = kernels.unused.iter().map(|one| one.name.to_string()).collect();
            assert_eq!(names, unused, "{given:?} {usable:?}");
            let module = format!("{MODULE_PREFIX}{processor}{MODULE_SUFFIX}");
            assert_eq!(kernels.modules.get(&module), Some(&Digest::of_bytes(processor.as_bytes())));
            assert_eq!(kernels.modules.len(), 1 + usize::from(!gpus.is_empty()));
        }
    }

    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    #[test]
    fn module_that_was_cut_off_is_not_loaded() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = folders(root.path(), &["baseline"]).remove(0);
        let module = folder.modules().expect("a folder").remove(0);
        let library = std::fs::read(std::env::current_exe().expect("a path")).expect("this program");
        for (bytes, expected) in [
            (&library[..], None),
            (&library[..library.len() / 2], Some("is damaged: Invalid ELF")),
            (b"text", Some("is damaged: Invalid ELF")),
        ] {
            std::fs::write(&module, bytes).expect("written");
            let found = check_whole(&module).err();
            let is_expected = match (&found, expected) {
                (Some(found), Some(expected)) => found.contains(expected),
                (found, expected) => found.is_none() && expected.is_none(),
            };
            assert!(is_expected, "{expected:?}: {found:?}");
            if let Some(reason) = found {
                assert!(folder.damage(&reason).recorded("model_files").ends_with("install gage-host again"));
                assert_eq!(folder.load(), Err(reason));
            }
        }
    }

    #[test]
    fn no_kernels_for_the_processor_are_an_error() {
        let root = tempfile::tempdir().expect("a folder");
        let cases: [(&[&str], &str); 2] = [
            (&["cuda"], "it was given no kernels for the processor"),
            (&["cuda", "avx512"], "no kernels for the processor can be loaded (`avx512`: it is broken)"),
        ];
        for (given, expected) in cases {
            let mut load = |folder: &KernelFolder| match folder.build.is_for_gpus() {
                true => Ok(()),
                false => Err("it is broken".to_owned()),
            };
            let error = load_best(folders(root.path(), given), &mut load).expect_err("no kernels");
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn folder_without_exactly_one_module_is_not_loaded() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = folders(root.path(), &["baseline"]).remove(0);
        let second = folder.path.join(format!("{MODULE_PREFIX}other{MODULE_SUFFIX}"));
        std::fs::write(second, "").expect("written");
        let error = folder.load().expect_err("two modules");
        assert!(error.ends_with("holds 2 modules instead of one"), "{error}");
        let error = KernelFolder::new(&root.path().join("nothing")).expect_err("no folder");
        assert!(error.contains("is not the absolute path of a folder"), "{error}");
        let error = KernelFolder::new(root.path()).expect_err("another name");
        assert!(
            error.contains("the name of no kernels: cuda, metal, vulkan, avx512, baseline, sse42"),
            "{error}"
        );
    }
}
