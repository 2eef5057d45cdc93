//! Numbers of samples and of clusters, counted without asking a model.

use crate::plan::{Plan, PlannedTask};
use crate::session::datasets::{Datasets, LocatedDataset};
use gage_config::DatasetSpec;
use gage_core::{EvalContext, FieldPath, Root, Sample, label};
use gage_data::{DataError, Preparation, Rows, SampleProjection, stream_kept};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Maximum number of rows whose clusters are counted.
const MAX_CLUSTERED_ROWS: u64 = 20_000;

/// Clusters of the samples of a task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClusterCounts {
    /// Number of samples that were read, at most 20,000.
    pub samples: u64,
    /// Number of clusters among them.
    pub clusters: u64,
    /// Number of samples in the cluster of a sample, averaged over the samples.
    pub usual_size: f64,
}

impl Plan {
    /// Counts the samples of a task, up to `limit`. `None` if the data is not on this machine or cannot be read.
    pub fn count_samples(
        &self,
        task: &PlannedTask,
        datasets: &Datasets,
        max_samples: Option<u64>,
        limit: u64,
    ) -> Option<u64> {
        let dataset = datasets.get(&task.spec.dataset_id)?;
        let most = [task.spec.max_samples, max_samples, Some(limit)].into_iter().flatten().min();
        // A shuffle changes no number, and would read all rows.
        let spec = DatasetSpec { shuffle: false, ..task.dataset.spec.clone() };
        let (count, error) = count_rows(dataset.open_as(&spec, most).ok()?, limit);
        error.is_none().then_some(count.min(limit))
    }

    /// Counts the clusters of a task with at most `limit` samples. `None` without clusters, if there are more samples, or if
    /// the clusters are not known before the run.
    pub fn count_clusters(
        &self,
        task: &PlannedTask,
        datasets: &Datasets,
        max_samples: Option<u64>,
        limit: u64,
    ) -> Option<ClusterCounts> {
        task.spec.cluster_by.as_ref()?;
        if self.count_samples(task, datasets, max_samples, limit + 1)? > limit {
            return None;
        }
        let most = [task.spec.max_samples, max_samples].into_iter().flatten().min();
        ClusterCounts::of(task, datasets.get(&task.spec.dataset_id)?, most)
    }
}

/// Counts rows, up to `limit` if their number is unknown. Also returns the error that ended the count early.
pub(super) fn count_rows(rows: Rows, limit: u64) -> (u64, Option<DataError>) {
    if let Some(total) = rows.total() {
        return (total, None);
    }
    let mut count = 0;
    for row in rows.take(usize::try_from(limit).unwrap_or(usize::MAX)) {
        if let Err(error) = row {
            return (count, Some(error));
        }
        count += 1;
    }
    (count, None)
}

/// Name of a sample's cluster; `None` for a cluster of its own.
struct ClusterName(Option<String>);

impl SampleProjection for ClusterName {
    fn id(&mut self) -> Option<&mut String> {
        None
    }
}

impl ClusterCounts {
    /// Counts the clusters of a task in its first rows. `None` without clusters, without rows, or if `cluster_by` reads an
    /// answer, which is not known yet.
    pub(super) fn of(
        task: &PlannedTask,
        dataset: &LocatedDataset,
        most: Option<u64>,
    ) -> Option<ClusterCounts> {
        let path = task.spec.cluster_by.as_ref().filter(|path| path.root() == Root::Sample)?;
        let most = most.unwrap_or(MAX_CLUSTERED_ROWS).min(MAX_CLUSTERED_ROWS);
        let rows = dataset.open_as(&task.dataset.spec, Some(most)).ok()?;
        // Counting downloads no images.
        let preparation = Preparation { fetches_media: false, ..dataset.preparation_of(&task.dataset) };
        let mut sizes: HashMap<String, u64> = HashMap::new();
        let mut alone = 0;
        stream_kept(rows, &preparation, 1, &|| false, &|sample| cluster_of(path, &sample), |prepared| {
            match prepared.result {
                Ok(ClusterName(Some(name))) => *sizes.entry(name).or_default() += 1,
                Ok(ClusterName(None)) => alone += 1,
                Err(_) => {}
            }
            ControlFlow::Continue(())
        });
        let samples = alone + sizes.values().sum::<u64>();
        let squares = alone + sizes.values().map(|size| size * size).sum::<u64>();
        let clusters = alone + sizes.len() as u64;
        (samples > 0).then(|| ClusterCounts {
            samples,
            clusters,
            usual_size: squares as f64 / samples as f64,
        })
    }
}

fn cluster_of(path: &FieldPath, sample: &Arc<Sample>) -> ClusterName {
    let (sample, nothing) = (sample.to_value(), &Value::Null);
    let roots = EvalContext {
        sample: (&sample).into(),
        model_output: nothing.into(),
        judge_output: nothing,
        support_output: nothing,
    };
    ClusterName(path.resolve(roots).and_then(|value| label(&value).map(Cow::into_owned)))
}
