//! Compute capability of GPUs, by which llama.cpp chooses its CUDA kernels.
//!
//! llama.cpp's API exposes the name of a device, but not its compute capability. The capability is therefore parsed
//! from the lines that the CUDA backend logs at startup (`ggml_cuda_init`).

use std::collections::BTreeSet;

/// Returns the compute capability found in a log. Several are joined by `+`.
pub fn compute_capability_in(log: &[String]) -> Option<String> {
    let capability = |line: &String| {
        let device = line.trim().strip_prefix("Device ")?;
        let (_, rest) = device.split_once(", compute capability ")?;
        rest.split(',').next().map(|number| number.trim().to_owned())
    };
    let all: BTreeSet<String> = log.iter().filter_map(capability).collect();
    let all: Vec<String> = all.into_iter().collect();
    (!all.is_empty()).then(|| all.join("+"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compute_capability_is_read_from_the_log_of_cuda() {
        let h100 = "  Device 0: NVIDIA H100 80GB HBM3, compute capability 9.0, VMM: yes, VRAM: 81089 MiB";
        let h100_too = "Device 1: NVIDIA H100 80GB HBM3, compute capability 9.0, VMM: yes, VRAM: 81089 MiB";
        let rtx = "Device 2: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes, VRAM: 24135 MiB";
        let amd = "Device 0: AMD Radeon, gfx1100 (0x1100), VMM: no, Wave Size: 32, VRAM: 24560 MiB";
        let head = "ggml_cuda_init: found 2 CUDA devices (Total VRAM: 105224 MiB):";
        for (log, expected) in [
            (vec![head, h100], Some("9.0")),
            (vec![head, h100, h100_too], Some("9.0")),
            (vec![head, h100, rtx], Some("8.6+9.0")),
            (vec![amd, "requires compute capability >= 700"], None),
            (vec![], None),
        ] {
            let log: Vec<String> = log.into_iter().map(str::to_owned).collect();
            assert_eq!(compute_capability_in(&log).as_deref(), expected, "{log:?}");
        }
    }
}
