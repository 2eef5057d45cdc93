//! Summary of a component, read from its bytes before compilation.

use crate::contract_version::{MIN_WIT_VERSION, Support, WIT_VERSION, is_supported, newest, support_of};
use crate::packages::{SECTION, packages_in};
use crate::world::{Capability, World};
use gage_config::Grants;
use gage_core::{Digest, MAX_SHOWN_NAME_CHARS};
use std::borrow::Cow;
use wasmparser::{Encoding, Parser, Payload};

/// Maximum nesting of components. Real components have a few levels, and the compiler's time and memory grow
/// with their square.
const MAX_NESTED_COMPONENTS: usize = 100;

/// Maximum number of exports that a message lists.
const MAX_LISTED_EXPORTS: usize = 20;

/// Interfaces that every component may import.
const FREE: [&str; 2] = ["log", "types"];

/// Interfaces of WASI 0.2 that are provided as empty stubs.
const WASI: [&str; 6] =
    ["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:io/", "wasi:random/", "wasi:sockets/"];

/// Summary of a component.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentSummary {
    /// Digest of the bytes.
    pub digest: Digest,
    /// Size in bytes.
    pub size: usize,
    /// The world.
    pub world: World,
    /// Version of `gage:plugin` that it needs: the newest one among its imports and its export.
    pub wit_version: String,
    /// The interfaces that it imports.
    pub imports: Vec<String>,
    /// The interfaces that it exports.
    pub exports: Vec<String>,
    /// The packages that it contains, if its build noted them.
    pub packages: Vec<String>,
}

impl ComponentSummary {
    /// Returns whether it imports WASI, as guests with an interpreter do.
    pub(crate) fn needs_wasi(&self) -> bool {
        self.imports.iter().any(|import| import.starts_with("wasi:"))
    }

    /// Returns the imported capabilities; each needs a grant.
    pub fn capabilities(&self) -> Vec<Capability> {
        let imports = |capability: &Capability| self.import_of(*capability).is_some();
        Capability::ALL.into_iter().filter(imports).collect()
    }

    /// Returns the import of a capability, as spelled in the component.
    fn import_of(&self, capability: Capability) -> Option<&str> {
        self.imports.iter().map(String::as_str).find(|import| own(import) == Some(capability.name()))
    }
}

/// Returns the name and the version of an interface of `gage:plugin`.
fn contract_item(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("gage:plugin/")?.split_once('@')
}

/// Returns the name of an interface of `gage:plugin` in a version that this host supports.
fn own(import: &str) -> Option<&str> {
    let (name, version) = contract_item(import)?;
    is_supported(version).then_some(name)
}

/// A problem of a component, with advice.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Refusal {
    pub(crate) fn new(message: String) -> Refusal {
        Refusal { message, help: None }
    }

    fn with_help(message: String, help: impl Into<String>) -> Refusal {
        Refusal { message, help: Some(help.into()) }
    }
}

/// Reads a component's imports and exports, and rejects components that no grant would make usable.
pub(crate) fn inspect(bytes: &[u8]) -> Result<ComponentSummary, Refusal> {
    let ComponentNames { imports, exports, packages } = names_of(bytes)?;
    let (world, exported_version) = world_of(&exports)?;
    for import in &imports {
        check_import(import, world)?;
    }
    let imported = imports.iter().filter_map(|import| Some(contract_item(import)?.1));
    let wit_version = newest(imported.chain([exported_version])).unwrap_or(exported_version).to_owned();
    Ok(ComponentSummary {
        digest: Digest::of_bytes(bytes),
        size: bytes.len(),
        world,
        wit_version,
        imports,
        exports,
        packages,
    })
}

/// Rejects imports that are not granted. `id` and `source` are the suite's names for the component.
pub(crate) fn check_grants(
    summary: &ComponentSummary,
    grants: &Grants,
    id: &str,
    source: &str,
) -> Result<(), Refusal> {
    let is_granted = |capability: &Capability| match capability {
        Capability::Media => grants.media,
        Capability::Http => !grants.http.is_empty(),
        Capability::Llm => !grants.llm.is_empty(),
    };
    let missing: Vec<Capability> =
        summary.capabilities().into_iter().filter(|capability| !is_granted(capability)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let imports: Vec<&str> = missing.iter().filter_map(|capability| summary.import_of(*capability)).collect();
    let lines: String =
        missing.iter().map(|capability| format!("\n        {}", capability.example())).collect();
    Err(Refusal::with_help(
        format!("it imports {}, which the suite does not grant", imports.join(" and ")),
        format!(
            "to grant it, write\n  plugins:\n    - id: {id}\n      source: {source}\n      grants:{lines}"
        ),
    ))
}

fn check_import(import: &str, world: World) -> Result<(), Refusal> {
    if own(import).is_some_and(|name| FREE.contains(&name)) {
        return Ok(());
    }
    if let Some(capability) = Capability::ALL.into_iter().find(|one| own(import) == Some(one.name())) {
        if capability.worlds().contains(&world) {
            return Ok(());
        }
        let allowed: Vec<&str> = capability.worlds().iter().map(|world| world.kind()).collect();
        return Err(Refusal::with_help(
            format!("it imports {}, which a {world} cannot have", shown(import)),
            format!("plugins that may be granted it: {}", allowed.join(", ")),
        ));
    }
    if WASI.iter().any(|family| import.starts_with(family)) && import.contains("@0.2.") {
        return Ok(());
    }
    if let Some((name, version)) = contract_item(import)
        && !is_supported(version)
    {
        return Err(unsupported(&format!("imports gage:plugin/{}", shown(name)), version));
    }
    Err(Refusal::with_help(
        format!("it imports {}, which this host does not provide", shown(import)),
        format!(
            "a component may import gage:plugin/log@{WIT_VERSION}, what the suite grants of media, http and llm, \
             and WASI 0.2 without wasi:http, which is there and empty"
        ),
    ))
}

fn shown(name: &str) -> Cow<'_, str> {
    gage_core::shortened(name, MAX_SHOWN_NAME_CHARS)
}

/// Creates the refusal of a version of the contract. `what` is what the component does with an interface of it.
fn unsupported(what: &str, version: &str) -> Refusal {
    let rebuild = format!(
        "build the component against gage:plugin@{WIT_VERSION}: in its project, run `gage-host plugin upgrade` \
         and `gage-host plugin build`"
    );
    let help = match support_of(version) {
        Support::Newer => {
            format!("upgrade gage-host to a version that supports {}, or {rebuild}", shown(version))
        }
        Support::Supported | Support::Other => rebuild,
    };
    Refusal::with_help(
        format!(
            "it {what} of version {}; this host supports gage:plugin {MIN_WIT_VERSION} to {WIT_VERSION}",
            shown(version)
        ),
        help,
    )
}

/// Names in a component.
#[derive(Default)]
struct ComponentNames {
    imports: Vec<String>,
    exports: Vec<String>,
    packages: Vec<String>,
}

/// Returns the names of a component's imports and exports, and of the packages that it contains.
fn names_of(bytes: &[u8]) -> Result<ComponentNames, Refusal> {
    const BUILD: &str = "build the plugin with `gage-host plugin build`";
    if bytes.starts_with(b"\x7fELF") {
        return Err(Refusal::with_help(
            "it is machine code (a precompiled file?), not a WebAssembly component; foreign machine code is \
             never loaded"
                .to_owned(),
            "give the component itself, the .wasm file",
        ));
    }
    if !bytes.starts_with(b"\0asm") {
        let what = if bytes.is_empty() { "it is empty" } else { "it does not begin like a WebAssembly file" };
        return Err(Refusal::with_help(format!("{what}, so it is not a WebAssembly component"), BUILD));
    }
    let broken = |error: wasmparser::BinaryReaderError| {
        let what = if error.message().contains("unexpected end") { "cut off" } else { "damaged" };
        let error = error.to_string();
        Refusal::new(format!("it is a {what} WebAssembly file: {}", shown(&error)))
    };
    let mut names = ComponentNames::default();
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(broken)? {
            Payload::Version { encoding, .. } if depth == 0 && encoding != Encoding::Component => {
                return Err(Refusal::with_help(
                    "it is a core WebAssembly module, not a component".to_owned(),
                    "make a component of it with `gage-host plugin build`, or `wasm-tools component new`",
                ));
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. }
                if depth == MAX_NESTED_COMPONENTS =>
            {
                return Err(Refusal::new(format!(
                    "it nests components deeper than {MAX_NESTED_COMPONENTS} levels"
                )));
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    names.imports.push(import.map_err(broken)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    names.exports.push(export.map_err(broken)?.name.name.to_owned());
                }
            }
            Payload::CustomSection(section) if depth == 0 && section.name() == SECTION => {
                names.packages.extend(packages_in(section.data()));
            }
            _ => {}
        }
    }
    Ok(names)
}

/// Returns the world of a component, and the version of the interface that it exports.
fn world_of(exports: &[String]) -> Result<(World, &str), Refusal> {
    let mut found: Vec<(World, &str)> = Vec::new();
    for world in World::ALL {
        let prefix = format!("gage:plugin/{}@", world.interface());
        found.extend(exports.iter().filter_map(|export| Some((world, export.strip_prefix(&prefix)?))));
    }
    match found.as_slice() {
        [(world, version)] if is_supported(version) => Ok((*world, *version)),
        [(world, version)] => {
            Err(unsupported(&format!("exports gage:plugin/{}", world.interface()), version))
        }
        [] => {
            let names = match exports.is_empty() {
                true => "nothing".to_owned(),
                false => gage_core::name_list(exports, MAX_LISTED_EXPORTS, ", "),
            };
            let known: Vec<&str> = World::ALL.into_iter().map(World::interface).collect();
            Err(Refusal::with_help(
                format!("it exports {names}, which is not an interface of a plugin"),
                format!("a plugin exports one of gage:plugin/{{{}}}@{WIT_VERSION}", known.join(", ")),
            ))
        }
        several => {
            let names: Vec<&str> = several.iter().map(|(world, _)| world.interface()).collect();
            Err(Refusal::with_help(
                format!("it exports {} at once", gage_core::name_list(names, MAX_LISTED_EXPORTS, " and ")),
                "a component is a plugin of one kind; make one of each",
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_of_a_newer_version_asks_for_a_newer_host() {
        let help =
            |version: &str| unsupported("exports gage:plugin/metric", version).help.unwrap_or_default();
        assert!(help("0.1.2").starts_with("upgrade gage-host to a version that supports 0.1.2, or build "));
        assert!(help("0.0.9").starts_with("build the component against gage:plugin@"));
    }

    #[test]
    fn interfaces_of_every_supported_version_may_be_imported() {
        for (import, is_allowed) in [
            ("gage:plugin/log@0.1.0", true),
            ("gage:plugin/log@0.1.1", true),
            ("gage:plugin/media@0.1.0", true),
            ("gage:plugin/http@0.1.0", false),
            ("gage:plugin/log@0.1.2", false),
            ("gage:plugin/log@0.2.0", false),
            ("gage:plugin/log", false),
        ] {
            assert_eq!(check_import(import, World::Metric).is_ok(), is_allowed, "{import}");
        }
    }

    #[test]
    fn messages_about_long_names_are_short() {
        let long = "x".repeat(100_000);
        let many: Vec<String> = (0..100).map(|number| format!("gage:plugin/metric@{number}{long}")).collect();
        for refusal in [
            check_import(&long, World::Metric).expect_err("unknown"),
            check_import(&format!("gage:plugin/{long}@9"), World::Metric).expect_err("another version"),
            check_import(&format!("gage:plugin/log@{long}"), World::Metric).expect_err("another version"),
            world_of(std::slice::from_ref(&long)).expect_err("no interface"),
            world_of(&many[..1]).expect_err("another version"),
            world_of(&many).expect_err("several"),
        ] {
            let length = refusal.message.len() + refusal.help.map_or(0, |help| help.len());
            assert!(length < 5_000, "{length}: {}", refusal.message);
        }
    }
}
