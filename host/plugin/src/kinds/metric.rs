//! Metrics: their declarations, and scoring of a batch of samples.

use super::bindings;
use crate::batch::{BatchResult, ItemError};
use crate::bindings::metric_exports::MetricSpec;
use crate::bindings::metric_world::{MetricPlugin, MetricPluginPre};
use crate::bindings::types::{Item, MemberSpec, ScoreCard as GuestCard};
use crate::capabilities::Access;
use crate::capabilities::media::MediaSet;
use crate::component_members::{ConfiguredMember, DeclaredMember, PluginComponent, PluginKind};
use crate::inputs::{MetricItem, ResolvedInputs, with_sound_items};
use crate::member_description::{OptionalMetadata, ValueDescription};
use crate::sandbox::GuestState;
use crate::shortage::shortage_in;
use crate::validate_output;
use crate::world::World;
use gage_core::{ScoreCard, shortened};
use std::sync::Arc;
use wasmtime::{Store, Trap};
use wasmtime_wasi::I32Exit;

/// Maximum length of the text of an error that a program caused.
const MAX_CAUSE_CHARS: usize = 500;

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

    /// Scores a batch with the given access. A metric that runs programs gets one item at a time.
    fn score_granted(&self, access: Access, items: &[Item]) -> BatchResult<ScoreCard> {
        self.batch_with(
            access,
            items,
            async |plugin, store, batch| {
                let guest = plugin.gage_plugin_metric();
                match guest.call_score(&mut *store, self.name(), self.params(), batch).await {
                    Err(error) if self.runs_programs() => Ok(vec![Ok(card_of_failure(error, store)?)]),
                    scored => scored,
                }
            },
            |card, _| {
                let card = validate_output::card(card, self.limits())?;
                validate_output::within_bounds(&card, &self.description().values)?;
                Ok(card)
            },
        )
    }
}

/// Returns the card of a program that ended its instance, which scores 0. An error that says nothing about the program
/// stays one: its time was over, which depends on the machine, or the machine had a shortage. All other errors are those of
/// a program, which can give the host invalid texts and arguments.
fn card_of_failure(error: wasmtime::Error, store: &Store<GuestState>) -> wasmtime::Result<GuestCard> {
    let state = store.data();
    let (tag, explain) = match (error.downcast_ref::<Trap>(), &state.ended, state.limiter.refused) {
        (Some(Trap::Interrupt), ..) => return Err(error),
        (_, Some(message), _) => ("crash", format!("the program {message}")),
        (Some(Trap::OutOfFuel), ..) => ("timeout", "the program used up its fuel".to_owned()),
        (Some(Trap::UnreachableCodeReached), None, Some(_)) => {
            ("out_of_memory", "the program needed more memory than its limit".to_owned())
        }
        (Some(trap), ..) => ("crash", format!("the program ended the interpreter: {trap}")),
        (None, ..) => match error.downcast_ref::<I32Exit>() {
            Some(exit) => ("exit", format!("the program ended its process with {}", exit.0)),
            None if shortage_in(&error).is_some() => return Err(error),
            None => {
                let cause = format!("{error:#}");
                (
                    "crash",
                    format!("the program ended the interpreter: {}", shortened(&cause, MAX_CAUSE_CHARS)),
                )
            }
        },
    };
    Ok(GuestCard {
        primary_score: Some(0.0),
        pass: Some(false),
        sub_scores: Vec::new(),
        error_tags: vec![tag.to_owned()],
        explain: Some(explain),
        detail: format!("{{\"outcome\":\"{tag}\"}}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_subject::CallSubject;
    use crate::limits::Limits;

    #[test]
    fn program_that_ends_its_instance_scores_zero() {
        let store = |ended: Option<&str>, refused: Option<&'static str>| {
            let limits = Limits::default();
            let mut state = GuestState::new("p", &limits, Access::default(), CallSubject::default(), None);
            state.ended = ended.map(str::to_owned);
            state.limiter.refused = refused;
            Store::new(&wasmtime::Engine::default(), state)
        };
        let trap = wasmtime::Error::from;
        for (error, ended, refused, expected) in [
            (trap(Trap::OutOfFuel), None, None, Some("timeout")),
            (trap(Trap::OutOfFuel), None, Some("memory"), Some("timeout")),
            (trap(Trap::UnreachableCodeReached), None, None, Some("crash")),
            (trap(Trap::UnreachableCodeReached), None, Some("memory"), Some("out_of_memory")),
            (trap(Trap::StackOverflow), None, Some("memory"), Some("crash")),
            (wasmtime::Error::from(I32Exit(0)), None, None, Some("exit")),
            (
                wasmtime::Error::msg("called the host too often"),
                Some("called the host too often"),
                None,
                Some("crash"),
            ),
            (trap(Trap::Interrupt), None, None, None),
            (wasmtime::Error::msg("invalid utf-8 sequence"), None, None, Some("crash")),
            (wasmtime::Error::from(std::io::Error::from_raw_os_error(12)), None, None, None),
        ] {
            let message = format!("{error:#}");
            let card = card_of_failure(error, &store(ended, refused)).ok();
            assert!(
                card.iter().all(|card| card.primary_score == Some(0.0) && card.pass == Some(false)),
                "{message}"
            );
            let tags = card.map(|card| card.error_tags);
            assert_eq!(tags, expected.map(|tag| vec![tag.to_owned()]), "{message}");
        }
    }
}
