//! `canonical_answer`: correctness of a parsed answer, by its type.

use crate::answer_type::AnswerType;
use crate::canonical::{AnswerMember, SCHEMA_VERSION, canonical_form, final_answer, is_nothing, shown};
use crate::judged::Judgement;
use crate::settings::Settings;
use crate::{plain, reasoning};
use gage_choice_kit::Choices;
use gage_sdk::metric::{Inputs, Metric, MetricSpec, ValueKind};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::Params;
use gage_text_kit::json::read;
use gage_text_kit::references::plain_json;
use gage_text_kit::text::collapse;
use gage_text_kit::value::as_text;

const ANSWER: usize = 0;
const KIND: usize = 1;
const REFERENCE: usize = 2;
const OPTIONS: usize = 3;

/// Sub-scores for which higher is better.
const SUB_SCORES: [&str; 12] = [
    "exact_match",
    "within_tol",
    "f1",
    "precision",
    "recall",
    "order",
    "keyword_coverage",
    "token_f1",
    "rouge_l",
    "claim_coverage",
    "evidence_rate",
    "step_completeness",
];

/// Scores a parsed answer, 0 to 1, by its type. The first source that determines the type wins: the parameter
/// `answer_type`; the ground truth's own `answer_type`, or members that only one type has; the kind that the answer was
/// extracted as; the value of the ground truth. A ground truth with a list of `aliases` is a choice, unless a member
/// determines another type. A ground truth that is a bare text is a choice if there are options.
/// Otherwise it is an error if nothing else determines its type. The type that a prediction claims for itself does not
/// count.
///
/// | type | primary score | sub-scores |
/// | --- | --- | --- |
/// | `choice` | 1 for the label, one of its `aliases`, or the same option, else 0 | `exact_match` |
/// | `number` | 1 within the tolerance, else 0 | `within_tol`, `mae`, `relative_error` |
/// | `list` | F1 of the items | `f1`, `precision`, `recall`; `order` where it counts |
/// | `text` | the share of the keywords that are mentioned; without keywords the F1 of words | `keyword_coverage`, `token_f1`, `rouge_l`, `exact_match` |
/// | `reasoning` | that of `final_answer`, by its own type | those of that type; `claim_coverage`, `evidence_rate`, `step_completeness` |
///
/// Answers and ground truths are values, objects in the canonical form of their type, or whole canonical answers with
/// `prediction` and `ground_truth`. If only one side is an argument, its final answer is compared. A parsed object in
/// none of these forms holds the answer under `answer`, as in `{"answer": {"value": 12.4, "unit": "%"}}`. A text that
/// spells such an object is read as the object.
///
/// Texts are compared without case, with single spaces and composed characters. `normalize: none` only strips white
/// space at the ends; the words of `token_f1` and `rouge_l` always ignore case.
///
/// Numbers may be texts as people write them. They are converted to the unit of the ground truth, and assumed to be in
/// it if they have none. If the ground truth has no unit, the unit of the answer is ignored. Booleans are not numbers.
/// Aliases of a list are an object of lists with the items as keys. A text as a list is split at commas, semicolons and
/// line breaks. Keywords are found as whole words.
///
/// A ground truth in the form of the Sample's references is its text. With `any_reference` it is a list of correct
/// answers, and the best match counts.
///
/// Parameters take precedence over the ground truth, except `unit`, which applies to a ground truth without a unit.
/// Without `threshold` a card passes if it has no fault: all items in order, all keywords, an F1 of 1.
///
/// A parsed answer that is missing or null scores 0 with the tags `missing_prediction` and `parse_failed`. Its
/// sub-scores are 0, and it never passes. The same holds for a blank text, a malformed answer, and a ground truth that
/// is missing or malformed. Their tags are `missing_prediction`, `invalid_format`, `missing_reference` or
/// `invalid_reference`. If the ground truth is missing, the tag is `missing_reference`, even if the answer is missing
/// too.
///
/// Other tags: `wrong_answer`, `no_choice_found`, `unknown_reference`, `wrong_unit`, `missing_item` (also of keywords),
/// `extra_item`, `wrong_order`, `low_overlap`, `missing_final_answer`, `missing_claims`, `missing_evidence`,
/// `missing_steps`. JSON that cannot be stored (`1e400`), an unknown `answer_type` or `schema_version`, and unusable
/// members of the ground truth are errors of the sample.
///
/// Takes time linear in the texts, times the keywords (64 spellings at most). ROUGE-L is omitted for texts of more than
/// some 32,000 words each.
///
/// Source: the contract of canonical answers and score cards, version 1.
pub struct CanonicalAnswer {
    settings: Settings,
}

impl Metric for CanonicalAnswer {
    fn name() -> &'static str {
        "canonical_answer"
    }

    fn spec() -> MetricSpec {
        let spec = MetricSpec::new("7", "Correctness of a parsed answer, according to its type");
        let spec = SUB_SCORES.iter().fold(spec, |spec, name| spec.sub_score(name, true));
        let spec = spec
            .sub_score("mae", false)
            .sub_score("relative_error", false)
            .input("answer", &["answer_field", "parsed_field"], &["model_output.parsed"], ValueKind::Json)
            .input("kind", &["kind_field"], &["model_output.extraction.kind"], ValueKind::Text)
            .input(
                "reference",
                &["reference_field", "label_field"],
                &["sample.ground_truth", "sample.metadata.ground_truth", "sample.label"],
                ValueKind::Json,
            )
            .input(
                "options",
                &["option_map_field"],
                &["sample.metadata.option_map", "sample.options"],
                ValueKind::Json,
            );
        Settings::declared(spec)
    }

    fn prepare(params: Value) -> Result<Self, PluginError> {
        Ok(CanonicalAnswer { settings: Settings::new(&Params::new(params)?)? })
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let answer = AnswerMember::new(read(inputs.value(ANSWER), "answer")?, "prediction")?.value;
        let answer = canonical_form(answer);
        let reference = plain_json(&read(inputs.value(REFERENCE), "reference")?).into_owned();
        let reference = AnswerMember::new(reference, "ground_truth")?;
        let choices = Choices::new(inputs.value(OPTIONS));
        let kind = as_text(inputs.value(KIND)).and_then(|kind| AnswerType::parse(&kind));
        let named = match self.settings.answer_type {
            Some(given) => Some(given),
            None => AnswerType::named(&reference.around)?,
        };
        let case = Case { answer: &answer, named, kind, choices: &choices };
        let right = match &reference.value {
            Value::Array(items) if self.settings.any_reference && !items.is_empty() => items.as_slice(),
            single => std::slice::from_ref(single),
        };
        let cards = right.iter().map(|right| self.card(&case, right));
        let cards: Vec<ScoreCard> = cards.collect::<Result<_, PluginError>>()?;
        let rank = |card: &ScoreCard| (card.pass == Some(true), card.primary_score.unwrap_or_default());
        // The first of equally good cards wins.
        let best = cards.into_iter().reduce(|best, card| if rank(&card) > rank(&best) { card } else { best });
        best.ok_or_else(unknown_answer_type)
    }
}

/// An answer with the context for comparing it with references.
struct Case<'item> {
    answer: &'item Value,
    /// Type that is given for the answer.
    named: Option<AnswerType>,
    /// Kind that the answer was extracted as.
    kind: Option<AnswerType>,
    choices: &'item Choices,
}

impl CanonicalAnswer {
    /// Returns the card for one correct answer.
    fn card(&self, case: &Case<'_>, reference: &Value) -> Result<ScoreCard, PluginError> {
        let Case { answer, named, kind, choices } = *case;
        let answer_type = match named {
            Some(named) => Some(named),
            None => AnswerType::of(reference, kind, choices)?,
        };
        let Some(answer_type) = answer_type else {
            let (tag, why) = match (is_nothing(answer), is_nothing(reference)) {
                (_, true) => ("missing_reference", "there is no ground truth"),
                (true, false) => ("missing_prediction", "there is no parsed answer"),
                _ => return Err(unknown_answer_type()),
            };
            let failed = Judgement::failed(tag, why, &[], shown(answer), shown(reference));
            return Ok(finished(failed, None, answer.is_null()));
        };
        let judged = match answer_type {
            AnswerType::Reasoning => reasoning::score(&self.settings, kind, answer, reference, choices)?,
            plain => {
                let (given, expected) = (final_answer(answer), final_answer(reference));
                plain::score(&self.settings, plain, given, expected, choices)?
            }
        };
        Ok(finished(judged, Some(answer_type), answer.is_null()))
    }
}

/// Returns the error for an answer of unknown type.
fn unknown_answer_type() -> PluginError {
    PluginError::invalid_input(
        "the type of the answer is unknown; set 'answer_type' to choice, number, list, text or \
         reasoning, or give the ground truth in canonical form",
    )
}

/// Returns the card with its detail, explained in one line.
fn finished(judged: Judgement, answer_type: Option<AnswerType>, is_unparsed: bool) -> ScoreCard {
    let explain = judged.card.explain.map(|text| collapse(&text).into_owned());
    let card = ScoreCard { explain, ..judged.card }.detail(&json!({
        "schema_version": SCHEMA_VERSION,
        "answer_type": answer_type.map(AnswerType::name),
        "prediction": judged.prediction,
        "reference": judged.reference,
    }));
    if is_unparsed { card.tag("parse_failed") } else { card }
}
