//! `cache`: stores model answers, so that the same request need not be sent twice.

use crate::mapping_reader::MappingReader;
use crate::node::NodeValue;
use crate::problems::Problems;
use std::path::{Path, PathBuf};

/// Cache of model answers. It does not change the results of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheSpec {
    /// The folder; default: one in the program's own cache folder.
    pub path: Option<PathBuf>,
    /// Maximum total size of the answers in bytes; default 4 GiB.
    pub most_bytes: Option<u64>,
}

/// Minimum size of the answer cache.
const MIN_CACHE_BYTES: u64 = 16 << 20;

impl CacheSpec {
    /// The default of `most_bytes`.
    pub const DEFAULT_BYTES: u64 = 4 << 30;

    /// Reads `cache: true`, `cache: FOLDER`, or `cache: {path, size}`.
    pub(crate) fn read(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<CacheSpec> {
        let node = table.get("cache")?;
        match &node.value {
            NodeValue::Bool(is_on) => is_on.then(CacheSpec::default),
            NodeValue::Text(path) if !path.is_empty() => {
                table.uses_file("cache", Path::new(path), problems);
                Some(CacheSpec { path: Some(PathBuf::from(path)), most_bytes: None })
            }
            NodeValue::Map(_) => {
                let mut inner = MappingReader::open(node, table.path_of("cache"), problems)?;
                let path = inner.text("path", problems).filter(|path| !path.is_empty()).map(PathBuf::from);
                path.iter().for_each(|path| inner.uses_file("path", path, problems));
                let most_bytes = read_size(&mut inner, problems);
                inner.finish(problems);
                Some(CacheSpec { path, most_bytes })
            }
            _ => {
                problems
                    .error(node.span, &table.path_of("cache"), "expected true, false, a folder, or a mapping")
                    .help("write `cache: true`, `cache: FOLDER` or `cache: {path: FOLDER, size: 4GiB}`");
                None
            }
        }
    }
}

fn read_size(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<u64> {
    let node = table.get("size")?;
    let text = match &node.value {
        NodeValue::Text(text) => text.clone(),
        _ => node.to_json().to_string(),
    };
    parse_cache_size(&text).map_err(|message| table.error("size", message, problems).severity).ok()
}

/// Parses the maximum size of the answer cache: `512MiB`, `4GiB`, `1TiB`, or bytes.
///
/// # Errors
/// Returns what is wrong with the text, and the expected form.
pub fn parse_cache_size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u32); 3] = [("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let trimmed = text.trim();
    let unit = UNITS.iter().find_map(|(unit, bits)| Some((trimmed.strip_suffix(unit)?, *bits)));
    let (number, bits) = unit.unwrap_or((trimmed, 0));
    let bytes = number.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(1 << bits));
    match bytes {
        Some(bytes) if bytes >= MIN_CACHE_BYTES => Ok(bytes),
        Some(_) => Err(format!("`{text}` is too small; a cache of answers holds at least 16MiB")),
        None => Err(format!("`{text}` is not a size; write 512MiB, 4GiB, 1TiB, or a number of bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Environment, load};

    fn read(cache: &str) -> Result<Option<CacheSpec>, String> {
        let text = format!(
            "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
             datasets: [{{dataset_id: d, loader: jsonl, params: {{path: x}}}}]\n\
             backends: [{{backend_id: b, type: llama_cpp, config: {{model_path: m}}}}]\n\
             role_adapters: [{{adapter_id: r, role_type: dut_model, backend_id: b}}]\n\
             custom: {{steps: [{{step: inference}}]}}\n{cache}"
        );
        let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
        let (config, problems) = load("test.yaml", &text, &[], &environment);
        match problems.has_errors() {
            true => Err(problems.render(false)),
            false => Ok(config.expect("a configuration").cache),
        }
    }

    #[test]
    fn it_is_off_by_default_and_can_be_written_in_each_form() {
        let with =
            |path: Option<&str>, most_bytes| Some(CacheSpec { path: path.map(PathBuf::from), most_bytes });
        for (written, expected) in [
            ("", None),
            ("cache: false", None),
            ("cache: true", with(None, None)),
            ("cache: /a/b", with(Some("/a/b"), None)),
            ("cache: {}", with(None, None)),
            ("cache: {path: b, size: 64MiB}", with(Some("b"), Some(64 << 20))),
            ("cache: {size: 2TiB}", with(None, Some(2 << 40))),
            ("cache: {size: 20000000}", with(None, Some(20_000_000))),
        ] {
            assert_eq!(read(written), Ok(expected), "{written}");
        }
        for (written, part) in [
            ("cache: 3", "expected true, false, a folder, or a mapping"),
            ("cache: [a]", "expected true, false, a folder, or a mapping"),
            ("cache: {size: 4GB}", "`4GB` is not a size"),
            ("cache: {size: -1}", "`-1` is not a size"),
            ("cache: {size: 999999999999TiB}", "is not a size"),
            ("cache: {size: 1MiB}", "at least 16MiB"),
            ("cache: {folder: a}", "folder"),
        ] {
            let problems = read(written).expect_err(written);
            assert!(problems.contains(part), "{written}: {problems}");
        }
    }
}
