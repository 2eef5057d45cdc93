//! `last_number`: the last number in the text, or the first.

use crate::kinds::{last_number, number_answer, takes_last, which_schema, with_evidence};
use crate::number_style::style_of;
use crate::plain_numbers::{beginning, ending, plain_numbers};
use gage_sdk::extractor::{Answer, Extractor, ExtractorSpec, Inputs};
use gage_sdk::{MemberSpec, PluginError, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::number_search::NumberSearch;
use gage_text_kit::params::flag_schema;

/// Returns the last number of the text, with the unit next to it; no answer if there is no number. A number beyond the
/// range of a float is an error of the sample.
///
/// With `fractions`, `3/4`, `1 1/2` and `½` are one number. By default `3/4` ends in the number 4, as in the program
/// that first scored these suites. With `integer` the decimals are cut off: 42.9 becomes 42, and -0.5 becomes 0.
pub struct LastNumber {
    last: bool,
    search: NumberSearch,
    integer: bool,
}

impl Extractor for LastNumber {
    fn name() -> &'static str {
        "last_number"
    }

    fn spec() -> ExtractorSpec {
        ExtractorSpec::new(MemberSpec::new(
            "3",
            "Last number in the text, with its unit",
            json!({
                "which": which_schema(),
                "fractions": flag_schema(false, "Read 3/4 as one number instead of two"),
                "integer": flag_schema(false, "Cut off the decimals"),
            }),
        ))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        Ok(LastNumber {
            last: takes_last(&params)?,
            search: NumberSearch { fractions: params.flag("fractions", false)? },
            integer: params.flag("integer", false)?,
        })
    }

    fn extract(&self, inputs: Inputs<'_>) -> Result<Option<Answer>, PluginError> {
        let Some(text) = inputs.text(0) else { return Ok(None) };
        let searched = if self.last { ending(text) } else { beginning(text) };
        let plain = plain_numbers(searched, style_of(text));
        let text = plain.as_ref();
        let found = match (self.last, self.search.fractions) {
            (true, true) => last_number(text)?,
            (true, false) => self.search.last(text)?,
            (false, _) => self.search.first(text)?,
        };
        Ok(found.map(|mut found| {
            if self.integer {
                // Adding zero turns -0 into 0.
                found.value = found.value.trunc() + 0.0;
            }
            with_evidence(number_answer(&found), found.spelled)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::test_support::{absent, answer, value};

    #[test]
    fn numbers_with_units() {
        for (params, text, expected) in [
            (json!({}), "5% or 1,234.5 km.", json!({ "value": 1234.5, "unit": "km" })),
            (json!({ "which": "first" }), "-5% or 12 km.", json!({ "value": -5, "unit": "%" })),
            (json!({}), "答案是 36 元", json!({ "value": 36, "unit": "元" })),
            (json!({}), "42 apples", json!({ "value": 42 })),
            (json!({ "integer": true }), "42.9", json!({ "value": 42 })),
            (json!({ "integer": true }), "-.5", json!({ "value": 0 })),
            (json!({}), "3/4", json!({ "value": 4 })),
            (json!({ "fractions": true }), "3/4 cup", json!({ "value": 0.75 })),
            (json!({ "fractions": true }), "1 1/2 km", json!({ "value": 1.5, "unit": "km" })),
            (json!({}), "The answer is 3 million", json!({ "value": 3_000_000 })),
            (json!({}), "2.5 billion dollars", json!({ "value": 2_500_000_000_i64, "unit": "dollars" })),
            (json!({}), "一共3万人", json!({ "value": 30_000, "unit": "人" })),
            (json!({}), "so 10^3", json!({ "value": 1000 })),
            (json!({ "integer": true }), "1.2 × 10^3", json!({ "value": 1200 })),
            (json!({}), "1 000 000", json!({ "value": 1_000_000 })),
            (json!({}), "es sind 1\u{a0}234,5 km", json!({ "value": 1234.5, "unit": "km" })),
            (json!({}), "none", json!(null)),
            (json!({}), "", json!(null)),
        ] {
            assert_eq!(value::<LastNumber>(params, text), expected, "{text}");
        }
        let evidence =
            answer::<LastNumber>(json!({}), "so -7 kg").ok().flatten().and_then(|found| found.evidence);
        assert_eq!(evidence.as_deref(), Some("-7"));
        assert_eq!(absent::<LastNumber>(json!({})), Ok(None));
        assert!(answer::<LastNumber>(json!({}), "1e400").is_err());
    }

    #[test]
    fn long_texts_are_read() {
        let text = "1,2 -3.".repeat(150_000);
        assert_eq!(value::<LastNumber>(json!({}), &text)["value"], -3);
    }
}
