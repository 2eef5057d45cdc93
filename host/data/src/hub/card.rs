//! The `configs` of a dataset card, which assign files to subsets and splits.

use serde::Deserialize;
use serde_yaml::Value;

/// Maximum length of a card's head.
const MAX_CARD_BYTES: usize = 4 << 20;
const MAX_CONFIGS: usize = 10_000;

/// One subset of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subset {
    /// Name, `config_name`.
    pub(super) name: String,
    /// True if this subset is the default.
    pub(super) is_default: bool,
    /// Folder that the patterns are relative to, `data_dir`.
    pub(super) folder: Option<String>,
    /// Patterns of the files of each split. `None` infers the splits from the file names.
    pub(super) splits: Option<Vec<(String, Vec<String>)>>,
}

#[derive(Deserialize)]
struct CardHeader {
    configs: Option<Value>,
}

/// Returns the YAML between the two `---` lines at the beginning of a card.
pub(super) fn head(card: &str) -> Option<&str> {
    let card = card.trim_start_matches('\u{feff}');
    let (first, rest) = card.split_once('\n')?;
    if first.trim_end() != "---" {
        return None;
    }
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return rest.get(..length);
        }
        length += line.len();
    }
    None
}

/// Returns the subsets that the head of a card names, none if it has no `configs`. The error describes the problem.
pub(super) fn subsets(head: &str) -> Result<Vec<Subset>, String> {
    if head.len() > MAX_CARD_BYTES {
        return Err(format!("its head is longer than {MAX_CARD_BYTES} bytes"));
    }
    if head.trim().is_empty() {
        return Ok(Vec::new());
    }
    let configs = serde_yaml::from_str::<Option<CardHeader>>(head)
        .map_err(|error| format!("its head is not YAML: {error}"))?
        .and_then(|head| head.configs);
    let configs = match configs {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Sequence(configs)) => configs,
        Some(_) => return Err("'configs' is not a list".to_owned()),
    };
    if configs.len() > MAX_CONFIGS {
        return Err(format!("'configs' has more than {MAX_CONFIGS} entries"));
    }
    let subset = |(index, config)| subset(config).map_err(|reason| format!("'configs[{index}]': {reason}"));
    configs.iter().enumerate().map(subset).collect()
}

fn subset(config: &Value) -> Result<Subset, String> {
    if !config.is_mapping() {
        return Err("expected a mapping".to_owned());
    }
    let name = match config.get("config_name") {
        None | Some(Value::Null) => "default".to_owned(),
        Some(name) => text(name).ok_or("'config_name' is not a text")?,
    };
    let folder = match config.get("data_dir") {
        None | Some(Value::Null) => None,
        Some(folder) => {
            let folder = text(folder).ok_or("'data_dir' is not a text")?;
            let folder = folder.trim_start_matches("./").trim_matches('/');
            (!folder.is_empty() && folder != ".").then(|| folder.to_owned())
        }
    };
    let splits = match config.get("data_files") {
        None | Some(Value::Null) => None,
        Some(files) => Some(splits(files)?),
    };
    let is_default = config.get("default").and_then(Value::as_bool).unwrap_or(false);
    Ok(Subset { is_default: is_default || name == "default", name, folder, splits })
}

/// Reads `data_files`: a pattern, a list of patterns, or a list of `{split, path}`. The default split is `train`.
fn splits(files: &Value) -> Result<Vec<(String, Vec<String>)>, String> {
    const EXPECTED: &str =
        "'data_files' is neither a pattern, nor a list of patterns, nor a list of 'split' and 'path'";
    let Value::Sequence(entries) = files else {
        let pattern = text(files).ok_or(EXPECTED)?;
        return Ok(vec![("train".to_owned(), vec![pattern])]);
    };
    if !entries.iter().any(Value::is_mapping) {
        let patterns = entries.iter().map(text).collect::<Option<Vec<_>>>().ok_or(EXPECTED)?;
        return Ok(vec![("train".to_owned(), patterns)]);
    }
    let mut splits: Vec<(String, Vec<String>)> = Vec::new();
    for entry in entries {
        let split = entry.get("split").and_then(text).ok_or(EXPECTED)?;
        let patterns = match entry.get("path") {
            Some(Value::Sequence(paths)) => paths.iter().map(text).collect::<Option<Vec<_>>>(),
            Some(path) => text(path).map(|path| vec![path]),
            None => None,
        };
        if splits.iter().any(|(known, _)| *known == split) {
            return Err(format!("the split '{split}' is listed twice"));
        }
        splits.push((split, patterns.ok_or(EXPECTED)?));
    }
    Ok(splits)
}

/// Returns a text, even if it is written like a number, as in `config_name: 2024`.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
