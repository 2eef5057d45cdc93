//! Templates of pages: HTML with places for values, which minijinja fills in.

use super::error::HtmlError;
use gage_core::printable_html;
use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, escape_formatter};

/// Fills in a template. A value is text, of which nothing becomes markup or steers what is shown, unless the template
/// says `safe` of it.
///
/// # Errors
/// When the template is none, or names a value that is not given.
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
    // By the end of the name minijinja knows that it has to escape.
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
