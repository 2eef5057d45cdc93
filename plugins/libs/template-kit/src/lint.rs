//! Unknown names in a template: filters, tests, functions, other templates. They are found in the compiled template
//! without rendering it. They are therefore reported before a run, and not for each sample.

use crate::name_uses::{read_names, short};
use minijinja::machinery::{Instruction, Instructions, get_compiled_template};
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, State, Value};
use serde::Serialize;
use std::collections::HashSet;

/// Maximum number of reported names.
const MAX_REPORTED_NAMES: usize = 100;

/// Filters that the engine may have; each environment is queried for its own.
const FILTERS: &str = "abs attr batch bool capitalize chain count d default dictsort e escape first float format \
    groupby indent int items join last length lines list lower map max min pprint reject rejectattr replace \
    reverse round safe select selectattr slice sort split string sum title tojson trim unique upper zip";
/// Filters of expressions of fields.
const ROW_FILTERS: [&str; 2] = ["regex_replace", "shuffle"];
/// Tests that the engine may have, except operators such as `==`.
const TESTS: &str = "boolean defined divisibleby endingwith eq equalto escaped even false filter float ge \
    greaterthan gt in int integer iterable le lessthan lower lt mapping ne none number odd safe sameas sequence \
    startingwith string test true undefined upper";
/// Names that can be called although they are not variables.
const CALLABLE: [&str; 4] = ["caller", "loop", "self", "super"];

/// A name in a template that does not exist.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnknownName {
    /// The line within the template, from 1.
    pub line: Option<usize>,
    /// What the name should be: `filter`, `test`, `function` or `template`.
    pub kind: &'static str,
    /// The name. For a template, a list of names, one of them sufficient.
    pub names: Vec<String>,
    /// The names that exist; none for a template.
    pub known: Vec<String>,
}

/// Returns the unknown names in a template of an environment, line by line. Names that are only known during
/// rendering, such as in `{% include name %}`, are not checked; nor is whether a line is ever reached.
pub(crate) fn unknown_names(environment: &Environment<'_>, template: &str) -> Vec<UnknownName> {
    let Ok(template) = environment.get_template(template) else { return Vec::new() };
    let compiled = get_compiled_template(&template);
    let undeclared = read_names(&template);
    let mut search = LintWalk::new(environment, template.new_state(), undeclared);
    search.inspect(&compiled.instructions);
    compiled.blocks.values().for_each(|block| search.inspect(block));
    search.finish()
}

/// Returns the unknown names in an expression, line by line. `undeclared` are the variables that it reads.
pub(crate) fn unknown_names_of_expression(
    environment: &Environment<'_>,
    instructions: &Instructions<'_>,
    undeclared: HashSet<String>,
) -> Vec<UnknownName> {
    let mut search = LintWalk::new(environment, environment.empty_state(), undeclared);
    search.inspect(instructions);
    search.finish()
}

struct LintWalk<'s, 'e> {
    environment: &'s Environment<'e>,
    /// State of the template, used to query filters and tests.
    state: State<'s, 'e>,
    /// Variables that the template reads and does not set.
    undeclared: HashSet<String>,
    /// Names that every template of the environment can access.
    globals: Vec<String>,
    found: Vec<UnknownName>,
}

impl<'s, 'e> LintWalk<'s, 'e> {
    fn new(
        environment: &'s Environment<'e>,
        state: State<'s, 'e>,
        undeclared: HashSet<String>,
    ) -> LintWalk<'s, 'e> {
        let globals = environment.globals().map(|(name, _)| name.to_owned()).collect();
        LintWalk { environment, state, undeclared, globals, found: Vec::new() }
    }

    /// Returns the names that were found, line by line.
    fn finish(self) -> Vec<UnknownName> {
        let mut found = self.found;
        found.sort_by_key(|unknown| unknown.line);
        found.dedup();
        found.truncate(MAX_REPORTED_NAMES);
        found
    }

    fn inspect(&mut self, instructions: &Instructions<'_>) {
        let mut number = 0;
        while let Some(instruction) = instructions.get(number) {
            let line = instructions.get_line(number);
            match instruction {
                Instruction::ApplyFilter(name, arguments, _) => {
                    self.filter(name, line);
                    // Some filters take the name of another filter or test: `map('upper')`, `select('odd')`,
                    // `selectattr('n', 'odd')`.
                    let place = match *name {
                        "map" | "select" | "reject" => 1,
                        "selectattr" | "rejectattr" => 2,
                        _ => 0,
                    };
                    if place > 0
                        && let Some(other) = constant_argument(instructions, number, *arguments, place)
                        && let Some(other) = other.as_str()
                    {
                        match *name {
                            "map" => self.filter(other, line),
                            _ => self.test(other, line),
                        }
                    }
                }
                Instruction::PerformTest(name, ..) => self.test(name, line),
                Instruction::CallFunction(name, _) => self.function(name, instructions, line),
                Instruction::Include(false) | Instruction::LoadBlocks => {
                    let before = number.checked_sub(1).and_then(|before| instructions.get(before));
                    if let Some(Instruction::LoadConst(name)) = before {
                        self.template(name, line);
                    }
                }
                _ => {}
            }
            number += 1;
        }
    }

    fn filter(&mut self, name: &str, line: Option<usize>) {
        if !self.has_filter(&plain(name)) {
            let known = FILTERS.split_whitespace().chain(ROW_FILTERS).filter(|known| self.has_filter(known));
            let known = known.collect();
            self.add("filter", &plain(name), line, known);
        }
    }

    fn test(&mut self, name: &str, line: Option<usize>) {
        if !self.has_test(&plain(name)) {
            self.add("test", &plain(name), line, TESTS.split_whitespace().collect());
        }
    }

    /// Checks a function. A name that is also looked up, as in `name is defined`, is left to rendering.
    fn function(&mut self, name: &str, instructions: &Instructions<'_>, line: Option<usize>) {
        let is_there = CALLABLE.contains(&name)
            || !self.undeclared.contains(name)
            || self.globals.iter().any(|global| global == name);
        let mut all = (0..).map_while(|number| instructions.get(number));
        if !is_there && !all.any(|one| matches!(one, Instruction::Lookup(asked) if *asked == name)) {
            let globals = std::mem::take(&mut self.globals);
            self.add("function", name, line, globals.iter().map(String::as_str).collect());
            self.globals = globals;
        }
    }

    /// Checks a template name, or a list of names, one of them sufficient.
    fn template(&mut self, name: &Value, line: Option<usize>) {
        let names: Vec<Value> = match name.kind() {
            ValueKind::Seq => name.try_iter().map(Iterator::collect).unwrap_or_default(),
            _ => vec![name.clone()],
        };
        let exists =
            |name: &Value| name.as_str().is_none_or(|name| self.environment.get_template(name).is_ok());
        if !names.iter().any(exists) {
            let names = names.iter().take(MAX_REPORTED_NAMES).map(|name| short(&name.to_string())).collect();
            self.found.push(UnknownName { line, kind: "template", names, known: Vec::new() });
        }
    }

    fn add(&mut self, kind: &'static str, name: &str, line: Option<usize>, known: Vec<&str>) {
        let known = known.into_iter().map(str::to_owned).collect();
        self.found.push(UnknownName { line, kind, names: vec![short(name)], known });
    }

    /// Applied without a value, an existing filter reports that the value is missing.
    fn has_filter(&mut self, name: &str) -> bool {
        is_known(self.state.apply_filter(name, &[]), ErrorKind::UnknownFilter)
    }

    fn has_test(&mut self, name: &str) -> bool {
        is_known(self.state.perform_test(name, &[]), ErrorKind::UnknownTest)
    }
}

fn is_known<T>(answer: Result<T, Error>, unknown: ErrorKind) -> bool {
    answer.err().is_none_or(|error| error.kind() != unknown)
}

/// Returns the argument at a position after the filtered value, if all arguments from there on are constants.
fn constant_argument<'i>(
    instructions: &'i Instructions<'_>,
    filter: u32,
    arguments: Option<u16>,
    place: u32,
) -> Option<&'i Value> {
    // The value itself is counted too.
    let behind = u32::from(arguments?).checked_sub(place)?;
    let first = filter.checked_sub(behind).filter(|first| *first < filter)?;
    let constants = (first..filter).map(|number| match instructions.get(number) {
        Some(Instruction::LoadConst(value)) => Some(value),
        _ => None,
    });
    constants.collect::<Option<Vec<_>>>()?.first().copied()
}

/// Normalizes a name like the engine: `a . b` is `a.b`.
fn plain(name: &str) -> String {
    name.chars().filter(|character| !character.is_ascii_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(template: &str) -> Vec<String> {
        let mut environment = Environment::new();
        environment.remove_filter("format");
        environment.add_template("other", "").expect("a template");
        environment.add_template("t", template).expect("a template");
        let shown = |unknown: UnknownName| {
            let line = unknown.line.map_or_else(|| "?".to_owned(), |line| line.to_string());
            format!("{line} {} {}", unknown.kind, unknown.names.join(", "))
        };
        unknown_names(&environment, "t").into_iter().map(shown).collect()
    }

    #[test]
    fn unknown_names_are_found_in_every_position() {
        for (template, expected) in [
            ("a\n{{ 'x'|uper }}", "2 filter uper"),
            ("{% if false %}\n{{ 'x'|trimm }}{% endif %}", "2 filter trimm"),
            ("{% filter lwer %}x{% endfilter %}", "1 filter lwer"),
            ("{% macro m() %}\n\n{{ 1|jion }}{% endmacro %}", "3 filter jion"),
            ("{% block b %}{{ 1|jion }}{% endblock %}", "1 filter jion"),
            ("{% if x is strng %}{% endif %}", "1 test strng"),
            ("{% if x is not defind %}{% endif %}", "1 test defind"),
            ("{{ x|map('uper')|list }}", "1 filter uper"),
            ("{{ x|select('od')|list }}", "1 test od"),
            ("{{ x|selectattr('n', 'eqq', 1)|list }}", "1 test eqq"),
            ("{% for i in rnge(3) %}{% endfor %}", "1 function rnge"),
        ] {
            assert_eq!(found(template), [expected], "{template}");
        }
    }

    #[test]
    fn only_what_the_environment_has_is_proposed() {
        let mut environment = Environment::new();
        environment.remove_filter("format");
        let template = format!("{{{{ x|{} }}}}", "long".repeat(100));
        environment.add_template_owned("t", template).expect("a template");
        let unknown = unknown_names(&environment, "t");
        assert_eq!(unknown[0].names[0].len(), crate::name_uses::MAX_NAME_CHARS);
        let is_known = |name: &str| unknown[0].known.iter().any(|known| known == name);
        assert!(is_known("abs") && is_known("join") && !is_known("format"), "{:?}", unknown[0].known);
    }

    #[test]
    fn templates_that_do_not_exist_are_found() {
        for statement in [
            "{% include 'no' %}",
            "{% extends 'no' %}",
            "{% import 'no' as a %}",
            "{% from 'no' import a %}",
            "{% include ['no', 'nor'] %}",
        ] {
            let found = found(statement);
            assert!(found.iter().any(|text| text.contains("template no")), "{statement}: {found:?}");
        }
    }

    #[test]
    fn known_and_dynamic_names_are_no_error() {
        for template in [
            "{{ x|map(attribute='uper')|join(', ') }}{{ x|map('default', 'a')|list }}{{ x|map(y)|list }}",
            "{{ x|selectattr('uper')|list }}{{ x|select|list }}{{ x|rejectattr('n', '==', 1)|list }}",
            "{% macro m(a) %}{{ a }}{{ caller() }}{% endmacro %}{% call m(1) %}x{% endcall %}{{ m(2) }}",
            "{% for x in y recursive %}{{ loop(x) }}{% endfor %}{% set f = x %}{{ f() }}",
            "{% include 'other' %}{% include 'no' ignore missing %}{% include name %}{% include ['no', 'other'] %}",
            "{% if x is not none and x == 1 and x in [1] and x is divisibleby(3) %}{% endif %}",
            "{{ x.uper() }}{{ dict(a=1) }}{{ range(3) }}{% if rnge is defined %}{{ rnge(3) }}{% endif %}",
        ] {
            assert_eq!(found(template), Vec::<String>::new(), "{template}");
        }
    }

    #[test]
    fn the_engine_has_what_is_proposed() {
        let environment = Environment::new();
        let mut state = environment.empty_state();
        for name in FILTERS.split_whitespace() {
            assert!(is_known(state.apply_filter(name, &[]), ErrorKind::UnknownFilter), "{name}");
        }
        for name in TESTS.split_whitespace() {
            assert!(is_known(state.perform_test(name, &[]), ErrorKind::UnknownTest), "{name}");
        }
    }
}
