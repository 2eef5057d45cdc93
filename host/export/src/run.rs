//! The exported run: everything that the formats need besides its samples.

use super::ExportError;
use gage_config::{BackendKind, FEW_SHOT_FIELD, RequestKind, TaskSpec};
use gage_core::Object;
use gage_figures::{MetricFigure, RecordedRun, Summary, TaskSummary};
use gage_record::{RunStatus, SampleRecord, unix_seconds};
use serde_json::Value;

/// Parameter of a prompt with the examples that it shows.
const EXAMPLES_PARAM: &str = "examples";

/// A run being exported.
pub(super) struct ExportedRun<'s> {
    pub(super) source: &'s RecordedRun,
    pub(super) summary: &'s Summary,
}

/// The backend that a task uses.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TaskModel {
    /// The model's name.
    pub(super) name: String,
    /// The type of its backend: `llama_cpp`, `openai_http`.
    pub(super) backend: String,
    /// Details reported by the backend.
    pub(super) details: Value,
    /// True if it runs in this process.
    pub(super) is_local: bool,
}

impl<'s> ExportedRun<'s> {
    /// Checks that a run can be exported.
    pub(super) fn of(source: &'s RecordedRun, takes_part: bool) -> Result<ExportedRun<'s>, ExportError> {
        let manifest = source.manifest();
        let run_id = || manifest.run_id.clone();
        if !source.has_ended() && source.is_being_written() {
            return Err(ExportError::BeingWritten { run_id: run_id() });
        }
        if manifest.status == RunStatus::Interrupted && !takes_part {
            return Err(ExportError::NotEnded { run_id: run_id(), status: manifest.status.name() });
        }
        let summary = source.summary().ok_or_else(|| ExportError::NoFigures { run_id: run_id() })?;
        if summary.samples.reached() == 0 {
            return Err(ExportError::Empty { run_id: run_id() });
        }
        Ok(ExportedRun { source, summary })
    }

    /// Returns all records, ordered by task and row.
    pub(super) fn records(
        &self,
    ) -> Result<impl Iterator<Item = Result<SampleRecord, ExportError>> + '_, ExportError> {
        Ok(self.source.records()?.map(|record| record.map_err(ExportError::from)))
    }

    /// Returns the tasks with their figures, in the order of the suite.
    pub(super) fn tasks(&self) -> &'s [TaskSummary] {
        &self.summary.tasks
    }

    /// Returns the figures of a task, timing metrics last.
    pub(super) fn figures(&self, task_id: &str) -> Vec<MetricFigure> {
        let of_task = |figure: &&MetricFigure| figure.task_id == task_id;
        let timed = self.source.timings().map(|timings| timings.timing_metrics).unwrap_or_default();
        let own = self.tasks().iter().flat_map(|task| &task.metrics).filter(of_task).cloned();
        own.chain(timed.iter().filter(of_task).cloned()).collect()
    }

    fn task(&self, task_id: &str) -> Option<&TaskSpec> {
        let mut tasks = self.source.config()?.tasks.iter();
        tasks.find(|task| task.task_id == task_id).map(AsRef::as_ref)
    }

    /// Returns the model under test of a task.
    pub(super) fn model(&self, task_id: &str) -> TaskModel {
        let asked = || {
            let config = self.source.config()?;
            let role = config.inference_role_of(self.task(task_id)?)?;
            let identity = &self.source.manifest().identity;
            let backend = identity.backends.get(&role.backend_id);
            let kind = config.backend_of(role).map(|backend| &backend.kind);
            Some(TaskModel {
                name: identity.model_of(&role.backend_id).to_owned(),
                backend: backend.map(|backend| backend.kind.clone()).unwrap_or_default(),
                details: backend.map_or(Value::Null, |backend| backend.details.clone().into()),
                is_local: matches!(kind, Some(BackendKind::LlamaCpp(_))),
            })
        };
        asked().unwrap_or_else(|| TaskModel { name: "unknown".to_owned(), ..TaskModel::default() })
    }

    /// Returns the source of a dataset as the suite specifies it.
    pub(super) fn dataset_source(&self, dataset_id: &str) -> Option<String> {
        let dataset =
            self.source.config()?.datasets.iter().find(|dataset| dataset.dataset_id == dataset_id)?;
        Some(dataset.shown_source())
    }

    /// Returns the kind of request of a task to the model under test. Answers that were only imported
    /// count as generated.
    pub(super) fn request(&self, task_id: &str) -> RequestKind {
        self.task(task_id).map_or(RequestKind::Generate, |task| task.steps.inference.request)
    }

    /// Returns the number of examples that the prompt of a task shows before each question: those of the dataset, and those
    /// in its `params.examples`.
    pub(super) fn shots(&self, task_id: &str) -> usize {
        let shown = || {
            let config = self.source.config()?;
            let task = self.task(task_id)?;
            let role = config.inference_role_of(task)?;
            let prompt = config.prompt_of(role)?;
            let reads =
                |name: &str| prompt.messages.iter().any(|message| template_reads(&message.template, name));
            let few_shot = config.dataset_of(task).and_then(|dataset| dataset.few_shot.as_ref());
            let of_dataset = few_shot.filter(|_| reads(FEW_SHOT_FIELD)).map_or(0, |few_shot| few_shot.count);
            let examples =
                role.prompt_params.get(EXAMPLES_PARAM).or_else(|| prompt.params.get(EXAMPLES_PARAM));
            let examples = examples.filter(|_| reads(EXAMPLES_PARAM)).and_then(Value::as_array);
            Some(of_dataset + examples.map_or(0, Vec::len))
        };
        shown().unwrap_or(0)
    }

    /// Returns the start of the run, in seconds since 1970.
    pub(super) fn began(&self) -> u64 {
        unix_seconds(&self.source.manifest().created_at).unwrap_or(0)
    }

    /// Returns the end of the run, or its start if it has not ended.
    pub(super) fn ended(&self) -> u64 {
        self.source.manifest().finished_at.as_deref().and_then(unix_seconds).unwrap_or_else(|| self.began())
    }

    /// Returns the start of the run in the format used by file names: `2026-01-31T09-05-00`.
    pub(super) fn date_in_names(&self) -> String {
        self.source.manifest().created_at.trim_end_matches('Z').replace(':', "-")
    }
}

/// Returns true if the code of a template contains a name.
fn template_reads(template: &str, name: &str) -> bool {
    const COMMENT_END: &str = "#}";
    let mut rest = template;
    while let Some((_, tail)) = rest.split_once('{') {
        let mut kinds = [('{', "}}"), ('%', "%}"), ('#', COMMENT_END)].into_iter();
        let found = kinds.find_map(|(open, close)| Some((tail.strip_prefix(open)?, close)));
        let Some((inner, close)) = found else {
            rest = tail;
            continue;
        };
        let (code, after) = inner.split_once(close).unwrap_or((inner, ""));
        let mut words = code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        if close != COMMENT_END && words.any(|word| word == name) {
            return true;
        }
        rest = after;
    }
    false
}

/// Returns true if a record belongs to a task. An error belongs to the task being written.
pub(super) fn belongs_to(record: &Result<SampleRecord, ExportError>, task: &TaskSummary) -> bool {
    record.as_ref().map_or(true, |record| record.task_id == task.task_id)
}

/// Splits the sampling parameters of a task: those that another format supports, under its names, and the rest.
pub(super) fn split_params(task: &TaskSummary, names: &[(&str, &str)]) -> (Object, Object) {
    let (mut named, mut rest) = (Object::new(), Object::new());
    for (key, value) in &task.sampling_params {
        match names.iter().find(|(own, _)| own == key) {
            Some((_, other)) => named.insert((*other).to_owned(), value.clone()),
            None => rest.insert(key.clone(), value.clone()),
        };
    }
    (named, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_code_of_templates_are_found() {
        for (template, is_read) in [
            ("{% for shot in few_shot %}{{ shot.q }}{% endfor %}", true),
            ("{%- for shot in row['few_shot'] -%}", true),
            ("{ {{ row.few_shot | length }}", true),
            ("{# {{ no }} #}{{few_shot}}", true),
            ("{# {{ few_shot }} #}{{ question }}", false),
            ("{{ sample.few_shot_examples }} few_shot", false),
            ("few_shot { {{ question }}", false),
            ("", false),
        ] {
            assert_eq!(template_reads(template, FEW_SHOT_FIELD), is_read, "{template}");
        }
    }
}
