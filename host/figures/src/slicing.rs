//! Slicing: groups records into samples, and assigns samples to slices and clusters.

use crate::known_paths::KnownPaths;
use crate::random::hash;
use crate::{TaskDescription, UnfoundPath};
use gage_core::{EvalContext, FieldPath, NONE_LABEL, OTHER_LABEL, Outcome, Root, label};
use gage_record::RecordView;
use indexmap::IndexSet;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

/// Maximum number of distinct slices of a path; further ones are counted as `(other)`.
pub(crate) const MAX_SLICES: usize = 1_000;

/// Number of distinct slices that every path may have, however many paths and metrics there are.
const MIN_SLICES: usize = 10;

/// Maximum number of figures of slices, one for each metric and slice, in a run or a comparison.
const MAX_SLICE_FIGURES: usize = 100_000;

/// Returns the maximum number of distinct slices of each path. `columns` is the number of pairs of a path and a metric, over
/// all tasks: each slice of a path needs a figure for each metric of its task.
pub fn max_slices(columns: usize) -> usize {
    (MAX_SLICE_FIGURES / columns.max(1)).clamp(MIN_SLICES, MAX_SLICES)
}

/// Returns the maximum number of distinct slices of each path in a run of these tasks.
pub(crate) fn max_slices_of(tasks: &[TaskDescription]) -> usize {
    let columns = tasks.iter().map(|task| {
        let metrics = task.metrics.len().saturating_add(task.timing_metrics.len());
        task.slices.len().saturating_mul(metrics)
    });
    max_slices(columns.fold(0, usize::saturating_add))
}

/// Slices and cluster of a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceMembership {
    /// Numbers of its slices for each path, ascending.
    pub slices: Vec<Vec<usize>>,
    /// Number of its cluster; 0 if the task has no clusters.
    pub cluster: u64,
    /// Hash of the name of its cluster, or of its id if it has none: the same in every run.
    pub unit: u64,
}

/// Finds the slices and clusters of the samples of a task.
#[derive(Debug)]
pub struct Slicing {
    repeat: u64,
    slices: Vec<SlicePath>,
    /// Maximum number of distinct slices of each path.
    max_slices: usize,
    clusters: Option<Clusters>,
    of_metrics: Vec<MetricPath>,
    current: Option<u64>,
    /// True if any record had a sample, rather than only an invalid row.
    has_sample: bool,
    /// Paths to suggest for a path that is not found.
    known: KnownPaths,
    membership: SliceMembership,
}

#[derive(Debug)]
struct SlicePath {
    path: FieldPath,
    /// Slice names, by number.
    names: IndexSet<String>,
    /// True if a sample had a value.
    is_found: bool,
}

/// A path that the suite passes to a metric.
#[derive(Debug)]
struct MetricPath {
    /// The parameter that holds it.
    key: String,
    path: FieldPath,
    /// True if any record could have had a value.
    is_expected: bool,
    is_found: bool,
}

impl MetricPath {
    fn resolve(&mut self, roots: EvalContext<'_>, record: &RecordView<'_>) {
        if self.is_found || self.is_reported_missing(record) {
            return;
        }
        self.is_expected |= match self.path.root() {
            Root::Sample => !record.sample.is_null(),
            _ => record.outcome == Outcome::Scored,
        };
        self.is_found = self.path.resolve(roots).is_some_and(|value| !value.is_null());
    }

    /// Returns whether the record itself already reports that the field is missing, as requested by the suite.
    fn is_reported_missing(&self, record: &RecordView<'_>) -> bool {
        let metric_id = self.key.rsplit_once('.').map_or(self.key.as_str(), |(metric_id, _)| metric_id);
        record.metrics.iter().any(|metric| {
            metric.metric_id == metric_id
                && metric.error.as_ref().is_some_and(|error| error.starts_with("missing_field:"))
        })
    }
}

#[derive(Debug)]
struct Clusters {
    path: FieldPath,
    numbers: HashMap<String, u64>,
    next: u64,
}

impl Slicing {
    /// Returns the slicing of a task, before its first sample.
    pub fn new(task: &TaskDescription) -> Slicing {
        let slice_path =
            |text: &String| SlicePath { path: FieldPath::new(text), names: IndexSet::new(), is_found: false };
        let clusters =
            |text: &String| Clusters { path: FieldPath::new(text), numbers: HashMap::new(), next: 0 };
        let metric_path = |(key, path): &(String, String)| MetricPath {
            key: key.clone(),
            path: FieldPath::new(path),
            is_expected: false,
            is_found: false,
        };
        Slicing {
            repeat: task.repeat.max(1),
            slices: task.slices.iter().map(slice_path).collect(),
            max_slices: MAX_SLICES,
            clusters: task.cluster_by.as_ref().map(clusters),
            of_metrics: task.metric_paths.iter().map(metric_path).collect(),
            current: None,
            has_sample: false,
            known: KnownPaths::default(),
            membership: SliceMembership::default(),
        }
    }

    /// Sets the maximum number of distinct slices of each path, as [`max_slices`] returns it. Must be called before the
    /// first sample.
    #[must_use]
    pub fn with_max_slices(self, max_slices: usize) -> Slicing {
        Slicing { max_slices, ..self }
    }

    /// Returns whether the record begins a new sample.
    pub fn is_next<'r>(&self, record: impl Into<RecordView<'r>>) -> bool {
        let record = record.into();
        self.current != Some(record.index / self.repeat)
    }

    /// Begins a sample with its first record, and finds its slices and cluster.
    pub fn begin<'r>(&mut self, record: impl Into<RecordView<'r>>) {
        let record = record.into();
        self.current = Some(record.index / self.repeat);
        self.has_sample |= !record.sample.is_null();
        let nothing = &Value::Null;
        let roots = EvalContext {
            sample: record.sample,
            model_output: record.model_output,
            judge_output: record.judge_output.unwrap_or(nothing),
            support_output: record.support_output.unwrap_or(nothing),
        };
        self.of_metrics.iter_mut().for_each(|path| path.resolve(roots, &record));
        if !self.slices.is_empty() || self.clusters.is_some() || !self.of_metrics.is_empty() {
            self.known.add(roots);
        }
        let max_slices = self.max_slices;
        let numbers = self.slices.iter_mut().map(|slice| slice.numbers_of(roots, max_slices));
        self.membership.slices = numbers.collect();
        let (cluster, unit) = match &mut self.clusters {
            Some(clusters) => clusters.number_of(roots, record.sample_id),
            None => (0, hash(record.sample_id)),
        };
        self.membership.cluster = cluster;
        self.membership.unit = unit;
    }

    /// Returns the slices and the cluster of the current sample.
    pub fn membership(&self) -> &SliceMembership {
        &self.membership
    }

    /// Returns the number of repeats of each sample.
    pub fn repeat(&self) -> u64 {
        self.repeat
    }

    /// Returns whether the task names a path to cluster by.
    pub fn is_clustered(&self) -> bool {
        self.clusters.is_some()
    }

    /// Returns the number of paths by which samples are sliced.
    pub fn paths(&self) -> usize {
        self.slices.len()
    }

    /// Returns the paths at which samples could have had a value, but none did.
    pub fn unfound_paths(&self) -> Vec<UnfoundPath> {
        let slices = self.slices.iter().filter(|slice| !slice.is_found);
        let slices = slices.map(|slice| ("slices", slice.path.as_str()));
        let clusters = self.clusters.iter().filter(|clusters| clusters.numbers.is_empty());
        let clusters = clusters.map(|clusters| ("cluster_by", clusters.path.as_str()));
        let of_metrics = self.of_metrics.iter().filter(|path| path.is_expected && !path.is_found);
        let of_metrics = of_metrics.map(|path| (path.key.as_str(), path.path.as_str()));
        let unfound = slices.chain(clusters).filter(|_| self.has_sample).chain(of_metrics);
        let unfound = unfound.map(|(key, path)| {
            let is_empty = self.known.has(path);
            UnfoundPath {
                key: key.to_owned(),
                path: path.to_owned(),
                nearest: self.known.nearest(path).filter(|_| !is_empty).map(str::to_owned),
                is_empty,
            }
        });
        unfound.collect()
    }

    /// Returns each path as written, with the names of its slices by number.
    pub fn slices(&self) -> impl Iterator<Item = (&str, &IndexSet<String>)> {
        self.slices.iter().map(|slice| (slice.path.as_str(), &slice.names))
    }
}

impl SlicePath {
    fn numbers_of(&mut self, roots: EvalContext<'_>, max_slices: usize) -> Vec<usize> {
        let value = self.path.resolve(roots).unwrap_or(Cow::Borrowed(&Value::Null));
        let mut number_of = |name: &str| self.number_of(name, max_slices);
        let numbers: BTreeSet<usize> = match value.as_ref() {
            Value::Array(items) => items.iter().filter_map(label).map(|name| number_of(&name)).collect(),
            Value::Object(members) => {
                let pairs = members.iter().flat_map(|(key, value)| member_labels(key, value));
                pairs.map(|name| number_of(&name)).collect()
            }
            value => label(value).map(|name| number_of(&name)).into_iter().collect(),
        };
        self.is_found |= !numbers.is_empty();
        match numbers.is_empty() {
            true => vec![self.number_of(NONE_LABEL, max_slices)],
            false => numbers.into_iter().collect(),
        }
    }

    fn number_of(&mut self, name: &str, max_slices: usize) -> usize {
        let is_known = self.names.len() < max_slices || self.names.contains(name);
        let name = if is_known { name } else { OTHER_LABEL };
        self.names.get_index_of(name).unwrap_or_else(|| self.names.insert_full(name.to_owned()).0)
    }
}

/// Returns the slices of an object's member, such as `difficulty=hard`; one for each item of a list.
fn member_labels(key: &str, value: &Value) -> Vec<String> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        value => std::slice::from_ref(value),
    };
    let name = |name: Cow<'_, str>| {
        let pair = Value::from(format!("{key}={name}"));
        label(&pair).map(Cow::into_owned)
    };
    items.iter().filter_map(label).filter_map(name).collect()
}

impl Clusters {
    /// Returns the number of the sample's cluster, and the hash of its name; a sample without a value is a cluster of its
    /// own.
    fn number_of(&mut self, roots: EvalContext<'_>, sample_id: &str) -> (u64, u64) {
        let next = self.next;
        let value = self.path.resolve(roots);
        let (number, unit) = match value.as_deref().and_then(label) {
            None => (next, hash(sample_id)),
            Some(name) => {
                let unit = hash(&name);
                match self.numbers.get(name.as_ref()) {
                    Some(number) => (*number, unit),
                    None => {
                        self.numbers.insert(name.into_owned(), next);
                        (next, unit)
                    }
                }
            }
        };
        self.next += u64::from(number == next);
        (number, unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_records::{sample, task};
    use gage_record::SampleRecord;
    use serde_json::json;

    fn slicing(slices: &[&str], cluster_by: Option<&str>, repeat: u64) -> Slicing {
        Slicing::new(&TaskDescription {
            slices: slices.iter().map(|path| (*path).to_owned()).collect(),
            cluster_by: cluster_by.map(str::to_owned),
            repeat,
            ..task("t")
        })
    }

    fn record(index: u64, document: Value) -> SampleRecord {
        SampleRecord { sample: document.into(), ..sample("t", index, 1.0, 1.0) }
    }

    fn names(slicing: &mut Slicing, document: Value) -> Vec<String> {
        slicing.begin(&record(0, document));
        let (_, names) = slicing.slices().next().unwrap();
        slicing.membership().slices[0].iter().map(|number| names[*number].clone()).collect()
    }

    #[test]
    fn samples_are_in_the_slices_that_their_values_name() {
        let cases = [
            (json!({"data_tag": "train"}), vec!["train"]),
            (json!({"data_tag": ["b", "a", "b", null, 1.0]}), vec!["b", "a", "1"]),
            (
                json!({"data_tag": {"subject": "math", "levels": ["a", "b"], "no": null}}),
                vec!["subject=math", "levels=a", "levels=b"],
            ),
            (json!({"data_tag": []}), vec!["(none)"]),
            (json!({"data_tag": " "}), vec!["(none)"]),
            (json!({}), vec!["(none)"]),
            (json!(null), vec!["(none)"]),
            (json!({"data_tag": true}), vec!["true"]),
            (json!({"data_tag": ["(none)", "(other)"]}), vec!["\"(none)\"", "\"(other)\""]),
        ];
        for (document, expected) in cases {
            assert_eq!(names(&mut slicing(&["data_tag"], None, 1), document.clone()), expected, "{document}");
        }
    }

    #[test]
    fn a_path_that_is_there_and_null_is_not_taken_for_a_slip() {
        let mut slicing = slicing(&["metadata.level"], Some("metadata.levl"), 1);
        slicing.begin(&record(0, json!({"metadata": {"level": null}})));
        let told: Vec<String> = slicing.unfound_paths().iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "no sample has a value at `metadata.level` (slices): it is always null or empty; figures are made without it",
                "no sample has a value at `metadata.levl` (cluster_by); figures are made without it; did you mean \
                 `metadata.level`?",
            ]
        );
    }

    #[test]
    fn slices_beyond_the_limit_are_one() {
        let mut slicing = slicing(&["metadata.id"], None, 1);
        for number in 0..MAX_SLICES + 5 {
            let found = names(&mut slicing, json!({"metadata": {"id": number}}));
            let expected = if number < MAX_SLICES { number.to_string() } else { OTHER_LABEL.to_owned() };
            assert_eq!(found, [expected]);
        }
        assert_eq!(names(&mut slicing, json!({"metadata": {"id": 7}})), ["7"]);
        assert_eq!(slicing.slices().next().unwrap().1.len(), MAX_SLICES + 1);
    }

    #[test]
    fn samples_without_a_cluster_stand_alone() {
        let mut slicing = slicing(&[], Some("metadata.text"), 1);
        let documents = [json!("a"), json!("b"), json!("a"), json!(null), json!(null), json!("b")];
        let clusters = documents.map(|text| {
            slicing.begin(&record(0, json!({"metadata": {"text": text}})));
            slicing.membership().cluster
        });
        assert_eq!(clusters, [0, 1, 0, 2, 3, 1]);
    }

    #[test]
    fn so_many_records_are_one_sample() {
        let mut slicing = slicing(&[], None, 3);
        let begins = [0, 1, 2, 3, 5, 6].map(|index| {
            let record = record(index, json!({}));
            let is_next = slicing.is_next(&record);
            slicing.begin(&record);
            is_next
        });
        assert_eq!(begins, [true, false, false, true, false, true]);
    }
}
