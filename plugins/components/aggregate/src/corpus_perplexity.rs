//! `corpus_perplexity`: the perplexity of a corpus.

use crate::detail::{Detail, refuse};
use gage_score_kit::perplexity::DETAIL_KEY;
use gage_score_kit::{Measure, Sum, TextLikelihood};
use gage_sdk::aggregator::{Aggregator, Figure, Row};
use gage_sdk::{MemberSpec, PluginError, json, serde_json};
use gage_text_kit::Params;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Detail key of a sample's cluster number, set by the host.
const CLUSTER_KEY: &str = "cluster";

/// Measure of a corpus from the cards of `word_perplexity`, `byte_perplexity`, `token_perplexity` or `bits_per_byte`:
/// exp(−Σ log-likelihood / Σ units), or −Σ log-likelihood / (Σ bytes · ln 2) for the last one. The formulas match
/// `weighted_perplexity` and `bits_per_byte` of lm-evaluation-harness.
///
/// The only figure is named after the measure; there is none if no row has a likelihood. Its standard error is that of
/// a ratio of sums (W. G. Cochran, "Sampling Techniques", 1977, 2.11). The sample consists of the texts, with repeats
/// of a text counted as one, or of the clusters if texts have them (`detail.cluster`).
///
/// Rows without a likelihood are ignored, and every other row counts once, regardless of its weight. This includes rows
/// without a score, whose own perplexity is too large for a float.
///
/// The state grows by some 50 bytes per cluster, so 1 MiB holds 20,000; without clusters it does not grow.
pub struct CorpusPerplexity;

/// Running sums.
#[derive(Default, Serialize, Deserialize)]
pub struct CorpusPerplexityState {
    rows: u64,
    measure: Option<Measure>,
    /// Text of the last row, which further repeats may follow.
    last: Option<Text>,
    texts: u64,
    losses: Sum,
    units: Sum,
    /// Sums of products, for the error.
    losses_squared: Sum,
    losses_by_units: Sum,
    units_squared: Sum,
    /// Losses and units of each cluster, if there are any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    clusters: BTreeMap<u64, (f64, f64)>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Text {
    sample_id: String,
    loss: f64,
    units: f64,
    cluster: Option<u64>,
}

impl CorpusPerplexityState {
    /// Closes the text once its repeats have been added.
    fn close(&mut self) {
        let Some(Text { loss, units, cluster, .. }) = self.last.take() else { return };
        if let Some(cluster) = cluster {
            let (losses, all) = self.clusters.entry(cluster).or_default();
            *losses += loss;
            *all += units;
        }
        self.texts += 1;
        self.losses.add(loss);
        self.units.add(units);
        self.losses_squared.add(loss * loss);
        self.losses_by_units.add(loss * units);
        self.units_squared.add(units * units);
    }

    /// Returns the standard error of the loss per unit; `None` for a single text, or a single cluster.
    fn error(&self, ratio: f64) -> Option<f64> {
        if !self.clusters.is_empty() {
            // Clusters are few, and far below 2^53.
            let clusters = self.clusters.len() as f64;
            let residual = |(loss, units): &(f64, f64)| loss - ratio * units;
            let squares: Sum = self.clusters.values().map(|sums| residual(sums).powi(2)).collect();
            let variance = squares.value() * clusters / (clusters - 1.0);
            return (clusters >= 2.0).then(|| variance.sqrt() / self.units.value());
        }
        // Texts stay far below 2^53.
        let texts = self.texts as f64;
        if self.texts < 2 {
            return None;
        }
        let squares = self.losses_squared.value() - 2.0 * ratio * self.losses_by_units.value()
            + ratio * ratio * self.units_squared.value();
        // Rounding may give a negative result if texts are alike.
        let variance = squares.max(0.0) * texts / (texts - 1.0);
        Some(variance.sqrt() / self.units.value())
    }
}

impl Aggregator for CorpusPerplexity {
    type State = CorpusPerplexityState;

    fn name() -> &'static str {
        "corpus_perplexity"
    }

    fn spec() -> MemberSpec {
        let description = "Perplexity or bits per byte of a corpus, from the likelihoods of its texts";
        MemberSpec::new("2", description, json!({}))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        Params::new(params).map(|_| CorpusPerplexity)
    }

    fn add(&self, state: &mut CorpusPerplexityState, row: Row) -> Result<(), PluginError> {
        let detail = Detail::read(&row)?;
        let Some(found) = detail.counts::<TextLikelihood>(DETAIL_KEY)? else { return Ok(()) };
        let cluster = detail.counts::<u64>(CLUSTER_KEY)?;
        if !found.is_sound() {
            return Err(refuse(&row, "has no units, or its likelihood is not a number"));
        }
        if *state.measure.get_or_insert(found.measure) != found.measure {
            return Err(refuse(&row, "was scored with a measure that differs from the samples before it"));
        }
        state.rows += 1;
        let (loss, units) = (-found.loglikelihood, found.units as f64);
        match &mut state.last {
            Some(last) if last.sample_id == row.sample_id => {
                last.loss += loss;
                last.units += units;
            }
            _ => {
                state.close();
                state.last = Some(Text { sample_id: row.sample_id, loss, units, cluster });
            }
        }
        Ok(())
    }

    fn finish(&self, mut state: CorpusPerplexityState) -> Result<Vec<Figure>, PluginError> {
        state.close();
        let Some(measure) = state.measure else { return Ok(Vec::new()) };
        let loss = state.losses.value() / state.units.value();
        let figure = Figure::new(measure.name(), measure.of(loss), state.rows);
        let stderr = state.error(loss).map(|error| error * measure.slope(loss));
        Ok(vec![Figure { stderr, ..figure }])
    }

    /// The merged state gives the value, but no error: it holds no products.
    fn merge(
        &self,
        state: &mut CorpusPerplexityState,
        other: &CorpusPerplexityState,
    ) -> Result<(), PluginError> {
        state.rows += other.rows;
        state.measure = state.measure.or(other.measure);
        let open = other.last.as_ref().map_or((0.0, 0.0), |text| (text.loss, text.units));
        state.losses.add(other.losses.value() + open.0);
        state.units.add(other.units.value() + open.1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_merges, assert_near, figures, row};
    use gage_sdk::ScoreCard;

    fn text(sample_id: &str, measure: &str, loglikelihood: f64, units: u64) -> Row {
        let detail =
            json!({ "perplexity": { "measure": measure, "loglikelihood": loglikelihood, "units": units } });
        row(sample_id, ScoreCard::of(1.0).detail(&detail))
    }

    #[test]
    fn sums_are_divided_rather_than_scores_averaged() {
        let bit = std::f64::consts::LN_2;
        // 40 bits over 12 words, and 8 over 4: 3 per word together, though their perplexities are 10.1 and 4.
        let rows =
            |measure: &str| vec![text("a", measure, -40.0 * bit, 12), text("b", measure, -8.0 * bit, 4)];
        for (measure, expected) in [
            ("word_perplexity", 8.0),
            ("byte_perplexity", 8.0),
            ("token_perplexity", 8.0),
            ("bits_per_byte", 3.0),
        ] {
            let Ok(found) = figures::<CorpusPerplexity>(json!({}), rows(measure)) else { panic!("figures") };
            assert_near(&found, measure, expected, 1e-9);
            // The residuals are 4 and −4 bits: √(2 · 32) / 16 = half a bit per word.
            let slope = if measure == "bits_per_byte" { 1.0 } else { expected * bit };
            let stderr = found.first().and_then(|figure| figure.stderr);
            assert!(stderr.is_some_and(|error| (error - 0.5 * slope).abs() < 1e-9), "{measure}: {stderr:?}");
        }
    }

    #[test]
    fn clusters_are_the_sample_where_there_are_any() {
        let in_cluster = |sample_id: &str, loglikelihood: f64, units: u64, cluster: u64| {
            let likelihood =
                json!({ "measure": "bits_per_byte", "loglikelihood": loglikelihood, "units": units });
            row(
                sample_id,
                ScoreCard::of(1.0).detail(&json!({ "perplexity": likelihood, "cluster": cluster })),
            )
        };
        let bit = std::f64::consts::LN_2;
        let stderr = |rows: Vec<Row>| {
            figures::<CorpusPerplexity>(json!({}), rows).ok()?.into_iter().next().map(|figure| figure.stderr)
        };
        // Losses of 10, 4, 6, 4 bits over 4, 2, 4, 2 bytes: 2 per byte. The residuals 2, 0, −2, 0 add up to 2 and −2,
        // so √(2 · 8) / 12.
        let of = |clusters: [u64; 4]| {
            let texts = [("a", 10.0, 4), ("b", 4.0, 2), ("c", 6.0, 4), ("d", 4.0, 2)];
            let row = |((id, bits, units), cluster): ((&str, f64, u64), u64)| {
                in_cluster(id, -bits * bit, units, cluster)
            };
            stderr(texts.into_iter().zip(clusters).map(row).collect())
        };
        for (clusters, expected) in [
            ([0, 0, 1, 1], Some(4.0 / 12.0)),
            ([0, 1, 1, 0], Some(4.0 / 12.0)),
            // √(4/3 · 8) / 12, as without clusters.
            ([0, 1, 2, 3], Some((32.0_f64 / 3.0).sqrt() / 12.0)),
            ([7, 7, 7, 7], None),
        ] {
            let (found, near) = (of(clusters).flatten(), |(one, two): (f64, f64)| (one - two).abs() < 1e-9);
            assert!(
                found.is_some() == expected.is_some() && found.zip(expected).is_none_or(near),
                "{clusters:?} {found:?}"
            );
        }
    }

    #[test]
    fn a_text_without_a_score_counts() {
        let likelihood = |loss: f64, units: u64| json!({ "perplexity": { "measure": "word_perplexity", "loglikelihood": -loss, "units": units } });
        let rows = vec![
            row("a", ScoreCard::none("too large").detail(&likelihood(1e6, 1))),
            row("b", ScoreCard::of(1.0).detail(&likelihood(0.0, 999_999))),
        ];
        let Ok(found) = figures::<CorpusPerplexity>(json!({}), rows) else { panic!("figures") };
        assert_near(&found, "word_perplexity", std::f64::consts::E, 1e-9);
        assert_eq!(found.first().map(|figure| figure.count), Some(2));
    }

    #[test]
    fn merged_parts_are_the_whole() {
        let rows: Vec<Row> = (1..8)
            .map(|number| text(&format!("t{number}"), "word_perplexity", -f64::from(number), 3))
            .collect();
        assert_merges::<CorpusPerplexity>(&json!({}), &rows);
    }

    #[test]
    fn repeats_are_one_text() {
        let once = [text("a", "bits_per_byte", -4.0, 2), text("b", "bits_per_byte", -9.0, 3)];
        let [a, b] = &once;
        let copy = |row: &Row| {
            text(
                &row.sample_id,
                "bits_per_byte",
                if row.sample_id == "a" { -4.0 } else { -9.0 },
                if row.sample_id == "a" { 2 } else { 3 },
            )
        };
        let twice = vec![copy(a), copy(a), copy(b), copy(b)];
        let of = |rows: Vec<Row>| {
            let found = figures::<CorpusPerplexity>(json!({}), rows).ok()?.into_iter().next()?;
            Some((found.value, found.stderr?, found.count))
        };
        let (Some(twice), Some(once)) = (of(twice), of(once.into())) else { panic!("figures") };
        assert!((once.0 - twice.0).abs() < 1e-12 && (once.1 - twice.1).abs() < 1e-12, "{once:?} {twice:?}");
        assert_eq!((once.2, twice.2), (2, 4));
    }

    #[test]
    fn rows_that_do_not_fit_are_refused_and_others_left_out() {
        let none = figures::<CorpusPerplexity>(json!({}), vec![row("a", ScoreCard::of(1.0))]);
        assert_eq!(none, Ok(Vec::new()));
        let alone = figures::<CorpusPerplexity>(json!({}), vec![text("a", "bits_per_byte", -1.0, 1)]);
        assert!(alone.is_ok_and(|found| found.iter().all(|figure| figure.stderr.is_none())));
        for rows in [
            vec![text("a", "bits_per_byte", -1.0, 1), text("b", "word_perplexity", -1.0, 1)],
            vec![text("a", "bits_per_byte", -1.0, 0)],
            vec![text("a", "loss", -1.0, 1)],
        ] {
            assert!(figures::<CorpusPerplexity>(json!({}), rows).is_err());
        }
        assert!(CorpusPerplexity::prepare(json!([])).is_err());
    }
}
