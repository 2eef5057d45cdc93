//! `datasets[]`: where rows come from and what turns them into Samples.

use crate::elements::PluginReference;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
use crate::table::Table;
use std::path::PathBuf;

/// Which loader reads the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoaderKind {
    /// One JSON object a line.
    Jsonl,
}

/// One dataset.
#[derive(Clone, Debug)]
pub struct DatasetSpec {
    /// Its name within the configuration.
    pub dataset_id: String,
    /// Which loader reads it.
    pub loader: LoaderKind,
    /// The file, relative to the working folder.
    pub path: PathBuf,
    /// A file with one label a line, joined to the rows by line as `label_field`.
    pub labels_path: Option<PathBuf>,
    /// The field that a line of `labels_path` becomes; default `label`.
    pub label_field: String,
    /// Read at most this many rows.
    pub limit: Option<u64>,
    /// Whether rows are shuffled before the limit is applied; default no.
    pub shuffle: bool,
    /// Seed of the shuffle; default 123.
    pub seed: u64,
    /// The preprocessor; default `default`.
    pub preprocess: PluginReference,
    /// Its parameters.
    pub preprocess_kwargs: Option<Node>,
    /// Where the dataset, its path, its labels and its preprocessor are written.
    pub spans: DatasetSpans,
}

/// Where the parts of a dataset are written.
#[derive(Clone, Copy, Debug)]
pub struct DatasetSpans {
    /// The whole entry.
    pub entry: Span,
    /// The path.
    pub path: Span,
    /// The labels' path.
    pub labels_path: Span,
    /// The preprocessor's name.
    pub preprocess: Span,
}

impl DatasetSpec {
    pub(crate) fn read(node: &Node, path: String, problems: &mut Problems) -> Option<DatasetSpec> {
        let mut table = Table::open(node, path, problems)?;
        let dataset_id = table.required_id("dataset_id", problems);
        table.required("loader", problems);
        let loader = table.choice("loader", &[("jsonl", LoaderKind::Jsonl)], problems);
        let params = table.required("params", problems).cloned();
        let params_path = table.path_of("params");
        table.finish(problems);

        let params = params?;
        let mut table = Table::open(&params, params_path, problems)?;
        let file = table.required_text("path", problems);
        if file.as_deref().is_some_and(|file| file.trim().is_empty()) {
            problems.error(node.span, &table.path_of("path"), "`path` is empty");
        }
        let span_of = |table: &mut Table<'_>, key| table.get(key).map_or(node.span, |node| node.span);
        let spans = DatasetSpans {
            entry: node.span,
            path: span_of(&mut table, "path"),
            labels_path: span_of(&mut table, "labels_path"),
            preprocess: span_of(&mut table, "preprocess"),
        };
        // Rows are always streamed; the key is accepted for configurations that say so.
        table.boolean("streaming", problems);
        let preprocess_text = table.text("preprocess", problems).unwrap_or_else(|| "default".to_owned());
        let preprocess = match table.get("preprocess") {
            Some(node) => {
                PluginReference::read(node, "preprocess", &preprocess_text, "preprocessor", problems)
            }
            None => Some(PluginReference::parse(&preprocess_text)),
        };
        for key in ["doc_to_text", "doc_to_visual", "doc_to_audio"] {
            if let Some(node) = table.refused(key) {
                let text = node.as_text().unwrap_or_default();
                let path = table.path_of(key);
                if PluginReference::read(node, &path, text, "doc-hook", problems).is_some() {
                    problems
                        .error(
                            node.span,
                            &path,
                            format!("this version runs no doc hooks: `{key}` would do nothing"),
                        )
                        .help("do the same in a preprocessor, or remove the key");
                }
            }
        }
        let labels_path = table.text("labels_path", problems).map(PathBuf::from);
        let label_field = table.text("label_field", problems).unwrap_or_else(|| "label".to_owned());
        let limit = table.integer("limit", 1..=u64::MAX, problems);
        let shuffle = table.boolean("shuffle", problems).unwrap_or(false);
        let seed = table.integer("seed", 0..=u64::MAX, problems).unwrap_or(123);
        let preprocess_kwargs = table.free_map("preprocess_kwargs", problems).cloned();
        table.finish(problems);
        Some(DatasetSpec {
            dataset_id: dataset_id.unwrap_or_default(),
            // An unknown loader is an error already; the rest is looked at all the same.
            loader: loader.unwrap_or(LoaderKind::Jsonl),
            path: PathBuf::from(file?),
            labels_path,
            label_field,
            limit,
            shuffle,
            seed,
            preprocess: preprocess?,
            preprocess_kwargs,
            spans,
        })
    }
}
