//! Reading of the samples of both runs, one record at a time.

use super::measure::Measure;
use super::pairing::PairedTask;
use super::plan::TaskPlan;
use super::reading::{ContentBy, SampleReader};
use gage_figures::RecordedRun;
use gage_figures::Slicing;
use gage_figures::{FiguresError, TaskDescription};

/// The samples of each task in both runs, and the slices and clusters that they are in.
pub(super) fn read(
    base: &RecordedRun,
    new: &RecordedRun,
    plans: &[TaskPlan<'_>],
    max_flips: usize,
) -> Result<Vec<(PairedTask, Slicing)>, FiguresError> {
    let content = match base.has_row_digests() && new.has_row_digests() {
        true => ContentBy::Row,
        false => ContentBy::Sample,
    };
    let mut tasks: Vec<(PairedTask, Slicing)> = plans
        .iter()
        .map(|plan| {
            let slicing = Slicing::new(&description(new, plan.task_id));
            let measures = plan.measures.iter().map(|planned| planned.measure.clone()).collect();
            (PairedTask::new(plan.task_id, measures, slicing.paths(), max_flips), slicing)
        })
        .collect();
    let measures: Vec<Vec<Measure>> = tasks.iter().map(|(task, _)| task.measures.clone()).collect();
    let readers = |source: &RecordedRun| -> Vec<SampleReader<'_>> {
        let pairs = plans.iter().zip(&measures);
        pairs
            .map(|(plan, measures)| SampleReader::new(measures, source.repeat(plan.task_id), content))
            .collect()
    };
    let place_of = |task_id: &str| plans.iter().position(|plan| plan.task_id == task_id);

    let mut reading = readers(base);
    for record in base.records()? {
        let record = record?;
        let Some(place) = place_of(&record.task_id) else { continue };
        if let (Some(reader), Some((task, _))) = (reading.get_mut(place), tasks.get_mut(place))
            && let Some(sample) = reader.add(&record)
        {
            task.add_base(&sample);
        }
    }
    for (reader, (task, _)) in reading.iter_mut().zip(&mut tasks) {
        if let Some(sample) = reader.finish() {
            task.add_base(&sample);
        }
    }
    let mut reading = readers(new);
    for record in new.records()? {
        let record = record?;
        let Some(place) = place_of(&record.task_id) else { continue };
        if let (Some(reader), Some((task, slicing))) = (reading.get_mut(place), tasks.get_mut(place)) {
            if let Some(sample) = reader.add(&record) {
                task.add_new(&sample, slicing.membership().cluster, &slicing.membership().slices);
            }
            if slicing.is_next(&record) {
                slicing.begin(&record);
            }
        }
    }
    for (reader, (task, slicing)) in reading.iter_mut().zip(&mut tasks) {
        if let Some(sample) = reader.finish() {
            task.add_new(&sample, slicing.membership().cluster, &slicing.membership().slices);
        }
        task.expect(base.planned(&task.task_id).max(new.planned(&task.task_id)));
    }
    Ok(tasks)
}

/// What the suite of the new run says of slices and clusters.
fn description(source: &RecordedRun, task_id: &str) -> TaskDescription {
    let task = source.config().and_then(|config| config.tasks.iter().find(|task| task.task_id == task_id));
    let text = |path: &gage_core::FieldPath| path.as_str().to_owned();
    TaskDescription {
        task_id: task_id.to_owned(),
        dataset_id: String::new(),
        metrics: Vec::new(),
        timing_metrics: Vec::new(),
        slices: task.map(|task| task.slices.iter().map(text).collect()).unwrap_or_default(),
        cluster_by: task.and_then(|task| task.cluster_by.as_ref()).map(text),
        repeat: source.repeat(task_id),
        prompts: Vec::new(),
        prompt_version: String::new(),
        metric_paths: Vec::new(),
        judges: Vec::new(),
        sampling_params: gage_core::Object::new(),
    }
}
