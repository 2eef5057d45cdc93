//! The flag `--resume`: which run is resumed.

use super::{RunArguments, is_suite};
use std::convert::Infallible;
use std::path::{Path, PathBuf};

/// The value of `--resume`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// The run of `--run-id`, or else the suite's newest unfinished run.
    On,
    /// The run of this id, or in this folder.
    Named(PathBuf),
}

/// An error of the command line, and its remedy.
pub(crate) type Refusal = (String, &'static str);

/// Parses the value; an empty one selects the newest run.
pub(super) fn resume(text: &str) -> Result<Resume, Infallible> {
    Ok(if text.is_empty() { Resume::On } else { Resume::Named(PathBuf::from(text)) })
}

impl RunArguments {
    /// Returns whether a run is resumed.
    pub(crate) fn is_resumed(&self) -> bool {
        self.resume.is_some()
    }

    /// Moves a run named by `--resume` to `--run-id` and `--output-dir`. Results of a batch resume a run, too.
    ///
    /// # Errors
    /// If `--resume` does not name a run, or no suite is given.
    pub(crate) fn resolved(mut self) -> Result<RunArguments, Refusal> {
        if self.resume.is_none() && !self.responses.is_empty() {
            // The results belong to a run that exists.
            self.resume = Some(Resume::On);
        }
        if let Some(Resume::Named(named)) = &self.resume {
            // `--resume suite.yaml`: the flag came before the suite.
            let is_run = self.output_dir.join(named).is_dir();
            if self.config.given().is_none() && is_suite(named) && !is_run {
                self.config.config = Some(named.clone());
                self.resume = Some(Resume::On);
            } else {
                let (root, run_id) = place_of(named, &self.output_dir).ok_or_else(|| {
                    let message = format!("{} names no run", named.display());
                    (message, "give the id of a run, or its folder")
                })?;
                if self.run_id.as_ref().is_some_and(|given| *given != run_id) {
                    let message = format!("--resume names the run '{run_id}', and --run-id another");
                    return Err((message, "leave one of them out"));
                }
                (self.output_dir, self.run_id, self.resume) = (root, Some(run_id), Some(Resume::On));
            }
        }
        if self.config.path().as_os_str().is_empty() {
            return Err(("no suite is given".to_owned(), "name the suite that the run was started with"));
        }
        Ok(self)
    }
}

/// The folder that a run's folder is in, and the run's id.
fn place_of(named: &Path, root: &Path) -> Option<(PathBuf, String)> {
    if named.components().count() == 1 && !named.join("manifest.json").exists() {
        return Some((root.to_owned(), named.file_name()?.to_str()?.to_owned()));
    }
    let folder = if named.file_name().is_none() { named.canonicalize().ok()? } else { named.to_owned() };
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.map_or_else(|| PathBuf::from("."), Path::to_owned);
    Some((parent, folder.file_name()?.to_str()?.to_owned()))
}
