//! Datasets of one local file.

use gage_config::{DataSource, DatasetSpec, Environment, FileFormat, Permissions, load_datasets};
use gage_data::{LocateOptions, LocatedFiles, NoProgress, Row, locate, open_located};
use serde::de::IgnoredAny;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// A file of rows in a folder of its own, which is deleted with it.
pub struct DatasetFile {
    folder: TempDir,
    path: PathBuf,
}

impl DatasetFile {
    /// Writes the file.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn write(content: &[u8]) -> Result<DatasetFile, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = folder.path().join("rows");
        std::fs::write(&path, content).map_err(|error| error.to_string())?;
        Ok(DatasetFile { folder, path })
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns a dataset of the file.
    ///
    /// # Errors
    /// If its suite cannot be read.
    pub fn dataset(&self, format: FileFormat) -> Result<DatasetSpec, String> {
        let mut spec = any_dataset()?.clone();
        if let DataSource::Files(files) = &mut spec.source {
            files.format = format;
            files.paths = vec![self.path.clone()];
            files.shown = vec!["rows".to_owned()];
        }
        Ok(spec)
    }
}

/// Returns a dataset whose file is to be replaced.
fn any_dataset() -> Result<&'static DatasetSpec, String> {
    static SPEC: OnceLock<Result<DatasetSpec, String>> = OnceLock::new();
    let read = || {
        let text = "api_version: gage/v1alpha1\nkind: PipelineConfig\n\
                    datasets: [{dataset_id: d, loader: jsonl, params: {path: rows}}]\n";
        let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
        let (config, problems) = load_datasets("fuzz.yaml", text, &[], &environment);
        let spec = config.filter(|_| !problems.has_errors()).and_then(|mut config| config.datasets.pop());
        spec.ok_or_else(|| problems.render(false))
    };
    SPEC.get_or_init(read).as_ref().map_err(String::clone)
}

/// Finds the file of a dataset. Nothing is fetched.
///
/// # Errors
/// The message of the program.
pub fn located(spec: &DatasetSpec) -> Result<LocatedFiles, String> {
    let options = LocateOptions {
        cache_folder: None,
        is_offline: true,
        with_digests: false,
        progress: &NoProgress,
        is_cancelled: &|| false,
    };
    locate(spec, &options, &Permissions::default()).map_err(|error| error.to_string())
}

/// Returns the rows of a dataset.
///
/// # Errors
/// The message of the program, if the file cannot be read to its end.
pub fn rows_of(spec: &DatasetSpec) -> Result<Vec<Row>, String> {
    let rows = open_located(spec, &located(spec)?, None).map_err(|error| error.to_string())?;
    rows.collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// Checks that each row is a JSON object, or has a problem with a text.
///
/// # Errors
/// Names the row.
pub fn check_rows(rows: &[Row]) -> Result<(), String> {
    for Row { number, place, body, .. } in rows {
        match body {
            Ok(body) => {
                let is_object = body.trim_start().starts_with('{');
                if !is_object || serde_json::from_str::<IgnoredAny>(body).is_err() {
                    return Err(format!("row {number} ({place}) is not an object: {body}"));
                }
            }
            Err(problem) if problem.message.is_empty() => {
                return Err(format!("row {number} ({place}) has a problem without a message"));
            }
            Err(_) => {}
        }
    }
    Ok(())
}
