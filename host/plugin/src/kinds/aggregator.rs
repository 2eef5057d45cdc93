//! Aggregators: figures of many score cards, computed as a fold whose state the host keeps.

use super::{bindings, plain};
use crate::batch::ItemError;
use crate::bindings::aggregator_world::{AggregatorPlugin, AggregatorPluginPre};
use crate::bindings::types::{ScoreCard as GuestCard, SubScore};
use crate::component_members::{ConfiguredMember, PluginKind};
use crate::figure::AggregatorFigure;
use crate::validate_output;
use crate::world::World;
use gage_core::ScoreCard;

use crate::bindings::aggregator_exports::Row as GuestRow;

/// The bindings of aggregators.
pub struct AggregatorKind;

/// An aggregator with its parameters, ready to be called.
pub type Aggregator = ConfiguredMember<AggregatorKind>;

impl PluginKind for AggregatorKind {
    const WORLD: World = World::Aggregator;
    type Detail = ();
    bindings!(AggregatorPlugin, AggregatorPluginPre, gage_plugin_aggregator, call_aggregators, plain);
}

/// One sample's card.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregatorRow {
    /// Sample id.
    pub sample_id: String,
    /// Weight of the sample; 1 unless the suite weights samples.
    pub weight: f64,
    /// Result of the metric.
    pub card: ScoreCard,
}

/// State of an aggregator after the rows so far. Initially empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AggregatorState(Vec<u8>);

impl Aggregator {
    /// Returns whether its standard errors account for samples that are not independent. Its component
    /// declares this in `clusters`, a list in its `extra` metadata. If there are clusters, each row then has
    /// the number of its cluster in `detail.cluster`.
    pub fn knows_clusters(&self) -> bool {
        self.is_named_in("clusters")
    }

    /// Returns the member of a card's detail by which a card without a primary score counts. Its component
    /// declares it in `unscored`, an object by aggregator name in its `extra` metadata.
    pub fn unscored_member(&self) -> Option<&str> {
        self.component.extra().get("unscored")?.get(self.name())?.as_str()
    }

    /// Returns the parameter that holds how many attempts at a sample it needs, as an integer or a list. Its component
    /// declares it in `attempts`, an object by aggregator name in its `extra` metadata.
    pub fn attempts_parameter(&self) -> Option<&str> {
        self.component.extra().get("attempts")?.get(self.name())?.as_str()
    }

    /// Returns whether it can compute figures of resamples. Its component declares this in `merges`, a list in its `extra`
    /// metadata.
    pub fn merges(&self) -> bool {
        self.is_named_in("merges")
    }

    /// Returns the state after adding rows, which must be in dataset order.
    ///
    /// # Errors
    /// If the component rejects the rows or fails. There is then no figure.
    pub fn fold(&self, state: AggregatorState, rows: &[AggregatorRow]) -> Result<AggregatorState, ItemError> {
        let limits = self.limits();
        let rows: Vec<GuestRow> = rows.iter().map(to_guest).collect();
        let folded = self.call(self.component.linked.access(), rows.len(), async |plugin, store| {
            plugin
                .gage_plugin_aggregator()
                .call_fold(store, self.name(), self.params(), &state.0, &rows)
                .await
        });
        let state = folded?.map_err(|error| validate_output::error(error, limits))?;
        validate_output::bytes(&state, "the state of the aggregator", limits)?;
        Ok(AggregatorState(state))
    }

    /// Returns the figures.
    ///
    /// # Errors
    /// Same as for [`Aggregator::fold`], and if a figure is not a number or a name is invalid.
    pub fn finish(&self, state: &AggregatorState) -> Result<Vec<AggregatorFigure>, ItemError> {
        let limits = self.limits();
        let finished = self.call(self.component.linked.access(), 0, async |plugin, store| {
            plugin.gage_plugin_aggregator().call_finish(store, self.name(), self.params(), &state.0).await
        });
        let figures = finished?.map_err(|error| validate_output::error(error, limits))?;
        validate_output::figures(figures, limits)
    }

    /// Returns the figures of each draw, for which every state counts as often as the draw says.
    ///
    /// # Errors
    /// Same as for [`Aggregator::finish`], and if the number of results is not that of the draws.
    pub fn resample(
        &self,
        states: &[AggregatorState],
        draws: &[Vec<u32>],
    ) -> Result<Vec<Vec<AggregatorFigure>>, ItemError> {
        let limits = self.limits();
        let states: Vec<Vec<u8>> = states.iter().map(|state| state.0.clone()).collect();
        let found = self.call(self.component.linked.access(), 0, async |plugin, store| {
            let aggregator = plugin.gage_plugin_aggregator();
            aggregator.call_resample(store, self.name(), self.params(), &states, draws).await
        });
        let found = found?.map_err(|error| validate_output::error(error, limits))?;
        validate_output::count_is(found.len(), draws.len(), "lists of figures")?;
        found.into_iter().map(|figures| validate_output::figures(figures, limits)).collect()
    }
}

fn to_guest(row: &AggregatorRow) -> GuestRow {
    let ScoreCard { primary_score, pass, sub_scores, error_tags, explain, detail } = &row.card;
    let sub_score = |(name, value): (&String, &serde_json::Value)| {
        value.as_f64().map(|value| SubScore { name: name.clone(), value })
    };
    GuestRow {
        sample_id: row.sample_id.clone(),
        weight: row.weight,
        card: GuestCard {
            primary_score: *primary_score,
            pass: *pass,
            sub_scores: sub_scores.iter().filter_map(sub_score).collect(),
            error_tags: error_tags.clone(),
            explain: explain.clone(),
            detail: match detail.is_empty() {
                true => "{}".to_owned(),
                false => serde_json::to_string(detail).unwrap_or_default(),
            },
        },
    }
}
