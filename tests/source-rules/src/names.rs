//! The names of types and constants.

use crate::source_error::SourceError;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{ImplItemConst, ItemConst, ItemEnum, ItemStatic, ItemStruct, ItemTrait, ItemType, TraitItemConst};

/// Beginnings of constants that have a standard one: `MAX_`, `MIN_` or `DEFAULT_`.
const PRIVATE_PREFIXES: [&str; 9] =
    ["FEWEST", "LEAST", "LONGEST", "MOST", "NARROWEST", "OLDEST", "SHORTEST", "SHOWN", "USUAL"];

/// Participles and adverbs, which say what happened to a thing and leave the thing out.
const BARE_PARTICIPLES: [&str; 64] = [
    "Again",
    "Ahead",
    "Announced",
    "Answered",
    "Asked",
    "Begun",
    "Behind",
    "Beside",
    "Boxed",
    "Brought",
    "Chosen",
    "Compared",
    "Converted",
    "Counted",
    "Delimited",
    "Drawn",
    "Earlier",
    "Ended",
    "Escaped",
    "Failed",
    "Finished",
    "Found",
    "Further",
    "Given",
    "Heard",
    "Held",
    "Judged",
    "Kept",
    "Known",
    "Left",
    "Lent",
    "Linked",
    "Looped",
    "Made",
    "Marked",
    "Matched",
    "Measured",
    "Normalized",
    "Noted",
    "Parsed",
    "Played",
    "Pooled",
    "Prepared",
    "Priced",
    "Required",
    "Said",
    "Seen",
    "Sent",
    "Settled",
    "Shown",
    "Still",
    "Supported",
    "Taken",
    "Thing",
    "Told",
    "Trailing",
    "Unanswered",
    "Unscored",
    "Unwrapped",
    "Waiting",
    "Wanted",
    "What",
    "Whole",
    "Written",
];

/// Returns the names in a file that break a rule, each with the rule.
///
/// # Errors
/// When the file cannot be read or is not Rust.
pub fn bad_names(file: &Path) -> Result<Vec<String>, SourceError> {
    let failed = |message: String| SourceError { path: PathBuf::from(file), message };
    let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    let parsed = syn::parse_file(&text).map_err(|error| failed(error.to_string()))?;
    let mut names = Names::default();
    names.visit_file(&parsed);
    Ok(names.bad)
}

#[derive(Default)]
struct Names {
    bad: Vec<String>,
}

impl Names {
    fn constant(&mut self, name: &syn::Ident) {
        let name = name.to_string();
        if name.split_once('_').is_some_and(|(prefix, _)| PRIVATE_PREFIXES.contains(&prefix)) {
            self.bad.push(format!("`{name}`: a limit begins with MAX_ or MIN_, a default with DEFAULT_"));
        }
    }

    fn item_type(&mut self, name: &syn::Ident) {
        if BARE_PARTICIPLES.iter().any(|bare| name == bare) {
            self.bad.push(format!("`{name}`: name the thing, not what happened to it"));
        }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        self.constant(&item.ident);
        visit::visit_item_const(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &'ast ImplItemConst) {
        self.constant(&item.ident);
    }

    fn visit_trait_item_const(&mut self, item: &'ast TraitItemConst) {
        self.constant(&item.ident);
    }

    fn visit_item_static(&mut self, item: &'ast ItemStatic) {
        self.constant(&item.ident);
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.item_type(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.item_type(&item.ident);
    }

    fn visit_item_type(&mut self, item: &'ast ItemType) {
        self.item_type(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.item_type(&item.ident);
        visit::visit_item_trait(self, item);
    }
}
