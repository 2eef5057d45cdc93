//! Texts of errors and warnings in the sources.

use crate::modules::is_test_only;
use crate::source_error::SourceError;
use proc_macro2::{TokenStream, TokenTree};
use std::fmt::Display;
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, ItemFn, ItemMod, Lit, LitStr, Macro};

/// The text of an error or a warning, with `{…}` in place of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageText {
    /// The text, with its placeholders.
    pub text: String,
}

/// Returns the texts in a file that users may see: `#[error("…")]`, `warn!("…")`, and strings that begin with `warning: `.
/// Texts of tests, and those that consist of placeholders only, are left out.
///
/// # Errors
/// When the file cannot be read or parsed.
pub fn message_texts(path: &Path) -> Result<Vec<MessageText>, SourceError> {
    let failed = |error: &dyn Display| SourceError { path: path.to_owned(), message: error.to_string() };
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    let file = syn::parse_file(&text).map_err(|error| failed(&error))?;
    let mut finder = Finder::default();
    finder.visit_file(&file);
    Ok(finder.found)
}

impl MessageText {
    /// Returns whether a page shows the message: each part between placeholders, in order, in one line.
    pub fn is_in(&self, page: &str) -> bool {
        let parts = self.parts();
        page.lines().any(|line| {
            let mut rest = line;
            parts.iter().all(|part| match rest.find(part.as_str()) {
                Some(at) => {
                    rest = rest.get(at + part.len()..).unwrap_or_default();
                    true
                }
                None => false,
            })
        })
    }

    /// Returns the texts between placeholders; only the first line of a multi-line message.
    fn parts(&self) -> Vec<String> {
        let mut parts = vec![String::new()];
        let mut letters = self.text.lines().next().unwrap_or_default().chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '{' | '}' if letters.peek() == Some(&letter) => {
                    letters.next();
                    parts.last_mut().into_iter().for_each(|part| part.push(letter));
                }
                '{' => {
                    letters.by_ref().take_while(|letter| *letter != '}').for_each(drop);
                    parts.push(String::new());
                }
                _ => parts.last_mut().into_iter().for_each(|part| part.push(letter)),
            }
        }
        parts.retain(|part| part.chars().any(char::is_alphabetic));
        parts
    }
}

#[derive(Default)]
struct Finder {
    found: Vec<MessageText>,
}

impl Finder {
    fn add(&mut self, literal: &LitStr) {
        let message = MessageText { text: literal.value() };
        if !message.parts().is_empty() {
            self.found.push(message);
        }
    }

    /// Adds the first string among tokens that is a separate argument, not the value of a field.
    fn add_argument(&mut self, tokens: TokenStream) {
        let mut is_argument = true;
        for token in tokens {
            if let TokenTree::Literal(literal) = &token
                && is_argument
                && let Ok(Lit::Str(text)) = syn::parse_str::<Lit>(&literal.to_string())
            {
                return self.add(&text);
            }
            is_argument = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == ',');
        }
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    is_test_only(attributes) || attributes.iter().any(|attribute| attribute.path().is_ident("test"))
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if attribute.path().is_ident("error")
            && let syn::Meta::List(list) = &attribute.meta
        {
            self.add_argument(list.tokens.clone());
        }
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        if item.path.segments.last().is_some_and(|name| name.ident == "warn") {
            self.add_argument(item.tokens.clone());
        }
        for token in item.tokens.clone() {
            if let TokenTree::Literal(literal) = token
                && let Ok(Lit::Str(text)) = syn::parse_str::<Lit>(&literal.to_string())
                && text.value().starts_with("warning: ")
            {
                self.add(&text);
            }
        }
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = expression
            && text.value().starts_with("warning: ")
        {
            self.add(text);
        }
        visit::visit_expr(self, expression);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
        #[derive(thiserror::Error)]
        enum Failure {
            #[error("cannot read {path}: {error:?}")]
            Read { path: String, error: String },
            #[error(transparent)]
            Other(Inner),
            #[error("{0}")]
            Message(String),
            #[error("no {{brace}} in {}", .path.display())]
            Brace { path: String },
        }
        fn warn_of(count: usize) {
            tracing::warn!(target: "plugin", count, name = "n", "{count} events are lost");
            println!("warning: {count} rows are invalid");
            println!("no message");
        }
        #[cfg(test)]
        mod tests {
            fn one() { tracing::warn!("of a test"); }
        }
    "#;

    fn texts() -> Vec<MessageText> {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let path = folder.path().join("source.rs");
        std::fs::write(&path, SOURCE).unwrap_or_else(|error| panic!("{error}"));
        message_texts(&path).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn texts_of_errors_and_warnings_are_found() {
        let found: Vec<String> = texts().into_iter().map(|message| message.text).collect();
        let expected = [
            "cannot read {path}: {error:?}",
            "no {{brace}} in {}",
            "{count} events are lost",
            "warning: {count} rows are invalid",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn page_shows_message_with_its_parts_in_order() {
        let page = "error: cannot read rows.jsonl: Denied\nerror: no {brace} in x\nlost 3 events are\n";
        let shown: Vec<bool> = texts().iter().map(|message| message.is_in(page)).collect();
        assert_eq!(shown, [true, true, false, false]);
    }
}
