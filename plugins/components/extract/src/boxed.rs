//! `boxed`: the content of the last `\boxed{…}` or `\fbox{…}`.

use crate::kinds::{ReadAs, with_evidence};
use crate::number_style::style_of;
use crate::plain_numbers::plain_numbers;
use gage_sdk::extractor::{Answer, Extractor, ExtractorSpec, Inputs};
use gage_sdk::{MemberSpec, PluginError, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::latex_boxed::{last_box, without_commands};

/// LaTeX spellings of characters in numbers and around them.
const SPELLINGS: [(&str, &str); 8] = [
    ("{,}", ","),
    (r"\,", ""),
    (r"\!", ""),
    (r"\;", ""),
    (r"\$", "$"),
    (r"\%", "%"),
    (r"^{\circ}", "°"),
    (r"^\circ", "°"),
];

/// Returns the content of the last closed box, without commands around it such as `\text{…}`. A box that is empty, or
/// unreadable as the requested kind, is not an answer; an earlier one does not replace it.
pub struct LatexBox {
    read_as: ReadAs,
}

impl Extractor for LatexBox {
    fn name() -> &'static str {
        "boxed"
    }

    fn spec() -> ExtractorSpec {
        let description = r"Content of the last \boxed{…} or \fbox{…}";
        ExtractorSpec::new(MemberSpec::new("4", description, json!({ "kind": ReadAs::schema() })))
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        Ok(LatexBox { read_as: ReadAs::from_params(&Params::new(params)?)? })
    }

    fn extract(&self, inputs: Inputs<'_>) -> Result<Option<Answer>, PluginError> {
        let Some(text) = inputs.text(0) else { return Ok(None) };
        let Some(found) = last_box(text) else { return Ok(None) };
        let held = without_commands(found.held);
        let answer = match self.read_as {
            ReadAs::Number => self.read_as.answer(&plain_numbers(&plain(held), style_of(text))),
            ReadAs::Text | ReadAs::Choice => self.read_as.answer(held),
        }?;
        Ok(answer.map(|answer| with_evidence(answer, found.whole)))
    }
}

fn plain(latex: &str) -> String {
    SPELLINGS.iter().fold(latex.to_owned(), |text, (spelled, plain)| text.replace(spelled, plain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::test_support::{absent, answer, value};

    #[test]
    fn boxes() {
        let (number, choice) = (json!({ "kind": "number" }), json!({ "kind": "choice" }));
        for (params, text, expected) in [
            (json!({}), r"so \boxed{1}, no, \boxed{\frac{1}{2}}.", json!({ "value": r"\frac{1}{2}" })),
            (json!({}), r"\boxed{\text{ Paris }}", json!({ "value": "Paris" })),
            (json!({}), r"\fbox{e\'{e}}", json!({ "value": r"e\'{e}" })),
            (json!({}), r"\boxed{1} \boxed{ }", json!(null)),
            (json!({}), "42", json!(null)),
            (json!({}), "", json!(null)),
            (number.clone(), r"\boxed{1{,}234\%}", json!({ "value": 1234, "unit": "%" })),
            (number.clone(), r"\boxed{x = \$-5}", json!({ "value": -5, "unit": "$" })),
            (number.clone(), r"\boxed{90^\circ}", json!({ "value": 90, "unit": "°" })),
            (number.clone(), r"\boxed{\frac{1}{2}}", json!({ "value": 0.5 })),
            (number.clone(), r"\boxed{1.2 \times 10^3}", json!({ "value": 1200 })),
            (number, r"\boxed{x}", json!(null)),
            (choice.clone(), r"\boxed{\textbf{(c)}}", json!({ "value": "C" })),
            (choice, r"\boxed{42}", json!(null)),
        ] {
            assert_eq!(value::<LatexBox>(params, text), expected, "{text}");
        }
        assert_eq!(absent::<LatexBox>(json!({})), Ok(None));
        assert!(LatexBox::prepare(json!({ "kind": "list" })).is_err());
    }

    #[test]
    fn long_texts_take_linear_time() {
        for text in [r"\boxed{".repeat(150_000), r"\text{".repeat(150_000) + &"}".repeat(150_000)] {
            assert_eq!(value::<LatexBox>(json!({}), &text), json!(null));
        }
        let nested = format!(r"\boxed{{{}x{}}}", r"\text{".repeat(150_000), "}".repeat(150_000));
        let evidence = answer::<LatexBox>(json!({}), &nested).ok().flatten().and_then(|found| found.evidence);
        assert!(evidence.is_some_and(|text| text.len() < 600));
    }
}
