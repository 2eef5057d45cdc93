//! Lists: precision, recall and F1 of the items, and their order if it counts.

use crate::canonical::{is_nothing, member, shown};
use crate::judged::{Judgement, tagged};
use crate::settings::{Form, Settings};
use gage_list_kit::{List, Matching};
use gage_reasoning_kit::Normalizer;
use gage_reasoning_kit::ids::{items, scalar};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, ScoreCard, json};
use gage_text_kit::answer::key;
use gage_text_kit::text::Normalization;
use std::collections::HashMap;

/// Maximum number of items of each kind that a card names.
const MAX_NAMED: usize = 8;
/// Maximum length of a named item in bytes.
const MAX_NAME_CHARS: usize = 32;

/// No change: texts are made comparable before their keys are computed.
const AS_IT_IS: Normalization = Normalization { case_sensitive: true, strip: false, collapse: false };

/// Scores a list. Aliases of an item are in `aliases` of the ground truth, an object with the item as key.
///
/// # Errors
/// `invalid-input` for malformed `aliases`, and for flags that are not booleans.
pub(crate) fn score(
    settings: &Settings,
    prediction: &Value,
    reference: &Value,
    form: Form,
) -> Result<Judgement, PluginError> {
    let normalizer = form.normalizer();
    let aliases = aliases(reference, normalizer)?;
    let item_key = |item: &Value| match item {
        Value::String(text) => {
            let text = normalizer.apply(text);
            let item = if aliases.is_empty() { None } else { aliases.get(&text) };
            key(&item.cloned().unwrap_or(text).into(), AS_IT_IS)
        }
        other => key(other, AS_IT_IS),
    };
    let read = |json: &Value| match listed(json) {
        // The text may spell a list.
        Value::String(text) => List::read(&text.as_str().into(), &item_key, None),
        other => List::of_json(other, &item_key, None),
    };
    let failed = |tag, why| {
        Ok(Judgement::failed(tag, why, &["f1", "precision", "recall"], shown(prediction), shown(reference)))
    };
    if is_nothing(listed(reference)) {
        return failed("missing_reference", "there is no ground truth");
    }
    if is_nothing(listed(prediction)) {
        return failed("missing_prediction", "there is no list");
    }
    let Some(predicted) = read(prediction) else {
        return failed("invalid_format", "the answer is neither a list nor an object with items");
    };
    let Some(expected) = read(reference) else {
        return failed("invalid_reference", "the ground truth is neither a list nor an object with items");
    };
    let ordered = settings.ordered.or(own_flag(reference, "ordered")?).unwrap_or(false);
    let unique = settings.unique.or(own_flag(reference, "unique")?).unwrap_or(true);
    let found = Matching::new(&predicted.items, &expected.items, unique);
    let is_in_order = !ordered || found.order() == 1.0;
    let f1 = found.f1();
    let card = ScoreCard::of(f1)
        .pass(settings.passes(f1, found.is_whole() && is_in_order))
        .sub_score("f1", f1)
        .sub_score("precision", found.precision())
        .sub_score("recall", found.recall())
        .explain(explained(&found));
    let card = if ordered { card.sub_score("order", found.order()) } else { card };
    let card = tagged(card, !found.missing.is_empty(), "missing_item");
    let card = tagged(card, !found.extra.is_empty(), "extra_item");
    let card = tagged(card, !is_in_order && !found.places.is_empty(), "wrong_order");
    let canonical = |list: &List| {
        let items: Vec<Value> =
            list.items.iter().take(MAX_NAMED).map(|item| named(&item.shown).into()).collect();
        let more = list.items.len().saturating_sub(MAX_NAMED);
        let mut canonical = json!({ "items": items });
        if let Some(fields) = canonical.as_object_mut().filter(|_| more > 0) {
            fields.insert("more".to_owned(), more.into());
        }
        canonical
    };
    let mut reference = canonical(&expected);
    if let Some(fields) = reference.as_object_mut() {
        fields.insert("ordered".to_owned(), ordered.into());
        fields.insert("unique".to_owned(), unique.into());
    }
    Ok(Judgement { card, prediction: canonical(&predicted), reference })
}

/// Returns the value that holds the items: `items` or `value` of an object, otherwise the value itself. An object
/// without either is returned as is, and is not a list.
fn listed(json: &Value) -> &Value {
    json.get("items").or_else(|| json.get("value")).unwrap_or(json)
}

/// Maps each alias of an item, in comparable form, to the item.
fn aliases(reference: &Value, normalizer: Normalizer) -> Result<HashMap<String, String>, PluginError> {
    let fields = match member(reference, "aliases") {
        Value::Null => return Ok(HashMap::new()),
        Value::Object(fields) => fields,
        _ => {
            let message = "'aliases' of a list must be an object of lists, with the items as keys";
            return Err(PluginError::invalid_input(message).at("/aliases"));
        }
    };
    let mut aliases = HashMap::new();
    for (item, others) in fields {
        let item = normalizer.apply(item);
        for other in items(others).iter().filter_map(scalar) {
            aliases.insert(normalizer.apply(&other), item.clone());
        }
    }
    Ok(aliases)
}

/// Reads a flag of the ground truth.
fn own_flag(reference: &Value, name: &str) -> Result<Option<bool>, PluginError> {
    match member(reference, name) {
        Value::Null => Ok(None),
        Value::Bool(flag) => Ok(Some(*flag)),
        other => {
            let message = format!("'{name}' of the ground truth must be true or false, not {}", shown(other));
            Err(PluginError::invalid_input(message).at(format!("/{name}")))
        }
    }
}

fn explained(found: &Matching<'_>) -> String {
    let mut text = format!("{} of {} items", found.places.len(), found.expected);
    for (what, items) in [("missing", &found.missing), ("too many", &found.extra)] {
        if items.is_empty() {
            continue;
        }
        let names: Vec<&str> = items.iter().take(MAX_NAMED).map(|item| named(item)).collect();
        let more = if items.len() > MAX_NAMED { ", …" } else { "" };
        text.push_str(&format!("; {what}: {}{more}", names.join(", ")));
    }
    text
}

/// Returns the beginning of an item.
fn named(item: &str) -> &str {
    item.get(..item.floor_char_boundary(MAX_NAME_CHARS)).unwrap_or_default()
}
