//! How much memory a model needs, before it is loaded.

use super::gguf::Gguf;
use super::options::most_rows;
use std::path::Path;

/// What a model needs, in bytes. The memory of attention is exact for models of the usual kind; the rest is
/// what llama.cpp was seen to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryNeeds {
    /// The weights, which are mapped from the file.
    pub weights: u64,
    /// Keys and values of all tokens.
    pub cache: u64,
    /// The logits of a call and what is computed on the way to them.
    pub computation: u64,
}

impl MemoryNeeds {
    /// What a model needs for so many cells of memory whose keys and values take so many bits each, and
    /// calls of so many tokens, whose logits are wanted of no more than take 128 MiB. `None` where the file does
    /// not say how it is built.
    pub fn of(gguf: &Gguf, cells: u64, bits: (f64, f64), call_tokens: u64) -> Option<MemoryNeeds> {
        let layers = gguf.of_architecture("block_count")?;
        let heads = gguf.of_architecture("attention.head_count").filter(|heads| *heads > 0)?;
        let width = gguf.of_architecture("embedding_length")?;
        let key_heads = gguf.of_architecture("attention.head_count_kv").unwrap_or(heads);
        let key = gguf.of_architecture("attention.key_length").unwrap_or(width / heads);
        let value = gguf.of_architecture("attention.value_length").unwrap_or(width / heads);
        let elements = (cells.saturating_mul(layers)).saturating_mul(key_heads);
        let bytes = |length: u64, bits: f64| (elements.saturating_mul(length) as f64 * bits / 8.0) as u64;
        let inner = gguf.of_architecture("feed_forward_length").unwrap_or(4 * width);
        // The logits lie once in the graph and once where they are read; a few layers' results beside them.
        let vocabulary = gguf.vocabulary_size().unwrap_or(0);
        let most_rows = u64::try_from(most_rows(usize::try_from(vocabulary).unwrap_or(usize::MAX)));
        let logits = call_tokens.min(most_rows.unwrap_or(u64::MAX)).saturating_mul(2 * vocabulary);
        let others = call_tokens.saturating_mul(4 * (width + inner));
        Some(MemoryNeeds {
            weights: gguf.tensor_bytes(),
            cache: bytes(key, bits.0).saturating_add(bytes(value, bits.1)),
            computation: logits.saturating_add(others).saturating_mul(4),
        })
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.weights.saturating_add(self.cache).saturating_add(self.computation)
    }
}

/// Bits of a number of a type of the cache.
pub fn cache_bits(name: &str) -> f64 {
    match name {
        "f32" => 32.0,
        "q8_0" => 8.5,
        "q4_0" => 4.5,
        _ => 16.0,
    }
}

/// Memory that the machine can still give, in bytes, and no more than is left to the control group of the
/// process, as in a container; `None` where it does not say.
pub fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let machine = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)?;
    Some(left_to_group(Path::new(GROUPS)).map_or(machine, |group| group.min(machine)))
}

/// Where Linux shows control groups of the second version.
const GROUPS: &str = "/sys/fs/cgroup";

/// What the limits of the process's control group and of those above it leave, without the cached files that
/// would make room; nothing where there is no limit.
fn left_to_group(root: &Path) -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    // Within a container the group is the root of what can be seen.
    let ancestors = Path::new(own).ancestors().map(|group| root.join(group));
    ancestors.filter_map(|group| left_in(&group)).min()
}

fn left_in(group: &Path) -> Option<u64> {
    let text = |name: &str| std::fs::read_to_string(group.join(name)).ok();
    let most = text("memory.max")?.trim().parse::<u64>().ok()?;
    let used = text("memory.current")?.trim().parse::<u64>().ok()?;
    let cached = text("memory.stat").and_then(|stat| {
        stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse::<u64>().ok())
    });
    Some(most.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_left_what_its_limit_and_its_caches_leave() {
        for (most, used, stat, expected) in [
            ("1000\n", "600\n", Some("anon 1\ninactive_file 100\n"), Some(500)),
            ("1000\n", "600\n", None, Some(400)),
            ("1000\n", "2000\n", None, Some(0)),
            ("max\n", "600\n", None, None),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            let write =
                |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
            write("memory.max", most);
            write("memory.current", used);
            if let Some(stat) = stat {
                write("memory.stat", stat);
            }
            assert_eq!(left_in(folder.path()), expected, "{most} {used}");
        }
    }

    #[test]
    fn the_cache_grows_with_cells_and_bits() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/models/gage-tiny.gguf");
        let gguf = Gguf::read(&file).expect("the model");
        let needs = |cells, bits| MemoryNeeds::of(&gguf, cells, bits, 64).expect("said").cache;
        // 4 layers with keys and values of `heads * length` numbers for each token.
        let heads = gguf.of_architecture("attention.head_count_kv").expect("heads");
        let length = gguf.of_architecture("embedding_length").expect("width")
            / gguf.of_architecture("attention.head_count").expect("heads");
        assert_eq!(needs(256, (16.0, 16.0)), 256 * 4 * heads * length * 2 * 2);
        assert_eq!(needs(512, (16.0, 16.0)), 2 * needs(256, (16.0, 16.0)));
        assert_eq!(needs(256, (8.5, 16.0)), needs(256, (16.0, 16.0)) * 49 / 64);
    }
}
