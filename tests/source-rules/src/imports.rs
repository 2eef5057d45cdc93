//! Paths of its own crate that a module names.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use syn::{Item, ItemUse, Macro, UseTree};

/// Names from the root of the crate down to a module or an item.
pub(crate) type ModulePath = Vec<String>;

#[derive(Debug, Default)]
pub(crate) struct Module {
    /// The items that it defines, modules included.
    pub(crate) items: BTreeSet<String>,
    /// The types among them: structs, enums, unions, traits and aliases.
    pub(crate) types: BTreeSet<String>,
    /// Names brought in by its `use` declarations, with their paths.
    pub(crate) imported: BTreeMap<String, ModulePath>,
    /// The modules that it imports by glob.
    pub(crate) globs: Vec<ModulePath>,
    /// Every path of this crate that its code names.
    pub(crate) named: BTreeSet<ModulePath>,
}

/// Adds what an item imports and names to its module.
pub(crate) fn collect(item: &Item, path: &ModulePath, module: &mut Module) {
    Collector { path, module }.visit_item(item);
}

struct Collector<'m> {
    path: &'m ModulePath,
    module: &'m mut Module,
}

impl Collector<'_> {
    /// Returns the path from the root of the crate; `None` for a path into another crate.
    fn absolute(&self, segments: &[String]) -> Option<ModulePath> {
        let (first, rest) = segments.split_first()?;
        let mut base = match first.as_str() {
            "crate" => return Some(rest.to_vec()),
            "self" | "super" => self.path.clone(),
            // A submodule or an item of this module needs no `use`.
            name if self.module.items.contains(name) => {
                return Some([&self.path[..], segments].concat());
            }
            _ => return None,
        };
        let mut rest = segments;
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "self" => {}
                "super" => drop(base.pop()),
                _ => break,
            }
            rest = others;
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    fn name(&mut self, segments: &[String]) {
        if let Some(path) = self.absolute(segments) {
            self.module.named.insert(path);
        }
    }

    fn import(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: &syn::Ident| -> Vec<String> { [before, &[name.to_string()]].concat() };
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, before)),
            UseTree::Name(name) if name.ident == "self" => {
                self.bind(before.last().cloned().unwrap_or_default(), before);
            }
            UseTree::Name(name) => self.bind(name.ident.to_string(), &with(&name.ident)),
            UseTree::Rename(rename) => self.bind(rename.rename.to_string(), &with(&rename.ident)),
            UseTree::Glob(_) => {
                if let Some(path) = self.absolute(before) {
                    self.module.named.insert(path.clone());
                    self.module.globs.push(path);
                }
            }
        }
    }

    fn bind(&mut self, name: String, segments: &[String]) {
        if let Some(path) = self.absolute(segments) {
            self.module.named.insert(path.clone());
            self.module.imported.insert(name, path);
        }
    }

    /// Records paths in macro tokens. Macros are not parsed: a path there is a sequence of names with `::` between.
    fn name_in_tokens(&mut self, tokens: TokenStream) {
        let mut segments: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.name(&std::mem::take(&mut segments));
                    }
                    segments.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !segments.is_empty() => colons += 1,
                other => {
                    self.name(&std::mem::take(&mut segments));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.name_in_tokens(group.stream());
                    }
                }
            }
        }
        self.name(&segments);
    }
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.import(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if segments.len() > 1 {
            self.name(&segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        self.name_in_tokens(called.tokens.clone());
        visit::visit_macro(self, called);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {
        // `pub(in crate::a)` imports nothing.
    }
}
