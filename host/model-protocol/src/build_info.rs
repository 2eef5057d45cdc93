//! Build of `gage-model`: its version, the protocol version, and the kernels that it computes with.

use gage_core::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use strum::{Display, EnumString};

/// Version of the messages between the two programs. After the first release, it changes with every change to a
/// message.
pub const PROTOCOL_VERSION: u32 = 1;

/// Kind of machine that llama.cpp's kernels were compiled for. Displayed as the folder of its modules is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Display, EnumString)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum KernelBuild {
    /// x86-64 processors with SSE 4.2, since about 2009.
    Sse42,
    /// x86-64 processors with AVX2, FMA, F16C and BMI2, since about 2013; on other architectures every 64-bit processor.
    Baseline,
    /// x86-64 processors with AVX-512 and its VNNI extension.
    Avx512,
    /// NVIDIA GPUs.
    Cuda,
    /// GPUs through Vulkan.
    Vulkan,
    /// Apple GPUs.
    Metal,
}

impl KernelBuild {
    /// All builds, best first: those for GPUs, and then those for processors.
    pub const BEST_FIRST: [KernelBuild; 6] = [
        KernelBuild::Cuda,
        KernelBuild::Metal,
        KernelBuild::Vulkan,
        KernelBuild::Avx512,
        KernelBuild::Baseline,
        KernelBuild::Sse42,
    ];

    /// Returns true if it computes on GPUs.
    pub fn is_for_gpus(self) -> bool {
        matches!(self, KernelBuild::Cuda | KernelBuild::Vulkan | KernelBuild::Metal)
    }
}

/// Kernel variant that a model runs with. Written to records as text: `avx512`, `cuda 9.0`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct KernelVariant {
    /// Machines that the kernels were compiled for.
    pub build: KernelBuild,
    /// Compute capability of the GPUs on CUDA, by which llama.cpp chooses its kernels. Several are joined by `+`.
    pub compute_capability: Option<String>,
}

impl From<KernelBuild> for KernelVariant {
    fn from(build: KernelBuild) -> KernelVariant {
        KernelVariant { build, compute_capability: None }
    }
}

impl FromStr for KernelVariant {
    type Err = strum::ParseError;

    fn from_str(text: &str) -> Result<KernelVariant, strum::ParseError> {
        let (build, capability) =
            text.split_once(' ').map_or((text, None), |(build, rest)| (build, Some(rest)));
        Ok(KernelVariant { build: build.parse()?, compute_capability: capability.map(str::to_owned) })
    }
}

impl TryFrom<String> for KernelVariant {
    type Error = strum::ParseError;

    fn try_from(text: String) -> Result<KernelVariant, strum::ParseError> {
        text.parse()
    }
}

impl From<KernelVariant> for String {
    fn from(variant: KernelVariant) -> String {
        variant.to_string()
    }
}

impl fmt::Display for KernelVariant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.compute_capability {
            Some(capability) => write!(formatter, "{} {capability}", self.build),
            None => self.build.fmt(formatter),
        }
    }
}

/// A GPU that a program computes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuDevice {
    /// Short name, such as `CUDA0`.
    pub name: String,
    /// Name of the product.
    pub description: String,
    /// Its memory in bytes.
    pub memory_bytes: u64,
}

/// Installed kernels that a program does not use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusedKernels {
    /// The kernels.
    pub name: KernelBuild,
    /// Why they are not used.
    pub reason: String,
}

/// Build of a program. The greeting of `gage-model` has its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildInfo {
    /// Version of the package.
    pub version: String,
    /// [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// Kernels that it computes with. If it could load none, those that it would have compiled in.
    pub variant: KernelVariant,
    /// Digests of the kernel modules that it loaded, by file name. Empty if its kernels are compiled in.
    pub modules: BTreeMap<String, Digest>,
    /// GPUs that it computes on.
    pub devices: Vec<GpuDevice>,
    /// Version of the crate with the llama.cpp bindings.
    pub llama_cpp_2: String,
    /// Version of the crate with the llama.cpp sources.
    pub llama_cpp_sys_2: String,
}

impl BuildInfo {
    /// Checks that a model program matches this one, in package version and protocol version.
    ///
    /// # Errors
    /// If they differ, returns a description of the difference.
    pub fn check(&self) -> Result<(), String> {
        let expected = (env!("CARGO_PKG_VERSION"), PROTOCOL_VERSION);
        if (self.version.as_str(), self.protocol) == expected {
            return Ok(());
        }
        let (version, protocol) = expected;
        Err(format!(
            "it is version {} with protocol {}, and gage-host is version {version} with protocol {protocol}",
            self.version, self.protocol
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_version_and_protocol_match() {
        let own = BuildInfo {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: PROTOCOL_VERSION,
            variant: KernelBuild::Baseline.into(),
            modules: BTreeMap::new(),
            devices: Vec::new(),
            llama_cpp_2: "1".to_owned(),
            llama_cpp_sys_2: "1".to_owned(),
        };
        assert_eq!(own.check(), Ok(()));
        assert_eq!(BuildInfo { variant: KernelBuild::Avx512.into(), ..own.clone() }.check(), Ok(()));
        let other = BuildInfo { protocol: PROTOCOL_VERSION + 1, ..own.clone() }.check().expect_err("refused");
        assert!(other.contains("with protocol 2, and gage-host"), "{other}");
        let newer = BuildInfo { version: "99.0.0".to_owned(), ..own }.check().expect_err("refused");
        assert!(newer.starts_with("it is version 99.0.0 "), "{newer}");
    }

    #[test]
    fn kernel_builds_have_one_name_everywhere() {
        for build in KernelBuild::BEST_FIRST {
            let name = build.to_string();
            assert_eq!(serde_json::json!(build), name.as_str());
            assert_eq!(name.parse(), Ok(build));
        }
        let names = KernelBuild::BEST_FIRST.map(|build| build.to_string());
        assert_eq!(names, ["cuda", "metal", "vulkan", "avx512", "baseline", "sse42"]);
    }

    #[test]
    fn a_kernel_variant_is_a_text_with_its_compute_capability() {
        let cuda = KernelVariant { build: KernelBuild::Cuda, compute_capability: Some("8.6+9.0".to_owned()) };
        for (variant, text) in [
            (KernelBuild::Baseline.into(), "baseline"),
            (KernelBuild::Avx512.into(), "avx512"),
            (KernelBuild::Cuda.into(), "cuda"),
            (cuda, "cuda 8.6+9.0"),
        ] {
            assert_eq!(serde_json::json!(variant), text);
            assert_eq!(text.parse(), Ok(variant));
        }
        assert!("amx".parse::<KernelVariant>().is_err());
    }
}
