//! Filters of expressions of fields, which the engine does not have: `regex_replace` and `shuffle`.

use gage_python_regex::PythonRegex;
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, Value};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Maximum number of compiled patterns. A pattern may come from a row.
const MAX_COMPILED_PATTERNS: usize = 64;

/// Adds the filters `regex_replace` and `shuffle`.
pub(crate) fn add_row_filters(environment: &mut Environment<'static>) {
    let compiled = Mutex::new(BTreeMap::<String, PythonRegex>::new());
    let replace = move |text: Value, pattern: Value, replacement: Value| {
        let mut compiled = compiled.lock().unwrap_or_else(PoisonError::into_inner);
        regex_replace(&mut compiled, &text, &pattern, &replacement)
    };
    environment.add_filter("regex_replace", replace);
    environment.add_filter("shuffle", shuffle);
}

/// Replaces all matches of a pattern, as Python's `re.sub` does.
fn regex_replace(
    compiled: &mut BTreeMap<String, PythonRegex>,
    text: &Value,
    pattern: &Value,
    replacement: &Value,
) -> Result<String, Error> {
    let (text, pattern) = (text_of("regex_replace", text)?, text_of("regex_replace", pattern)?);
    let replacement = text_of("regex_replace", replacement)?;
    if !compiled.contains_key(pattern) {
        let regex = PythonRegex::new(pattern, false)
            .map_err(|error| invalid(format!("the pattern {pattern:?} is not valid: {error}")))?;
        if compiled.len() >= MAX_COMPILED_PATTERNS {
            compiled.clear();
        }
        compiled.insert(pattern.to_owned(), regex);
    }
    let Some(regex) = compiled.get(pattern) else { return Ok(text.to_owned()) };
    let replacement = regex
        .replacement(replacement)
        .map_err(|error| invalid(format!("the replacement {replacement:?} is not valid: {error}")))?;
    regex.replace_all(text, &replacement).map_err(|error| invalid(error.to_string()))
}

/// Orders a list by the SHA-256 digests of `seed`, a null character and the item. The seed is 0 if it is not given.
fn shuffle(items: Value, seed: Option<Value>) -> Result<Vec<Value>, Error> {
    let seed = seed.map_or_else(|| Ok("0".to_owned()), |seed| written("the seed", &seed))?;
    if !matches!(items.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Err(invalid(format!("shuffle needs a list, found {}", items.kind())));
    }
    let mut keyed: Vec<([u8; 32], Value)> = Vec::new();
    for item in items.try_iter()? {
        let text = format!("{seed}\0{}", written("an item", &item)?);
        keyed.push((Sha256::digest(text.as_bytes()).into(), item));
    }
    keyed.sort_by_key(|(key, _)| *key);
    Ok(keyed.into_iter().map(|(_, item)| item).collect())
}

/// Returns the text of an item or a seed.
fn written(what: &str, value: &Value) -> Result<String, Error> {
    match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None if value.is_integer() => Ok(value.to_string()),
        None => {
            let found = value.kind();
            Err(invalid(format!("{what} of shuffle is a text or a whole number, found {found}")))
        }
    }
}

fn text_of<'v>(filter: &str, value: &'v Value) -> Result<&'v str, Error> {
    value.as_str().ok_or_else(|| invalid(format!("{filter} needs a text, found {}", value.kind())))
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}
