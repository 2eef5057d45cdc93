//! The environment of what a suite writes: prompts, and expressions of fields.

use crate::null_values;
use crate::see_through::{see_through, write_value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior};

/// Returns an environment in which no null value becomes a text.
pub(crate) fn environment(undefined: UndefinedBehavior) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(undefined);
    // Required for errors that name the failing expression.
    environment.set_debug(true);
    // Texts have the method `format`, which sees through the marks.
    environment.remove_filter("format");
    // Texts of a suite are not HTML, regardless of the suffix of a prompt id.
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_formatter(write_value);
    see_through(&mut environment);
    null_values::add_operators(&mut environment);
    environment
}
