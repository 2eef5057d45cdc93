//! Kernels that are installed beside a model program, and the choice among them.
//!
//! Each folder of `kernels/` beside the program holds the modules of one kernel build and is named after it. A program
//! without that folder has its kernels compiled in.

use gage_config::Kernels;
use gage_model_protocol::{BuildInfo, KernelBuild, KernelVariant, UnusedKernels};
use std::path::{Path, PathBuf};

/// Name of the folder with kernels, beside the model program.
const KERNELS_FOLDER: &str = "kernels";

/// Beginning of the reason why a processor cannot run some kernels.
pub const LACKING: &str = "this processor lacks";

/// Kernels that are installed beside a model program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledKernels {
    folder: PathBuf,
    /// Best first. Empty if the kernels are compiled in.
    builds: Vec<KernelBuild>,
}

/// Kernels that a model is to run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelRequest {
    /// The best that this machine can run.
    Auto,
    /// The best for the processor.
    Processor,
    /// Those that the suite names.
    Named(KernelBuild),
    /// Those that a lock pins.
    Pinned(KernelVariant),
}

/// Kernels that a program may load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSelection {
    request: KernelRequest,
    installed: InstalledKernels,
    /// Folders to load from, best first.
    pub folders: Vec<PathBuf>,
    /// Installed kernels that the program is not given.
    pub withheld: Vec<UnusedKernels>,
}

impl KernelRequest {
    /// Returns the request of a suite, or of a lock that pins the kernels.
    pub fn new(kernels: Kernels, pinned: Option<&KernelVariant>) -> KernelRequest {
        if let Some(pinned) = pinned {
            return KernelRequest::Pinned(pinned.clone());
        }
        KernelRequest::Named(match kernels {
            Kernels::Auto => return KernelRequest::Auto,
            Kernels::Sse42 => KernelBuild::Sse42,
            Kernels::Baseline => KernelBuild::Baseline,
            Kernels::Avx512 => KernelBuild::Avx512,
            Kernels::Cuda => KernelBuild::Cuda,
            Kernels::Vulkan => KernelBuild::Vulkan,
            Kernels::Metal => KernelBuild::Metal,
        })
    }

    /// Returns the only kernels that meet the request.
    fn build(&self) -> Option<KernelBuild> {
        match self {
            KernelRequest::Auto | KernelRequest::Processor => None,
            KernelRequest::Named(build) => Some(*build),
            KernelRequest::Pinned(variant) => Some(variant.build),
        }
    }

    /// Returns why the request keeps a program from some kernels. Beside kernels for GPUs, it also needs some for the
    /// processor. With a lock it chooses among them as without one.
    fn excludes(&self, build: KernelBuild) -> Option<String> {
        let is_wanted = match self {
            KernelRequest::Auto => true,
            KernelRequest::Processor => !build.is_for_gpus(),
            KernelRequest::Named(wanted) | KernelRequest::Pinned(KernelVariant { build: wanted, .. }) => {
                build == *wanted || (wanted.is_for_gpus() && !build.is_for_gpus())
            }
        };
        let reason = || match self {
            KernelRequest::Auto | KernelRequest::Processor => "only the processor is needed".to_owned(),
            KernelRequest::Named(named) => format!("the suite names `{named}`"),
            KernelRequest::Pinned(pinned) => format!("the lock pins `{pinned}`"),
        };
        (!is_wanted).then(reason)
    }
}

impl InstalledKernels {
    /// Finds the kernels beside a program. Links to the program are resolved.
    pub fn beside(program: &Path) -> InstalledKernels {
        let program = program.canonicalize().unwrap_or_else(|_| program.to_owned());
        let folder = program.with_file_name(KERNELS_FOLDER);
        let is_installed = |build: &KernelBuild| folder.join(build.to_string()).is_dir();
        let builds = KernelBuild::BEST_FIRST.into_iter().filter(is_installed).collect();
        InstalledKernels { folder, builds }
    }

    /// Returns the kernels, best first.
    pub fn builds(&self) -> &[KernelBuild] {
        &self.builds
    }

    /// Chooses the kernels that a program may load. `lacks` returns instructions that some kernels need and that this
    /// processor lacks.
    ///
    /// # Errors
    /// If the request names kernels that are not installed, or that this processor cannot run.
    pub fn select(
        &self,
        request: KernelRequest,
        lacks: impl Fn(KernelBuild) -> Option<&'static str>,
    ) -> Result<KernelSelection, String> {
        if let Some(build) = request.build().filter(|_| !self.builds.is_empty()) {
            if !self.builds.contains(&build) {
                let folder = self.folder.display();
                return Err(format!("the kernels `{build}` are not in {folder}; {}", self.described()));
            }
            if let Some(instructions) = lacks(build) {
                return Err(format!(
                    "{LACKING} some of {instructions}, which the kernels `{build}` need; {}",
                    self.described()
                ));
            }
        }
        let mut selection =
            KernelSelection { request, installed: self.clone(), folders: Vec::new(), withheld: Vec::new() };
        for build in &self.builds {
            let lacking = lacks(*build).map(|instructions| format!("{LACKING} some of {instructions}"));
            match lacking.or_else(|| selection.request.excludes(*build)) {
                Some(reason) => selection.withheld.push(UnusedKernels { name: *build, reason }),
                None => selection.folders.push(self.folder.join(build.to_string())),
            }
        }
        Ok(selection)
    }

    /// Lists the kernels for an error.
    fn described(&self) -> String {
        let names: Vec<String> = self.builds.iter().map(|build| format!("`{build}`")).collect();
        format!("installed are {}", names.join(", "))
    }
}

impl KernelSelection {
    /// Checks the kernels that a program uses against the request. `unused` are those that it does not use.
    ///
    /// # Errors
    /// If they differ, with the reason.
    pub fn check(&self, program: &Path, used: &BuildInfo, unused: &[UnusedKernels]) -> Result<(), String> {
        let found = &used.variant;
        let Some(wanted) = self.request.build() else { return Ok(()) };
        if found.build == wanted {
            return self.check_capability(found);
        }
        let file = program.display();
        if used.modules.is_empty() {
            return Err(match self.request {
                KernelRequest::Pinned(_) => {
                    format!("the kernels of {file} are compiled in, and built for `{}`", found.build)
                }
                _ => format!(
                    "the kernels of {file} are compiled in (`{}`), and the suite asks for `{wanted}`; leave \
                     `kernels` out, or install a gage-model that loads its kernels (`make release`)",
                    found.build
                ),
            });
        }
        let reason = unused.iter().find(|kernels| kernels.name == wanted);
        let reason = reason.map_or("gage-model does not load them", |kernels| kernels.reason.as_str());
        Err(format!("the kernels `{wanted}` cannot be used: {reason}; {}", self.installed.described()))
    }

    fn check_capability(&self, found: &KernelVariant) -> Result<(), String> {
        match &self.request {
            KernelRequest::Pinned(pinned) if pinned != found => Err(format!(
                "the compute capability of this machine's GPUs is {}, not {}",
                capability_of(found),
                capability_of(pinned)
            )),
            _ => Ok(()),
        }
    }

    /// Returns why no GPU is used, although kernels for GPUs are installed and nothing asks for the processor.
    pub fn unused_gpus(&self, used: &BuildInfo, unused: &[UnusedKernels]) -> Option<String> {
        if self.request != KernelRequest::Auto || used.variant.build.is_for_gpus() {
            return None;
        }
        let of_gpus = unused.iter().filter(|kernels| kernels.name.is_for_gpus());
        let reasons: Vec<String> =
            of_gpus.map(|kernels| format!("`{}`: {}", kernels.name, kernels.reason)).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    /// Returns the installed kernels for processors, each with the reason why it is withheld. `None` if one is not.
    pub fn lacking_instructions(&self) -> Option<String> {
        let for_processor = self.installed.builds().iter().filter(|build| !build.is_for_gpus());
        let reason = |build: &KernelBuild| {
            let withheld = self.withheld.iter().find(|kernels| kernels.name == *build)?;
            Some(format!("`{build}`: {}", withheld.reason))
        };
        let reasons: Vec<String> = for_processor.map(reason).collect::<Option<_>>()?;
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    /// Returns the installed kernels, best first, each with the reason if it is not used.
    pub fn states(&self, unused: &[UnusedKernels]) -> Vec<(KernelBuild, Option<String>)> {
        let reason = |build: &KernelBuild| {
            let kernels = self.withheld.iter().chain(unused).find(|kernels| kernels.name == *build);
            (*build, kernels.map(|kernels| kernels.reason.clone()))
        };
        self.installed.builds().iter().map(reason).collect()
    }
}

fn capability_of(variant: &KernelVariant) -> &str {
    variant.compute_capability.as_deref().unwrap_or("unknown")
}

/// Returns the instructions that some kernels need, if this machine's processor lacks one of them.
pub fn missing_instructions(build: KernelBuild) -> Option<&'static str> {
    let (needed, is_present) = match build {
        KernelBuild::Cuda | KernelBuild::Vulkan | KernelBuild::Metal => return None,
        KernelBuild::Sse42 => ("the instructions of x86-64 with SSE 4.2", has_sse42()),
        KernelBuild::Baseline => ("AVX2, FMA, F16C and BMI2", has_baseline()),
        KernelBuild::Avx512 => ("AVX-512 (F, BW, CD, DQ, VL, VNNI)", has_avx512()),
    };
    (!is_present).then_some(needed)
}

#[cfg(target_arch = "x86_64")]
fn has_sse42() -> bool {
    is_x86_feature_detected!("sse4.2")
}

#[cfg(target_arch = "x86_64")]
fn has_baseline() -> bool {
    has_sse42()
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("bmi2")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    has_baseline()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_sse42() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
fn has_baseline() -> bool {
    true
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}

#[cfg(test)]
mod tests;
