//! The public items of a crate, one line each. Every `pub` item counts, also in a private module, from which the crate may
//! re-export it.

use crate::modules::{attributes, is_test_only};
use crate::source_error::SourceError;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use std::path::{Path, PathBuf};
use syn::{Attribute, Fields, ImplItem, Item, ItemImpl, ItemMacro, ItemMod, TraitItem, Visibility};

/// Attributes that are part of the API of an item.
const PUBLIC_ATTRIBUTES: [&str; 3] = ["derive", "non_exhaustive", "macro_export"];

/// Returns a line for each public item of a crate, sorted: the module, and the signature.
///
/// # Errors
/// When a file cannot be read or is not Rust.
pub fn public_items(root: &Path) -> Result<Vec<String>, SourceError> {
    let mut listing = Listing { lines: Vec::new() };
    listing.read_file(root, root.parent().unwrap_or(Path::new(".")), "crate")?;
    listing.lines.sort();
    Ok(listing.lines)
}

struct Listing {
    lines: Vec<String>,
}

impl Listing {
    fn read_file(&mut self, file: &Path, folder: &Path, path: &str) -> Result<(), SourceError> {
        let failed = |message: String| SourceError { path: PathBuf::from(file), message };
        let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
        let parsed = syn::parse_file(&text).map_err(|error| failed(error.to_string()))?;
        self.items(parsed.items, folder, path)
    }

    fn items(&mut self, items: Vec<Item>, folder: &Path, path: &str) -> Result<(), SourceError> {
        for item in items.into_iter().filter(|item| !is_test_only(attributes(item))) {
            match item {
                Item::Mod(inner) => self.module(inner, folder, path)?,
                Item::Impl(block) => self.impl_block(block, path),
                Item::Macro(definition) => self.exported_macro(&definition, path),
                other => {
                    if let Some(signature) = public_signature(other) {
                        self.add(path, &signature);
                    }
                }
            }
        }
        Ok(())
    }

    fn module(&mut self, inner: ItemMod, folder: &Path, path: &str) -> Result<(), SourceError> {
        let name = inner.ident.to_string();
        if is_public(&inner.vis) {
            self.lines.push(format!("{path}: pub mod {name}"));
        }
        let (path, inner_folder) = (format!("{path}::{name}"), folder.join(&name));
        if let Some((_, items)) = inner.content {
            return self.items(items, &inner_folder, &path);
        }
        let beside = folder.join(format!("{name}.rs"));
        let file = if beside.is_file() { beside } else { inner_folder.join("mod.rs") };
        self.read_file(&file, &inner_folder, &path)
    }

    fn impl_block(&mut self, mut block: ItemImpl, path: &str) {
        let items = std::mem::take(&mut block.items);
        block.attrs.clear();
        let is_of_trait = block.trait_.is_some();
        let header = format_tokens(block.to_token_stream()).trim_end_matches(['{', '}', ' ']).to_owned();
        if is_of_trait {
            self.lines.push(format!("{path}: {header}"));
            return;
        }
        for item in items {
            let signature = match item {
                ImplItem::Fn(function) if is_public(&function.vis) => function.sig.to_token_stream(),
                ImplItem::Const(constant) if is_public(&constant.vis) => {
                    let (name, value_type) = (constant.ident, constant.ty);
                    quote::quote!(const #name: #value_type)
                }
                _ => continue,
            };
            self.lines.push(format!("{path}: {header}: pub {}", format_tokens(signature)));
        }
    }

    /// Adds a macro with the patterns that it takes.
    fn exported_macro(&mut self, definition: &ItemMacro, path: &str) {
        let is_exported = definition.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"));
        let Some(name) = definition.ident.as_ref().filter(|_| is_exported) else { return };
        let tokens: Vec<TokenTree> = definition.mac.tokens.clone().into_iter().collect();
        for pair in tokens.windows(2) {
            if let [TokenTree::Group(pattern), TokenTree::Punct(arrow)] = pair
                && arrow.as_char() == '='
                && pattern.delimiter() != Delimiter::None
            {
                self.lines.push(format!("{path}: macro {name}!({})", format_tokens(pattern.stream())));
            }
        }
    }

    fn add(&mut self, path: &str, signature: &TokenStream) {
        self.lines.push(format!("{path}: {}", format_tokens(signature.clone())));
    }
}

/// Returns a public item without bodies, private fields and comments; `None` for a private item.
fn public_signature(item: Item) -> Option<TokenStream> {
    Some(match item {
        Item::Const(mut item) if is_public(&item.vis) => {
            keep_public(&mut item.attrs);
            let (name, value_type) = (item.ident, item.ty);
            quote::quote!(pub const #name: #value_type)
        }
        Item::Static(item) if is_public(&item.vis) => {
            let (name, value_type) = (item.ident, item.ty);
            quote::quote!(pub static #name: #value_type)
        }
        Item::Enum(mut item) if is_public(&item.vis) => {
            keep_public(&mut item.attrs);
            for variant in &mut item.variants {
                keep_public(&mut variant.attrs);
                variant.fields.iter_mut().for_each(|field| keep_public(&mut field.attrs));
            }
            item.into_token_stream()
        }
        Item::Fn(item) if is_public(&item.vis) => {
            let signature = item.sig;
            quote::quote!(pub #signature)
        }
        Item::Struct(mut item) if is_public(&item.vis) => {
            keep_public(&mut item.attrs);
            if let Fields::Named(fields) = &mut item.fields {
                let public =
                    std::mem::take(&mut fields.named).into_iter().filter(|field| is_public(&field.vis));
                fields.named = public.collect();
            }
            item.fields.iter_mut().for_each(|field| keep_public(&mut field.attrs));
            item.into_token_stream()
        }
        Item::Trait(mut item) if is_public(&item.vis) => {
            keep_public(&mut item.attrs);
            for inner in &mut item.items {
                match inner {
                    TraitItem::Fn(function) => {
                        keep_public(&mut function.attrs);
                        // The existence of a default body is part of the API, its content is not.
                        if let Some(body) = &mut function.default {
                            body.stmts.clear();
                        }
                    }
                    TraitItem::Const(constant) => keep_public(&mut constant.attrs),
                    TraitItem::Type(associated) => keep_public(&mut associated.attrs),
                    _ => {}
                }
            }
            item.into_token_stream()
        }
        Item::Type(mut item) if is_public(&item.vis) => {
            keep_public(&mut item.attrs);
            item.into_token_stream()
        }
        Item::Use(mut item) if is_public(&item.vis) => {
            keep_public(&mut item.attrs);
            item.into_token_stream()
        }
        _ => return None,
    })
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

fn keep_public(attributes: &mut Vec<Attribute>) {
    attributes.retain(|attribute| PUBLIC_ATTRIBUTES.iter().any(|name| attribute.path().is_ident(name)));
}

/// Tokens in one line, spaced roughly as in source code.
fn format_tokens(tokens: TokenStream) -> String {
    let mut text = tokens.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    for (spaced, close) in [
        (" :: ", "::"),
        (" < ", "<"),
        (" > ", "> "),
        (" ,", ","),
        (" ;", ";"),
        (" : ", ": "),
        ("& ", "&"),
        ("( ", "("),
        (" )", ")"),
        (" (", "("),
        ("# ", "#"),
        (" >", ">"),
        (" '", "'"),
        (" !", "!"),
        ("$ ", "$"),
    ] {
        text = text.replace(spaced, close);
    }
    text
}
