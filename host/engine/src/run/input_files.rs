//! Checks that the inputs of a run are still those that its manifest names.
//!
//! | input | read | a change while the run uses it |
//! | --- | --- | --- |
//! | rows, labels, examples | during the task | is found when the changed bytes are read, and at the end of the task |
//! | model files | by the model's process, and again after a crash | is found before an answer is accepted, at the end of each task, and before a reload |
//! | plugins, chat templates | once, at the start | has no effect, and is found at the end of each task |
//! | media | for each sample | makes the sample invalid; their digests are in its row digest |
//!
//! The suite and its template are not checked: the manifest contains the whole configuration.

use super::context::RunContext;
use crate::run_error::RunError;
use gage_core::{ChangedFile, FileUse};

/// Checks the files that tasks share: those of models, plugins and chat templates.
///
/// Plugins and chat templates were read together with their digests, so a change cannot alter a figure. It ends the run
/// all the same: the manifest has only a digest of them, and the file with that digest may be gone for good. The user
/// learns this while the file can still be restored, and before more is paid for.
pub(crate) fn check_shared_files(context: &RunContext<'_>) -> Result<(), RunError> {
    context.session.check_model_files()?;
    let of_plugin = |changed: ChangedFile| RunError::changed_file("plugin", &changed);
    context.session.plugin_files().check_after_use(FileUse::Open).map_err(of_plugin)?;
    for tokenizer in context.plan.tasks.iter().filter_map(|task| task.dataset.tokenizer.as_ref()) {
        tokenizer.check_files().map_err(|changed| RunError::changed_file("chat template", &changed))?;
    }
    Ok(())
}

/// Checks all files once more when the tasks have ended. The dataset of a task may have changed after its last row.
pub(crate) fn check_all_files(context: &RunContext<'_>) -> Result<(), RunError> {
    check_shared_files(context)?;
    for planned in context.plan.tasks.iter().map(|task| &task.dataset) {
        let Some(dataset) = context.datasets.get(&planned.spec.dataset_id) else { continue };
        dataset.located.check_unchanged().map_err(|error| RunError::data_changed(planned, &error))?;
    }
    Ok(())
}
