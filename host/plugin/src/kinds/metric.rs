//! Metrics: what they declare, and how a batch of samples is scored.

use super::bindings;
use crate::batch::{BatchResult, ItemError};
use crate::bindings::metric_exports::MetricSpec;
use crate::bindings::metric_world::{MetricPlugin, MetricPluginPre};
use crate::bindings::types::{Item, MemberSpec};
use crate::component_members::{ConfiguredMember, DeclaredMember, PluginComponent, PluginKind};
use crate::inputs::Input;
use crate::member_description::{OptionalMetadata, ValueDescription};
use crate::validate_output;
use crate::world::World;
use gage_core::{EvalContext, Object, ScoreCard};

/// The bindings of metrics.
pub struct MetricKind;

/// A component with one or more metrics.
pub type MetricComponent = PluginComponent<MetricKind>;

/// A metric with its parameters, ready to score.
pub type Metric = ConfiguredMember<MetricKind>;

impl PluginKind for MetricKind {
    const WORLD: World = World::Metric;
    type Detail = ();
    bindings!(MetricPlugin, MetricPluginPre, gage_plugin_metric, call_metrics, declared);
}

fn declared(spec: MetricSpec) -> DeclaredMember<MetricKind> {
    let values = spec.values.into_iter().map(|value| ValueDescription {
        name: value.name,
        higher_is_better: value.higher_is_better,
        minimum: value.minimum,
        maximum: value.maximum,
    });
    DeclaredMember {
        spec: MemberSpec {
            name: spec.name,
            description: spec.description,
            version: spec.scorer_version,
            params_schema: spec.params_schema,
        },
        inputs: spec.inputs,
        optional: OptionalMetadata {
            hook: None,
            values: values.collect(),
            default_aggregation: Some(spec.default_aggregation),
        },
        detail: (),
    }
}

/// One item of a batch, resolved from a sample.
pub struct MetricItem(pub(crate) Result<Item, ItemError>);

/// What a metric said of a batch.
pub struct ScoredItem {
    /// One result for each item, in order.
    pub results: Vec<Result<ScoreCard, ItemError>>,
    /// The work that it took, in units of about one instruction.
    pub fuel: u64,
}

impl Metric {
    /// Its inputs, with the paths that count here.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs.list
    }

    /// Resolves the inputs of one sample.
    pub fn resolve(&self, sample_id: &str, roots: EvalContext<'_>) -> MetricItem {
        let inputs = self.inputs.resolve(self.name(), sample_id, roots);
        MetricItem(inputs.map(|inputs| Item { sample_id: sample_id.to_owned(), inputs }))
    }

    /// Takes the inputs by their names, without a sample.
    pub fn item(&self, sample_id: &str, values: &Object) -> MetricItem {
        let inputs = self.inputs.by_name(values);
        MetricItem(inputs.map(|inputs| Item { sample_id: sample_id.to_owned(), inputs }))
    }

    /// Scores a batch. Equal batches give equal results and cost equal fuel, whatever was called before
    /// and on however many threads.
    pub fn score(&self, items: Vec<MetricItem>) -> ScoredItem {
        let mut fuel = 0;
        let results = with_sound_items(items, |sound| {
            let batched = self.score_sound(sound);
            fuel = batched.fuel;
            batched.results
        });
        ScoredItem { results, fuel }
    }

    pub(crate) fn score_sound(&self, items: &[Item]) -> BatchResult<ScoreCard> {
        self.batch_with(
            self.component.linked.access(),
            items,
            |plugin, store, batch| {
                plugin.gage_plugin_metric().call_score(store, self.name(), self.params(), batch)
            },
            |result, _| match result {
                Ok(card) => {
                    let card = validate_output::card(card, self.limits())?;
                    validate_output::within_bounds(&card, &self.description().values)?;
                    Ok(card)
                }
                Err(error) => Err(validate_output::error(error, self.limits())),
            },
        )
    }
}

/// Calls with the items whose inputs could be resolved, and puts the results where they belong.
pub(super) fn with_sound_items<R>(
    items: Vec<MetricItem>,
    call: impl FnOnce(&[Item]) -> Vec<Result<R, ItemError>>,
) -> Vec<Result<R, ItemError>> {
    let mut places: Vec<Result<(), ItemError>> = Vec::with_capacity(items.len());
    let mut sound = Vec::with_capacity(items.len());
    for MetricItem(item) in items {
        places.push(item.map(|item| sound.push(item)));
    }
    let mut results = call(&sound).into_iter();
    let missing = || ItemError::internal("there is no result");
    places
        .into_iter()
        .map(|place| place.and_then(|()| results.next().unwrap_or_else(|| Err(missing()))))
        .collect()
}
