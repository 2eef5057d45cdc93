//! Checks of the first Samples of a task, above all for media that its backend does not accept.

use crate::plan::{Plan, PlannedTask};
use crate::session::datasets::Datasets;
use crate::session::prompts::check_prompts;
use gage_backend::{MediaSupport, media_support};
use gage_config::{DatasetSpec, Problems};
use gage_data::{LocateOptions, stream};
use std::ops::ControlFlow;

impl Plan {
    /// Checks prompts and media against the first rows of each dataset, as a run does before it asks a model. Without a
    /// model, it knows only what the configuration says about media. Missing datasets are not checked.
    pub fn check_samples(&self, locating: &LocateOptions<'_>, problems: &mut Problems) {
        let datasets = Datasets::locate_present(self, locating);
        check_prompts(&self.config, &self.tasks, &datasets, problems);
        for task in &self.tasks {
            let takes = self.config.backend_of(&task.role).and_then(|backend| media_support(&backend.kind));
            if let Some((takes, kind)) = takes {
                check_first_row(task, takes, kind, &datasets, problems);
            }
        }
    }

    /// Checks the prompts against the first rows of each dataset.
    pub fn check_prompts(&self, datasets: &Datasets, problems: &mut Problems) {
        check_prompts(&self.config, &self.tasks, datasets, problems);
    }
}

/// Checks the first row of a task. Media that the backend does not accept are an error.
pub(crate) fn check_first_row(
    task: &PlannedTask,
    takes: MediaSupport,
    kind: &str,
    datasets: &Datasets,
    problems: &mut Problems,
) {
    if takes == MediaSupport::Everything || !first_sample_is_refused(takes, task, datasets) {
        return;
    }
    let message = format!(
        "the first Sample of `{}` contains media, but the backend `{}` ({kind}) accepts {}",
        task.spec.dataset_id,
        task.role.backend_id,
        takes.described()
    );
    problems.error(task.spec.spans.dataset_id, "dataset_id", message).help(match kind {
        "llama_cpp" if takes == MediaSupport::Nothing => {
            "set `mmproj` of the backend to the model's image projector, or leave the media out of the Samples"
        }
        _ => "use a backend that accepts such media, or leave the media out of the Samples",
    });
}

/// Returns true if the first row of a task becomes a Sample with media that the backend does not accept. Read errors
/// are left for the run.
fn first_sample_is_refused(takes: MediaSupport, task: &PlannedTask, datasets: &Datasets) -> bool {
    let Some(dataset) = datasets.get(&task.spec.dataset_id) else { return false };
    // The first row in the file: a shuffle would have to read all of them.
    let spec = DatasetSpec { shuffle: false, ..task.dataset.spec.clone() };
    let Ok(rows) = dataset.open_as(&spec, Some(1)) else { return false };
    let mut is_refused = false;
    stream(rows, &dataset.preparation_of(&task.dataset), 1, &|| false, |prepared| {
        if let Ok(sample) = prepared.result {
            let of_examples = sample.few_shot_examples.iter().flat_map(|example| &example.messages);
            is_refused = takes.refuses(sample.messages.iter().chain(of_examples)).is_some();
        }
        ControlFlow::Break(())
    });
    is_refused
}
