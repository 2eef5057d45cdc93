//! Estimates the memory that a model needs before it is loaded.

use crate::gguf::Gguf;
use crate::settings::max_logits_rows;
use gage_config::CacheType;
use std::path::Path;

/// Memory that a model needs, in bytes. The KV cache is exact for models of the usual kind; the rest is based on
/// llama.cpp's observed usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryNeeds {
    /// Weights, memory-mapped from the file.
    pub weights: u64,
    /// KV cache of all tokens.
    pub cache: u64,
    /// Logits of a call, and intermediate results.
    pub computation: u64,
}

impl MemoryNeeds {
    /// Estimates the memory for a KV cache of `cells`, whose keys and values take `bits` each, and calls of
    /// `call_tokens`.
    ///
    /// Logits are counted for at most as many tokens as fit into 128 MiB. `None` if the file does not describe the
    /// model's dimensions.
    pub fn of(gguf: &Gguf, cells: u64, bits: (f64, f64), call_tokens: u64) -> Option<MemoryNeeds> {
        let layers = gguf.of_architecture("block_count")?;
        let heads = gguf.of_architecture("attention.head_count").filter(|heads| *heads > 0)?;
        let width = gguf.of_architecture("embedding_length")?;
        let key_heads = gguf.of_architecture("attention.head_count_kv").unwrap_or(heads);
        let key = gguf.of_architecture("attention.key_length").unwrap_or(width / heads);
        let value = gguf.of_architecture("attention.value_length").unwrap_or(width / heads);
        let elements = (cells.saturating_mul(layers)).saturating_mul(key_heads);
        let bytes = |length: u64, bits: f64| (elements.saturating_mul(length) as f64 * bits / 8.0) as u64;
        // The numbers are the file's, so none is trusted to be small.
        let inner = gguf.of_architecture("feed_forward_length").unwrap_or(width.saturating_mul(4));
        // Logits are held twice, in the graph and in the output buffer, along with the results of a few layers.
        let vocabulary = gguf.vocabulary_size().unwrap_or(0);
        let max_logits_rows =
            u64::try_from(max_logits_rows(usize::try_from(vocabulary).unwrap_or(usize::MAX)));
        let rows = call_tokens.min(max_logits_rows.unwrap_or(u64::MAX));
        let logits = rows.saturating_mul(vocabulary.saturating_mul(2));
        let others = call_tokens.saturating_mul(width.saturating_add(inner).saturating_mul(4));
        Some(MemoryNeeds {
            weights: gguf.tensor_bytes(),
            cache: bytes(key, bits.0).saturating_add(bytes(value, bits.1)),
            computation: logits.saturating_add(others).saturating_mul(4),
        })
    }

    /// Returns the sum of all parts.
    pub fn total(&self) -> u64 {
        self.weights.saturating_add(self.cache).saturating_add(self.computation)
    }
}

/// Returns the number of bits per element of a cache type.
pub fn cache_bits(kind: CacheType) -> f64 {
    match kind {
        CacheType::F32 => 32.0,
        CacheType::F16 | CacheType::Bf16 => 16.0,
        CacheType::Q8_0 => 8.5,
        CacheType::Q4_0 => 4.5,
    }
}

/// Returns the memory that the machine can still provide, in bytes, capped by what is left to the process's control
/// group (as in a container).
///
/// `None` if the machine does not report it.
pub fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let machine = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    Some(left_to_groups(Path::new(GROUPS), &groups).map_or(machine, |group| group.min(machine)))
}

/// Folder in which Linux exposes control groups.
const GROUPS: &str = "/sys/fs/cgroup";

/// Files of a control group that report its memory limit and usage.
struct GroupFiles {
    limit: &'static str,
    usage: &'static str,
    /// Line of `memory.stat` with the reclaimable file cache of the group and its descendants.
    cached: &'static str,
}

/// Files of cgroup v2.
const SECOND: GroupFiles =
    GroupFiles { limit: "memory.max", usage: "memory.current", cached: "inactive_file " };

/// Files of cgroup v1.
const FIRST: GroupFiles = GroupFiles {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    cached: "total_inactive_file ",
};

/// Threshold above which a cgroup v1 limit means no limit.
///
/// Without a limit, v1 reports the largest number of whole pages, whose last digits depend on the page size. No machine
/// has that much memory.
const NO_LIMIT: u64 = 1 << 60;

/// Returns the memory that the limits of the process's control groups and their ancestors leave.
///
/// Reclaimable file cache does not count as used. `None` if there is no limit. `groups` are the lines of
/// `/proc/self/cgroup`: a machine has v2 groups, v1 groups, or both.
fn left_to_groups(root: &Path, groups: &str) -> Option<u64> {
    let left = groups.lines().filter_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        let (root, files) = match controllers {
            "" if number == "0" => (root.to_owned(), SECOND),
            _ if controllers.split(',').any(|one| one == "memory") => (root.join("memory"), FIRST),
            _ => return None,
        };
        // Within a container, the group is the root of the visible hierarchy.
        let ancestors = Path::new(group.trim_start_matches('/')).ancestors().map(|group| root.join(group));
        ancestors.filter_map(|group| left_in(&group, &files)).min()
    });
    left.min()
}

fn left_in(group: &Path, files: &GroupFiles) -> Option<u64> {
    let text = |name: &str| std::fs::read_to_string(group.join(name)).ok();
    let most = text(files.limit)?.trim().parse::<u64>().ok().filter(|most| *most < NO_LIMIT)?;
    let used = text(files.usage)?.trim().parse::<u64>().ok()?;
    let cached = text("memory.stat").and_then(|stat| {
        stat.lines().find_map(|line| line.strip_prefix(files.cached)?.trim().parse::<u64>().ok())
    });
    Some(most.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_left_what_its_limit_and_its_caches_leave() {
        for (most, used, stat, expected) in [
            ("1000\n", "600\n", Some("anon 1\ninactive_file 100\ntotal_inactive_file 100\n"), Some(500)),
            ("1000\n", "600\n", None, Some(400)),
            ("1000\n", "2000\n", None, Some(0)),
            ("max\n", "600\n", None, None),
            ("9223372036854771712\n", "600\n", None, None),
        ] {
            for files in [SECOND, FIRST] {
                let folder = tempfile::tempdir().expect("a folder");
                let write =
                    |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
                write(files.limit, most);
                write(files.usage, used);
                if let Some(stat) = stat {
                    write("memory.stat", stat);
                }
                assert_eq!(left_in(folder.path(), &files), expected, "{most} {used} {}", files.limit);
            }
        }
    }

    #[test]
    fn limits_of_both_versions_count_and_those_of_groups_above() {
        let root = tempfile::tempdir().expect("a folder");
        let group = |folder: &str, files: &GroupFiles, most: &str| {
            let folder = root.path().join(folder);
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join(files.limit), most).expect("written");
            std::fs::write(folder.join(files.usage), "10").expect("written");
        };
        group("user/job", &SECOND, "1010");
        group("user", &SECOND, "810");
        group("memory/job", &FIRST, "710");
        group("memory/other", &FIRST, "20");
        group("memory", &FIRST, "9223372036854771712");
        for (groups, expected) in [
            ("0::/user/job\n", Some(800)),
            ("0::/\n", None),
            ("12:cpu,cpuacct:/x\n9:memory:/job\n0::/\n", Some(700)),
            ("9:memory:/job\n0::/user/job\n", Some(700)),
            ("9:hugetlb,memory:/job\n", Some(700)),
            // As within a container, which cannot see its group under the name used outside.
            ("9:memory:/docker/abc\n", None),
            ("9:cpu:/job\n1:name=systemd:/user\n", None),
            ("", None),
        ] {
            assert_eq!(left_to_groups(root.path(), groups), expected, "{groups:?}");
        }
        group("memory", &FIRST, "610");
        assert_eq!(left_to_groups(root.path(), "9:memory:/docker/abc\n"), Some(600), "the container's own");
    }

    #[test]
    fn the_cache_grows_with_cells_and_bits() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/models/gage-tiny.gguf");
        let gguf = Gguf::read(&file).expect("the model");
        let needs = |cells, bits| MemoryNeeds::of(&gguf, cells, bits, 64).expect("said").cache;
        // 4 layers with keys and values of `heads * length` elements per token.
        let heads = gguf.of_architecture("attention.head_count_kv").expect("heads");
        let length = gguf.of_architecture("embedding_length").expect("width")
            / gguf.of_architecture("attention.head_count").expect("heads");
        assert_eq!(needs(256, (16.0, 16.0)), 256 * 4 * heads * length * 2 * 2);
        assert_eq!(needs(512, (16.0, 16.0)), 2 * needs(256, (16.0, 16.0)));
        assert_eq!(needs(256, (8.5, 16.0)), needs(256, (16.0, 16.0)) * 49 / 64);
    }
}
