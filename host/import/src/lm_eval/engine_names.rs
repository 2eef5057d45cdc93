//! Filters, tests, functions and methods that templates of lm-eval have, and those of a suite do not.

use super::task::{TEMPLATES, Task};
use crate::note::Notes;
use crate::template_tokens::{Token, WORDS, locals_of, tokens_of};
use crate::tree::{Mapping, Tree};
use std::collections::BTreeSet;

/// Filters of prompts and of computed fields.
const FILTERS: &str = "abs attr batch bool capitalize chain count d default dictsort e escape first float groupby \
    indent int items join last length lines list lower map max min pprint reject rejectattr replace reverse round \
    safe select selectattr slice sort split string sum title tojson trim unique upper zip";
/// Further filters of computed fields.
const FIELD_FILTERS: &str = "regex_replace shuffle";
/// Tests of both.
const TESTS: &str = "boolean defined divisibleby endingwith eq equalto escaped even false filter float ge \
    greaterthan gt in int integer iterable le lessthan lower lt mapping ne none number odd safe sameas sequence \
    startingwith string test true undefined upper";
/// Methods of texts, lists, mappings and loops.
const METHODS: &str = "capitalize changed count cycle endswith find format get isalnum isalpha isascii isdigit \
    islower isnumeric isspace isupper items join keys lower lstrip replace rfind rstrip split splitlines \
    startswith strip title upper values";
/// Functions that are no words of the language.
const FUNCTIONS: &str = "debug super self";

/// Next step for a name that does not exist.
const HELP: &str = "write it in another way, or make the text in a preprocessor: `gage-host plugin new`";

/// Where a template is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Prompt,
    Field,
}

/// Notes the names in a prompt and in computed fields that do not exist there.
pub(super) fn note_missing(
    task: &Task,
    dataset: &mut Mapping,
    prompt: Option<&mut Mapping>,
    notes: &mut Notes,
) {
    let mut in_prompt = BTreeSet::new();
    if let Some(prompt) = prompt {
        let template = prompt.text("template").unwrap_or_default().to_owned();
        in_prompt = missing(&template, Place::Prompt);
        note(task, &in_prompt, Place::Prompt, &mut prompt.comments, notes);
    }
    let Some(params) = dataset.section("params") else { return };
    let fields = params.get("fields").and_then(Tree::as_map).cloned().unwrap_or_default();
    let mut found = BTreeSet::new();
    for text in fields.entries.iter().filter_map(|entry| entry.value.as_text()) {
        found.extend(missing(&format!("{{{{ {text} }}}}"), Place::Field));
    }
    // A template of both is noted once.
    found.retain(|what| {
        !in_prompt.contains(what) || key_with(task, what, Place::Prompt) != key_with(task, what, Place::Field)
    });
    if !found.is_empty() {
        note(task, &found, Place::Field, params.comments_of("fields"), notes);
    }
}

fn note(task: &Task, found: &BTreeSet<String>, place: Place, comments: &mut Vec<String>, notes: &mut Notes) {
    for what in found {
        let key = key_with(task, what, place);
        let (place, help) = match place {
            Place::Prompt if what.contains("regex_replace") => {
                ("prompts", "compute the text in `fields` of the dataset, and show that field in the prompt")
            }
            Place::Prompt => ("prompts", HELP),
            Place::Field => ("computed fields", HELP),
        };
        let message = format!("`{key}` has {what}, which {place} do not have");
        notes.needs_work(task.key(key), message, comments).help(help);
    }
}

/// Returns the key of the first template that has a missing name.
fn key_with(task: &Task, what: &str, place: Place) -> &'static str {
    let has_it = |key: &&str| {
        let text = task.text_of(key).unwrap_or_default();
        missing(&text, place).contains(what)
    };
    TEMPLATES.into_iter().find(has_it).unwrap_or("doc_to_text")
}

/// Returns the names of a template that do not exist, each with its kind.
fn missing(template: &str, place: Place) -> BTreeSet<String> {
    let tokens = tokens_of(template);
    let locals = locals_of(&tokens);
    let token = |at: usize| tokens.get(at).map(|(token, _)| *token);
    let is_in = |list: &str, name: &str| list.split_whitespace().any(|known| known == name);
    let has_filter = |name: &str| is_in(FILTERS, name) || place == Place::Field && is_in(FIELD_FILTERS, name);
    let mut found = BTreeSet::new();
    for at in 1..tokens.len() {
        let before = (at.checked_sub(2).and_then(token), token(at - 1));
        let is_called = token(at + 1) == Some(Token::Mark('('));
        match (before, token(at)) {
            ((_, Some(Token::Text(_))), Some(Token::Mark('%'))) => {
                found.insert("`%` after a text".to_owned());
            }
            (
                (_, Some(Token::Mark('|'))) | (Some(Token::Open('%')), Some(Token::Name("filter"))),
                Some(Token::Name(name)),
            ) if !has_filter(name) => {
                found.insert(format!("the filter `{name}`"));
            }
            ((Some(Token::Name("map")), Some(Token::Mark('('))), Some(Token::Text(name)))
                if !has_filter(name) =>
            {
                found.insert(format!("the filter `{name}`"));
            }
            (
                (_, Some(Token::Name("is"))) | (Some(Token::Name("is")), Some(Token::Name("not"))),
                Some(Token::Name(name)),
            ) if name != "not" && !is_in(TESTS, name) => {
                found.insert(format!("the test `{name}`"));
            }
            ((_, Some(Token::Mark('.'))), Some(Token::Name(name))) if is_called && !is_in(METHODS, name) => {
                found.insert(format!("the method `{name}`"));
            }
            ((_, Some(Token::Mark('.' | '|') | Token::Name("is" | "filter"))), _) => {}
            ((Some(Token::Name("is")), Some(Token::Name("not"))), _) => {}
            (_, Some(Token::Name(name)))
                if is_called
                    && !WORDS.contains(&name)
                    && !locals.contains(name)
                    && !is_in(FUNCTIONS, name) =>
            {
                found.insert(format!("the function `{name}`"));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn names_that_do_not_exist_are_found() {
        for (template, place, expected) in [
            (
                "{{ q|truncate(9) }} {{ q | wordcount }}",
                Place::Prompt,
                &["the filter `truncate`", "the filter `wordcount`"][..],
            ),
            ("{{ '%s'|format(q) }}", Place::Prompt, &["the filter `format`"]),
            ("{{ '%s' % q }}{{ n % 2 }}", Place::Prompt, &["`%` after a text"]),
            ("{% filter urlencode %}{{ q }}{% endfilter %}", Place::Prompt, &["the filter `urlencode`"]),
            ("{{ l|map('wordcount')|list }}", Place::Prompt, &["the filter `wordcount`"]),
            ("{{ l|map(attribute='wordcount')|list }}", Place::Prompt, &[]),
            ("{{ q|regex_replace('a', 'b') }}", Place::Prompt, &["the filter `regex_replace`"]),
            ("{{ q|regex_replace('a', 'b') }}", Place::Field, &[]),
            (
                "{{ q.zfill(3) }}{{ q.index('a') }}",
                Place::Field,
                &["the method `index`", "the method `zfill`"],
            ),
            ("{{ lipsum() }}{{ range(3)|list }}", Place::Prompt, &["the function `lipsum`"]),
            (
                "{% if q is callable %}{% elif q is not defined %}{% endif %}",
                Place::Prompt,
                &["the test `callable`"],
            ),
            (
                "{% macro m(a) %}{{ a.strip() }}{% endmacro %}{{ m(q) }}{{ a|trim if (q) else (b) }}",
                Place::Prompt,
                &[],
            ),
            ("index(q) and q|truncate", Place::Prompt, &[]),
        ] {
            let found: Vec<String> = missing(template, place).into_iter().collect();
            assert_eq!(found, expected, "{template}");
        }
    }

    #[test]
    fn known_names_are_those_of_the_templates() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/libs/template-kit/src");
        let text = std::fs::read_to_string(folder.join("lint.rs")).expect("the known names");
        for name in [FILTERS, FIELD_FILTERS, TESTS].iter().flat_map(|list| list.split_whitespace()) {
            let is_there =
                text.split(|one: char| !one.is_alphanumeric() && one != '_').any(|word| word == name);
            assert!(is_there, "{name}");
        }
    }
}
