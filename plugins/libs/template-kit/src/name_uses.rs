//! The variables that a template reads, found in the compiled template without rendering it.

use minijinja::machinery::{Instruction, Instructions, get_compiled_template};
use minijinja::{Environment, Template};
use serde::Serialize;
use std::collections::HashSet;
use std::ops::Range;

/// Maximum length of a reported name, which a template may make as long as itself.
pub(crate) const MAX_NAME_CHARS: usize = 100;

/// A variable that a template reads, such as `name` or `row.question`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NameUse {
    /// The variable.
    pub root: String,
    /// The members that are read from it, each from the one before, as far as they are known without rendering.
    pub path: Vec<String>,
    /// The line within the template, from 1.
    pub line: Option<usize>,
    /// Whether the template needs it.
    pub need: Need,
    /// True if the value itself is written whenever the template is rendered.
    pub is_written: bool,
}

/// Whether a template needs a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    /// It may be missing: the template checks it with `is defined`, or gives it a `default`.
    Checked,
    /// Without it, no rendering succeeds.
    Always,
    /// It is the condition of an `if`, `and` or `or`, to which a missing variable is false.
    Tested,
    /// It is read only if a condition holds.
    Sometimes,
}

impl NameUse {
    fn has_same_name(&self, other: &NameUse) -> bool {
        self.root == other.root && self.path == other.path
    }

    /// Returns whether this is the same variable, or one that holds it.
    fn holds(&self, other: &NameUse) -> bool {
        self.root == other.root && other.path.starts_with(&self.path)
    }
}

/// Returns the variables that a template reads, line by line, each name once. Omits variables that it sets itself, and
/// functions.
pub(crate) fn name_uses(environment: &Environment<'_>, template: &str) -> Vec<NameUse> {
    let Ok(template) = environment.get_template(template) else { return Vec::new() };
    let globals: HashSet<&str> = environment.globals().map(|(name, _)| name).collect();
    let mut undeclared = read_names(&template);
    undeclared.retain(|name| !globals.contains(name.as_str()));
    let compiled = get_compiled_template(&template);
    let mut uses = Vec::new();
    for instructions in std::iter::once(&compiled.instructions).chain(compiled.blocks.values()) {
        collect(instructions, &undeclared, &mut uses);
    }
    uses.sort_by_key(|one| one.line);
    let mut names: Vec<NameUse> = Vec::new();
    for one in &uses {
        if !names.iter().any(|known| known.has_same_name(one)) {
            let same = || uses.iter().filter(|other| other.has_same_name(one));
            let is_written = same().any(|other| other.is_written);
            // A need for the variable everywhere is reported where it is.
            let always = same().find(|other| other.need == Need::Always);
            let line = always.map_or(one.line, |other| other.line);
            names.push(NameUse { line, need: joint_need(one, &uses), is_written, ..one.clone() });
        }
    }
    names
}

/// Returns a name without the characters that are too many to be reported.
pub(crate) fn short(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}

/// Returns the names of the variables that a template reads and does not set. The engine leaves out a variable that is
/// read only as the value of a slice, as in `{{ text[:5] }}`.
pub(crate) fn read_names(template: &Template<'_, '_>) -> HashSet<String> {
    let mut names = template.undeclared_variables(false);
    let compiled = get_compiled_template(template);
    let parts = || std::iter::once(&compiled.instructions).chain(compiled.blocks.values());
    let mut has_slices = false;
    let mut set: HashSet<String> = ["loop", "caller", "self", "super"].map(str::to_owned).into();
    for part in parts() {
        visit(part, |instruction| match instruction {
            Instruction::Slice => has_slices = true,
            Instruction::StoreLocal(name) => {
                set.insert((*name).to_owned());
            }
            _ => {}
        });
    }
    for part in parts().filter(|_| has_slices) {
        visit(part, |instruction| {
            if let Instruction::Lookup(name) = instruction
                && !set.contains(*name)
            {
                names.insert((*name).to_owned());
            }
        });
    }
    names
}

/// Passes each instruction to `see`.
fn visit(instructions: &Instructions<'_>, mut see: impl FnMut(&Instruction<'_>)) {
    let mut number = 0;
    while let Some(instruction) = instructions.get(number) {
        see(instruction);
        number += 1;
    }
}

/// Returns the need for a variable from all its uses. A check of a value that holds it counts for it, too.
fn joint_need(one: &NameUse, uses: &[NameUse]) -> Need {
    let holders = |need: Need| uses.iter().any(|other| other.need == need && other.holds(one));
    let is_always = uses.iter().any(|other| other.need == Need::Always && other.has_same_name(one));
    match (holders(Need::Checked), is_always, holders(Need::Tested)) {
        (true, ..) => Need::Checked,
        (false, true, _) => Need::Always,
        (false, false, true) => Need::Tested,
        (false, false, false) => Need::Sometimes,
    }
}

fn collect(instructions: &Instructions<'_>, undeclared: &HashSet<String>, uses: &mut Vec<NameUse>) {
    let branches = branches(instructions);
    let mut number = 0;
    while let Some(instruction) = instructions.get(number) {
        if let Instruction::Lookup(root) = instruction
            && undeclared.contains(*root)
        {
            let members = Members::after(instructions, number + 1);
            let is_in_branch = branches.iter().any(|branch| branch.contains(&number));
            let need = members.need(instructions, is_in_branch);
            uses.push(NameUse {
                root: short(root),
                is_written: need == Need::Always
                    && members.is_whole
                    && writes(instructions.get(members.next)),
                path: members.path,
                line: instructions.get_line(number),
                need,
            });
        }
        number += 1;
    }
}

/// Returns the instructions that run only if a condition holds.
fn branches(instructions: &Instructions<'_>) -> Vec<Range<u32>> {
    let mut found = Vec::new();
    let mut number = 0;
    while let Some(instruction) = instructions.get(number) {
        number += 1;
        if let Instruction::JumpIfFalse(end)
        | Instruction::JumpIfFalseOrPop(end)
        | Instruction::JumpIfTrueOrPop(end) = instruction
        {
            found.push(number..*end);
            // A branch that ends with a jump has an `else`, or leaves a loop.
            let last = end.checked_sub(1).and_then(|last| instructions.get(last));
            if let Some(Instruction::Jump(end_of_else)) = last {
                found.push(*end..*end_of_else);
            }
        }
    }
    found
}

/// Members that are read from a variable.
struct Members {
    path: Vec<String>,
    /// False if further members are read that are known only during rendering.
    is_whole: bool,
    /// True if the last one is read by `get`, which gives null if there is none.
    is_by_get: bool,
    /// True if `get` has a default.
    has_default: bool,
    /// The instruction after them.
    next: u32,
}

impl Members {
    /// Returns the members that are read from the value of the instruction before `next`.
    fn after(instructions: &Instructions<'_>, next: u32) -> Members {
        let mut members =
            Members { path: Vec::new(), is_whole: true, is_by_get: false, has_default: false, next };
        loop {
            let at = |offset: u32| instructions.get(members.next + offset);
            let (key, length) = match (at(0), at(1), at(2)) {
                (Some(Instruction::GetAttr(name)), ..) => (Some(*name), 1),
                (Some(Instruction::LoadConst(key)), Some(Instruction::GetItem), _) => (key.as_str(), 2),
                (Some(Instruction::LoadConst(key)), Some(Instruction::CallMethod("get", Some(2))), _) => {
                    members.is_by_get = true;
                    (key.as_str(), 2)
                }
                (
                    Some(Instruction::LoadConst(key)),
                    Some(Instruction::LoadConst(_)),
                    Some(Instruction::CallMethod("get", Some(3))),
                ) => {
                    members.has_default = true;
                    (key.as_str(), 3)
                }
                _ => return members,
            };
            members.next += length;
            match key {
                Some(key) if members.is_whole => members.path.push(short(key)),
                _ => members.is_whole = false,
            }
        }
    }

    /// Returns the need for the value, by what follows.
    fn need(&self, instructions: &Instructions<'_>, is_in_branch: bool) -> Need {
        let accepts_missing = match instructions.get(self.next) {
            Some(Instruction::PerformTest(name, ..)) => {
                matches!(*name, "defined" | "undefined") || (*name == "none" && self.is_by_get)
            }
            _ => self.has_default || gets_default(instructions, self.next),
        };
        match instructions.get(self.next) {
            _ if accepts_missing => Need::Checked,
            Some(
                Instruction::JumpIfFalse(_)
                | Instruction::JumpIfFalseOrPop(_)
                | Instruction::JumpIfTrueOrPop(_)
                | Instruction::Not,
            ) => Need::Tested,
            // The default of another value.
            Some(Instruction::ApplyFilter("default" | "d", ..)) => Need::Sometimes,
            _ if is_in_branch => Need::Sometimes,
            _ => Need::Always,
        }
    }
}

/// Returns whether the value of the instruction before `next` gets a default from the filter `default`, whose arguments
/// are constants or variables.
fn gets_default(instructions: &Instructions<'_>, mut next: u32) -> bool {
    for arguments in 1..=3 {
        match instructions.get(next) {
            Some(Instruction::ApplyFilter("default" | "d", count, _)) => return *count == Some(arguments),
            Some(Instruction::LoadConst(_)) => next += 1,
            Some(Instruction::Lookup(_)) => next = Members::after(instructions, next + 1).next,
            _ => return false,
        }
    }
    false
}

/// Returns whether an instruction writes the value before it as a text.
fn writes(instruction: Option<&Instruction<'_>>) -> bool {
    match instruction {
        Some(Instruction::Emit | Instruction::StringConcat) => true,
        Some(Instruction::ApplyFilter(name, ..)) => {
            ["trim", "upper", "lower", "title", "capitalize", "string"].contains(name)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(template: &str, needs: &[Need]) -> Vec<String> {
        let mut environment = Environment::new();
        environment.add_template("t", template).expect("a template");
        let uses = name_uses(&environment, "t").into_iter().filter(|one| needs.contains(&one.need));
        let shown = |one: NameUse| {
            let path: Vec<String> = std::iter::once(one.root).chain(one.path).collect();
            format!("{}:{}", one.line.unwrap_or_default(), path.join("."))
        };
        uses.map(shown).collect()
    }

    #[test]
    fn variables_are_found_with_their_lines() {
        for (template, expected) in [
            ("{{ a }}\n{{ row.b }}{{ a }}", &["1:a", "2:row.b"][..]),
            ("{{ row['b c'] }}{{ row.d.e }}{{ row.f[0].g }}", &["1:row.b c", "1:row.d.e", "1:row.f"]),
            ("{% for x in row.list %}{{ x.y }}{{ loop.index }}{% endfor %}", &["1:row.list"]),
            ("{% if a == 1 %}{% endif %}{{ range(b) }}", &["1:a", "1:b"]),
            ("{% set a = b %}{{ a }}", &["1:b"]),
            ("{{ a|upper }}{{ row.get('x') }}{{ row.y.upper() }}", &["1:a", "1:row.x", "1:row.y"]),
            ("{% macro m(a) %}{{ a }}{{ c.d }}{% endmacro %}{{ m(1) }}", &["1:c.d"]),
            ("{% if a %}{{ a }}{% endif %}\n{{ a }}", &["2:a"]),
            ("{{ a|default(b) }}{{ c ~ d }}", &["1:c", "1:d"]),
            ("{{ a[:3] }}{{ row.b.split(' ')[1:]|join }}", &["1:a", "1:row.b"]),
            ("{% for x in a[:2] %}{{ x[:1] }}{{ loop.index }}{% endfor %}", &["1:a"]),
        ] {
            assert_eq!(found(template, &[Need::Always]), expected, "{template}");
        }
    }

    #[test]
    fn checked_variables_are_not_required() {
        for template in [
            "{% if a is defined %}{{ a }}{% endif %}",
            "{{ row.b|default('') }}{{ row.c|d('', true) }}{{ row.c }}",
            "{{ row.meta.level|default('none') }}",
            "{{ row.get('x', '') }}{{ 1 if row.get('y') is none }}",
            "{{ row.a|default(1, boolean=true) }}",
            "{% if row.meta is defined %}{{ row.meta.level }}{% endif %}",
        ] {
            let others = found(template, &[Need::Always, Need::Tested, Need::Sometimes]);
            assert_eq!(others, Vec::<String>::new(), "{template}");
        }
    }

    #[test]
    fn conditions_and_their_branches_are_known() {
        for (template, tested, sometimes) in [
            ("{% if a %}{{ a.b }}{{ c }}{% endif %}", &["1:a", "1:a.b"][..], &["1:c"][..]),
            (
                "{% if 1 %}{{ a }}{% elif b %}{{ c }}{% else %}{{ d }}{% endif %}",
                &["1:b"],
                &["1:a", "1:c", "1:d"],
            ),
            ("{{ a or b }}{{ 1 if not c else d }}", &["1:a", "1:c"], &["1:b", "1:d"]),
            ("{% for x in [1] %}{% if x %}{% break %}{% endif %}{{ a }}{% endfor %}", &[], &["1:a"]),
        ] {
            assert_eq!(found(template, &[Need::Tested]), tested, "{template}");
            assert_eq!(found(template, &[Need::Sometimes]), sometimes, "{template}");
        }
    }
}
