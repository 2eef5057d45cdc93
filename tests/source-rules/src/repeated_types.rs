//! Type names that several modules of a crate define.

use crate::modules::CrateModules;
use std::collections::BTreeMap;

/// Modules of a crate that may define the same type name.
const MAX_DEFINITIONS: usize = 2;

/// Returns the type names that more than two modules of a crate define, each with the number of these modules. Test code does
/// not count.
pub fn repeated_types(modules: &CrateModules) -> Vec<(String, usize)> {
    let mut definitions: BTreeMap<&str, usize> = BTreeMap::new();
    for name in modules.modules.values().flat_map(|module| &module.types) {
        *definitions.entry(name).or_default() += 1;
    }
    let repeated = definitions.into_iter().filter(|(_, count)| *count > MAX_DEFINITIONS);
    repeated.map(|(name, count)| (name.to_owned(), count)).collect()
}
