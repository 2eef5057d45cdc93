//! The located datasets of a run. Those on a hub are fetched, and each matches its expected digest.

use crate::plan::{Plan, PlannedDataset};
use gage_config::{DatasetSpec, HookKind, Problems};
use gage_core::{Digest, Sample};
use gage_data::{
    DataError, HasMedia, LocateOptions, LocatedFiles, MediaStore, Preparation, Rows, locate, open_located,
    stream_kept,
};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A dataset whose files are on this machine.
pub struct LocatedDataset {
    /// Plan of reading it.
    pub planned: Arc<PlannedDataset>,
    /// Paths and digests of its files.
    pub located: LocatedFiles,
    media: Arc<MediaStore>,
}

/// The datasets of a run, by id.
pub struct Datasets {
    /// Each dataset, or the reason why it was not found.
    by_id: HashMap<String, Result<LocatedDataset, String>>,
}

impl Datasets {
    /// Finds the datasets of a plan, each once. A dataset that is missing or differs from the suite's digest is a
    /// problem.
    pub fn locate(plan: &Plan, options: &LocateOptions<'_>, problems: &mut Problems) -> Option<Datasets> {
        let mut by_id = HashMap::new();
        for task in &plan.tasks {
            let id = &task.dataset.spec.dataset_id;
            if by_id.contains_key(id) {
                continue;
            }
            let located = LocatedDataset::new(&task.dataset, options, problems)?;
            by_id.insert(id.clone(), Ok(located));
        }
        Some(Datasets { by_id })
    }

    /// Finds the datasets of a plan that are present. Missing datasets are not reported.
    pub fn locate_present(plan: &Plan, options: &LocateOptions<'_>) -> Datasets {
        let mut by_id = HashMap::new();
        for task in &plan.tasks {
            by_id.entry(task.dataset.spec.dataset_id.clone()).or_insert_with(|| {
                let mut problems = Problems::default();
                LocatedDataset::new(&task.dataset, options, &mut problems).ok_or_else(|| {
                    let message = problems.sorted().first().map(|problem| problem.message.clone());
                    message.unwrap_or_default()
                })
            });
        }
        Datasets { by_id }
    }

    /// Returns the reason why a dataset was not found.
    pub(crate) fn why_missing(&self, dataset_id: &str) -> &str {
        self.by_id.get(dataset_id).and_then(|located| located.as_ref().err()).map_or("", String::as_str)
    }

    /// Returns the dataset with this id.
    pub fn get(&self, dataset_id: &str) -> Option<&LocatedDataset> {
        self.by_id.get(dataset_id)?.as_ref().ok()
    }
}

impl LocatedDataset {
    /// Finds one dataset.
    pub fn new(
        planned: &Arc<PlannedDataset>,
        options: &LocateOptions<'_>,
        problems: &mut Problems,
    ) -> Option<LocatedDataset> {
        let spec = &planned.spec;
        let located = match locate(spec, options, &planned.permissions) {
            Ok(located) => located,
            Err(error) => {
                let key = error.key(spec);
                problems.error(spec.spans.of(key), key, error.to_string()).help = error.help();
                return None;
            }
        };
        match located.media(spec, options.cache_folder) {
            Ok(media) => {
                Some(LocatedDataset { planned: Arc::clone(planned), located, media: Arc::new(media) })
            }
            Err(error) => {
                let key = error.pointer.as_deref().unwrap_or("content_root");
                problems.error(spec.spans.of(key), key, error.message.as_str());
                None
            }
        }
    }

    /// Opens the dataset, for at most `most` rows.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(&self, most: Option<u64>) -> Result<Rows, DataError> {
        self.open_as(&self.planned.spec, most)
    }

    /// Opens the dataset in the order of a task.
    pub(crate) fn open_as(&self, spec: &DatasetSpec, most: Option<u64>) -> Result<Rows, DataError> {
        open_located(spec, &self.located, most)
    }

    /// Returns the media of its Samples.
    pub fn media(&self) -> &Arc<MediaStore> {
        &self.media
    }

    /// Returns one digest of the media of all rows, or `None` if no row has media. Prepares every row, and keeps none.
    ///
    /// # Errors
    /// If the data cannot be read to the end.
    pub fn media_digest(&self) -> Result<Option<Digest>, DataError> {
        // All rows in the order of the file, regardless of the rows that a run takes.
        let spec = DatasetSpec { shuffle: false, ..self.planned.spec.clone() };
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let mut digest = None;
        let rows = self.open_as(&spec, None)?;
        let has_media = |sample: Arc<Sample>| HasMedia(!sample.media_meta.is_empty());
        let streamed = stream_kept(rows, &self.preparation(), workers, &|| false, &has_media, |prepared| {
            if prepared.result == Ok(HasMedia(true)) {
                // The digest of a row includes those of its media.
                let before = digest.map(|digest: Digest| digest.to_string()).unwrap_or_default();
                digest = Some(Digest::of_bytes(format!("{before} {}", prepared.row_digest).as_bytes()));
            }
            ControlFlow::Continue(())
        });
        streamed.failure.map_or(Ok(digest), Err)
    }

    /// Returns the preparation of its rows.
    pub fn preparation(&self) -> Preparation {
        self.preparation_of(&self.planned)
    }

    /// Returns the preparation of its rows for a task.
    pub(crate) fn preparation_of(&self, planned: &PlannedDataset) -> Preparation {
        let of_kind = |is_text: bool| {
            let chosen = planned.hooks.iter().filter(move |(kind, _)| (*kind == HookKind::Text) == is_text);
            chosen.map(|(_, hook)| Arc::clone(hook))
        };
        Preparation {
            fields: planned.fields.clone(),
            chain: planned.chain.clone(),
            doc_to_text: of_kind(true).next(),
            doc_to_media: of_kind(false).collect(),
            media: Arc::clone(&self.media),
            fetches_media: true,
            tokenizer: planned.tokenizer.clone(),
            option_display: planned.option_display,
            keeps_row: planned.keeps_row,
            dataset_id: planned.spec.dataset_id.clone(),
            dataset_path: self.located.shown.clone(),
            files: self.located.file_names(),
        }
    }
}
