//! A warning if a limit of samples leaves slices out, such as subjects of a benchmark.

use gage_config::Problems;
use gage_engine::{Datasets, Plan, SliceCoverage};

/// Warns about slices without a sample, because `max_samples` keeps the first rows of each task. Returns the messages, which
/// a run records.
pub fn check_limited_slices(
    plan: &Plan,
    datasets: &Datasets,
    max_samples: Option<u64>,
    problems: &mut Problems,
) -> Vec<String> {
    let Some(most) = max_samples else { return Vec::new() };
    let mut messages = Vec::new();
    for task in &plan.tasks {
        let (task_id, dataset_id) = (&task.spec.task_id, &task.spec.dataset_id);
        for SliceCoverage { path, kept, all, all_is_least } in task.cut_slices(datasets, most) {
            let least = if all_is_least { "at least " } else { "" };
            let message = format!(
                "the limit of samples keeps the first rows of task `{task_id}`, with {kept} of {least}{all} \
                 values of `{path}`; the figures cover only these"
            );
            let help = format!(
                "mix the rows with --set datasets.{dataset_id}.params.shuffle=true, or leave the limit out"
            );
            problems.warning(task.spec.spans.entry, "slices", message.clone()).help(help);
            messages.push(message);
        }
    }
    messages
}
