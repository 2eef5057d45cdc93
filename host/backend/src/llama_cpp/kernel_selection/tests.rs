//! Tests of the choice of kernels.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use super::missing_instructions;
use super::{InstalledKernels, KernelRequest};
use gage_config::Kernels;
use gage_core::Digest;
use gage_model_protocol::{BuildInfo, KernelBuild, KernelVariant, UnusedKernels};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Installs a program with some kernels in a folder.
fn installed(root: &Path, kernels: &[&str]) -> PathBuf {
    for name in kernels {
        std::fs::create_dir_all(root.join("kernels").join(name)).expect("a folder");
    }
    let program = root.join("gage-model");
    std::fs::write(&program, "").expect("written");
    program
}

fn request(text: &str) -> KernelRequest {
    match text {
        "auto" => KernelRequest::Auto,
        "processor" => KernelRequest::Processor,
        text => match text.strip_prefix("locked ") {
            Some(variant) => KernelRequest::Pinned(variant.parse().expect("a variant")),
            None => KernelRequest::Named(text.parse().expect("kernels")),
        },
    }
}

fn build_info(variant: &str, loads_kernels: bool) -> BuildInfo {
    let module = || ("libggml.so".to_owned(), Digest::of_bytes(b""));
    BuildInfo {
        version: String::new(),
        protocol: 1,
        variant: variant.parse().expect("a variant"),
        modules: loads_kernels.then(module).into_iter().collect::<BTreeMap<_, _>>(),
        devices: Vec::new(),
        llama_cpp_2: String::new(),
        llama_cpp_sys_2: String::new(),
    }
}

fn names(kernels: &[UnusedKernels]) -> Vec<String> {
    kernels.iter().map(|kernels| kernels.name.to_string()).collect()
}

#[test]
fn kernels_of_a_request_are_offered_best_first() {
    let root = tempfile::tempdir().expect("a folder");
    let program = installed(root.path(), &["sse42", "baseline", "avx512", "cuda", "vulkan", "amx"]);
    let kernels = InstalledKernels::beside(&program);
    let folder = root.path().canonicalize().expect("a path").join("kernels");
    for (asked, offered, withheld) in [
        ("auto", "cuda vulkan avx512 baseline sse42", ""),
        ("processor", "avx512 baseline sse42", "cuda vulkan"),
        ("baseline", "baseline", "cuda vulkan avx512 sse42"),
        ("cuda", "cuda avx512 baseline sse42", "vulkan"),
        ("locked avx512", "avx512", "cuda vulkan baseline sse42"),
        ("locked cuda 9.0", "cuda avx512 baseline sse42", "vulkan"),
    ] {
        let selection = kernels.select(request(asked), |_| None).expect("a selection");
        let expected: Vec<PathBuf> = offered.split(' ').map(|name| folder.join(name)).collect();
        assert_eq!(selection.folders, expected, "{asked}");
        assert_eq!(names(&selection.withheld).join(" "), withheld, "{asked}");
    }
}

#[test]
fn kernels_that_the_processor_cannot_run_are_withheld() {
    let root = tempfile::tempdir().expect("a folder");
    let kernels = InstalledKernels::beside(&installed(root.path(), &["sse42", "baseline", "avx512"]));
    let lacks = |build: KernelBuild| (build != KernelBuild::Sse42).then_some("AVX2");
    let selection = kernels.select(KernelRequest::Auto, lacks).expect("a selection");
    assert_eq!(selection.folders.len(), 1);
    assert_eq!(names(&selection.withheld), ["avx512", "baseline"]);
    assert_eq!(selection.withheld[0].reason, "this processor lacks some of AVX2");
    assert_eq!(selection.lacking_instructions(), None, "`sse42` is left");
    let older = kernels.select(KernelRequest::Auto, |_| Some("AVX2")).expect("a selection");
    let reasons = older.lacking_instructions().expect("none is left");
    assert!(reasons.starts_with("`avx512`: this processor lacks some of AVX2; `baseline`: "), "{reasons}");
    for (asked, expected) in [
        ("avx512", "this processor lacks some of AVX2, which the kernels `avx512` need"),
        ("locked baseline", "this processor lacks some of AVX2, which the kernels `baseline` need"),
        ("cuda", "the kernels `cuda` are not in "),
        ("locked cuda 9.0", "the kernels `cuda` are not in "),
    ] {
        let error = kernels.select(request(asked), lacks).expect_err("refused");
        assert!(error.starts_with(expected), "{asked}: {error}");
        assert!(error.ends_with("installed are `avx512`, `baseline`, `sse42`"), "{asked}: {error}");
    }
}

#[test]
fn used_kernels_must_be_those_of_the_request() {
    let root = tempfile::tempdir().expect("a folder");
    let program = installed(root.path(), &["baseline", "avx512", "cuda"]);
    let kernels = InstalledKernels::beside(&program);
    let unused = [UnusedKernels { name: KernelBuild::Cuda, reason: "it finds no device".to_owned() }];
    let no_device =
        "the kernels `cuda` cannot be used: it finds no device; installed are `cuda`, `avx512`, `baseline`";
    for (asked, used, loads_kernels, expected) in [
        ("auto", "avx512", true, ""),
        ("avx512", "avx512", true, ""),
        ("cuda", "cuda 9.0", true, ""),
        ("locked cuda 9.0", "cuda 9.0", true, ""),
        (
            "locked cuda 9.0",
            "cuda 8.6",
            true,
            "the compute capability of this machine's GPUs is 8.6, not 9.0",
        ),
        ("cuda", "avx512", true, no_device),
        ("locked cuda 9.0", "baseline", true, no_device),
        ("avx512", "baseline", false, "are compiled in (`baseline`), and the suite asks for `avx512`; leave"),
        ("locked avx512", "baseline", false, "are compiled in, and built for `baseline`"),
        ("baseline", "baseline", false, ""),
    ] {
        let selection = kernels.select(request(asked), |_| None).expect("a selection");
        let error = selection.check(&program, &build_info(used, loads_kernels), &unused);
        let error = error.err().unwrap_or_default();
        assert_eq!(error.is_empty(), expected.is_empty(), "{asked} {used}: {error}");
        assert!(error.contains(expected), "{asked} {used}: {error}");
    }
}

#[test]
fn processor_in_place_of_a_gpu_is_noticed_with_auto() {
    let root = tempfile::tempdir().expect("a folder");
    let kernels = InstalledKernels::beside(&installed(root.path(), &["baseline", "cuda"]));
    let unused = [UnusedKernels { name: KernelBuild::Cuda, reason: "it finds no device".to_owned() }];
    for (asked, used, unused, expected) in [
        ("auto", "baseline", &unused[..], Some("`cuda`: it finds no device")),
        ("auto", "baseline", &unused[..0], None),
        ("auto", "cuda", &unused[..0], None),
        ("baseline", "baseline", &unused[..], None),
        ("processor", "baseline", &unused[..], None),
    ] {
        let selection = kernels.select(request(asked), |_| None).expect("a selection");
        let reason = selection.unused_gpus(&build_info(used, true), unused);
        assert_eq!(reason.as_deref(), expected, "{asked} {used}");
    }
    let selection = kernels.select(KernelRequest::Auto, |_| None).expect("a selection");
    let states = selection.states(&unused);
    assert_eq!(states[0], (KernelBuild::Cuda, Some("it finds no device".to_owned())));
    assert_eq!(states[1], (KernelBuild::Baseline, None));
}

#[test]
fn program_without_kernels_beside_it_is_given_none() {
    let root = tempfile::tempdir().expect("a folder");
    let kernels = InstalledKernels::beside(&installed(root.path(), &[]));
    assert!(kernels.builds().is_empty());
    for asked in ["auto", "avx512", "locked cuda 9.0"] {
        let selection = kernels.select(request(asked), |_| Some("everything")).expect("a selection");
        assert!(selection.folders.is_empty() && selection.withheld.is_empty(), "{asked}");
    }
}

#[cfg(unix)]
#[test]
fn kernels_are_beside_the_program_that_a_link_names() {
    let root = tempfile::tempdir().expect("a folder");
    let program = installed(root.path(), &["baseline"]);
    let elsewhere = root.path().join("bin");
    std::fs::create_dir(&elsewhere).expect("a folder");
    let link = elsewhere.join("gage-model");
    std::os::unix::fs::symlink(&program, &link).expect("a link");
    assert_eq!(InstalledKernels::beside(&link), InstalledKernels::beside(&program));
    assert_eq!(InstalledKernels::beside(&link).builds(), [KernelBuild::Baseline]);
}

#[test]
fn lock_comes_before_the_suite() {
    let pinned = KernelVariant::from(KernelBuild::Avx512);
    assert_eq!(KernelRequest::new(Kernels::Cuda, Some(&pinned)), KernelRequest::Pinned(pinned));
    assert_eq!(KernelRequest::new(Kernels::Cuda, None), KernelRequest::Named(KernelBuild::Cuda));
    assert_eq!(KernelRequest::new(Kernels::Auto, None), KernelRequest::Auto);
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn instructions_are_those_that_linux_reports() {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").expect("processors");
    let flags = cpu.lines().find_map(|line| line.strip_prefix("flags")).expect("flags");
    let has_all =
        |needed: &str| needed.split(' ').all(|one| flags.split_whitespace().any(|flag| flag == one));
    let avx512 = "sse4_2 avx2 fma f16c bmi2 avx512f avx512bw avx512cd avx512dq avx512vl avx512_vnni";
    for (build, needed) in [
        (KernelBuild::Sse42, "sse4_2"),
        (KernelBuild::Baseline, "sse4_2 avx2 fma f16c bmi2"),
        (KernelBuild::Avx512, avx512),
    ] {
        assert_eq!(missing_instructions(build).is_none(), has_all(needed), "{build}");
    }
    assert_eq!(missing_instructions(KernelBuild::Cuda), None);
}
