//! Modules of one folder that import one another in a cycle. A module and those below it may import each other: they
//! are one unit, assembled by the parent.

use crate::imports::ModulePath;
use crate::modules::CrateModules;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Modules of one folder that all import each other, directly or through others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Parent module; empty for the root of the crate.
    pub parent: Vec<String>,
    /// The names of the modules.
    pub modules: Vec<String>,
    /// The imports between them, from and to.
    pub imports: Vec<(String, String)>,
}

impl fmt::Display for Cycle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parent = if self.parent.is_empty() { "the root".to_owned() } else { self.parent.join("::") };
        write!(formatter, "below {parent}: {}", self.modules.join(", "))?;
        self.imports.iter().try_for_each(|(from, to)| write!(formatter, "\n    {from} imports {to}"))
    }
}

/// Imports between pairs of modules of a folder; the first of a pair imports the second.
type Edges = BTreeMap<(String, String), BTreeSet<(String, String)>>;

/// Returns the cycles of a crate, folder by folder.
pub fn cycles(modules: &CrateModules) -> Vec<Cycle> {
    let mut folders: BTreeMap<ModulePath, Edges> = BTreeMap::new();
    for (path, module) in &modules.modules {
        for named in &module.named {
            let home = modules.home_of(named);
            let common = path.iter().zip(&home).take_while(|(one, other)| one == other).count();
            // The modules are the same, or one contains the other.
            let (Some(from), Some(to)) = (path.get(common), home.get(common)) else { continue };
            let edges = folders.entry(path[..common].to_vec()).or_default();
            let import = (path.join("::"), named.join("::"));
            edges.entry((from.clone(), to.clone())).or_default().insert(import);
        }
    }
    folders.iter().flat_map(|(parent, edges)| cycles_of(parent, edges)).collect()
}

fn cycles_of(parent: &ModulePath, edges: &Edges) -> Vec<Cycle> {
    let names: BTreeSet<&String> = edges.keys().flat_map(|(from, to)| [from, to]).collect();
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        names.iter().map(|name| (*name, reachable(name, edges))).collect();
    let mut seen: BTreeSet<&String> = BTreeSet::new();
    let mut cycles = Vec::new();
    for name in &names {
        if seen.contains(*name) || !reach[*name].contains(*name) {
            continue;
        }
        let members: Vec<&String> = names
            .iter()
            .copied()
            .filter(|other| reach[*name].contains(*other) && reach[*other].contains(*name))
            .collect();
        seen.extend(&members);
        let within = edges.iter().filter(|((from, to), _)| members.contains(&from) && members.contains(&to));
        cycles.push(Cycle {
            parent: parent.clone(),
            modules: members.iter().map(|name| (*name).clone()).collect(),
            imports: within.flat_map(|(_, imports)| imports.iter().cloned()).collect(),
        });
    }
    cycles
}

/// Returns the modules that one imports, in any number of steps.
fn reachable<'e>(start: &str, edges: &'e Edges) -> BTreeSet<&'e String> {
    let mut found = BTreeSet::new();
    let mut open = vec![start];
    while let Some(name) = open.pop() {
        for (_, to) in edges.keys().filter(|(from, _)| from == name) {
            if found.insert(to) {
                open.push(to);
            }
        }
    }
    found
}
