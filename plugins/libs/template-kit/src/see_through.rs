//! Filters and methods that see through the marks of model text. Its characters stay marked through slices, filters
//! and joins, until the prompt is rendered, so such text cannot enter a prompt without a fence.

use crate::null_values::reject_null;
use gage_taint_marks::{EMPTY, TextSource, has_marks, marked, with_marked};
use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, Value};
use std::sync::Arc;

/// Name in the context of a prompt with marked model text. Templates cannot access it.
pub(crate) const IS_FENCED: &str = " fenced";

/// Writes a value into a prompt: an empty answer as [`EMPTY`], so that it is fenced.
pub(crate) fn write_value(
    output: &mut minijinja::Output<'_>,
    state: &mut minijinja::State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    if value.is_safe() && value.as_str() == Some("") && state.lookup(IS_FENCED).is_some() {
        return output.write_str(EMPTY.encode_utf8(&mut [0; 4])).map_err(Error::from);
    }
    reject_null(value)?;
    minijinja::escape_formatter(output, state, value)
}

/// Filters that inspect a text. They see the plain text of marked characters, and their results are marked again.
const TEXT_FILTERS: [&str; 23] = [
    "lower",
    "upper",
    "title",
    "capitalize",
    "replace",
    "length",
    "count",
    "trim",
    "split",
    "lines",
    "int",
    "float",
    "indent",
    "list",
    "first",
    "last",
    "reverse",
    "escape",
    "e",
    "safe",
    "join",
    "string",
    "pprint",
];

/// Those of [`TEXT_FILTERS`] that would write `None` for a null value.
const WRITING_FILTERS: [&str; 15] = [
    "lower",
    "upper",
    "title",
    "capitalize",
    "replace",
    "trim",
    "split",
    "lines",
    "indent",
    "escape",
    "e",
    "safe",
    "join",
    "string",
    "pprint",
];

/// Filters and methods that write their arguments, too.
const ARGUMENT_WRITERS: [&str; 3] = ["format", "join", "replace"];

/// Makes filters and methods see through the marks, and reject null values that they would write.
pub(crate) fn see_through(environment: &mut Environment<'static>) {
    let plain = Arc::new(environment.clone());
    for name in TEXT_FILTERS {
        let plain = Arc::clone(&plain);
        environment.add_filter(name, move |value: Value, rest: Rest<ValueOrKwargs>| {
            let rest = rest.into_values();
            if WRITING_FILTERS.contains(&name) {
                reject_null(&value)?;
            }
            reject_null_arguments(name, &rest)?;
            let made = seen_through(&value, &rest, |value, rest| {
                let arguments: Vec<Value> = std::iter::once(value).chain(rest).cloned().collect();
                plain.empty_state().apply_filter(name, &arguments)
            });
            // Only the empty answer itself is such a text (`write_value`).
            made.map(|made| if made.is_safe() && made.as_str() == Some("") { "".into() } else { made })
        });
    }
    environment.set_unknown_method_callback(|state, value, method, arguments| {
        reject_null_arguments(method, arguments)?;
        seen_through(value, arguments, |value, arguments| {
            minijinja_contrib::pycompat::unknown_method_callback(state, value, method, arguments)
        })
    });
}

/// Checks the arguments of a filter or method that writes them.
fn reject_null_arguments(name: &str, arguments: &[Value]) -> Result<(), Error> {
    let written: &[Value] = if ARGUMENT_WRITERS.contains(&name) { arguments } else { &[] };
    written.iter().try_for_each(reject_null)
}

fn seen_through(
    value: &Value,
    arguments: &[Value],
    call: impl FnOnce(&Value, &[Value]) -> Result<Value, Error>,
) -> Result<Value, Error> {
    let mut sources = Vec::new();
    let mut plain = |value: &Value| {
        let text = value.as_str().filter(|text| has_marks(text))?;
        Some(Value::from(with_marked(text, |source, stretch| {
            sources.push(source);
            stretch.to_owned()
        })))
    };
    let Some(text) = plain(value) else { return call(value, arguments) };
    let arguments: Vec<Value> =
        arguments.iter().map(|argument| plain(argument).unwrap_or_else(|| argument.clone())).collect();
    // The result of mixed sources counts as the model's.
    let source = if sources.contains(&TextSource::Answer) { TextSource::Answer } else { TextSource::Support };
    call(&text, &arguments).map(|made| marked_again(source, made))
}

fn marked_again(source: TextSource, value: Value) -> Value {
    if let Some(text) = value.as_str() {
        return marked(source, text).into();
    }
    match (value.kind(), value.try_iter()) {
        (ValueKind::Seq | ValueKind::Iterable, Ok(items)) => {
            items.map(|item| marked_again(source, item)).collect()
        }
        _ => value,
    }
}
