//! The templates of the printed texts, rendered by minijinja.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, Value};

/// Failure to render a template.
pub(super) type TemplateError = minijinja::Error;

/// Renders a template. Values are inserted as they are: the caller quotes them for the language of the text.
///
/// # Errors
/// Fails if the template is invalid, or names a missing value.
pub(super) fn render(template: &str, values: impl Into<Value>) -> Result<String, TemplateError> {
    let mut environment = Environment::new();
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    environment.set_syntax(syntax.build()?);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.render_str(template, values)
}
