//! `krippendorff_alpha`: agreement between several judges.

use crate::detail::sub_scores;
use gage_score_kit::Sum;
use gage_sdk::aggregator::{Aggregator, Figure, Row};
use gage_sdk::serde_json::Value;
use gage_sdk::{MemberSpec, PluginError, json};
use gage_text_kit::Params;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Krippendorff's α (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"): 1 minus the ratio of observed
/// disagreement to the disagreement expected by chance. 1 is perfect agreement, 0 is agreement by chance, and below 0
/// is less.
///
/// Each row is a unit; its ratings are the sub-scores whose names begin with `prefix`, default `judge_`. Missing
/// ratings are ignored, and a unit with fewer than two contributes nothing. The parameter `level` defines a difference:
/// `nominal` (the default), 1 for any; `ordinal`, the number of ratings between two values, with half of those at both;
/// `interval`, their distance, each squared.
///
/// Figures: `krippendorff_alpha`, whose count is the number of units with two ratings or more; `ratings`, the number of
/// ratings in these units. `krippendorff_alpha` is omitted if all ratings are equal, since nothing can be expected
/// then.
///
/// The state takes some 10 to 60 bytes for each distinct set of ratings of a unit. On a scale of five with three judges
/// there are 35, regardless of the number of rows. Rows count once, regardless of their weight.
pub struct KrippendorffAlpha {
    prefix: String,
    level: Level,
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Nominal,
    Ordinal,
    Interval,
}

/// Sorted ratings of a unit, as JSON, and the number of units that have them.
#[derive(Default, Serialize, Deserialize)]
pub struct KrippendorffState(BTreeMap<String, u64>);

impl Aggregator for KrippendorffAlpha {
    type State = KrippendorffState;

    fn name() -> &'static str {
        "krippendorff_alpha"
    }

    fn spec() -> MemberSpec {
        let properties = json!({
            "prefix": {
                "type": "string",
                "default": "judge_",
                "description": "prefix of the sub-scores that hold the judges' ratings",
            },
            "level": {
                "enum": ["nominal", "ordinal", "interval"],
                "default": "nominal",
                "description": "level of measurement of the ratings",
            },
        });
        MemberSpec::new("1", "Agreement of several judges beyond chance", properties)
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?.known(|| ["prefix", "level"])?;
        let levels =
            [("nominal", Level::Nominal), ("ordinal", Level::Ordinal), ("interval", Level::Interval)];
        let level = params.one_of("level", &levels, Level::Nominal)?;
        Ok(KrippendorffAlpha { prefix: params.text_or("prefix", "judge_")?, level })
    }

    fn add(&self, state: &mut KrippendorffState, row: Row) -> Result<(), PluginError> {
        // Minus zero is zero.
        let mut ratings: Vec<f64> =
            sub_scores(&row.card, &self.prefix).map(|(_, rating)| rating + 0.0).collect();
        if ratings.len() >= 2 {
            ratings.sort_by(f64::total_cmp);
            *state.0.entry(json!(ratings).to_string()).or_default() += 1;
        }
        Ok(())
    }

    fn finish(&self, KrippendorffState(units): KrippendorffState) -> Result<Vec<Figure>, PluginError> {
        let read = |(ratings, count): (&String, &u64)| {
            gage_sdk::serde_json::from_str::<Vec<f64>>(ratings).map(|ratings| (ratings, *count as f64))
        };
        let units: Result<Vec<(Vec<f64>, f64)>, _> = units.iter().map(read).collect();
        let mut units =
            units.map_err(|error| PluginError::internal(format!("the state cannot be read: {error}")))?;
        let mut margins = margins(&units);
        if self.level == Level::Ordinal {
            to_ranks(&mut units, &mut margins);
        }
        let ratings: f64 = margins.iter().map(|(_, count)| count).sum();
        let count = units.iter().map(|(_, count)| *count as u64).sum();
        let observed: Sum = units
            .iter()
            .map(|(ratings, count)| {
                let values: Vec<(f64, f64)> = ratings.iter().map(|rating| (*rating, 1.0)).collect();
                count * self.difference(&values) / (ratings.len() as f64 - 1.0)
            })
            .collect();
        let expected = self.difference(&margins);
        if expected <= 0.0 {
            return Ok(Vec::new());
        }
        let alpha = 1.0 - (ratings - 1.0) * observed.value() / expected;
        Ok(vec![Figure::new("krippendorff_alpha", alpha, count), Figure::new("ratings", ratings, count)])
    }

    fn merge(&self, state: &mut KrippendorffState, other: &KrippendorffState) -> Result<(), PluginError> {
        other.0.iter().for_each(|(ratings, count)| *state.0.entry(ratings.clone()).or_default() += count);
        Ok(())
    }
}

impl KrippendorffAlpha {
    /// Returns the sum of the differences of all pairs, in both orders, of sorted values with their counts. In linear
    /// time: for squared distances, pairs add up to 2n · Σ (value − mean)².
    fn difference(&self, values: &[(f64, f64)]) -> f64 {
        let sum = |part: &dyn Fn(f64, f64) -> f64| {
            values.iter().map(|(value, count)| part(*value, *count)).collect::<Sum>().value()
        };
        let total = sum(&|_, count| count);
        if self.level == Level::Nominal {
            let runs = values.chunk_by(|left, right| left.0 == right.0);
            let same = runs.map(|run| run.iter().map(|(_, count)| count).sum::<f64>().powi(2)).sum::<f64>();
            return total * total - same;
        }
        if values.first().map(|(value, _)| value) == values.last().map(|(value, _)| value) {
            return 0.0;
        }
        let mean = sum(&|value, count| value * count) / total;
        2.0 * total * sum(&|value, count| count * (value - mean).powi(2))
    }
}

/// Returns the distinct ratings in order, each with its count over all units.
fn margins(units: &[(Vec<f64>, f64)]) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = units
        .iter()
        .flat_map(|(ratings, count)| ratings.iter().map(move |rating| (*rating, *count)))
        .collect();
    all.sort_by(|left, right| left.0.total_cmp(&right.0));
    let runs = all.chunk_by(|left, right| left.0 == right.0);
    runs.filter_map(|run| Some((run.first()?.0, run.iter().map(|(_, count)| count).sum()))).collect()
}

/// Replaces each rating with the number of ratings below it plus half of those equal to it. The ordinal difference of
/// two ratings is then the distance of their ranks.
fn to_ranks(units: &mut [(Vec<f64>, f64)], margins: &mut [(f64, f64)]) {
    let mut below = 0.0;
    let mut ranks = Vec::with_capacity(margins.len());
    for (rating, count) in margins.iter_mut() {
        let rank = below + *count / 2.0;
        below += *count;
        ranks.push((*rating, rank));
        *rating = rank;
    }
    let rank_of = |rating: f64| {
        let place = ranks.partition_point(|(other, _)| *other < rating);
        ranks.get(place).map_or(rating, |(_, rank)| *rank)
    };
    for rating in units.iter_mut().flat_map(|(ratings, _)| ratings) {
        *rating = rank_of(*rating);
    }
}

#[cfg(test)]
mod tests;
