//! Keys that place a model on processors and GPUs: `replicas`, `devices`, `main_gpu` and `split_mode`.

use super::{LlamaCppConfig, SplitMode};
use crate::mapping_reader::MappingReader;
use crate::node::NodeValue;
use crate::problems::Problems;

/// Maximum number of processes that run a model.
const MAX_REPLICAS: u32 = 64;

/// Number that a GPU must be below.
const MAX_DEVICES: u32 = 64;

/// Number of processes that each run the whole model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replicas {
    /// One for each GPU if the whole model fits on each, otherwise one.
    Auto,
    /// This many.
    Count(u32),
}

impl Default for Replicas {
    fn default() -> Replicas {
        Replicas::Count(1)
    }
}

pub(super) fn replicas(table: &mut MappingReader<'_>, problems: &mut Problems) -> Replicas {
    let Some(node) = table.get("replicas") else { return Replicas::default() };
    let count = match &node.value {
        NodeValue::Text(text) if text == "auto" => return Replicas::Auto,
        NodeValue::Int(number) => u32::try_from(*number).ok(),
        _ => None,
    };
    match count.filter(|count| (1..=MAX_REPLICAS).contains(count)) {
        Some(count) => Replicas::Count(count),
        None => {
            let wanted = format!("`auto` or a whole number from 1 to {MAX_REPLICAS}");
            table.mistyped(node, "replicas", &wanted, problems).unwrap_or_default()
        }
    }
}

pub(super) fn devices(table: &mut MappingReader<'_>, problems: &mut Problems) -> Vec<u32> {
    let mut devices = Vec::new();
    for (node, path) in table.list("devices", problems) {
        let number = node.to_json().as_u64().and_then(|number| u32::try_from(number).ok());
        match number.filter(|number| *number < MAX_DEVICES) {
            None => {
                problems.error(node.span, &path, "a device is a whole number from 0 to 63");
            }
            Some(number) if devices.contains(&number) => {
                let message = format!("`devices` names the GPU {number} twice");
                problems.error(node.span, &path, message).help("name each GPU once");
            }
            Some(number) => devices.push(number),
        }
    }
    devices
}

/// Rejects `tensor_split`. llama.cpp supports weights for splitting layers, but its crate has no safe way to set
/// them.
pub(super) fn refuse_tensor_split(table: &mut MappingReader<'_>, problems: &mut Problems) {
    let Some(node) = table.refused("tensor_split") else { return };
    let message =
        "`tensor_split` cannot be set: a model is split in proportion to the free memory of its devices";
    problems
        .error(node.span, &table.path_of("tensor_split"), message)
        .help("use `devices`, `split_mode`, `main_gpu` and `gpu_layers` to place the model, or leave it out");
}

/// Checks combinations of values that are each valid.
pub(super) fn check_placement(config: &LlamaCppConfig, table: &MappingReader<'_>, problems: &mut Problems) {
    let mut wrong = |key: &'static str, message: String, help: &str| {
        table.error(key, message, problems).help(help);
    };
    if let Some(main_gpu) = config.main_gpu {
        if config.split_mode != SplitMode::None {
            let message =
                "`main_gpu` names the GPU of a model that is not split, but `split_mode` is not `none`";
            wrong("main_gpu", message.to_owned(), "set `split_mode: none`, or name GPUs as `devices`");
        } else if !config.devices.is_empty() && !config.devices.contains(&main_gpu) {
            let message = format!("`main_gpu` is {main_gpu}, which is not among `devices`");
            wrong("main_gpu", message, "name one of `devices`, or leave `devices` out");
        }
    }
    if config.replicas != Replicas::default() && config.split_mode == SplitMode::None {
        let message = "`split_mode: none` would put every replica on the same GPU";
        let help = "leave out `split_mode` and `main_gpu`: each replica gets its own share of `devices`";
        wrong("split_mode", message.to_owned(), help);
    }
    if let Replicas::Count(replicas) = config.replicas
        && let Ok(devices) = u32::try_from(config.devices.len())
        && devices > 0
        && !devices.is_multiple_of(replicas)
        && !replicas.is_multiple_of(devices)
    {
        let message = format!("{replicas} replicas cannot share {devices} devices evenly");
        let help = "let one of `replicas` and the number of `devices` be a multiple of the other";
        wrong("replicas", message, help);
    }
}
