//! Paths into the Sample, such as `metadata.subject`.

use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use gage_core::{FieldPath, Root};

/// Reads a path into the Sample.
pub(super) fn read_path(
    table: &mut MappingReader<'_>,
    key: &'static str,
    problems: &mut Problems,
) -> Option<FieldPath> {
    let node = table.get(key)?;
    let path = table.text(key, problems)?;
    of_sample(&path, node, &table.path_of(key), problems)
}

/// Parses a path into the Sample. `path` is that of the key, for messages.
pub(super) fn of_sample(text: &str, node: &Node, path: &str, problems: &mut Problems) -> Option<FieldPath> {
    let read = FieldPath::new(text);
    let is_whole = text.split('.').all(|segment| !segment.trim().is_empty());
    if read.root() == Root::Sample && read.first_key().is_some() && is_whole {
        return Some(read);
    }
    problems
        .error(node.span, path, format!("`{text}` is not a path into the Sample"))
        .help("write it like metadata.subject");
    None
}
