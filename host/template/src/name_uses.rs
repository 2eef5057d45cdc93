//! The variables that a template reads, found in the compiled template without rendering it.

use minijinja::Environment;
use minijinja::machinery::{Instruction, Instructions, get_compiled_template};
use std::collections::HashSet;

/// A variable that a template reads, such as `name` or `row.question`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NameUse {
    /// The variable.
    pub(crate) root: String,
    /// The member that is read from it; `None` for the whole value, or for a member that is known only during
    /// rendering.
    pub(crate) member: Option<String>,
    /// The line within the template, from 1.
    pub(crate) line: Option<usize>,
}

impl NameUse {
    fn has_same_name(&self, other: &NameUse) -> bool {
        self.root == other.root && self.member == other.member
    }
}

/// Returns the variables that a template requires, line by line, each name once. Omits variables that it sets itself,
/// functions, and names that it checks with `is defined` or gives a `default`.
pub(crate) fn required_names(environment: &Environment<'_>, template: &str) -> Vec<NameUse> {
    let Ok(template) = environment.get_template(template) else { return Vec::new() };
    let globals: HashSet<&str> = environment.globals().map(|(name, _)| name).collect();
    let mut undeclared = template.undeclared_variables(false);
    undeclared.retain(|name| !globals.contains(name.as_str()));
    let compiled = get_compiled_template(&template);
    let (mut uses, mut optional) = (Vec::new(), Vec::new());
    let blocks = compiled.blocks.values();
    for instructions in std::iter::once(&compiled.instructions).chain(blocks) {
        collect(instructions, &undeclared, &mut uses, &mut optional);
    }
    let mut required: Vec<NameUse> = Vec::new();
    uses.sort_by_key(|one| one.line);
    for one in uses {
        let is_known = |other: &NameUse| other.has_same_name(&one);
        if !optional.iter().any(is_known) && !required.iter().any(is_known) {
            required.push(one);
        }
    }
    required
}

fn collect(
    instructions: &Instructions<'_>,
    undeclared: &HashSet<String>,
    uses: &mut Vec<NameUse>,
    optional: &mut Vec<NameUse>,
) {
    let mut number = 0;
    while let Some(instruction) = instructions.get(number) {
        if let Instruction::Lookup(root) = instruction
            && undeclared.contains(*root)
        {
            let (member, mut next) = match (instructions.get(number + 1), instructions.get(number + 2)) {
                (Some(Instruction::GetAttr(member)), _) => (Some((*member).to_owned()), number + 2),
                (Some(Instruction::LoadConst(name)), Some(Instruction::GetItem)) => {
                    (name.as_str().map(str::to_owned), number + 3)
                }
                _ => (None, number + 1),
            };
            // Deeper members may be missing, too.
            while matches!(
                instructions.get(next),
                Some(Instruction::GetAttr(_) | Instruction::LoadConst(_) | Instruction::GetItem)
            ) {
                next += 1;
            }
            let list = if is_optional(instructions.get(next)) { &mut *optional } else { &mut *uses };
            list.push(NameUse { root: (*root).to_owned(), member, line: instructions.get_line(number) });
        }
        number += 1;
    }
}

/// Returns whether an instruction accepts an undefined value.
fn is_optional(instruction: Option<&Instruction<'_>>) -> bool {
    match instruction {
        Some(Instruction::ApplyFilter(name, ..)) => matches!(*name, "default" | "d"),
        Some(Instruction::PerformTest(name, ..)) => matches!(*name, "defined" | "undefined"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn required(template: &str) -> Vec<String> {
        let mut environment = Environment::new();
        environment.add_template("t", template).expect("a template");
        let shown = |one: NameUse| {
            let name = one.member.map_or_else(|| one.root.clone(), |member| format!("{}.{member}", one.root));
            format!("{}:{name}", one.line.unwrap_or_default())
        };
        required_names(&environment, "t").into_iter().map(shown).collect()
    }

    #[test]
    fn variables_are_found_with_their_lines() {
        for (template, expected) in [
            ("{{ a }}\n{{ row.b }}{{ a }}", &["1:a", "2:row.b"][..]),
            ("{{ row['b c'] }}{{ row.d.e }}", &["1:row.b c", "1:row.d"]),
            ("{% for x in row.list %}{{ x.y }}{{ loop.index }}{% endfor %}", &["1:row.list"]),
            ("{% if a == 1 %}{% endif %}{{ range(b) }}", &["1:a", "1:b"]),
            ("{% set a = b %}{{ a }}", &["1:b"]),
            ("{{ a|upper }}{{ row.get('x') }}", &["1:a", "1:row"]),
            ("{% macro m(a) %}{{ a }}{{ c.d }}{% endmacro %}{{ m(1) }}", &["1:c.d"]),
        ] {
            assert_eq!(required(template), expected, "{template}");
        }
    }

    #[test]
    fn checked_variables_are_not_required() {
        for template in [
            "{% if a is defined %}{{ a }}{% endif %}",
            "{{ row.b|default('') }}{{ row.c|d }}{{ row.c }}",
            "{{ row.meta.level|default('none') }}",
        ] {
            assert_eq!(required(template), Vec::<String>::new(), "{template}");
        }
    }
}
