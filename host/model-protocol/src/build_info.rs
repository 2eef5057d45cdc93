//! The greeting of `gage-model`: its version, the version of the protocol, and the kernels that it was built with.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The version of the messages between the two programs; it changes whenever a message does.
pub const PROTOCOL_VERSION: u32 = 4;

/// The kind of machine that llama.cpp's kernels were compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelVariant {
    /// Every 64-bit processor of the architecture that is not older than about 2013.
    Baseline,
    /// x86-64 processors with AVX-512 and its VNNI extension.
    Avx512,
    /// GPUs of NVIDIA.
    Cuda,
    /// GPUs through Vulkan.
    Vulkan,
    /// GPUs of Apple.
    Metal,
}

impl KernelVariant {
    /// The variant with a name; none if no variant is called so.
    pub fn from_name(name: &str) -> Option<KernelVariant> {
        [
            KernelVariant::Baseline,
            KernelVariant::Avx512,
            KernelVariant::Cuda,
            KernelVariant::Vulkan,
            KernelVariant::Metal,
        ]
        .into_iter()
        .find(|variant| variant.name() == name)
    }

    /// The name in records and in the names of files.
    pub fn name(self) -> &'static str {
        match self {
            KernelVariant::Baseline => "baseline",
            KernelVariant::Avx512 => "avx512",
            KernelVariant::Cuda => "cuda",
            KernelVariant::Vulkan => "vulkan",
            KernelVariant::Metal => "metal",
        }
    }
}

/// What a program was built from. `gage-model` sends its own as its first message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildInfo {
    /// The version of the package.
    pub version: String,
    /// [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// The machines that its kernels were compiled for.
    pub variant: KernelVariant,
    /// The features for GPUs that it was built with: `cuda`, `vulkan`, `metal`.
    pub gpu_features: Vec<String>,
    /// The version of the crate with the bindings of llama.cpp.
    pub llama_cpp_2: String,
    /// The version of the crate with llama.cpp's sources.
    pub llama_cpp_sys_2: String,
}

impl BuildInfo {
    /// Checks that a model program belongs to this one: the same version of the package and of the protocol.
    ///
    /// # Errors
    /// The difference, in words.
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

impl fmt::Display for KernelVariant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
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
            variant: KernelVariant::Baseline,
            gpu_features: Vec::new(),
            llama_cpp_2: "1".to_owned(),
            llama_cpp_sys_2: "1".to_owned(),
        };
        assert_eq!(own.check(), Ok(()));
        assert_eq!(BuildInfo { variant: KernelVariant::Avx512, ..own.clone() }.check(), Ok(()));
        let older = BuildInfo { protocol: PROTOCOL_VERSION - 1, ..own.clone() }.check().expect_err("refused");
        assert!(older.contains("with protocol 3, and gage-host"), "{older}");
        let newer = BuildInfo { version: "99.0.0".to_owned(), ..own }.check().expect_err("refused");
        assert!(newer.starts_with("it is version 99.0.0 "), "{newer}");
    }
}
