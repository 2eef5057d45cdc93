//! Page templates: HTML with placeholders, rendered by minijinja.

use super::error::HtmlError;
use gage_core::printable_html;
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, escape_formatter};

/// Renders a template. Values are escaped as text, so they cannot inject markup, unless the template marks one as
/// `safe`.
///
/// # Errors
/// Fails if the template is invalid, or names a missing value.
pub fn render_template(template: &str, values: impl Into<Value>) -> Result<String, HtmlError> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().keep_trailing_newline(true).build()?);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() && matches!(state.auto_escape(), AutoEscape::Html) => {
            Ok(out.write_str(&printable_html(text))?)
        }
        _ => escape_formatter(out, state, value),
    });
    // minijinja enables escaping based on the file extension.
    Ok(environment.render_named_str("page.html", template, values)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::context;

    #[test]
    fn values_are_text_unless_the_template_says_otherwise() {
        let values = context! { text => "<b>'\u{202e}/", markup => "<b>" };
        let page = render_template("{{ text }} {{ markup | safe }}\n", values.clone()).unwrap();
        assert_eq!(page, "&lt;b&gt;&#39;\\u{202e}/ <b>\n");
        assert!(matches!(render_template("{{ other }}", values), Err(HtmlError::Template(_))));
    }
}
