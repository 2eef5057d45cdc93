//! Names in templates: `sample.goal` is a field of the row, and `system_prompt` is a parameter.

use crate::tables::keys::{PROMPT_TEXTS, RESULTS, SAMPLE_FIELDS, TEMPLATE_NAMES};
use crate::template_tokens::{Token, WORDS, locals_of, tokens_of};
use std::collections::BTreeSet;
use std::ops::Range;

/// Methods of mappings.
const METHODS: &[&str] = &["get", "items", "keys", "values"];

/// End of a name that a row may lack, in the new spelling.
const OPTIONAL: &str = "|default('')";

/// The names that a template may read, and where its prompt is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TemplateScope<'n> {
    /// Names of its parameters.
    pub(crate) params: &'n BTreeSet<String>,
    /// Fields that the rows are known to have.
    pub(crate) fields: &'n BTreeSet<String>,
    /// True if only roles that follow the answer use it, such as judges.
    pub(crate) follows_answer: bool,
}

/// A template with explicit names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RewrittenTemplate {
    /// The template.
    pub(crate) text: String,
    /// The names that changed: the old and the new spelling.
    pub(crate) changes: BTreeSet<(String, String)>,
    /// Names of parameters without a value.
    pub(crate) missing: BTreeSet<String>,
    /// Names of results that no template can read.
    pub(crate) unreadable: BTreeSet<String>,
}

/// A new spelling, with the place of the old one.
type Replacement = (Range<usize>, String);

/// Returns true if the new spelling of a name gives an empty text where the row lacks the field.
pub(crate) fn is_optional(new: &str) -> bool {
    new.ends_with(OPTIONAL) || new.ends_with(", '')")
}

/// Rewrites the names of a template to their explicit forms.
pub(crate) fn rewrite(template: &str, scope: TemplateScope<'_>) -> RewrittenTemplate {
    let tokens = tokens_of(template);
    let mut names = NameRewriter {
        locals: locals_of(&tokens),
        conditions: names_of_conditions(&tokens),
        tokens: &tokens,
        scope,
        missing: BTreeSet::new(),
        unreadable: BTreeSet::new(),
    };
    let mut rewritten = RewrittenTemplate::default();
    let mut copied = 0;
    for place in 0..tokens.len() {
        let Some((span, new)) = names.replacement(place) else { continue };
        if span.start < copied {
            continue;
        }
        rewritten.text.push_str(&template[copied..span.start]);
        rewritten.text.push_str(&new);
        rewritten.changes.insert((template[span.clone()].to_owned(), new));
        copied = span.end;
    }
    rewritten.text.push_str(&template[copied..]);
    rewritten.missing = names.missing;
    rewritten.unreadable = names.unreadable;
    rewritten
}

/// Finds the new spelling of names.
struct NameRewriter<'t> {
    tokens: &'t [(Token<'t>, Range<usize>)],
    scope: TemplateScope<'t>,
    /// Names that the template defines itself.
    locals: BTreeSet<String>,
    /// Names and texts in conditions.
    conditions: BTreeSet<&'t str>,
    missing: BTreeSet<String>,
    unreadable: BTreeSet<String>,
}

impl<'t> NameRewriter<'t> {
    fn at(&self, place: usize) -> Option<Token<'t>> {
        self.tokens.get(place).map(|(token, _)| *token)
    }

    /// Returns the place of the text of some tokens.
    fn span(&self, first: usize, last: usize) -> Option<Range<usize>> {
        Some(self.tokens.get(first)?.1.start..self.tokens.get(last)?.1.end)
    }

    /// Returns the replacement of the names that begin at a token.
    fn replacement(&mut self, place: usize) -> Option<Replacement> {
        let Token::Name(name) = self.at(place)? else { return None };
        let before = place.checked_sub(1).and_then(|place| self.at(place));
        let is_part = matches!(before, Some(Token::Mark('.' | '|') | Token::Name("is" | "block" | "filter")))
            || before == Some(Token::Name("not"))
                && place >= 2
                && self.at(place - 2) == Some(Token::Name("is"));
        let next = self.at(place + 1);
        let is_argument = next == Some(Token::Mark('=')) && self.at(place + 2) != Some(Token::Mark('='));
        if is_part || is_argument || next == Some(Token::Mark('(')) || self.locals.contains(name) {
            return None;
        }
        if name == "sample" {
            return self.row_field(place, place);
        }
        if name == "payload"
            && next == Some(Token::Mark('.'))
            && self.at(place + 2) == Some(Token::Name("sample"))
        {
            return self.row_field(place, place + 2);
        }
        self.plain_name(place, name)
    }

    /// Returns the replacement of a name without `sample.`.
    fn plain_name(&mut self, place: usize, name: &str) -> Option<Replacement> {
        let span = self.span(place, place)?;
        if self.scope.params.contains(name) && !TEMPLATE_NAMES.contains(&name) {
            return Some((span, format!("params.{name}")));
        }
        if WORDS.contains(&name) || TEMPLATE_NAMES.contains(&name) {
            return None;
        }
        if name == "prompt_params" {
            return Some((span, "params".to_owned()));
        }
        if PROMPT_TEXTS.contains(&name) {
            self.missing.insert(name.to_owned());
            return Some((span, format!("params.{name}")));
        }
        if RESULTS.contains(&name) {
            return self.result(place, place, name);
        }
        if SAMPLE_FIELDS.contains(&name) {
            return Some((span, format!("sample.{name}")));
        }
        let end = if self.is_optional(name, place, place) { OPTIONAL } else { "" };
        Some((span, format!("row.{name}{end}")))
    }

    /// Returns the replacement of `sample.NAME`, `sample['NAME']` and `sample.get('NAME')` if the row has the field.
    /// `first` is the token where the replacement begins, and `sample` that of the name.
    fn row_field(&mut self, first: usize, sample: usize) -> Option<Replacement> {
        let token = |ahead: usize| self.at(sample + ahead);
        match (token(1)?, token(2)?) {
            (Token::Mark('.'), Token::Name("get")) => {
                let (Token::Mark('('), Token::Text(field)) = (token(3)?, token(4)?) else { return None };
                let is_alone = token(5) == Some(Token::Mark(')'));
                if is_alone && self.is_optional(field, first, sample + 5) {
                    return Some((self.span(first, sample + 5)?, format!("row.get('{field}', '')")));
                }
                self.row_itself(first, sample, field)
            }
            (Token::Mark('.'), Token::Name(method)) if METHODS.contains(&method) => None,
            (Token::Mark('.'), Token::Name(field)) if RESULTS.contains(&field) => {
                self.result(first, sample + 2, field)
            }
            (Token::Mark('.'), Token::Name(field)) if !SAMPLE_FIELDS.contains(&field) => {
                if field == "score" && !self.scope.fields.contains(field) {
                    self.unreadable.insert("sample.score".to_owned());
                }
                let end = if self.is_optional(field, first, sample + 2) { OPTIONAL } else { "" };
                Some((self.span(first, sample + 2)?, format!("row.{field}{end}")))
            }
            (Token::Mark('['), Token::Text(field)) if RESULTS.contains(&field) => {
                self.result(first, sample + 3, field)
            }
            (Token::Mark('['), Token::Text(field)) => {
                if self.is_optional(field, first, sample + 3) {
                    return Some((self.span(first, sample + 3)?, format!("row['{field}']{OPTIONAL}")));
                }
                self.row_itself(first, sample, field)
            }
            _ => None,
        }
    }

    /// Returns `row` in place of `sample` if the row has the field.
    fn row_itself(&mut self, first: usize, sample: usize, field: &str) -> Option<Replacement> {
        if RESULTS.contains(&field) {
            self.unreadable.insert(format!("sample.{field}"));
            return None;
        }
        let span = self.span(first, sample)?;
        (!SAMPLE_FIELDS.contains(&field)).then(|| (span, "row".to_owned()))
    }

    /// Returns true if a name is written as it is, and rows may lack the field: the older program wrote an empty text then.
    fn is_optional(&self, field: &str, first: usize, last: usize) -> bool {
        let before = first.checked_sub(1).and_then(|place| self.at(place));
        let is_default = matches!(self.at(last + 2), Some(Token::Name("default" | "d")));
        let is_whole = before == Some(Token::Open('{'))
            && match self.at(last + 1) {
                Some(Token::Close) => true,
                Some(Token::Mark('|')) => !is_default,
                _ => false,
            };
        let is_known = self.scope.fields.contains(field) || SAMPLE_FIELDS.contains(&field);
        // A result is reported instead.
        let is_result = RESULTS.contains(&field) || field == "score";
        is_whole && !is_known && !is_result && !field.contains('\'') && !self.conditions.contains(field)
    }

    /// Returns the replacement of an old result: the answer, if the whole text of the prediction is read after it.
    fn result(&mut self, first: usize, last: usize, name: &str) -> Option<Replacement> {
        let (last, member) = self.members_after(last);
        let is_answer = name == "predict_result" && matches!(member, Some("text" | "content" | "answer"));
        if is_answer && self.scope.follows_answer {
            return Some((self.span(first, last)?, "payload.model_output.answer".to_owned()));
        }
        self.unreadable.insert(format!("sample.{name}"));
        None
    }

    /// Returns the last token of the members and indexes that follow a token, and the name of the last member.
    fn members_after(&self, mut last: usize) -> (usize, Option<&'t str>) {
        let mut member = None;
        loop {
            let (one, two, three) = (self.at(last + 1), self.at(last + 2), self.at(last + 3));
            last += match (one, two, three) {
                (Some(Token::Mark('.')), Some(Token::Name(_)), Some(Token::Mark('('))) => {
                    return (last, None);
                }
                (Some(Token::Mark('.')), Some(Token::Name(name)), _) => {
                    member = Some(name);
                    2
                }
                (Some(Token::Mark('.')), Some(Token::Mark(digit)), _) if digit.is_ascii_digit() => 2,
                (Some(Token::Mark('[')), Some(Token::Text(name)), Some(Token::Mark(']'))) => {
                    member = Some(name);
                    3
                }
                (Some(Token::Mark('[')), Some(Token::Mark(digit)), Some(Token::Mark(']')))
                    if digit.is_ascii_digit() =>
                {
                    3
                }
                (Some(Token::Mark('[')), Some(Token::Mark('-')), Some(Token::Mark(_)))
                    if self.at(last + 4) == Some(Token::Mark(']')) =>
                {
                    4
                }
                _ => return (last, member),
            };
        }
    }
}

/// Returns the names and texts in the conditions of a template.
fn names_of_conditions<'t>(tokens: &[(Token<'t>, Range<usize>)]) -> BTreeSet<&'t str> {
    let mut names = BTreeSet::new();
    let mut is_condition = false;
    let mut before = Token::Close;
    for (token, _) in tokens {
        match token {
            Token::Name("if" | "elif") if before == Token::Open('%') => is_condition = true,
            Token::Close => is_condition = false,
            Token::Name(name) | Token::Text(name) if is_condition => {
                names.insert(*name);
            }
            _ => {}
        }
        before = *token;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn names_of_templates_become_explicit() {
        let (params, fields) = (names(&["subject"]), names(&["goal"]));
        let scope = TemplateScope { params: &params, fields: &fields, follows_answer: false };
        for (old, new) in [
            ("{{ sample.goal }} {{ sample.label }}", "{{ row.goal }} {{ sample.label }}"),
            ("{{ sample.get('goal', '') }}", "{{ row.get('goal', '') }}"),
            ("{{ sample['goal'] }}{{ sample[\"label\"] }}", "{{ row['goal'] }}{{ sample[\"label\"] }}"),
            (
                "{{ payload.sample.goal }} {{ payload.model_output.answer }}",
                "{{ row.goal }} {{ payload.model_output.answer }}",
            ),
            ("{{ subject|upper }} {{ params.subject }}", "{{ params.subject|upper }} {{ params.subject }}"),
            (
                "{% for o in sample.metadata.options %}{{ o }}{% endfor %}",
                "{% for o in sample.metadata.options %}{{ o }}{% endfor %}",
            ),
            ("{% set x = question %}{{ x }}", "{% set x = row.question %}{{ x }}"),
            ("{% if a is defined %}{{ 'a' }}{% endif %}", "{% if row.a is defined %}{{ 'a' }}{% endif %}"),
            ("{{ prompt_params.tone }}", "{{ params.tone }}"),
            ("{{- sample.hint -}}", "{{- row.hint|default('') -}}"),
            (
                "{{ sample.hint|upper }}{{ hint }}",
                "{{ row.hint|default('')|upper }}{{ row.hint|default('') }}",
            ),
            ("{{ sample.get('hint') }}", "{{ row.get('hint', '') }}"),
            ("{{ sample['hint'] }}", "{{ row['hint']|default('') }}"),
            ("{{ sample.hint|default('none') }}", "{{ row.hint|default('none') }}"),
            (
                "{% if sample.hint %}{{ sample.hint }}{% endif %}",
                "{% if row.hint %}{{ row.hint }}{% endif %}",
            ),
            ("{{ sample.get('a') or sample.b }}", "{{ row.get('a') or row.b }}"),
            ("{%} {{}} {# 1", "{%} {{}} {# 1"),
            ("{# sample.goal #} sample.goal {", "{# sample.goal #} sample.goal {"),
            (
                "{{ sample.messages[-1].content[0].text | default(x, y=1) }}",
                "{{ sample.messages[-1].content[0].text | default(row.x, y=1) }}",
            ),
        ] {
            assert_eq!(rewrite(old, scope).text, new, "{old}");
        }
        let found = rewrite("{{ system_prompt }}", scope);
        assert_eq!(found.text, "{{ params.system_prompt }}");
        assert_eq!(found.missing, BTreeSet::from(["system_prompt".to_owned()]));
        assert_eq!(found.changes.len(), 1);
    }

    #[test]
    fn answers_are_read_where_a_prompt_follows_them() {
        const ANSWER: &str = "{{ payload.model_output.answer }}";
        let empty = BTreeSet::new();
        let scope = TemplateScope { params: &empty, fields: &empty, follows_answer: true };
        for (old, new, unreadable) in [
            ("{{ sample.predict_result[0].message.content[0].text }}", ANSWER, None),
            ("{{ sample.predict_result.0.message.content.0.text }}", ANSWER, None),
            ("{{ sample['predict_result'][-1]['message']['content'] }}", ANSWER, None),
            ("{{ predict_result[0].answer }}", ANSWER, None),
            ("{{ payload.sample.predict_result[0].text }}", ANSWER, None),
            ("{{ sample.predict_result }}", "{{ sample.predict_result }}", Some("sample.predict_result")),
            ("{{ sample.eval_result.acc }}", "{{ sample.eval_result.acc }}", Some("sample.eval_result")),
            (
                "{{ sample.get('eval_result') }}",
                "{{ sample.get('eval_result') }}",
                Some("sample.eval_result"),
            ),
            ("{{ sample.score }}", "{{ row.score }}", Some("sample.score")),
        ] {
            let found = rewrite(old, scope);
            let found_unreadable = found.unreadable.first().map(String::as_str);
            assert_eq!((found.text.as_str(), found_unreadable), (new, unreadable), "{old}");
        }
        let before = TemplateScope { follows_answer: false, ..scope };
        let old = "{{ sample.predict_result[0].text }}";
        let found = rewrite(old, before);
        assert_eq!((found.text.as_str(), found.unreadable.len()), (old, 1));
    }
}
