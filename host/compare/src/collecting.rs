//! Reads the samples of both runs, one record at a time.

use super::measure::RunSide;
use super::pairing::PairedTask;
use super::plan::TaskPlan;
use super::reading::{ContentBy, SampleReader};
use gage_core::FieldPath;
use gage_figures::{FiguresError, RecordedRun, Slicing, TaskDescription, max_slices};

/// A task with the slices and clusters of its samples.
type SlicedTask = (PairedTask, Slicing);

/// Returns the samples of each task in both runs, with their slices and clusters.
pub(super) fn read(
    base: &RecordedRun,
    new: &RecordedRun,
    plans: &[TaskPlan<'_>],
    max_flips: usize,
) -> Result<Vec<SlicedTask>, FiguresError> {
    let content = ContentBy::of_runs([base, new]);
    let columns = plans.iter().map(|plan| {
        let paths = description(new, plan.task_id).slices.len();
        paths.saturating_mul(plan.measures.len())
    });
    let max_slices = max_slices(columns.fold(0, usize::saturating_add));
    let task = |plan: &TaskPlan<'_>| {
        let slicing = Slicing::new(&description(new, plan.task_id)).with_max_slices(max_slices);
        let measures = plan.measures.iter().map(|planned| planned.measure.clone()).collect();
        (PairedTask::new(plan.task_id, measures, slicing.paths(), max_flips), slicing)
    };
    let mut tasks: Vec<SlicedTask> = plans.iter().map(task).collect();
    read_run(RunSide::Base, base, plans, content, &mut tasks)?;
    read_run(RunSide::New, new, plans, content, &mut tasks)?;
    for (task, _) in &mut tasks {
        task.expect(base.planned(&task.task_id).max(new.planned(&task.task_id)));
    }
    Ok(tasks)
}

/// Adds the samples of one run to their tasks.
fn read_run(
    side: RunSide,
    run: &RecordedRun,
    plans: &[TaskPlan<'_>],
    content: ContentBy,
    tasks: &mut [SlicedTask],
) -> Result<(), FiguresError> {
    let readers =
        plans.iter().map(|plan| SampleReader::new(&plan.measures, run.repeat(plan.task_id), content));
    let mut readers: Vec<SampleReader<'_>> = readers.collect();
    for record in run.records()? {
        let record = record?;
        let position = plans.iter().position(|plan| plan.task_id == record.task_id);
        let found =
            position.and_then(|position| Some((readers.get_mut(position)?, tasks.get_mut(position)?)));
        let Some((reader, (task, slicing))) = found else { continue };
        if let Some(sample) = reader.add(&record) {
            task.add(side, &sample, slicing.membership());
        }
        // Slices and clusters are those of the new run.
        if side == RunSide::New && slicing.is_next(&record) {
            slicing.begin(&record);
        }
    }
    for (reader, (task, slicing)) in readers.iter_mut().zip(tasks) {
        if let Some(sample) = reader.finish() {
            task.add(side, &sample, slicing.membership());
        }
    }
    Ok(())
}

/// Slices and clusters from the suite of the new run.
fn description(run: &RecordedRun, task_id: &str) -> TaskDescription {
    let task = run.config().and_then(|config| config.tasks.iter().find(|task| task.task_id == task_id));
    let text = |path: &FieldPath| path.as_str().to_owned();
    TaskDescription {
        slices: task.map(|task| task.slices.iter().map(text).collect()).unwrap_or_default(),
        cluster_by: task.and_then(|task| task.cluster_by.as_ref()).map(text),
        repeat: run.repeat(task_id),
        ..TaskDescription::default()
    }
}
