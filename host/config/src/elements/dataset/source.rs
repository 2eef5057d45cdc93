//! Sources of rows: files, or a dataset on a hub.

use crate::elements::address;
use crate::mapping_reader::MappingReader;
use crate::node::{Node, NodeValue};
use crate::problems::Problems;
use crate::resources::ResourceKind;
use crate::source::expand_home;
use gage_secrets::SecretString;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Format of a file of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileFormat {
    /// One JSON object per line.
    #[default]
    Jsonl,
    /// One JSON array of objects.
    Json,
    /// Comma-separated values.
    Csv,
    /// Tab-separated values.
    Tsv,
    /// Apache Parquet.
    Parquet,
}

/// Source of the rows of a dataset.
#[derive(Clone, Debug)]
pub enum DataSource {
    /// Local files.
    Files(FilesSpec),
    /// A dataset on a hub, downloaded once.
    Hub(HubSpec),
}

impl DataSource {
    /// Returns a source without files, for one that could not be read and was already reported.
    pub(super) fn none() -> DataSource {
        DataSource::Files(FilesSpec::default())
    }
}

/// Files of rows, which count as one dataset in the given order.
#[derive(Clone, Debug, Default)]
pub struct FilesSpec {
    /// Their format.
    pub format: FileFormat,
    /// The files, relative to the working folder.
    pub paths: Vec<PathBuf>,
    /// The paths as they may be recorded: a part that came from a secret is replaced by its variable.
    pub shown: Vec<String>,
    /// For `csv` and `tsv`: the names of the columns, if the file has no header line.
    pub columns: Option<Vec<String>>,
    /// For `json`: the path of the array within the document; default the document itself.
    pub records: Option<String>,
}

/// The subsets of a dataset on a hub, which are its configurations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HubSubsets {
    /// The only one, or the default one.
    Default,
    /// One of several.
    One(String),
    /// A list of different ones, which are read in this order. Each row gets a field with the name of its subset.
    List(Vec<String>),
}

impl HubSubsets {
    /// Returns the names of the subsets; `None` is the default subset.
    pub fn names(&self) -> Vec<Option<&str>> {
        match self {
            HubSubsets::Default => vec![None],
            HubSubsets::One(name) => vec![Some(name)],
            HubSubsets::List(names) => names.iter().map(|name| Some(name.as_str())).collect(),
        }
    }

    /// Returns the text shown in messages.
    fn shown(&self) -> Option<String> {
        match self {
            HubSubsets::Default => None,
            HubSubsets::One(name) => Some(name.clone()),
            HubSubsets::List(names) => match names.as_slice() {
                [name] => Some(name.clone()),
                _ => Some(format!("{} subsets", names.len())),
            },
        }
    }
}

/// A dataset on a hub with Hugging Face's API.
#[derive(Clone, Debug)]
pub struct HubSpec {
    /// The dataset's name, such as `owner/name`.
    pub hub_id: String,
    /// A branch, a tag or a commit; default `main`.
    pub revision: String,
    /// The subsets that are read.
    pub subsets: HubSubsets,
    /// The split, such as `test`; required if the dataset has several.
    pub split: Option<String>,
    /// Patterns of file names, in place of `subset` and `split`.
    pub data_files: Vec<String>,
    /// URL of the hub; default `https://huggingface.co`.
    pub endpoint: String,
    /// Token sent as `Authorization: Bearer`; default none.
    pub token: Option<SecretString>,
    /// True if only previously downloaded data is used; default false.
    pub offline: bool,
}

impl HubSpec {
    /// Returns the text shown in messages, such as `owner/name (subset, split test)`.
    pub fn shown(&self) -> String {
        let split = self.split.as_ref().map(|split| format!("split {split}"));
        let subsets = self.subsets.shown();
        let parts: Vec<&str> =
            subsets.iter().chain(&split).chain(&self.data_files).map(String::as_str).collect();
        match parts.is_empty() {
            true => self.hub_id.clone(),
            false => format!("{} ({})", self.hub_id, parts.join(", ")),
        }
    }
}

#[derive(Clone, Copy)]
pub(super) enum Loader {
    Files(FileFormat),
    Hub,
}

/// Returns the loader for a file, by its name.
pub fn loader_of_file(path: &Path) -> Option<&'static str> {
    const ENDINGS: [(&str, &str); 6] = [
        (".jsonl", "jsonl"),
        (".ndjson", "jsonl"),
        (".json", "json"),
        (".csv", "csv"),
        (".tsv", "tsv"),
        (".parquet", "parquet"),
    ];
    let name = path.file_name()?.to_str()?.to_lowercase();
    let name = [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, loader)| *loader)
}

/// Returns the format of a file of rows, by its name.
pub(crate) fn format_of_file(path: &Path) -> Option<FileFormat> {
    let name = loader_of_file(path)?;
    LOADERS.iter().find(|(known, _)| *known == name).and_then(|(_, loader)| match loader {
        Loader::Files(format) => Some(*format),
        Loader::Hub => None,
    })
}

/// The loaders, by name.
const LOADERS: [(&str, Loader); 6] = [
    ("jsonl", Loader::Files(FileFormat::Jsonl)),
    ("json", Loader::Files(FileFormat::Json)),
    ("csv", Loader::Files(FileFormat::Csv)),
    ("tsv", Loader::Files(FileFormat::Tsv)),
    ("parquet", Loader::Files(FileFormat::Parquet)),
    ("hf_hub", Loader::Hub),
];

pub(super) fn read_loader(table: &mut MappingReader<'_>, problems: &mut Problems) -> Loader {
    table.required("loader", problems);
    // An unknown loader is already an error; the rest is checked anyway.
    table.choice("loader", &LOADERS, problems).unwrap_or(Loader::Files(FileFormat::Jsonl))
}

pub(super) fn read(
    loader: Loader,
    table: &mut MappingReader<'_>,
    problems: &mut Problems,
) -> Option<DataSource> {
    match loader {
        Loader::Files(format) => read_files(format, table, problems).map(DataSource::Files),
        Loader::Hub => read_hub(table, problems).map(DataSource::Hub),
    }
}

fn read_files(
    format: FileFormat,
    table: &mut MappingReader<'_>,
    problems: &mut Problems,
) -> Option<FilesSpec> {
    let (paths, shown) = read_paths(table, problems)?;
    let has_columns = matches!(format, FileFormat::Csv | FileFormat::Tsv);
    let columns = has_columns.then(|| table.texts("columns", problems)).flatten();
    if let Some(node) = table.get("columns").filter(|_| columns.as_ref().is_some_and(Vec::is_empty)) {
        problems
            .error(node.span, &table.path_of("columns"), "`columns` names no column")
            .help("name each column of the file, or leave `columns` out if its first line names them");
    }
    let records = (format == FileFormat::Json).then(|| table.text("records", problems)).flatten();
    Some(FilesSpec { format, paths, shown, columns, records })
}

/// Reads `path`: one or several files. Returns their paths, and the paths as they may be recorded.
pub(super) fn read_paths(
    table: &mut MappingReader<'_>,
    problems: &mut Problems,
) -> Option<(Vec<PathBuf>, Vec<String>)> {
    let node = table.required("path", problems)?;
    let paths = table.texts("path", problems)?;
    if paths.is_empty() || paths.iter().any(|path| path.trim().is_empty()) {
        problems.error(node.span, &table.path_of("path"), "`path` is empty");
    }
    let public = table.to_public_json();
    let spelled = |place: usize| match &public["path"] {
        Value::Array(items) => items.get(place)?.as_str(),
        one => one.as_str(),
    };
    let both = paths.iter().enumerate().map(|(place, path)| {
        let settled = expand_home(path);
        let shown = spelled(place).filter(|public| public != path).map(str::to_owned);
        let shown = shown.unwrap_or_else(|| settled.display().to_string());
        (settled, shown)
    });
    let (paths, shown): (Vec<PathBuf>, Vec<String>) = both.unzip();
    let items = node.as_list().unwrap_or(std::slice::from_ref(node));
    for (path, item) in paths.iter().zip(items) {
        problems.add_resource(item.span, &table.path_of("path"), ResourceKind::File(path.clone()));
    }
    Some((paths, shown))
}

fn read_hub(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<HubSpec> {
    let Some(node) = table.required("hub_id", problems) else {
        // Reads the other keys, so that they are not reported as unknown.
        for key in ["endpoint", "revision", "subset", "split", "data_files", "token"] {
            table.get(key);
        }
        return None;
    };
    let hub_id = table.required_text("hub_id", problems)?;
    let is_name = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|character| character.is_ascii_alphanumeric() || "-_.".contains(character))
    };
    if hub_id.split('/').count() > 2 || !hub_id.split('/').all(is_name) {
        problems
            .error(node.span, &table.path_of("hub_id"), format!("`{hub_id}` is not the name of a dataset"))
            .help("write it like openai/gsm8k");
    }
    let endpoint = table.text("endpoint", problems).unwrap_or_else(|| "https://huggingface.co".to_owned());
    if let Err((message, help)) = address::check(&endpoint, "endpoint") {
        let help = help.replace("`api_key` or `headers`, which are", "`token`, which is");
        table.error("endpoint", message, problems).help(help);
    }
    let revision = table.text("revision", problems).unwrap_or_else(|| "main".to_owned());
    let (subsets, split) = (read_subsets(table, problems), table.text("split", problems));
    let data_files = table.texts("data_files", problems).unwrap_or_default();
    let has_choice = subsets != HubSubsets::Default || split.is_some();
    if let Some(node) = table.get("data_files").filter(|_| has_choice) {
        let message = "`data_files` takes the place of `subset` and `split`; give one or the other";
        problems.error(node.span, &table.path_of("data_files"), message);
    }
    let token = table.text("token", problems).filter(|token| !token.is_empty());
    let offline = table.boolean("offline", problems).unwrap_or(false);
    // Also if the dataset is offline: the cache holds what the user fetched from there, which may be private.
    if let Some(hub) = ResourceKind::hub_of(&endpoint) {
        table.uses("endpoint", hub, problems);
    }
    Some(HubSpec {
        hub_id,
        revision,
        subsets,
        split,
        data_files,
        endpoint: endpoint.trim_end_matches('/').to_owned(),
        token: token.map(|token| SecretString::new("token", &token)),
        offline,
    })
}

/// Reads `subset`: a name, or a list of different names.
fn read_subsets(table: &mut MappingReader<'_>, problems: &mut Problems) -> HubSubsets {
    if table.get("subset").is_none_or(|node| node.as_list().is_none()) {
        return table.text("subset", problems).map_or(HubSubsets::Default, HubSubsets::One);
    }
    let names = table.texts("subset", problems).unwrap_or_default();
    if names.is_empty() {
        table.error("subset", "`subset` is an empty list", problems).help("name at least one subset");
    }
    let is_repeated = |place: usize, name: &String| names.iter().take(place).any(|before| before == name);
    if let Some((_, name)) = names.iter().enumerate().find(|(place, name)| is_repeated(*place, name)) {
        table.error("subset", format!("`subset` has `{name}` twice"), problems).help("each must be unique");
    }
    HubSubsets::List(names)
}

/// Reads the path of a file or a folder, in which a leading `~` is the user's home folder.
pub(super) fn read_path(
    table: &mut MappingReader<'_>,
    key: &'static str,
    problems: &mut Problems,
) -> Option<PathBuf> {
    let path = expand_home(&table.text(key, problems)?);
    table.uses_file(key, &path, problems);
    Some(path)
}

/// Reads a mapping from paths to a value or a list of values.
pub(super) fn read_filter(
    table: &mut MappingReader<'_>,
    key: &'static str,
    problems: &mut Problems,
) -> Vec<(String, Vec<Value>)> {
    let path = table.path_of(key);
    let entries = table.free_map(key, problems).and_then(Node::as_map).unwrap_or_default();
    let mut filter = Vec::with_capacity(entries.len());
    for entry in entries {
        let values: Vec<&Node> = match &entry.node.value {
            NodeValue::List(items) => items.iter().collect(),
            _ => vec![&entry.node],
        };
        let is_plain = |node: &&Node| !matches!(node.value, NodeValue::List(_) | NodeValue::Map(_));
        if values.is_empty() || !values.iter().all(is_plain) {
            problems
                .error(
                    entry.node.span,
                    &format!("{path}.{}", entry.key),
                    "a field is compared with texts, numbers, true, false or null",
                )
                .help(format!("write it like {key}: {{subject: [law, anatomy]}}"));
        }
        filter.push((entry.key.clone(), values.into_iter().map(Node::to_json).collect()));
    }
    filter
}
