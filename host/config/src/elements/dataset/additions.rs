//! Fields that a dataset adds to its rows: computed ones, and examples from a pool.

use super::read_sha256;
use super::source::{self, DataSource, FilesSpec};
use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
use strum::{IntoStaticStr, VariantArray};

/// Name of the field with the examples of a row.
pub const FEW_SHOT_FIELD: &str = "few_shot";

/// Name of the field with the subset of a row, if a dataset has a list of subsets.
pub const SUBSET_FIELD: &str = "subset";

/// Default seed of the draw of examples.
const DEFAULT_SEED: u64 = 1234;

/// Maximum number of examples of a row.
const MAX_EXAMPLES: u64 = 1_000;

/// A computed field.
#[derive(Clone, Debug)]
pub struct FieldSpec {
    /// The name of the field.
    pub name: String,
    /// A minijinja expression.
    pub expression: String,
    /// Span of the expression.
    pub span: Span,
}

/// The examples that are picked for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ExamplePick {
    /// The first ones of the pool.
    First,
    /// Some that are drawn as CPython's `random.sample` draws them.
    Random,
}

/// The rows that examples are picked from.
#[derive(Clone, Debug)]
pub enum PoolSource {
    /// Another split of the dataset on the hub, or the same one.
    Split(String),
    /// Files, in the format of the dataset.
    Files(FilesSpec),
}

/// Examples that each row gets.
#[derive(Clone, Debug)]
pub struct FewShotSpec {
    /// The rows that they are picked from.
    pub pool: PoolSource,
    /// The required digest of the pool, 64 hexadecimal digits.
    pub sha256: Option<String>,
    /// Number of examples of a row.
    pub count: usize,
    /// Only examples whose field of this name has the same value as that of the row are picked.
    pub by: Option<String>,
    /// The examples that are picked; default `first`.
    pub pick: ExamplePick,
    /// Seed of a random draw; default 1234.
    pub seed: u64,
}

/// Reads `fields`: a mapping from names to expressions.
pub(super) fn read_fields(table: &mut MappingReader<'_>, problems: &mut Problems) -> Vec<FieldSpec> {
    let path = table.path_of("fields");
    let entries = table.free_map("fields", problems).and_then(Node::as_map).unwrap_or_default();
    let mut fields = Vec::with_capacity(entries.len());
    for entry in entries {
        let node = &entry.node;
        let text = node.as_text().or(node.plain.as_deref()).filter(|text| !text.trim().is_empty());
        match text.filter(|_| !node.is_null()) {
            Some(expression) => fields.push(FieldSpec {
                name: entry.key.clone(),
                expression: expression.to_owned(),
                span: node.span,
            }),
            None => {
                let message = format!("the field `{}` has no expression", entry.key);
                problems.error(node.span, &format!("{path}.{}", entry.key), message).help(
                    "write it as a text, like fields: {query: \"question | trim\"}; no value is `none`",
                );
            }
        }
    }
    fields
}

/// Reads `few_shot`. `source` is that of the dataset, and `fields` are its computed fields.
pub(super) fn read_few_shot(
    table: &mut MappingReader<'_>,
    source: Option<&DataSource>,
    fields: &[FieldSpec],
    problems: &mut Problems,
) -> Option<FewShotSpec> {
    let node = table.get("few_shot")?;
    let mut inner = MappingReader::open(node, table.path_of("few_shot"), problems)?;
    let split = inner.text("split", problems);
    let has_path = inner.get("path").is_some();
    let paths = if has_path { source::read_paths(&mut inner, problems) } else { None };
    let sha256 = read_sha256(&mut inner, "sha256", problems);
    inner.required("count", problems);
    let count = inner.number("count", 1..=MAX_EXAMPLES, problems);
    let by = inner.text("by", problems);
    let pick = inner.variant("pick", problems).unwrap_or(ExamplePick::First);
    let seed = inner.integer("seed", 0..=u64::MAX, problems).unwrap_or(DEFAULT_SEED);
    if let Some(by) = by.as_ref().filter(|by| fields.iter().any(|field| field.name == **by)) {
        inner
            .error("by", format!("`by` names the computed field `{by}`"), problems)
            .help("name a field that the rows of the dataset have");
    }
    let pool = match source? {
        DataSource::Files(files) => {
            if split.is_some() || !has_path {
                inner
                    .error("split", "`few_shot` of a dataset of files needs `path`, and no `split`", problems)
                    .help("name the file with the examples, like few_shot: {path: train.jsonl, count: 5}");
                None
            } else {
                paths.map(|(paths, shown)| PoolSource::Files(FilesSpec { paths, shown, ..files.clone() }))
            }
        }
        DataSource::Hub(hub) => {
            if has_path || !hub.data_files.is_empty() || split.is_none() {
                inner
                    .error(
                        "path",
                        "`few_shot` of a dataset on a hub needs `split`, without `path` and `data_files`",
                        problems,
                    )
                    .help("name the split with the examples, like few_shot: {split: train, count: 5}");
            }
            split.map(PoolSource::Split)
        }
    };
    inner.finish(problems);
    Some(FewShotSpec { pool: pool?, sha256, count: count?, by, pick, seed })
}
