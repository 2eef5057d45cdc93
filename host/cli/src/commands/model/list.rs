//! `gage-host model list`: lists the model files in a folder.

use super::shown_bytes;
use crate::arguments::ModelListArguments;
use crate::environment;
use crate::exit_code::ExitCode;
use crate::terminal;
use anyhow::Context as _;
use gage_backend::gguf::{Gguf, GgufError};
use gage_core::{printable_line, shown_name};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub(super) fn list(arguments: &ModelListArguments) -> anyhow::Result<ExitCode> {
    let folder = match (&arguments.folder, environment::cache_folder()) {
        (Some(folder), _) => folder.clone(),
        (None, Some(cache)) => cache.join("models"),
        (None, None) => {
            let help = "name one, or set GAGE_CACHE_DIR";
            return Ok(terminal::usage_error(
                "there is no folder of models: there is no cache folder",
                Some(help),
            ));
        }
    };
    if arguments.folder.is_some() && !folder.is_dir() {
        return Ok(terminal::usage_error(&format!("{} is not a folder", folder.display()), None));
    }
    let files = model_files(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let models: Vec<(PathBuf, Result<Gguf, GgufError>)> =
        files.into_iter().map(|file| (file.clone(), Gguf::read(&file))).collect();
    if arguments.json {
        let models: Vec<Value> = models.iter().map(|(file, model)| to_json(file, model)).collect();
        terminal::print_json(format_args!("{:#}", Value::Array(models)))?;
        return Ok(ExitCode::Done);
    }
    if models.is_empty() {
        terminal::eprint_line(format_args!("no .gguf files in {}", folder.display()));
    }
    for (file, model) in &models {
        let shown = match model {
            Ok(model) => format!(
                "{:>10}  {:8}  {}",
                shown_bytes(model.file_bytes),
                model.quantization().unwrap_or_default(),
                shown_name(model.text("general.name").or(model.architecture()).unwrap_or_default())
            ),
            Err(error) => format!("cannot be used: {error}"),
        };
        terminal::print_line(format_args!(
            "{}  {}",
            printable_line(&file.display().to_string()),
            printable_line(&shown)
        ))?;
    }
    Ok(ExitCode::Done)
}

/// Returns the files with names of models in a folder and its subdirectories, sorted by name. Empty if the
/// folder does not exist.
fn model_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    const MAX_FOLDER_DEPTH: usize = 6;
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            // Links to folders could form cycles.
            if entry.file_type()?.is_dir() && depth < MAX_FOLDER_DEPTH {
                open.push((path, depth + 1));
            } else if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gguf"))
                && path.is_file()
            {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn to_json(file: &Path, model: &Result<Gguf, GgufError>) -> Value {
    match model {
        Ok(model) => json!({
            "file": file.display().to_string(),
            "name": model.text("general.name"),
            "architecture": model.architecture(),
            "quantization": model.quantization(),
            "parameters": model.parameters(),
            "file_bytes": model.file_bytes,
        }),
        Err(error) => json!({"file": file.display().to_string(), "error": error.to_string()}),
    }
}
