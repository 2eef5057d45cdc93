//! `datasets[]`: where rows come from and what turns them into Samples.

mod chain;
mod media;
mod source;

use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
pub use chain::{HookKind, HookSpec, PreprocessSpec};
pub use media::MediaSpec;
pub use source::{DataSource, FileFormat, FilesSpec, HubSpec};
use std::path::PathBuf;

/// What becomes of the run when a row is no Sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnInvalid {
    /// The row keeps its place, is counted, and the run goes on, up to `max_invalid`.
    Skip,
    /// The run stops at the first such row.
    Error,
}

/// One dataset.
#[derive(Clone, Debug)]
pub struct DatasetSpec {
    /// Its name within the configuration.
    pub dataset_id: String,
    /// Where the rows are.
    pub source: DataSource,
    /// The digest that the data must have, 64 hexadecimal digits: that of the file, or of the list of
    /// files where there are several.
    pub sha256: Option<String>,
    /// The digest that the file of labels must have, 64 hexadecimal digits.
    pub labels_sha256: Option<String>,
    /// A file with one label a line, joined to the rows by line as `label_field`.
    pub labels_path: Option<PathBuf>,
    /// The field that a line of `labels_path` becomes; default `label`.
    pub label_field: String,
    /// Rows are read only where the field at each path has one of the values.
    pub filter: Vec<(String, Vec<serde_json::Value>)>,
    /// Rows are not read where the field at a path has one of the values.
    pub exclude: Vec<(String, Vec<serde_json::Value>)>,
    /// Read at most this many rows.
    pub limit: Option<u64>,
    /// Whether rows are shuffled before the limit is applied; default no.
    pub shuffle: bool,
    /// Seed of the shuffle; default 123.
    pub seed: u64,
    /// What a row that is no Sample does to the run; default `skip`.
    pub on_invalid: OnInvalid,
    /// The largest share of such rows, from 0 to 1; default 0.05.
    pub max_invalid: f64,
    /// The preprocessors, one after the other; default `default` alone.
    pub preprocess: Vec<PreprocessSpec>,
    /// The doc hooks, at most one of each kind.
    pub hooks: Vec<HookSpec>,
    /// How media are found and made ready.
    pub media: MediaSpec,
    /// A tokenizer's configuration with the chat template that renders each Sample's prompt.
    pub tokenizer_config: Option<PathBuf>,
    /// Where its parts are written.
    pub spans: DatasetSpans,
}

/// Where the parts of a dataset are written.
#[derive(Clone, Copy, Debug)]
pub struct DatasetSpans {
    /// The whole entry.
    pub entry: Span,
    /// The path, or the name on the hub.
    pub path: Span,
    /// The digest.
    pub sha256: Span,
    /// The digest of the labels.
    pub labels_sha256: Span,
    /// The labels' path.
    pub labels_path: Span,
    /// What is fetched from a hub, and from which.
    pub hub: HubSpans,
    /// The root of media, also where it stands among the parameters of a preprocessor.
    pub content_root: Span,
    /// How media are read.
    pub media: MediaSpans,
    /// The tokenizer's configuration.
    pub tokenizer_config: Span,
}

/// Where a dataset on a hub is described; the name, for what is not written.
#[derive(Clone, Copy, Debug)]
pub struct HubSpans {
    /// The branch, tag or commit.
    pub revision: Span,
    /// The configuration.
    pub subset: Span,
    /// The split.
    pub split: Span,
    /// The patterns of file names.
    pub data_files: Span,
    /// The address of the hub.
    pub endpoint: Span,
}

/// Where the bounds of media are written; the dataset, for what is not.
#[derive(Clone, Copy, Debug)]
pub struct MediaSpans {
    /// The further folders.
    pub allowed_roots: Span,
    /// The fewest pixels.
    pub min_pixels: Span,
    /// The most pixels.
    pub max_pixels: Span,
    /// What sides are multiples of.
    pub factor: Span,
}

impl DatasetSpans {
    /// Where a key is written.
    pub fn of(&self, key: &str) -> Span {
        match key {
            "path" | "hub_id" => self.path,
            "sha256" => self.sha256,
            "labels_sha256" => self.labels_sha256,
            "labels_path" => self.labels_path,
            "revision" => self.hub.revision,
            "subset" => self.hub.subset,
            "split" => self.hub.split,
            "data_files" => self.hub.data_files,
            "endpoint" => self.hub.endpoint,
            "content_root" => self.content_root,
            "allowed_roots" => self.media.allowed_roots,
            "min_pixels" => self.media.min_pixels,
            "max_pixels" => self.media.max_pixels,
            "factor" => self.media.factor,
            "tokenizer_config" => self.tokenizer_config,
            _ => self.entry,
        }
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
        let mut spans = read_spans(node.span, &params, source.as_ref(), &mut table);
        // Rows are always streamed; the key is accepted for configurations that say so.
        table.boolean("streaming", problems);
        let preprocess = chain::read_preprocess(&mut table, problems);
        if let Some(root) = media::root_of(&preprocess).filter(|_| params.get("content_root").is_none()) {
            spans.content_root = root.span;
        }
        let hooks = chain::read_hooks(&mut table, &preprocess, problems);
        let spec = DatasetSpec {
            dataset_id: dataset_id.unwrap_or_default(),
            sha256: read_sha256(&mut table, "sha256", problems),
            labels_sha256: read_sha256(&mut table, "labels_sha256", problems),
            labels_path: source::read_path(&mut table, "labels_path", problems),
            label_field: read_label_field(&mut table, problems),
            filter: source::read_filter(&mut table, "filter", problems),
            exclude: source::read_filter(&mut table, "exclude", problems),
            limit: table.integer("limit", 1..=u64::MAX, problems),
            shuffle: table.boolean("shuffle", problems).unwrap_or(false),
            seed: table.integer("seed", 0..=u64::MAX, problems).unwrap_or(123),
            on_invalid: table
                .choice("on_invalid", &[("skip", OnInvalid::Skip), ("error", OnInvalid::Error)], problems)
                .unwrap_or(OnInvalid::Skip),
            max_invalid: table.float("max_invalid", 0.0..=1.0, problems).unwrap_or(0.05),
            media: MediaSpec::read(&mut table, &preprocess, problems),
            tokenizer_config: source::read_path(&mut table, "tokenizer_config", problems),
            source: source.unwrap_or_else(DataSource::none),
            preprocess,
            hooks,
            spans,
        };
        if spec.labels_sha256.is_some() && spec.labels_path.is_none() {
            let message = "`labels_sha256` without `labels_path` is the digest of nothing";
            problems.error(spans.labels_sha256, &table.path_of("labels_sha256"), message);
        }
        table.finish(problems);
        Some(spec)
    }

    /// What the data is called in messages and in the Samples: its file, its files, or its name on
    /// the hub.
    pub fn shown_source(&self) -> String {
        match &self.source {
            DataSource::Files(files) => files.shown.join(", "),
            DataSource::Hub(hub) => hub.shown(),
        }
    }
}

/// The places where the keys of a dataset are written; the dataset itself for those that are not.
fn read_spans(
    entry: Span,
    params: &Node,
    source: Option<&DataSource>,
    table: &mut MappingReader<'_>,
) -> DatasetSpans {
    let span_of = |table: &mut MappingReader<'_>, key| table.get(key).map_or(entry, |node| node.span);
    let path = match source {
        Some(DataSource::Hub(_)) => span_of(table, "hub_id"),
        _ => span_of(table, "path"),
    };
    // Read here, for other sources do not know these keys and refuse them.
    let of_hub = |key| {
        let is_hub = matches!(source, Some(DataSource::Hub(_)));
        params.get(key).filter(|_| is_hub).map_or(path, |node| node.span)
    };
    let of_media = |key| {
        let written = params.get("media").and_then(|media| media.get(key));
        written.map_or(entry, |node| node.span)
    };
    DatasetSpans {
        entry,
        path,
        sha256: span_of(table, "sha256"),
        labels_sha256: span_of(table, "labels_sha256"),
        labels_path: span_of(table, "labels_path"),
        hub: HubSpans {
            revision: of_hub("revision"),
            subset: of_hub("subset"),
            split: of_hub("split"),
            data_files: of_hub("data_files"),
            endpoint: of_hub("endpoint"),
        },
        content_root: span_of(table, "content_root"),
        media: MediaSpans {
            allowed_roots: of_media("allowed_roots"),
            min_pixels: of_media("min_pixels"),
            max_pixels: of_media("max_pixels"),
            factor: of_media("factor"),
        },
        tokenizer_config: span_of(table, "tokenizer_config"),
    }
}

fn read_label_field(table: &mut MappingReader<'_>, problems: &mut Problems) -> String {
    let name = table.text("label_field", problems).unwrap_or_else(|| "label".to_owned());
    if name.trim().is_empty() {
        let span = table.get("label_field").map_or(table.span, |node| node.span);
        problems
            .error(span, &table.path_of("label_field"), "`label_field` is empty")
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
    let span = table.get(key).map_or(table.span, |node| node.span);
    problems
        .error(span, &table.path_of(key), format!("`{text}` is not a SHA-256 digest"))
        .help("it has 64 hexadecimal digits; `gage-host data stats` prints it");
    None
}
