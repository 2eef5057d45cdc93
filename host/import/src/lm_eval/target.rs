//! Options and target of a task, as its templates write them.

use crate::template_names::{concatenation, expression, is_name, path_of};
use crate::tree::Tree;
use serde_json::Value;

/// Number of letters that name options.
const LETTERS: usize = 26;

/// The options of a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Choices {
    /// A list in the row.
    Field(String),
    /// A field of the row for each option.
    Fields(Vec<String>),
    /// The same texts for every row.
    Texts(Vec<String>),
    /// Anything else, as it is written.
    Other(String),
}

/// The right answer of a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Target {
    /// A column of the row. A number is the place of the right option, and a text is the option itself.
    Column(String),
    /// A field of the row that a template writes: the field, and the expression. Digits are the place of the right option,
    /// and another text is the option itself.
    Field(String, String),
    /// The letter of the right option: the field, and the place as an expression of Jinja.
    Letter(String, String),
    /// The place of a field's value in another list of the row: the list, and the field.
    PlaceIn(String, String),
    /// The place of the right option, as an expression of Jinja.
    Computed(String),
    /// The text after `####` of a field.
    AfterMarks(String),
    /// The same texts for every row; each is right.
    List(Vec<String>),
    /// Anything else, as it is written.
    Other(String),
}

impl Choices {
    /// Reads `doc_to_choice`.
    pub(super) fn of(value: &Tree) -> Choices {
        if let Some(items) = value.as_list() {
            return Choices::Texts(items.iter().map(Tree::plain_text).collect());
        }
        let text = value.plain_text();
        if is_name(&text) {
            return Choices::Field(text);
        }
        let Some(inner) = expression(&text) else { return Choices::Other(text) };
        if let Some(path) = path_of(inner) {
            return Choices::Field(path);
        }
        let Some(items) = inner.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
            return Choices::Other(text);
        };
        let items: Vec<&str> = items.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
        if let Some(paths) = items.iter().map(|item| path_of(item)).collect() {
            return Choices::Fields(paths);
        }
        let texts: Option<Vec<String>> = items.iter().map(|item| quoted(item)).collect();
        texts.map_or(Choices::Other(text), Choices::Texts)
    }

    /// Returns the expression of Jinja for the list.
    pub(super) fn jinja(&self) -> Option<String> {
        match self {
            Choices::Field(path) => Some(path.clone()),
            Choices::Fields(paths) => Some(format!("[{}]", paths.join(", "))),
            Choices::Texts(texts) => Some(Value::from(texts.clone()).to_string()),
            Choices::Other(text) => expression(text).map(str::to_owned),
        }
    }

    /// Returns true if the options are the letters from A on.
    pub(super) fn are_letters(&self) -> bool {
        let Choices::Texts(texts) = self else { return false };
        texts.iter().zip('A'..='Z').all(|(text, letter)| text.trim() == letter.to_string())
    }

    /// Returns true if the preprocessor finds each option by its text, as lm-eval does: no text is empty, the letter of
    /// another option, or the text of an earlier one but for its case.
    pub(super) fn are_clear(&self) -> bool {
        let Choices::Texts(texts) = self else { return false };
        let compared: Vec<String> = texts.iter().map(|text| folded(text)).collect();
        let is_clear = |(place, text): (usize, &String)| {
            let letter = text.trim_matches(|one: char| !one.is_alphanumeric()).to_ascii_uppercase();
            let named = ('A'..='Z').take(texts.len()).position(|one| letter == one.to_string());
            let is_first = compared.iter().position(|one| one == text) == Some(place);
            named.is_none_or(|named| named == place) && is_first && !text.is_empty()
        };
        texts.len() <= LETTERS && compared.iter().enumerate().all(is_clear)
    }

    /// Returns true if an option may be a text of digits.
    pub(super) fn may_be_digits(&self) -> bool {
        let Choices::Texts(texts) = self else { return true };
        texts.iter().any(|text| is_digits(text))
    }

    /// Returns true if an option is `True` or `False`, as a template writes a boolean of the row.
    fn name_booleans(&self) -> bool {
        let Choices::Texts(texts) = self else { return false };
        texts.iter().any(|text| ["True", "False"].contains(&text.as_str()))
    }
}

/// Returns true if a text is a whole number, which is a place if a template writes it.
fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|one| one.is_ascii_digit())
}

/// Returns a text as the preprocessor compares it: in lower case, with single spaces.
fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns the expression of the place of an option with the text of an answer. Any other answer stays as it is. Digits are
/// such a text if `has_digits`.
fn place_of_text(texts: &[String], answer: &str, has_digits: bool) -> String {
    let mut places: Vec<String> = Vec::new();
    for (place, text) in texts.iter().enumerate() {
        if !texts[..place].contains(text) && (has_digits || !is_digits(text)) {
            places.push(format!("{}: {place}", Value::from(text.as_str())));
        }
    }
    format!("{{{}}}.get({answer}, {answer})", places.join(", "))
}

/// Returns true if the name of a field says that it has the place of the right option: `label`, `gold`, `answer_idx`.
fn names_place(path: &str) -> bool {
    let name = path.to_ascii_lowercase();
    ["label", "labels", "gold", "idx", "index"].iter().any(|end| name.ends_with(end))
}

/// Returns true if an expression makes a whole number of its value, such as a boolean.
fn is_cast(expression: &str) -> bool {
    expression.contains("|int") || expression.contains("| int")
}

/// Returns true if an expression takes one of the texts of a list, and none of them is a place: `['no', 'yes'][label]`.
fn takes_text(expression: &str) -> bool {
    let Some((list, rest)) = expression.split_once(']') else { return false };
    let place = rest.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_text = |item: &&str| quoted(item).is_some_and(|text| !is_digits(&text));
    let are_texts = literals(&format!("{list}]")).is_some_and(|items| items.iter().all(is_text));
    are_texts && place.is_some_and(|place| path_of(place).is_some())
}

/// Returns the items of a list that is written in a template, as they are written. `None` if it is not a list of texts,
/// numbers and booleans.
fn literals(list: &str) -> Option<Vec<&str>> {
    let items = list.trim().strip_prefix('[')?.strip_suffix(']')?;
    let items: Vec<&str> = items.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
    let is_literal = |item: &&str| {
        quoted(item).is_some_and(|text| !text.contains(['"', '\'']))
            || item.parse::<i64>().is_ok()
            || ["True", "False", "true", "false"].contains(item)
    };
    items.iter().all(is_literal).then_some(items)
}

/// Returns true if the items are `'A'`, `'B'` and so on, in either case: preprocessors read such answers.
fn are_quoted_letters(items: &[&str]) -> bool {
    let is_letter = |(item, letter): (&&str, char)| {
        quoted(item).is_some_and(|text| text.eq_ignore_ascii_case(letter.encode_utf8(&mut [0; 4])))
    };
    items.iter().zip('A'..='Z').all(is_letter)
}

/// Returns the expression of the place of an answer among items: lists have no method `index` here.
fn place_among(items: &[&str], answer: &str) -> String {
    let places: Vec<String> =
        items.iter().enumerate().map(|(place, item)| format!("{item}: {place}")).collect();
    format!("{{{}}}[{answer}]", places.join(", "))
}

/// Returns the expression that a target is, with the texts around it. `None` if it cannot be computed here: a function of
/// Python, a template with statements, or a method of Python without a counterpart.
pub(super) fn computed_target(written: &str) -> Option<String> {
    const UNKNOWN_METHODS: [&str; 2] = [".index(", ".rsplit("];
    let is_constant = written.trim().is_empty() || written.parse::<f64>().is_ok();
    // White space around an expression is a part of the target.
    let computed = match expression(written).filter(|_| written.trim() == written) {
        Some(inner) => Some(inner.to_owned()),
        None if is_constant => Some(Value::from(written).to_string()),
        None => concatenation(written),
    };
    computed.filter(|computed| UNKNOWN_METHODS.iter().all(|method| !computed.contains(method)))
}

fn quoted(item: &str) -> Option<String> {
    let inner = |quote| item.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).map(str::to_owned)
}

impl Target {
    /// Reads `doc_to_target`.
    pub(super) fn of(value: &Tree) -> Target {
        if let Some(items) = value.as_list() {
            return Target::List(items.iter().map(Tree::plain_text).collect());
        }
        let text = value.plain_text();
        if is_name(&text) {
            return Target::Column(text);
        }
        let Some(inner) = expression(&text) else { return Target::Other(text) };
        if let Some(path) = path_of(inner) {
            // Older templates name the row `doc`.
            let is_owned = inner.starts_with("doc.") || inner.starts_with("doc[");
            let inner = if is_owned { path.clone() } else { inner.to_owned() };
            return Target::Field(path, inner);
        }
        if let Some((list, rest)) = inner.split_once(".index(")
            && let Some(answer) = rest.strip_suffix(')')
        {
            return match (path_of(list), literals(list), path_of(answer)) {
                (Some(list), _, Some(answer)) => Target::PlaceIn(list, answer),
                (None, Some(items), Some(field)) if are_quoted_letters(&items) => {
                    Target::Letter(field, place_among(&items, answer))
                }
                (None, Some(items), _) => Target::Computed(place_among(&items, answer)),
                _ => Target::Other(text.clone()),
            };
        }
        match inner.split_once(".split(") {
            Some((field, rest)) if rest.contains("##") && rest.contains("[-1]") => match path_of(field) {
                Some(field) => Target::AfterMarks(field),
                None => Target::Other(text),
            },
            _ => Target::Other(text),
        }
    }

    /// Returns the field of the row that is the target.
    pub(super) fn field(&self) -> Option<&str> {
        match self {
            Target::Column(path) | Target::Field(path, _) => Some(path),
            _ => None,
        }
    }

    /// Returns the expression of the right option if the target is a field: its place, or what the preprocessor reads.
    /// `None` if it reads the field itself as lm-eval does. `list` is that of the options.
    pub(super) fn place_in(&self, choices: &Choices, list: &str) -> Option<String> {
        let (is_column, path, answer) = match self {
            Target::Column(path) => (true, path, path),
            Target::Field(path, inner) => (false, path, inner),
            _ => return None,
        };
        if is_cast(answer) {
            return Some(answer.clone());
        }
        match choices {
            Choices::Texts(texts) if !choices.are_clear() || is_column && choices.may_be_digits() => {
                return Some(place_of_text(texts, answer, is_column));
            }
            Choices::Texts(_) if !is_column && choices.name_booleans() => {
                return Some(format!("{answer}|string if {answer} is boolean else {answer}"));
            }
            Choices::Texts(_) => return None,
            _ if names_place(path) => return None,
            _ => {}
        }
        let is_place = match is_column {
            true => format!("{answer} is number"),
            false => format!("({answer}|string).isdigit()"),
        };
        // Lists have no method `index` here. An unknown answer stays as it is.
        let found = format!("{list}|zip(range({list}|length))|selectattr(0, 'eq', {answer})|first");
        Some(format!("{answer}|int if {is_place} else ({found}|default([{answer}, {answer}]))[1]"))
    }

    /// Returns true if a value of the field is the right option itself, not its place.
    pub(super) fn is_option_text(&self, text: &str) -> bool {
        match self {
            Target::Column(_) => true,
            Target::Field(_, inner) => !is_cast(inner) && !is_digits(text),
            _ => false,
        }
    }

    /// Returns the template of Jinja for the right one of the options.
    pub(super) fn jinja_among(&self, choices: &Choices) -> Option<String> {
        let list = choices.jinja()?;
        let place = match self {
            Target::Column(path) => {
                return Some(format!("{{{{ {path} if {path} is string else ({list})[{path}|int] }}}}"));
            }
            Target::Field(_, inner) => {
                let is_place = format!("({inner}|string).isdigit()");
                return Some(format!("{{{{ ({list})[{inner}|int] if {is_place} else {inner} }}}}"));
            }
            // Lists have no method `index` here.
            Target::PlaceIn(labels, answer) => {
                let chosen =
                    format!("{{% if one == {answer} %}}{{{{ ({list})[loop.index0] }}}}{{% endif %}}");
                return Some(format!("{{% for one in {labels} %}}{chosen}{{% endfor %}}"));
            }
            Target::Computed(place) | Target::Letter(_, place) => place.clone(),
            Target::Other(place) if place.parse::<usize>().is_ok() => place.clone(),
            Target::Other(written) => {
                let computed = computed_target(written.trim())?;
                if takes_text(&computed) {
                    return Some(format!("{{{{ {computed} }}}}"));
                }
                let is_place = format!("(({computed})|string).isdigit()");
                return Some(format!("{{{{ ({list})[({computed})|int] if {is_place} else ({computed}) }}}}"));
            }
            Target::AfterMarks(_) | Target::List(_) => return None,
        };
        Some(format!("{{{{ ({list})[{place}] }}}}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_clear_if_each_text_names_only_itself() {
        for (texts, are_clear) in [
            (&["no", "yes"][..], true),
            (&["A", "B"], true),
            (&["(A)", "(B)"], true),
            (&["x", "y", "z"], true),
            (&["B", "A"], false),
            (&["x", "a."], false),
            (&["1", "2"], true),
            (&["", "x"], false),
            (&["Yes", "yes "], false),
            (&["True", "False"], true),
        ] {
            let choices = Choices::Texts(texts.iter().map(|text| (*text).to_owned()).collect());
            assert_eq!(choices.are_clear(), are_clear, "{texts:?}");
        }
        assert!(!Choices::Field("list".to_owned()).are_clear());
    }

    #[test]
    fn texts_of_written_lists_are_no_places() {
        for (expression, is_text) in [
            ("['no', 'yes'][label]", true),
            ("[\"a\", \"b\"][doc.label|int]", true),
            ("['1', '2'][label]", false),
            ("['no', 1][label]", false),
            ("['no', 'yes'][label][0]", false),
            ("answers[0]", false),
            ("label", false),
        ] {
            assert_eq!(takes_text(expression), is_text, "{expression}");
        }
    }
}
