//! Resolution of a member's inputs: from paths and parameters to values.

use crate::batch::ItemError;
use crate::bindings::types::{InputSpec, Item, Value as GuestValue, ValueKind};
use crate::schema::ParamsSchema;
use crate::world::World;
use gage_core::{EvalContext, FieldError, FieldPath, FieldValue, Object};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};

/// Parameter that controls the handling of missing fields.
const ON_MISSING: &str = "on_missing_field";

/// Parameter with the path of the reference.
const LABEL_FIELD: &str = "label_field";

/// Parameter of metrics with the path of a sample's weight, for the aggregation `weighted_mean`.
const WEIGHT_FIELD: &str = "weight_field";

/// Largest integer up to which f64 represents all integers exactly.
const EXACT: u64 = 1 << 53;

/// An input of a member, with the paths that are tried in order.
#[derive(Clone, Debug)]
pub struct Input {
    /// The name.
    pub name: String,
    /// Paths, in order; the first one that exists counts.
    pub paths: Vec<FieldPath>,
    kind: ValueKind,
    /// True if answers are compared with it, so that a blank value is missing.
    is_reference: bool,
}

impl Input {
    fn new(spec: &InputSpec, paths: Vec<FieldPath>) -> Input {
        let is_named_reference = spec.name.ends_with("reference") || spec.name.ends_with("references");
        let is_reference = is_named_reference || spec.path_params.iter().any(|key| key == LABEL_FIELD);
        Input { name: spec.name.clone(), paths, kind: spec.kind, is_reference }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum OnMissing {
    /// The parameter is not set.
    Default,
    /// A missing reference scores what the member returns for it, and a blank one is passed on.
    Ignore,
    Warn,
    Error,
}

/// The inputs of a member, with the effective paths.
pub(crate) struct Inputs {
    pub(crate) list: Vec<Input>,
    missing: OnMissing,
    has_warned: AtomicBool,
    weight: Option<FieldPath>,
}

impl Inputs {
    /// Returns whether samples have weights.
    pub(crate) fn has_weights(&self) -> bool {
        self.weight.is_some()
    }

    /// Returns the weight of a sample. `None` if the suite sets no `weight_field`.
    ///
    /// # Errors
    /// If there is no number of at least 0 at the path.
    pub(crate) fn weight(&self, roots: EvalContext<'_>) -> Option<Result<f64, ItemError>> {
        let path = self.weight.as_ref()?;
        let found = path.resolve(roots);
        let weight = match found.as_deref() {
            Some(Value::Number(number)) => number.as_f64(),
            Some(Value::String(text)) => text.trim().parse().ok(),
            _ => None,
        };
        let weight = weight.filter(|weight: &f64| weight.is_finite() && *weight >= 0.0);
        Some(weight.ok_or_else(|| {
            let found = found.map_or_else(|| "nothing".to_owned(), |value| value.to_string());
            let path = path.as_str();
            ItemError::new(
                "invalid_input",
                format!("the weight at {path} must be a number of at least 0, found {found}"),
            )
        }))
    }

    /// Returns whether a sample without a reference keeps the score that the member gives it.
    pub(crate) fn scores_missing_references(&self) -> bool {
        self.missing == OnMissing::Ignore
    }

    /// Resolves the inputs of one sample. `member` names the member in warnings.
    pub(crate) fn resolve(
        &self,
        member: &str,
        sample_id: &str,
        roots: EvalContext<'_>,
    ) -> Result<Vec<GuestValue>, ItemError> {
        self.list.iter().map(|input| self.resolve_one(input, member, sample_id, roots)).collect()
    }

    /// Takes values by input name, for tests of plugins.
    pub(crate) fn by_name(&self, values: &Object) -> Result<Vec<GuestValue>, ItemError> {
        self.list
            .iter()
            .map(|input| convert(values.get(&input.name).map(FieldValue::from), input.kind, &input.name))
            .collect()
    }

    fn resolve_one(
        &self,
        input: &Input,
        member: &str,
        sample_id: &str,
        roots: EvalContext<'_>,
    ) -> Result<GuestValue, ItemError> {
        let drops_blanks = input.is_reference && self.missing != OnMissing::Ignore;
        let value = input.paths.iter().find_map(|path| {
            let value = path.find(roots)?;
            if drops_blanks { value.into_reference() } else { Some(value) }
        });
        if value.is_none() {
            let paths: Vec<&str> = input.paths.iter().map(FieldPath::as_str).collect();
            let paths = paths.join(", ");
            match self.missing {
                OnMissing::Default | OnMissing::Ignore => {}
                OnMissing::Warn => {
                    if !self.has_warned.swap(true, Ordering::Relaxed) {
                        tracing::warn!(%member, sample = %sample_id, "nothing at {paths}; this is reported once");
                    }
                }
                OnMissing::Error => {
                    return Err(ItemError::new(
                        "missing_field",
                        format!("the input '{}' is missing: nothing at {paths}", input.name),
                    ));
                }
            }
        }
        convert(value, input.kind, &input.name)
    }
}

/// Plugin kinds whose members have inputs that the host resolves.
pub trait ResolvedInputs {}

/// One item of a batch, resolved from a sample.
pub struct MetricItem(pub(crate) Result<Item, ItemError>);

/// Calls with the items whose inputs could be resolved, and puts the results in the original positions.
pub(crate) fn with_sound_items<R>(
    items: Vec<MetricItem>,
    call: impl FnOnce(&[Item]) -> Vec<Result<R, ItemError>>,
) -> Vec<Result<R, ItemError>> {
    let mut places: Vec<Result<(), ItemError>> = Vec::with_capacity(items.len());
    let mut sound = Vec::with_capacity(items.len());
    for MetricItem(item) in items {
        places.push(item.map(|item| sound.push(item)));
    }
    let mut results = call(&sound).into_iter();
    let missing = || ItemError::new("internal", "there is no result");
    places
        .into_iter()
        .map(|place| place.and_then(|()| results.next().unwrap_or_else(|| Err(missing()))))
        .collect()
}

/// Separates the host's parameters from those of the member, and checks both.
pub(crate) fn split_params(
    specs: &[InputSpec],
    schema: &ParamsSchema,
    params: Value,
    world: World,
) -> Result<(Inputs, Object), Vec<FieldError>> {
    let mut own = match params {
        Value::Object(object) => object,
        Value::Null => Object::new(),
        _ => {
            let message = "the parameters must be a mapping".to_owned();
            return Err(vec![FieldError { pointer: String::new(), message }]);
        }
    };
    let mut problems = Vec::new();
    // A member without inputs cannot have missing ones.
    let mut host_keys: Vec<String> = if specs.is_empty() { Vec::new() } else { vec![ON_MISSING.to_owned()] };
    let mut list = Vec::new();
    for input in specs {
        let mut paths: Vec<FieldPath> = input.default_paths.iter().map(|path| FieldPath::new(path)).collect();
        let mut is_set = false;
        for key in &input.path_params {
            host_keys.push(key.clone());
            let given = own.shift_remove(key);
            problems.extend(given.as_ref().and_then(Value::as_str).and_then(|path| oddity(key, path)));
            match given {
                None | Some(Value::Null) => {}
                Some(Value::String(path)) if !is_set => {
                    if let Some(root) = meant_root(&path) {
                        problems.push(FieldError {
                            pointer: format!("/{key}"),
                            message: format!(
                                "`{path}` begins with no known document; did you mean `{root}`?"
                            ),
                        });
                    }
                    paths = vec![FieldPath::new(&path)];
                    is_set = true;
                }
                Some(Value::String(_)) => {}
                Some(other) => problems.push(FieldError {
                    pointer: format!("/{key}"),
                    message: format!("`{key}` must be a field path such as `sample.label`, found {other}"),
                }),
            }
        }
        list.push(Input::new(input, paths));
    }
    let weight = match world {
        World::Metric => {
            host_keys.push(WEIGHT_FIELD.to_owned());
            weight_path(&mut own, &mut problems)
        }
        _ => None,
    };
    let found = if specs.is_empty() { None } else { own.shift_remove(ON_MISSING) };
    let missing = match found {
        None | Some(Value::Null) => OnMissing::Default,
        Some(Value::String(text)) if text == "ignore" => OnMissing::Ignore,
        Some(Value::String(text)) if text == "warn" => OnMissing::Warn,
        Some(Value::String(text)) if text == "error" => OnMissing::Error,
        Some(other) => {
            let message = format!("`{ON_MISSING}` must be ignore, warn or error, found {other}");
            problems.push(FieldError { pointer: format!("/{ON_MISSING}"), message });
            OnMissing::Default
        }
    };
    let own_value = Value::Object(own);
    problems.extend(schema.problems(&own_value, &host_keys));
    match own_value {
        Value::Object(own) if problems.is_empty() => {
            Ok((Inputs { list, missing, has_warned: AtomicBool::new(false), weight }, own))
        }
        _ => Err(problems),
    }
}

/// Takes the path of the weight out of the parameters of a metric.
fn weight_path(params: &mut Object, problems: &mut Vec<FieldError>) -> Option<FieldPath> {
    match params.shift_remove(WEIGHT_FIELD)? {
        Value::Null => None,
        Value::String(path) => {
            problems.extend(oddity(WEIGHT_FIELD, &path));
            Some(FieldPath::new(&path))
        }
        other => {
            let message = format!(
                "`{WEIGHT_FIELD}` must be a field path such as `sample.metadata.weight`, found {other}"
            );
            problems.push(FieldError { pointer: format!("/{WEIGHT_FIELD}"), message });
            None
        }
    }
}

/// Checks a path for unusual spelling, and returns the problem.
fn oddity(key: &str, path: &str) -> Option<FieldError> {
    let oddity = FieldPath::new(path).oddity()?;
    Some(FieldError { pointer: format!("/{key}"), message: format!("the path `{path}` {oddity}") })
}

/// Returns the document in which a path was probably meant to start, if it starts in none. A first segment
/// that resembles a document's name is a typo, not a field of the Sample.
fn meant_root(path: &str) -> Option<&'static str> {
    const ROOTS: [&str; 4] = ["sample", "model_output", "judge_output", "support_output"];
    let (first, _) = path.split_once('.')?;
    if ROOTS.contains(&first) { None } else { gage_core::nearest(first, ROOTS) }
}

/// Converts a value to the kind that the metric declared; a missing value is `absent`.
fn convert(value: Option<FieldValue<'_>>, kind: ValueKind, name: &str) -> Result<GuestValue, ItemError> {
    let value = match (value, kind) {
        (None, _) => return Ok(GuestValue::Absent),
        // Texts and encoded members are passed on without building a value.
        (Some(FieldValue::Text(text)), ValueKind::Any | ValueKind::Text) => {
            return Ok(GuestValue::Text(text.to_owned()));
        }
        (Some(FieldValue::Typed(typed)), ValueKind::Any | ValueKind::Json) => {
            let text = serde_json::to_string(&typed);
            return text.map(GuestValue::Json).map_err(|error| ItemError::new("internal", error.to_string()));
        }
        (Some(value), _) => value.into_value(),
    };
    let value = value.as_ref();
    if value.is_null() {
        return Ok(GuestValue::Absent);
    }
    Ok(match kind {
        ValueKind::Any => any(value),
        ValueKind::Json => GuestValue::Json(value.to_string()),
        ValueKind::Text => match value {
            Value::String(text) => GuestValue::Text(text.clone()),
            Value::Number(_) | Value::Bool(_) => GuestValue::Text(value.to_string()),
            _ => return Err(mistyped(value, "a text", name)),
        },
        ValueKind::Number => match value {
            Value::Number(number) => GuestValue::Number(number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => match text.trim().parse::<f64>() {
                Ok(number) if number.is_finite() => GuestValue::Number(number),
                _ => return Err(mistyped(value, "a number", name)),
            },
            _ => return Err(mistyped(value, "a number", name)),
        },
        ValueKind::Texts => match value {
            Value::String(text) => GuestValue::Texts(vec![text.clone()]),
            Value::Array(items) => {
                let texts: Option<Vec<String>> =
                    items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
                GuestValue::Texts(texts.ok_or_else(|| mistyped(value, "a list of strings", name))?)
            }
            _ => return Err(mistyped(value, "a list of strings", name)),
        },
    })
}

fn any(value: &Value) -> GuestValue {
    match value {
        Value::Null => GuestValue::Absent,
        Value::Bool(boolean) => GuestValue::Boolean(*boolean),
        Value::String(text) => GuestValue::Text(text.clone()),
        Value::Number(number) => {
            let is_exact = match (number.as_u64(), number.as_i64()) {
                (Some(unsigned), _) => unsigned <= EXACT,
                (None, Some(signed)) => signed.unsigned_abs() <= EXACT,
                (None, None) => true,
            };
            match number.as_f64() {
                Some(number) if is_exact => GuestValue::Number(number),
                _ => GuestValue::Json(number.to_string()),
            }
        }
        Value::Array(_) | Value::Object(_) => GuestValue::Json(value.to_string()),
    }
}

fn mistyped(value: &Value, wanted: &str, name: &str) -> ItemError {
    let mut found = value.to_string();
    if found.len() > 80 {
        found.truncate(found.floor_char_boundary(80));
        found.push('…');
    }
    ItemError::new("invalid_input", format!("the input '{name}' must be {wanted}, found {found}"))
}
