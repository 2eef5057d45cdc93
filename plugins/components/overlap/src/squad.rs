//! `squad`: answers to questions about a text, which may be unanswerable.

use crate::compared::{Common, ComparedTexts, with_common};
use gage_overlap_kit::ngrams::Ngrams;
use gage_overlap_kit::share::Share;
use gage_overlap_kit::vocabulary::Vocabulary;
use gage_sdk::metric::{Inputs, Metric, MetricSpec};
use gage_sdk::{PluginError, ScoreCard, json, serde_json};
use gage_text_kit::Params;
use gage_text_kit::references::Accepts;
use gage_text_kit::text::{lower, words};
use std::borrow::Cow;
use unicode_general_category::{GeneralCategory, get_general_category};

/// F1 of the words of an answer, 0 to 1, with the sub-score `exact_match`, computed like the evaluation scripts of
/// SQuAD. Case, ASCII punctuation, the articles a, an and the, and white space do not count. The best of several
/// references counts, separately for each of the two. An answer passes if it matches exactly, or reaches `threshold`.
///
/// Rajpurkar and others, "SQuAD: 100,000+ questions for machine comprehension of text", EMNLP 2016; "Know what you
/// don't know", ACL 2018.
///
/// In version 2.0, the default, an empty list of references means that the question has no answer, and an empty
/// prediction is right. The same holds for a list of only empty texts. In version 1.1 an empty list is a missing
/// reference, and F1 of two empty texts is 0.
///
/// Without a prediction, or without any value for the references, the scores are 0, with the tag
/// `missing_prediction` or `missing_reference`; a missing reference comes first. Time is linear in the length of the
/// texts.
pub struct Squad {
    common: Common,
    version: Version,
    has_threshold: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Metric for Squad {
    fn name() -> &'static str {
        "squad"
    }

    fn spec() -> MetricSpec {
        let spec = MetricSpec::new("3", "Word overlap of an answer with the correct answers (SQuAD)")
            .value_name("f1")
            .sub_score("exact_match", true);
        with_common(spec).param(
            "version",
            json!({
                "enum": ["2.0", "1.1"], "default": "2.0",
                "description": "Version of SQuAD: questions can be unanswerable in 2.0, but not in 1.1",
            }),
        )
    }

    fn prepare(params: serde_json::Value) -> Result<Self, PluginError> {
        let params = Params::new(params)?;
        Ok(Squad {
            common: Common::new(&params, Accepts::Scalars)?,
            version: params.one_of(
                "version",
                &[("1.1", Version::One), ("2.0", Version::Two)],
                Version::Two,
            )?,
            has_threshold: params.get("threshold").is_some(),
        })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let references = match self.common.references(inputs)? {
            Some(references) if self.version == Version::Two || !references.is_empty() => references,
            _ => return Ok(self.missing("missing_reference")),
        };
        let Some(prediction) = self.common.prediction(inputs)? else {
            return Ok(self.missing("missing_prediction"));
        };
        let mut candidates: Vec<Candidate<'_>> = references.iter().map(|text| Candidate::new(text)).collect();
        if self.version == Version::Two {
            candidates.retain(|candidate| !candidate.is_empty());
            if candidates.is_empty() {
                candidates.push(Candidate::new(""));
            }
        }
        let predicted = Candidate::new(&prediction);
        let (f1, is_exact, best) = self.best(&predicted, &candidates);
        let (reference, is_empty) =
            candidates.get(best).map_or(("", true), |candidate| (candidate.text, candidate.is_empty()));
        let mut card = ScoreCard::of(f1)
            .sub_score("exact_match", if is_exact { 1.0 } else { 0.0 })
            .detail(&ComparedTexts::new(&prediction, reference));
        if !self.has_threshold {
            card = card.pass(is_exact);
        }
        if !is_exact {
            card = card.tag(match (predicted.is_empty(), is_empty) {
                (true, _) => "empty_prediction",
                (false, true) if self.version == Version::Two => "answered_unanswerable",
                _ => "wrong_answer",
            });
        }
        Ok(self.common.judge(card))
    }
}

/// A text, and the part of it that counts.
struct Candidate<'text> {
    text: &'text str,
    normalized: String,
}

impl Candidate<'_> {
    fn new(text: &str) -> Candidate<'_> {
        Candidate { text, normalized: normalized(text) }
    }

    fn is_empty(&self) -> bool {
        words(&self.normalized).next().is_none()
    }
}

impl Squad {
    /// Returns the best F1, whether a reference matches, and the index of the reference with the best F1.
    fn best(&self, prediction: &Candidate<'_>, references: &[Candidate<'_>]) -> (f64, bool, usize) {
        let mut vocabulary = Vocabulary::default();
        let predicted: Vec<u32> =
            words(&prediction.normalized).map(|word| vocabulary.learn(Cow::Borrowed(word))).collect();
        let ngrams = Ngrams::new(&predicted, 1);
        let (mut best, mut is_exact, mut place) = (None, false, 0);
        for (number, reference) in references.iter().enumerate() {
            let reference: Vec<u32> =
                words(&reference.normalized).map(|word| vocabulary.find(word)).collect();
            is_exact |= reference == predicted;
            let occurrences = ngrams.occurrences_in(&reference);
            let matches = ngrams.matches(&occurrences).next().unwrap_or_default();
            let are_empty = predicted.is_empty() && reference.is_empty();
            let share = if are_empty && self.version == Version::Two {
                Share::new(1, 1, 1)
            } else {
                Share::new(matches, predicted.len() as u64, reference.len() as u64)
            };
            if Share::raise_to(&mut best, share) {
                place = number;
            }
        }
        (best.map_or(0.0, |best| best.f1), is_exact, place)
    }

    fn missing(&self, tag: &str) -> ScoreCard {
        self.common.missing(tag).pass(false).sub_score("exact_match", 0.0)
    }
}

/// Returns the text in lower case, without ASCII punctuation, and with spaces in place of articles.
fn normalized(text: &str) -> String {
    without_articles(lower(text).chars().filter(|character| !character.is_ascii_punctuation()))
}

/// Returns a text in lower case with spaces in place of articles.
pub(crate) fn without_articles(text: impl Iterator<Item = char>) -> String {
    let mut normalized = String::new();
    // Start of the current word.
    let mut start = 0;
    for character in text {
        if !is_word(character) {
            drop_article(&mut normalized, start);
            normalized.push(character);
            start = normalized.len();
        } else {
            normalized.push(character);
        }
    }
    drop_article(&mut normalized, start);
    normalized
}

/// Replaces the word at the end of a text with a space if it is an article.
fn drop_article(text: &mut String, start: usize) {
    if matches!(text.get(start..), Some("a" | "an" | "the")) {
        text.truncate(start);
        text.push(' ');
    }
}

/// Implements Python's `\w`: letters and numbers, but not combining marks.
fn is_word(character: char) -> bool {
    use GeneralCategory as Category;
    if character.is_ascii() {
        return character.is_ascii_alphanumeric() || character == '_';
    }
    // Looking these up costs more than everything else.
    if matches!(character, '\u{3041}'..='\u{3096}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}') {
        return true;
    }
    matches!(
        get_general_category(character),
        Category::UppercaseLetter
            | Category::LowercaseLetter
            | Category::TitlecaseLetter
            | Category::ModifierLetter
            | Category::OtherLetter
            | Category::DecimalNumber
            | Category::LetterNumber
            | Category::OtherNumber
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value;

    fn card(
        params: serde_json::Value,
        prediction: Value,
        references: Value,
    ) -> Result<ScoreCard, PluginError> {
        Squad::prepare(params)?.score(Inputs::new(&[prediction, references]))
    }

    #[test]
    fn texts_are_normalized() {
        for (text, expected) in [
            ("The U.S.A., an A-team!", "  usa   ateam"),
            ("a 中文 the，b", "  中文  ，b"),
            ("Then another", "then another"),
            ("", ""),
            ("thé a\u{301}", "thé  \u{301}"),
        ] {
            assert_eq!(normalized(text), expected, "{text}");
        }
    }

    #[test]
    fn scores() {
        let one = json!({ "version": "1.1" });
        for (params, prediction, references, f1, exact, tag) in [
            (json!({}), "The Eiffel Tower.".into(), json!(["Paris", "eiffel tower"]), 1.0, 1.0, None),
            (json!({}), "in Paris".into(), json!(["Paris"]), 2.0 / 3.0, 0.0, Some("wrong_answer")),
            (json!({}), "".into(), json!([]), 1.0, 1.0, None),
            (json!({}), "the".into(), json!(["", "!"]), 1.0, 1.0, None),
            (json!({}), "Paris".into(), json!([]), 0.0, 0.0, Some("answered_unanswerable")),
            (json!({}), "".into(), json!(["", "Paris"]), 0.0, 0.0, Some("empty_prediction")),
            (json!({}), Value::Number(7.0), json!([{ "answer": 7 }]), 1.0, 1.0, None),
            (json!({}), Value::Absent, json!([]), 0.0, 0.0, Some("missing_prediction")),
            (json!({}), "".into(), json!({ "text": [], "answer_start": [] }), 1.0, 1.0, None),
            (one.clone(), "".into(), json!([]), 0.0, 0.0, Some("missing_reference")),
            (one.clone(), "".into(), json!("the"), 0.0, 1.0, None),
            (one, "Paris".into(), json!(""), 0.0, 0.0, Some("wrong_answer")),
        ] {
            let Ok(card) = card(params, prediction, references.clone().into()) else {
                panic!("{references} is scored")
            };
            assert_eq!(card.primary_score, Some(f1), "{references}");
            assert_eq!(card.sub_scores.first().map(|score| score.value), Some(exact), "{references}");
            assert_eq!(card.error_tags.first().map(String::as_str), tag, "{references}");
            assert_eq!(card.pass, Some(exact == 1.0), "{references}");
        }
        for prediction in [Value::from(""), Value::Absent] {
            let absent = card(json!({}), prediction, Value::Absent).map(|card| card.error_tags);
            assert_eq!(absent, Ok(vec!["missing_reference".to_owned()]));
        }
        assert!(card(json!({}), "a".into(), json!([{}]).into()).is_err());
        assert!(Squad::prepare(json!({ "version": 2 })).is_err());
    }

    #[test]
    fn megabytes_are_scored() {
        let text = "the word, 中文 3.5 ".repeat(60_000);
        let found = card(json!({}), text.as_str().into(), text.as_str().into());
        assert_eq!(found.map(|card| card.pass), Ok(Some(true)));
    }

    #[test]
    fn a_threshold_takes_the_place_of_the_exact_match() {
        let found = card(json!({ "threshold": 0.5 }), "in Paris".into(), "Paris".into());
        assert_eq!(found.map(|card| card.pass), Ok(Some(true)));
    }
}
