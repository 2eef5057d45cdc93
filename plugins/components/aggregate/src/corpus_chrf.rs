//! `corpus_chrf`: chrF of a corpus.

use crate::detail::{Detail, refuse};
use gage_overlap_kit::chrf::{ChrfDetail, DETAIL_KEY};
use gage_sdk::aggregator::{Aggregator, Figure, Row};
use gage_sdk::{MemberSpec, PluginError, json, serde_json};
use gage_text_kit::Params;
use serde::{Deserialize, Serialize};

/// chrF of a corpus, 0 to 100, from the cards of the metric `chrf`, computed like `corpus_score` of sacreBLEU 2. The
/// metric sets orders, beta and smoothing.
///
/// The only figure is `chrf`; there is none if no row has counts. Rows without counts (those without a prediction or a
/// reference) are ignored. Every row counts once, regardless of its weight.
pub struct CorpusChrf;

/// Running sum; empty until the first row with counts.
#[derive(Default, Serialize, Deserialize)]
pub struct CorpusChrfState {
    rows: u64,
    sum: Option<ChrfDetail>,
}

impl Aggregator for CorpusChrf {
    type State = CorpusChrfState;

    fn name() -> &'static str {
        "corpus_chrf"
    }

    fn spec() -> MemberSpec {
        let description = "chrF of a corpus, from the counts of the metric chrf";
        MemberSpec::new("1", description, json!({}))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        Params::new(params).map(|_| CorpusChrf)
    }

    fn add(&self, state: &mut CorpusChrfState, row: Row) -> Result<(), PluginError> {
        let Some(detail) = Detail::read(&row)?.counts::<ChrfDetail>(DETAIL_KEY)? else { return Ok(()) };
        if !detail.shape.is_sound() || detail.counts.0.len() != detail.shape.orders() {
            return Err(refuse(&row, "has counts of chrf that do not fit one another"));
        }
        match &mut state.sum {
            None => state.sum = Some(detail),
            Some(sum) => {
                if sum.shape != detail.shape || !sum.counts.add(&detail.counts) {
                    return Err(refuse(
                        &row,
                        "was scored with other parameters of chrf than those before it",
                    ));
                }
            }
        }
        state.rows += 1;
        Ok(())
    }

    fn finish(&self, state: CorpusChrfState) -> Result<Vec<Figure>, PluginError> {
        let figure = |sum: ChrfDetail| Figure::new("chrf", sum.shape.score(&sum.counts), state.rows);
        Ok(state.sum.map(figure).into_iter().collect())
    }

    fn merge(&self, state: &mut CorpusChrfState, other: &CorpusChrfState) -> Result<(), PluginError> {
        match (&mut state.sum, &other.sum) {
            (_, None) => {}
            (sum @ None, Some(other)) => *sum = Some(other.clone()),
            (Some(sum), Some(other)) => {
                if sum.shape != other.shape || !sum.counts.add(&other.counts) {
                    return Err(PluginError::internal("states with different parameters cannot be merged"));
                }
            }
        }
        state.rows += other.rows;
        Ok(())
    }
}
