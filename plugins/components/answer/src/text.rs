//! Texts: the keywords that they mention, and the words that they share with a reference.

use crate::canonical::{is_nothing, member, shown, shown_value, value};
use crate::judged::{Judgement, tagged};
use crate::keywords::Keywords;
use crate::settings::{Form, Settings};
use gage_overlap_kit::rouge::{Rouge, ScoreSelection};
use gage_overlap_kit::tokens::Tokenizer;
use gage_overlap_kit::vocabulary::TextReader;
use gage_reasoning_kit::ids::{items, scalar};
use gage_reasoning_kit::share;
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, ScoreCard};
use std::borrow::Cow;

/// Method that splits texts into words.
const READING: TextReader = TextReader { tokenizer: Tokenizer::Unicode, stems: false };

/// Maximum number of keywords that an explanation or a detail names.
const MAX_NAMED: usize = 8;

/// Scores a text by the share of keywords that it mentions, if there are any. Otherwise the score is the F1 of its
/// words, which is 1 for the same text. `value` of the ground truth may be a list of texts, and `aliases` are further
/// ones; the best of them counts.
///
/// # Errors
/// `invalid-input` for malformed keywords.
pub(crate) fn score(
    settings: &Settings,
    prediction: &Value,
    reference: &Value,
    form: Form,
) -> Result<Judgement, PluginError> {
    let own_keywords = match settings.keywords(form) {
        Some(_) => None,
        None => Keywords::read(member(reference, "keywords"), form.normalizer())
            .map_err(|problem| PluginError::invalid_input(problem).at("/keywords"))?,
    };
    let keywords = settings.keywords(form).or(own_keywords.as_ref());
    let others = items(member(reference, "aliases"));
    let given: Vec<&Value> =
        items(value(reference)).iter().chain(others).filter(|text| !is_nothing(text)).collect();
    let texts: Vec<Cow<'_, str>> = given.iter().filter_map(|text| scalar(text)).map(Cow::Owned).collect();
    let failed = |tag, why| {
        let of_keywords = keywords.map(|_| "keyword_coverage");
        let of_texts =
            if texts.is_empty() { &[] as &[&str] } else { &["exact_match", "token_f1", "rouge_l"] };
        let names: Vec<&str> = of_keywords.into_iter().chain(of_texts.iter().copied()).collect();
        Ok(Judgement::failed(tag, why, &names, shown(prediction), shown(reference)))
    };
    if given.is_empty() && keywords.is_none() {
        return failed("missing_reference", "there is neither a ground truth nor a keyword");
    }
    let predicted = value(prediction);
    if is_nothing(predicted) {
        return failed("missing_prediction", "there is no text");
    }
    let Some(predicted) = scalar(predicted) else {
        return failed("invalid_format", "the answer is neither a text, a number nor a boolean");
    };
    if texts.len() < given.len() {
        return failed("invalid_reference", "the ground truth must be a text, or a list of texts");
    }
    Ok(compared(settings, &predicted, &texts, keywords, form))
}

fn compared(
    settings: &Settings,
    predicted: &str,
    texts: &[Cow<'_, str>],
    keywords: Option<&Keywords>,
    form: Form,
) -> Judgement {
    let normalized = form.normalizer().apply(predicted);
    let mut explained = Vec::new();
    let mut card = ScoreCard::of(0.0);
    let rouge = (!texts.is_empty()).then(|| Rouge::new(READING, ScoreSelection::Words, predicted, texts));
    let is_same = texts.iter().any(|text| form.normalizer().apply(text) == normalized);
    // Texts without any words may be equal, although they share none.
    let token_f1 = match rouge.as_ref().and_then(|rouge| rouge.ngrams.first().copied().flatten()) {
        _ if is_same => 1.0,
        Some(share) => share.f1,
        None => 0.0,
    };
    let mut score = token_f1;
    let missing = keywords.map(|keywords| (keywords, keywords.missing_in(&normalized)));
    if let Some((keywords, missing)) = &missing {
        let found = keywords.len() - missing.len();
        score = share(found, keywords.len());
        card = card.sub_score("keyword_coverage", score);
        explained.push(format!("{found} of {} keywords", keywords.len()));
        if !missing.is_empty() {
            explained.push(format!("missing: {}", names(missing.iter().copied())));
        }
    }
    if let Some(rouge) = &rouge {
        card = card.sub_score("exact_match", if is_same { 1.0 } else { 0.0 }).sub_score("token_f1", token_f1);
        explained.push(format!("token F1 {token_f1:.3}"));
        match rouge.whole {
            Some(share) => card = card.sub_score("rouge_l", share.f1),
            None => explained.push("too long for ROUGE-L".to_owned()),
        }
    }
    let pass = settings.passes(score, score == 1.0);
    let card = ScoreCard { primary_score: Some(score), ..card }.pass(pass).explain(explained.join("; "));
    let has_missing = missing.as_ref().is_some_and(|(_, missing)| !missing.is_empty());
    let card = tagged(card, has_missing, "missing_item");
    let card =
        tagged(card, missing.is_none() && !pass, if score > 0.0 { "low_overlap" } else { "wrong_answer" });
    let best = texts.get(rouge.map_or(0, |rouge| rouge.best));
    let mut reference = shown_value(best.map_or("", |text| text));
    if let Some(fields) = reference.as_object_mut() {
        if best.is_none() {
            fields.clear();
        }
        let named = keywords.map(|keywords| keywords.names().take(MAX_NAMED).map(short).collect::<Vec<_>>());
        fields.extend(named.map(|named| ("keywords".to_owned(), named.into())));
    }
    Judgement { card, prediction: shown_value(predicted), reference }
}

fn names<'text>(keywords: impl Iterator<Item = &'text str>) -> String {
    keywords.take(MAX_NAMED).map(short).collect::<Vec<_>>().join(", ")
}

/// Returns the beginning of a keyword.
fn short(keyword: &str) -> &str {
    const MAX_SHOWN_CHARS: usize = 32;
    keyword.get(..keyword.floor_char_boundary(MAX_SHOWN_CHARS)).unwrap_or_default()
}
