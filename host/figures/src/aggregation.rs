//! Aggregations: the named ways to combine scores into one figure.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// A way to combine scores into one figure. Repeats of a sample are averaged first.
#[derive(Clone, Debug, PartialEq, Eq, Hash, strum::EnumString, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Aggregation {
    /// The arithmetic mean.
    Mean,
    /// The mean weighted by `detail.weight` of each score card, 1 if absent; 0 if all weights are 0.
    WeightedMean,
    /// The sum.
    Sum,
    /// The smallest score.
    Min,
    /// The largest score.
    Max,
    /// The middle score, or the mean of the middle two for an even number. Keeps 8 bytes per score.
    Median,
    /// A percentile of the scores, from 1 to 99, interpolated between two scores. Keeps 8 bytes per score.
    ///
    /// Definition 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American Statistician
    /// 50 (1996).
    #[strum(disabled)]
    Percentile(u8),
    /// Number of scored samples.
    Count,
    /// Share of samples that passed, among those whose card reports whether they did.
    PassRate,
    /// No value, but the count of each category: `detail.category` of the card, else
    /// `detail.prediction`, else the score. The second name is the older one.
    #[strum(to_string = "categorical", serialize = "categorical_count")]
    Categorical,
    /// No value: the scores are counted, and listed in `samples.jsonl`.
    Identity,
    /// Aggregation by a component, which has this name; see [`CustomAggregator`](crate::CustomAggregator).
    #[strum(disabled)]
    Custom(String),
}

impl Aggregation {
    /// Returns the built-in aggregation with this name: `mean`, `p90` or `percentile_90`, or `categorical_count`, the
    /// older name of `categorical`. Never returns [`Aggregation::Custom`].
    pub fn parse(name: &str) -> Option<Aggregation> {
        name.parse().ok().or_else(|| percentile(name))
    }

    /// Returns the name used in suites; for a percentile, the short one, `p90`.
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Aggregation::Percentile(percent) => Cow::Owned(format!("p{percent}")),
            Aggregation::Custom(name) => Cow::Borrowed(name),
            named => Cow::Borrowed(named.into()),
        }
    }
}

/// Parses `p90` and `percentile_90`: from 1 to 99, without a sign or a leading zero.
fn percentile(name: &str) -> Option<Aggregation> {
    let digits = name.strip_prefix("percentile_").or_else(|| name.strip_prefix('p'))?;
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    let percent = digits.parse().ok().filter(|percent| is_plain && (1..=99).contains(percent));
    percent.map(Aggregation::Percentile)
}

impl std::fmt::Display for Aggregation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.name())
    }
}

impl Serialize for Aggregation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

impl<'de> Deserialize<'de> for Aggregation {
    /// Parses a name; one that is not built in is a component's.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Aggregation, D::Error> {
        let name = String::deserialize(deserializer)?;
        Ok(Aggregation::parse(&name).unwrap_or(Aggregation::Custom(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json, to_value};
    use strum::VariantNames as _;

    #[test]
    fn names_are_those_of_files_and_come_back() {
        let percentiles = [1, 5, 50, 90, 99].map(Aggregation::Percentile);
        let custom = Aggregation::Custom("corpus_bleu".to_owned());
        assert_eq!(Aggregation::parse("corpus_bleu"), None);
        let named = Aggregation::VARIANTS.iter().filter_map(|name| Aggregation::parse(name));
        assert_eq!(named.clone().count(), 10);
        for aggregation in named.chain(percentiles).chain([custom]) {
            let value = to_value(&aggregation).unwrap();
            assert_eq!(value, json!(aggregation.to_string()));
            assert_eq!(from_value::<Aggregation>(value).unwrap(), aggregation);
        }
    }

    #[test]
    fn percentiles_have_two_spellings_and_no_others() {
        for name in ["p90", "percentile_90"] {
            let aggregation = Aggregation::parse(name).unwrap();
            assert_eq!((&aggregation, aggregation.name().as_ref()), (&Aggregation::Percentile(90), "p90"));
        }
        for name in [
            "p",
            "p0",
            "p100",
            "p05",
            "p+5",
            "p-5",
            "p5.0",
            "p 5",
            "percentile_",
            "percentile90",
            "P5",
            "p９",
        ] {
            assert_eq!(Aggregation::parse(name), None, "{name}");
        }
        assert_eq!(Aggregation::parse("categorical_count"), Some(Aggregation::Categorical));
        assert_eq!((Aggregation::parse(""), Aggregation::parse("Mean")), (None, None));
    }
}
