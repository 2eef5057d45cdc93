//! Metrics: their declarations, and scoring of a batch of samples.

use super::bindings;
use crate::batch::{BatchResult, ItemError};
use crate::bindings::metric_exports::MetricSpec;
use crate::bindings::metric_world::{MetricPlugin, MetricPluginPre};
use crate::bindings::types::{Item, MemberSpec};
use crate::capabilities::Access;
use crate::capabilities::media::MediaSet;
use crate::component_members::{ConfiguredMember, DeclaredMember, PluginComponent, PluginKind};
use crate::inputs::{MetricItem, ResolvedInputs, with_sound_items};
use crate::member_description::{OptionalMetadata, ValueDescription};
use crate::validate_output;
use crate::world::World;
use gage_core::ScoreCard;
use std::sync::Arc;

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

impl ResolvedInputs for MetricKind {}

/// Converts a declaration.
pub(crate) fn declared(spec: MetricSpec) -> DeclaredMember<MetricKind> {
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

/// Results of a metric for a batch.
pub struct ScoredItem {
    /// One result per item, in order.
    pub results: Vec<Result<ScoreCard, ItemError>>,
    /// Fuel used, in units of about one instruction.
    pub fuel: u64,
}

impl Metric {
    /// Scores a batch. Equal batches give equal results and cost equal fuel, regardless of earlier calls and
    /// the number of threads.
    pub fn score(&self, items: Vec<MetricItem>) -> ScoredItem {
        self.score_with_media(items, MediaSet::default())
    }

    /// Returns whether the metric may read media.
    pub fn reads_media(&self) -> bool {
        self.component.linked.grants().media
    }

    /// Scores a batch. The component can read `media` if that is granted.
    pub fn score_with_media(&self, items: Vec<MetricItem>, media: MediaSet) -> ScoredItem {
        let mut fuel = 0;
        let access = self.access_with(media);
        let results = with_sound_items(items, |sound| {
            let batched = self.score_granted(access.clone(), sound);
            fuel = batched.fuel;
            batched.results
        });
        ScoredItem { results, fuel }
    }

    fn access_with(&self, media: MediaSet) -> Access {
        let access = self.component.linked.access();
        match self.reads_media() {
            true => Access { media: Some(Arc::new(media)), ..access },
            false => access,
        }
    }

    pub(crate) fn score_sound(&self, items: &[Item]) -> BatchResult<ScoreCard> {
        self.score_granted(self.component.linked.access(), items)
    }

    fn score_granted(&self, access: Access, items: &[Item]) -> BatchResult<ScoreCard> {
        self.batch_with(
            access,
            items,
            |plugin, store, batch| {
                plugin.gage_plugin_metric().call_score(store, self.name(), self.params(), batch)
            },
            |card, _| {
                let card = validate_output::card(card, self.limits())?;
                validate_output::within_bounds(&card, &self.description().values)?;
                Ok(card)
            },
        )
    }
}
