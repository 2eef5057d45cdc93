//! Aggregations: the names of the ways in which scores become one figure.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// A way to make one figure of many scores. Repeats of a sample are averaged before it counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, strum::EnumString, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Aggregation {
    /// The arithmetic mean.
    Mean,
    /// The mean weighted by `detail.weight` of each score card, 1 where it says nothing; 0 when
    /// all weights are 0.
    WeightedMean,
    /// The sum.
    Sum,
    /// The least score.
    Min,
    /// The greatest score.
    Max,
    /// The middle score, of an even number the mean of the middle two. Keeps 8 bytes a score.
    Median,
    /// The score that so many percent of the scores do not exceed, from 1 to 99; between two scores
    /// it is interpolated: definition 7 of Hyndman and Fan, "Sample Quantiles in Statistical
    /// Packages", The American Statistician 50 (1996). Keeps 8 bytes a score.
    #[strum(disabled)]
    Percentile(u8),
    /// How many samples were scored.
    Count,
    /// The share of samples that passed, of those whose card says whether they did.
    PassRate,
    /// No value, but how often each category occurs: `detail.category` of the card, else
    /// `detail.prediction`, else the score. The second name is the older one.
    #[strum(to_string = "categorical", serialize = "categorical_count")]
    Categorical,
    /// No value: the scores are counted, and listed in `samples.jsonl`.
    Identity,
    /// What a component makes of the cards; see [`CustomAggregator`](crate::CustomAggregator). Holds its name.
    #[strum(disabled)]
    Custom(String),
}

impl Aggregation {
    /// The aggregation of the host with this name: `mean`, `p90` or `percentile_90`, or `categorical_count`, the
    /// older name of `categorical`. Never [`Aggregation::Custom`].
    pub fn parse(name: &str) -> Option<Aggregation> {
        name.parse().ok().or_else(|| percentile(name))
    }

    /// The name in suites: of a percentile the short one, `p90`.
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Aggregation::Percentile(percent) => Cow::Owned(format!("p{percent}")),
            Aggregation::Custom(name) => Cow::Borrowed(name),
            named => Cow::Borrowed(named.into()),
        }
    }
}

/// Reads `p90` and `percentile_90`: from 1 to 99, without a sign or a leading zero.
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
    /// A name that the host does not have is that of a component.
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
