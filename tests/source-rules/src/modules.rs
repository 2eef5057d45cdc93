//! The modules of a crate: what each defines, re-exports and imports.

use crate::imports::{self, Module, ModulePath};
use crate::source_error::SourceError;
use std::collections::BTreeMap;
use std::path::Path;
use syn::{Attribute, Item, ItemMod, Meta};

/// The depth to which re-exports of re-exports are followed.
const MAX_REEXPORTS: usize = 16;

/// The modules of a crate, by their paths.
#[derive(Debug, Default)]
pub struct CrateModules {
    pub(crate) modules: BTreeMap<ModulePath, Module>,
}

impl CrateModules {
    /// Reads a crate from its root file (`lib.rs` or `main.rs`) and the files of its modules.
    ///
    /// # Errors
    /// When a file cannot be read or is not Rust.
    pub fn read(root: &Path) -> Result<CrateModules, SourceError> {
        let mut modules = CrateModules::default();
        let folder = root.parent().unwrap_or(Path::new("."));
        modules.read_file(root, folder, Vec::new())?;
        Ok(modules)
    }

    /// Reads a file; its submodules are in `folder`.
    fn read_file(&mut self, file: &Path, folder: &Path, path: ModulePath) -> Result<(), SourceError> {
        let failed = |message: String| SourceError { path: file.to_owned(), message };
        let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
        let parsed = syn::parse_file(&text).map_err(|error| failed(error.to_string()))?;
        self.add(&parsed.items, folder, path)
    }

    fn add(&mut self, items: &[Item], folder: &Path, path: ModulePath) -> Result<(), SourceError> {
        let mut module = Module::default();
        let code: Vec<&Item> = items.iter().filter(|item| !is_test_only(attributes(item))).collect();
        for item in &code {
            module.items.extend(item_name(item));
            if is_type(item) {
                module.types.extend(item_name(item));
            }
        }
        for item in &code {
            match item {
                Item::Mod(inner) => self.add_submodule(inner, folder, &path)?,
                other => imports::collect(other, &path, &mut module),
            }
        }
        self.modules.insert(path, module);
        Ok(())
    }

    fn add_submodule(
        &mut self,
        inner: &ItemMod,
        folder: &Path,
        path: &ModulePath,
    ) -> Result<(), SourceError> {
        let name = inner.ident.to_string();
        let inner_path: ModulePath = path.iter().cloned().chain([name.clone()]).collect();
        let inner_folder = folder.join(&name);
        if let Some((_, items)) = &inner.content {
            return self.add(items, &inner_folder, inner_path);
        }
        let beside = folder.join(format!("{name}.rs"));
        let file = if beside.is_file() { beside } else { inner_folder.join("mod.rs") };
        self.read_file(&file, &inner_folder, inner_path)
    }

    /// Returns the module that defines the item of a path; re-exports are followed.
    pub(crate) fn home_of(&self, path: &[String]) -> ModulePath {
        self.resolve(path, MAX_REEXPORTS).unwrap_or_default()
    }

    fn resolve(&self, path: &[String], depth: usize) -> Option<ModulePath> {
        let mut at = ModulePath::new();
        for (place, name) in path.iter().enumerate() {
            let inner: ModulePath = at.iter().cloned().chain([name.clone()]).collect();
            if self.modules.contains_key(&inner) {
                at = inner;
                continue;
            }
            let module = self.modules.get(&at)?;
            if module.items.contains(name) || depth == 0 {
                return Some(at);
            }
            let rest = &path[place + 1..];
            if let Some(origin) = module.imported.get(name) {
                return self.resolve(&[origin, rest].concat(), depth - 1);
            }
            let from_glob = module.globs.iter().find_map(|glob| {
                let home = self.resolve(glob, depth - 1)?;
                let named: ModulePath = [&home[..], &path[place..]].concat();
                let found = self.resolve(&named, depth - 1)?;
                (found.len() > home.len() || self.modules.get(&found)?.items.contains(name)).then_some(found)
            });
            return Some(from_glob.unwrap_or(at));
        }
        Some(at)
    }
}

/// Returns whether an item is compiled for tests alone.
pub(crate) fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition == "test" || condition.starts_with("all (test")
        }
        _ => false,
    })
}

pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_type(item: &Item) -> bool {
    matches!(item, Item::Enum(_) | Item::Struct(_) | Item::Trait(_) | Item::Type(_) | Item::Union(_))
}

fn item_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Mod(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}
