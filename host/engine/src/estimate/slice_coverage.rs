//! Slices that a limit of samples leaves out.

use crate::plan::PlannedTask;
use crate::session::datasets::Datasets;
use gage_core::{EvalContext, FieldPath, Root, Sample, label};
use gage_data::{Preparation, SampleProjection, stream_kept};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Maximum number of rows whose slices are counted.
const MAX_SLICED_ROWS: u64 = 20_000;

/// Numbers of slices of a path, such as the subjects of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceCoverage {
    /// The path of the slices.
    pub path: String,
    /// Number of slices in the rows that a limit keeps.
    pub kept: usize,
    /// Number of slices in all rows that were read.
    pub all: usize,
    /// True if the dataset has too many rows to read them all, so there may be more slices.
    pub all_is_least: bool,
}

/// Names of the slices of a path.
#[derive(Clone, Default)]
struct SliceNames {
    kept: BTreeSet<String>,
    all: BTreeSet<String>,
}

/// Names of a sample's slices, one for each path.
struct NamesOfSample(Vec<Option<String>>);

impl SampleProjection for NamesOfSample {
    fn id(&mut self) -> Option<&mut String> {
        None
    }
}

impl PlannedTask {
    /// Returns the paths of its slices of which a limit leaves slices out, because it keeps the first rows. Empty if the
    /// rows are shuffled, or if they are not on this machine.
    pub fn cut_slices(&self, datasets: &Datasets, max_samples: u64) -> Vec<SliceCoverage> {
        let is_known = |path: &&FieldPath| path.root() == Root::Sample;
        let paths: Vec<&FieldPath> = self.spec.slices.iter().filter(is_known).collect();
        if paths.is_empty() || self.dataset.spec.shuffle {
            return Vec::new();
        }
        let Some(dataset) = datasets.get(&self.spec.dataset_id) else { return Vec::new() };
        let Ok(rows) = dataset.open_as(&self.dataset.spec, Some(MAX_SLICED_ROWS)) else { return Vec::new() };
        // Counting downloads no images.
        let preparation = Preparation { fetches_media: false, ..dataset.preparation_of(&self.dataset) };
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let most = self.spec.max_samples.map_or(max_samples, |most| most.min(max_samples));
        let mut names = vec![SliceNames::default(); paths.len()];
        let mut read = 0;
        let keep = |sample: Arc<Sample>| names_of(&paths, &sample);
        stream_kept(rows, &preparation, workers, &|| false, &keep, |prepared| {
            read += 1;
            let NamesOfSample(found) = prepared.result.unwrap_or_else(|_| NamesOfSample(Vec::new()));
            for (names, name) in names.iter_mut().zip(found) {
                if prepared.index < most {
                    names.kept.extend(name.clone());
                }
                names.all.extend(name);
            }
            ControlFlow::Continue(())
        });
        let counted = paths.into_iter().zip(names).map(|(path, names)| SliceCoverage {
            path: path.to_string(),
            kept: names.kept.len(),
            all: names.all.len(),
            all_is_least: read >= MAX_SLICED_ROWS,
        });
        counted.filter(|counted| counted.kept < counted.all).collect()
    }
}

fn names_of(paths: &[&FieldPath], sample: &Arc<Sample>) -> NamesOfSample {
    let (sample, nothing) = (sample.to_value(), &Value::Null);
    let roots = EvalContext {
        sample: (&sample).into(),
        model_output: nothing.into(),
        judge_output: nothing,
        support_output: nothing,
    };
    let name = |path: &&FieldPath| path.resolve(roots).and_then(|value| label(&value).map(Cow::into_owned));
    NamesOfSample(paths.iter().map(name).collect())
}
