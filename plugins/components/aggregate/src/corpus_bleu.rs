//! `corpus_bleu`: BLEU of a corpus.

use crate::detail::{Detail, refuse};
use gage_overlap_kit::bleu::DETAIL_KEY;
use gage_overlap_kit::{BleuCounts, BleuScoring};
use gage_sdk::aggregator::{Aggregator, Figure, Row};
use gage_sdk::{MemberSpec, PluginError, serde_json};
use gage_text_kit::Params;
use serde::{Deserialize, Serialize};

/// BLEU of a corpus, 0 to 100, from the cards of the metric `bleu`, computed like `corpus_score` of sacreBLEU 2.
/// Smoothing and effective order are its own parameters, not those of the metric.
///
/// Figures: `bleu`, `brevity_penalty`, `length_ratio`, and `precision_1` and so on in percent, smoothed as in the
/// score. Without counts in any row there are no figures. Rows without counts (those without a prediction or a reference) are
/// ignored. Every row counts once, regardless of its weight.
pub struct CorpusBleu(BleuScoring);

/// Running sum.
#[derive(Default, Serialize, Deserialize)]
pub struct CorpusBleuState {
    rows: u64,
    counts: BleuCounts,
}

impl Aggregator for CorpusBleu {
    type State = CorpusBleuState;

    fn name() -> &'static str {
        "corpus_bleu"
    }

    fn spec() -> MemberSpec {
        let properties = BleuScoring::schema(false).into_iter();
        let properties = properties.map(|(name, schema)| (name.to_owned(), schema)).collect();
        let description = "BLEU of a corpus, from the counts of the metric bleu";
        MemberSpec::new("1", description, serde_json::Value::Object(properties))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        BleuScoring::read(&Params::new(params)?, false).map(CorpusBleu)
    }

    fn add(&self, state: &mut CorpusBleuState, row: Row) -> Result<(), PluginError> {
        let Some(counts) = Detail::read(&row)?.counts::<BleuCounts>(DETAIL_KEY)? else { return Ok(()) };
        if !counts.is_sound() {
            return Err(refuse(&row, "has counts of bleu that do not fit one another"));
        }
        if state.rows == 0 {
            state.counts = counts;
        } else if !state.counts.add(&counts) {
            return Err(refuse(
                &row,
                "was scored with an order of n-grams that differs from the samples before it",
            ));
        }
        state.rows += 1;
        Ok(())
    }

    fn finish(&self, state: CorpusBleuState) -> Result<Vec<Figure>, PluginError> {
        let CorpusBleuState { rows, counts } = state;
        if rows == 0 {
            return Ok(Vec::new());
        }
        let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let mut figures = vec![
            Figure::new("bleu", self.0.score(&counts), rows),
            Figure::new("brevity_penalty", counts.brevity_penalty(), rows),
            Figure::new("length_ratio", ratio(counts.prediction_length, counts.reference_length), rows),
        ];
        for (order, precision) in (1..).zip(self.0.precisions(&counts)) {
            figures.push(Figure::new(&format!("precision_{order}"), precision, rows));
        }
        Ok(figures)
    }

    fn merge(&self, state: &mut CorpusBleuState, other: &CorpusBleuState) -> Result<(), PluginError> {
        if state.rows == 0 {
            state.counts = other.counts.clone();
        } else if other.rows > 0 && !state.counts.add(&other.counts) {
            return Err(PluginError::internal("states with different orders of n-grams cannot be merged"));
        }
        state.rows += other.rows;
        Ok(())
    }
}
