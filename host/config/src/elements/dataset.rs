//! `datasets[]`: sources of rows, and how they become Samples.

mod additions;
mod chain;
mod hub_texts;
mod media;
mod source;

use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
pub use additions::{ExamplePick, FEW_SHOT_FIELD, FewShotSpec, FieldSpec, PoolSource, SUBSET_FIELD};
pub use chain::{HookKind, HookSpec, PreprocessSpec};
pub(crate) use hub_texts::keep_hub_texts;
pub use media::MediaSpec;
pub(crate) use source::format_of_file;
pub use source::{DataSource, FileFormat, FilesSpec, HubSpec, HubSubsets, loader_of_file};
use std::path::PathBuf;
use strum::{IntoStaticStr, VariantArray};

/// Handling of a row that is not a valid Sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum OnInvalid {
    /// The row keeps its place and is counted, and the run continues, up to `max_invalid`.
    Skip,
    /// The run stops at the first such row.
    Error,
}

/// A dataset.
#[derive(Clone, Debug)]
pub struct DatasetSpec {
    /// The name within the configuration.
    pub dataset_id: String,
    /// Source of the rows.
    pub source: DataSource,
    /// The required digest of the data, 64 hexadecimal digits: of the file, or of the list if there are several
    /// files.
    pub sha256: Option<String>,
    /// The required digest of the labels file, 64 hexadecimal digits.
    pub labels_sha256: Option<String>,
    /// A file with one label per line, joined to the rows by line as `label_field`.
    pub labels_path: Option<PathBuf>,
    /// The field that a line of `labels_path` becomes; default `label`.
    pub label_field: String,
    /// Only rows whose field at each path has one of the values are read.
    pub filter: Vec<(String, Vec<serde_json::Value>)>,
    /// Rows whose field at a path has one of the values are skipped.
    pub exclude: Vec<(String, Vec<serde_json::Value>)>,
    /// Computed fields of the rows, in order.
    pub fields: Vec<FieldSpec>,
    /// Examples that each row gets.
    pub few_shot: Option<FewShotSpec>,
    /// Maximum number of rows to read.
    pub limit: Option<u64>,
    /// True if rows are shuffled before the limit is applied; default false.
    pub shuffle: bool,
    /// Seed of the shuffle; default 123.
    pub seed: u64,
    /// Handling of invalid rows; default `skip`.
    pub on_invalid: OnInvalid,
    /// Maximum share of invalid rows, from 0 to 1; default 0.05.
    pub max_invalid: f64,
    /// The preprocessors, in order; default `default` alone.
    pub preprocess: Vec<PreprocessSpec>,
    /// The doc hooks, at most one of each kind.
    pub hooks: Vec<HookSpec>,
    /// Settings for finding and preparing media.
    pub media: MediaSpec,
    /// A tokenizer configuration with the chat template that renders each Sample's prompt.
    pub tokenizer_config: Option<PathBuf>,
    /// Spans of its parts.
    pub spans: DatasetSpans,
}

/// Spans of the parts of a dataset.
#[derive(Clone, Debug)]
pub struct DatasetSpans {
    /// The whole entry.
    pub entry: Span,
    /// Each key below `params`, and below `media` in it.
    keys: Vec<(String, Span)>,
}

impl DatasetSpans {
    fn read(entry: Span, params: &Node, preprocess: &[PreprocessSpec]) -> DatasetSpans {
        let media = params.get("media").and_then(Node::as_map);
        let written = [params.as_map(), media].into_iter().flatten().flatten();
        let written = written.filter(|entry| !entry.node.is_null());
        let mut keys: Vec<(String, Span)> =
            written.map(|entry| (entry.key.clone(), entry.node.span)).collect();
        let root = media::root_of(preprocess).filter(|_| params.get("content_root").is_none());
        keys.extend(root.map(|root| ("content_root".to_owned(), root.span)));
        DatasetSpans { entry, keys }
    }

    /// Returns the span of a key. For a key that is not written, returns the span of the hub dataset's name, or
    /// else of the whole entry.
    pub fn of(&self, key: &str) -> Span {
        let written = |key: &str| self.keys.iter().find(|(known, _)| known == key).map(|(_, span)| *span);
        let name = match key {
            "path" => written("hub_id"),
            "hub_id" => written("path"),
            "revision" | "subset" | "split" | "data_files" | "endpoint" => written("hub_id"),
            _ => None,
        };
        written(key).or(name).unwrap_or(self.entry)
    }
}

impl DatasetSpec {
    pub(crate) fn read(node: &Node, path: String, problems: &mut Problems) -> Option<DatasetSpec> {
        let mut table = MappingReader::open(node, path, problems)?;
        let dataset_id = table.required_id("dataset_id", problems);
        let loader = source::read_loader(&mut table, problems);
        let params = table.required("params", problems).cloned();
        let params_path = table.path_of("params");
        table.finish(problems);

        let params = params?;
        let mut table = MappingReader::open(&params, params_path, problems)?;
        let source = source::read(loader, &mut table, problems);
        let sha256 = read_sha256(&mut table, "sha256", problems);
        let labels_sha256 = read_sha256(&mut table, "labels_sha256", problems);
        let labels_path = source::read_path(&mut table, "labels_path", problems);
        let content_root = source::read_path(&mut table, "content_root", problems);
        let tokenizer_config = source::read_path(&mut table, "tokenizer_config", problems);
        // Rows are always streamed; the key is accepted for compatibility.
        table.boolean("streaming", problems);
        let fields = additions::read_fields(&mut table, problems);
        let few_shot = additions::read_few_shot(&mut table, source.as_ref(), &fields, problems);
        let preprocess = chain::read_preprocess(&mut table, problems);
        let hooks = chain::read_hooks(&mut table, &preprocess, problems);
        let spec = DatasetSpec {
            dataset_id: dataset_id.unwrap_or_default(),
            sha256,
            labels_sha256,
            labels_path,
            label_field: read_label_field(&mut table, problems),
            filter: source::read_filter(&mut table, "filter", problems),
            exclude: source::read_filter(&mut table, "exclude", problems),
            fields,
            few_shot,
            limit: table.integer("limit", 1..=u64::MAX, problems),
            shuffle: table.boolean("shuffle", problems).unwrap_or(false),
            seed: table.integer("seed", 0..=u64::MAX, problems).unwrap_or(123),
            on_invalid: table.variant("on_invalid", problems).unwrap_or(OnInvalid::Skip),
            max_invalid: table.float("max_invalid", 0.0..=1.0, problems).unwrap_or(0.05),
            media: MediaSpec::read(&mut table, content_root, &preprocess, problems),
            tokenizer_config,
            source: source.unwrap_or_else(DataSource::none),
            spans: DatasetSpans::read(node.span, &params, &preprocess),
            preprocess,
            hooks,
        };
        if spec.labels_sha256.is_some() && spec.labels_path.is_none() {
            let message = "`labels_sha256` without `labels_path` is the digest of nothing";
            table.error("labels_sha256", message, problems);
        }
        table.finish(problems);
        Some(spec)
    }

    /// Returns the name of the data in messages and in the Samples: its file, its files, or its name on the hub.
    pub fn shown_source(&self) -> String {
        match &self.source {
            DataSource::Files(files) => files.shown.join(", "),
            DataSource::Hub(hub) => hub.shown(),
        }
    }
}

fn read_label_field(table: &mut MappingReader<'_>, problems: &mut Problems) -> String {
    let name = table.text("label_field", problems).unwrap_or_else(|| "label".to_owned());
    if name.trim().is_empty() {
        table
            .error("label_field", "`label_field` is empty", problems)
            .help("name the field that each label becomes, or leave it out: it is `label` then");
    }
    name
}

fn read_sha256(table: &mut MappingReader<'_>, key: &'static str, problems: &mut Problems) -> Option<String> {
    let text = table.text(key, problems)?;
    let digits = text.strip_prefix("sha256:").unwrap_or(&text).to_ascii_lowercase();
    if digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Some(digits);
    }
    table
        .error(key, format!("`{text}` is not a SHA-256 digest"), problems)
        .help("it has 64 hexadecimal digits; `gage-host data stats` prints it");
    None
}
