//! Estimates how many layers of a model fit into the memory of GPUs, before it is loaded.
//!
//! llama.cpp puts the last layers on GPUs: first the output layer, which follows all blocks, then the last block, and
//! so on. It spreads them over the GPUs in proportion to their free memory.

use crate::gguf::{Gguf, Tensor};
use crate::load_options::ModelOptions;
use crate::memory_estimate::{MemoryNeeds, cache_bits};
use crate::settings::Settings;
use gage_config::{FlashAttention, SplitMode, model_parts};

/// Memory of each GPU that the estimate leaves free, in bytes. It is for the workspace of cuBLAS, for buffers between
/// GPUs, and for what the estimate does not know.
pub const GPU_MARGIN_BYTES: u64 = 512 << 20;

/// Maximum number of blocks of a model for which an estimate is made. The number is from a file of strangers.
const MAX_BLOCKS: u64 = 10_000;

/// Memory that the layers of a model need on GPUs, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerNeeds {
    /// Weights and KV cache of each layer. The last one is the output layer.
    layers: Vec<u64>,
    /// Logits and intermediate results, on each GPU that has layers.
    computation: u64,
    /// Files that are loaded onto the first GPU besides the model: a projector and an adapter.
    further_files: u64,
}

impl LayerNeeds {
    /// Reads the needs from the files that the options name.
    ///
    /// `None` if a file cannot be read or does not describe its layers, or an option is out of range.
    pub fn read(options: &ModelOptions) -> Option<LayerNeeds> {
        let parts = model_parts(&options.model_path);
        let parts: Vec<Gguf> = parts.iter().map(|part| Gguf::read(part)).collect::<Result<_, _>>().ok()?;
        let (gguf, tensors) = (parts.first()?, parts.iter().flat_map(|part| &part.tensors));
        let adapter = options.lora.iter().map(|(path, _)| path);
        let further = options.mmproj.iter().chain(adapter).filter_map(|path| path.metadata().ok());
        let further_files = further.map(|metadata| metadata.len()).fold(0, u64::saturating_add);
        let needs = LayerNeeds::of(gguf, tensors, options)?;
        Some(LayerNeeds { further_files, ..needs })
    }

    fn of<'t>(
        gguf: &Gguf,
        tensors: impl Iterator<Item = &'t Tensor>,
        options: &ModelOptions,
    ) -> Option<LayerNeeds> {
        let on_gpus = ModelOptions { gpu_layers: Some(1), ..options.clone() };
        let trained = gguf.of_architecture("context_length").unwrap_or(0);
        let vocabulary = usize::try_from(gguf.vocabulary_size()?).ok()?;
        let settings = Settings::resolve(&on_gpus, u32::try_from(trained).ok()?, vocabulary).ok()?;
        let cells = u64::try_from(settings.cells()).ok()?;
        let call_tokens = u64::try_from(settings.largest_call()).ok()?;
        let bits = (cache_bits(options.cache_type_k), cache_bits(options.cache_type_v));
        let needs = MemoryNeeds::of(gguf, cells, bits, call_tokens)?;

        let blocks =
            gguf.of_architecture("block_count").filter(|blocks| (1..=MAX_BLOCKS).contains(blocks))?;
        let mut layers = vec![needs.cache / blocks; usize::try_from(blocks).ok()?];
        let (mut output, mut embedding, mut is_tied) = (0_u64, 0, true);
        for tensor in tensors {
            let bytes = tensor.bytes()?;
            match block_of(&tensor.name).and_then(|block| layers.get_mut(block)) {
                Some(layer) => *layer = layer.saturating_add(bytes),
                // The embedding of tokens stays in the memory of the machine.
                None if tensor.name == "token_embd.weight" => embedding = bytes,
                None => output = output.saturating_add(bytes),
            }
            is_tied &= tensor.name != "output.weight";
        }
        // Without weights of its own, the output layer has a copy of the embedding.
        layers.push(output.saturating_add(if is_tied { embedding } else { 0 }));
        let is_fused = !options.deterministic && options.flash_attention != FlashAttention::Off;
        // Without flash attention, each head has a score of each token of the call for each cell.
        let heads = gguf.of_architecture("attention.head_count").unwrap_or(0);
        let scores = call_tokens.saturating_mul(cells).saturating_mul(heads).saturating_mul(4);
        let computation = needs.computation.saturating_add(if is_fused { 0 } else { scores });
        Some(LayerNeeds { layers, computation, further_files: 0 })
    }

    /// Returns the number of layers, including the output layer.
    pub fn layer_count(&self) -> u32 {
        u32::try_from(self.layers.len()).unwrap_or(u32::MAX)
    }

    /// Returns the largest number of layers that fit into GPUs with this much free memory each, in bytes.
    pub fn layers_that_fit(&self, free: &[u64]) -> u32 {
        let fits = |layers: &u32| {
            let needed = self.needed(*layers, free);
            needed.iter().zip(free).all(|(needed, free)| *needed <= free.saturating_sub(GPU_MARGIN_BYTES))
        };
        if free.iter().all(|free| *free == 0) {
            return 0;
        }
        (1..=self.layer_count()).rev().find(fits).unwrap_or(0)
    }

    /// Returns the memory that the last layers need on all GPUs together, in bytes.
    pub fn total(&self, layers: u32, free: &[u64]) -> u64 {
        self.needed(layers, free).into_iter().fold(0, u64::saturating_add)
    }

    /// Returns the memory that the last layers need on each GPU.
    fn needed(&self, layers: u32, free: &[u64]) -> Vec<u64> {
        let count = usize::try_from(layers).unwrap_or(usize::MAX).min(self.layers.len());
        let first = self.layers.len() - count;
        let sum: f64 = free.iter().map(|free| *free as f64).sum();
        let shares = free.iter().scan(0.0, |so_far, free| {
            *so_far += *free as f64 / sum;
            Some(*so_far)
        });
        let shares: Vec<f64> = shares.collect();
        let mut needed = vec![0_u64; free.len()];
        let mut has_layers = vec![false; free.len()];
        for (index, bytes) in self.layers.iter().skip(first).enumerate() {
            let place = index as f64 / count as f64;
            // As llama.cpp chooses it; the last share may be a little less than 1.
            let gpu =
                shares.iter().position(|share| *share > place).unwrap_or(shares.len().saturating_sub(1));
            if let (Some(needed), Some(has_layers)) = (needed.get_mut(gpu), has_layers.get_mut(gpu)) {
                *needed = needed.saturating_add(*bytes);
                *has_layers = true;
            }
        }
        for (needed, _) in needed.iter_mut().zip(has_layers).filter(|(_, has_layers)| *has_layers) {
            *needed = needed.saturating_add(self.computation);
        }
        if let Some(needed) = needed.first_mut().filter(|_| count > 0) {
            *needed = needed.saturating_add(self.further_files);
        }
        needed
    }
}

/// Returns the number of the block that a tensor belongs to.
fn block_of(name: &str) -> Option<usize> {
    name.strip_prefix("blk.")?.split_once('.')?.0.parse().ok()
}

/// Returns the positions of the GPUs that a model with these options uses, among `count` GPUs.
///
/// # Errors
/// If an option names a GPU that does not exist; returns the key and the number.
pub fn used_gpus(options: &ModelOptions, count: usize) -> Result<Vec<usize>, (&'static str, u32)> {
    let known = |key, number: &u32| {
        let position = usize::try_from(*number).ok().filter(|position| *position < count);
        position.ok_or((key, *number))
    };
    let devices: Vec<usize> =
        options.devices.iter().map(|number| known("devices", number)).collect::<Result<_, _>>()?;
    let devices = if devices.is_empty() { (0..count).collect() } else { devices };
    match (options.split_mode, &options.main_gpu) {
        (SplitMode::Layer | SplitMode::Row, _) => Ok(devices),
        (SplitMode::None, Some(number)) => Ok(vec![known("main_gpu", number)?]),
        (SplitMode::None, None) => Ok(devices.into_iter().take(1).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    const GIB: u64 = 1 << 30;

    #[test]
    fn as_many_layers_as_fit_go_to_gpus() {
        // 32 blocks of 1 GiB and an output layer of 2 GiB. Each GPU loses 0.5 GiB to the margin and 0.5 GiB to results.
        let mut layers = vec![GIB; 32];
        layers.push(2 * GIB);
        let needs = LayerNeeds { layers, computation: GIB / 2, further_files: 0 };
        assert_eq!(needs.layer_count(), 33);
        for (free_gib, expected) in [
            (&[] as &[u64], 0),
            (&[0], 0),
            (&[1], 0),
            (&[2], 0),
            (&[3], 1),
            (&[4], 2),
            (&[24], 22),
            (&[34], 32),
            (&[35], 33),
            (&[80], 33),
            // The second one has the output layer.
            (&[12, 12], 21),
            (&[19, 19], 33),
            (&[80, 80, 80, 80], 33),
            // Two thirds and one third of the layers.
            (&[24, 12], 32),
        ] {
            let free: Vec<u64> = free_gib.iter().map(|free| free * GIB).collect();
            assert_eq!(needs.layers_that_fit(&free), expected, "{free_gib:?}");
        }
        assert_eq!(needs.total(33, &[80 * GIB]), 34 * GIB + GIB / 2);
        assert_eq!(needs.total(33, &[80 * GIB; 2]), 35 * GIB);
        let with_projector = LayerNeeds { further_files: GIB, ..needs };
        assert_eq!(with_projector.layers_that_fit(&[24 * GIB]), 21);
    }

    fn tiny() -> ModelOptions {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/models/gage-tiny.gguf");
        ModelOptions { threads: Some(1), ..ModelOptions::new(file) }
    }

    #[test]
    fn needs_are_those_of_the_file_and_grow_with_the_context() {
        let gguf = Gguf::read(&tiny().model_path).expect("the model");
        let needs = LayerNeeds::read(&tiny()).expect("they are described");
        let blocks = gguf.of_architecture("block_count").expect("a number");
        assert_eq!(u64::from(needs.layer_count()), blocks + 1);
        let free = [80 * GIB];
        let all = needs.total(needs.layer_count(), &free);
        assert!(all > gguf.tensor_bytes() / 2, "{all}");
        let of = |options: ModelOptions| LayerNeeds::read(&options).expect("described").total(99, &free);
        assert_eq!(of(tiny()), all);
        for (what, larger) in [
            ("slots", ModelOptions { slots: 16, ..tiny() }),
            ("context", ModelOptions { context_length: Some(1024), ..tiny() }),
            ("attention", ModelOptions { flash_attention: FlashAttention::Off, ..tiny() }),
            ("projector", ModelOptions { mmproj: Some(tiny().model_path), ..tiny() }),
        ] {
            assert!(of(larger) > all, "{what}");
        }
        assert_eq!(LayerNeeds::read(&ModelOptions::new(PathBuf::from("missing.gguf"))), None);
        assert_eq!(LayerNeeds::read(&ModelOptions { slots: 0, ..tiny() }), None);
    }

    #[test]
    fn devices_are_numbers_of_gpus() {
        let of = |devices: &[u32], split_mode, main_gpu| {
            let options = ModelOptions { devices: devices.to_vec(), split_mode, main_gpu, ..tiny() };
            used_gpus(&options, 3)
        };
        for (devices, split_mode, main_gpu, expected) in [
            (&[] as &[u32], SplitMode::Layer, None, Ok(vec![0, 1, 2])),
            (&[2, 0], SplitMode::Row, None, Ok(vec![2, 0])),
            (&[], SplitMode::None, None, Ok(vec![0])),
            (&[2, 0], SplitMode::None, None, Ok(vec![2])),
            (&[2, 0], SplitMode::None, Some(0), Ok(vec![0])),
            (&[1, 3], SplitMode::Layer, None, Err(("devices", 3))),
            (&[], SplitMode::None, Some(4), Err(("main_gpu", 4))),
        ] {
            assert_eq!(of(devices, split_mode, main_gpu), expected, "{devices:?} {main_gpu:?}");
        }
    }
}
