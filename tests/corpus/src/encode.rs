//! Encoding of core modules as components, and additions to components.

use std::fmt::Write as _;
use wasm_encoder::{ComponentInstanceSection, ComponentSection, ComponentSectionId, Encode as _, RawSection};
use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, SourceMap};

const CONTRACT: [(&str, &str); 3] = [
    ("types.wit", include_str!("../../../wit/types.wit")),
    ("host.wit", include_str!("../../../wit/host.wit")),
    ("plugin.wit", include_str!("../../../wit/plugin.wit")),
];

/// An interface of `gage:plugin` that no host provides.
const UNKNOWN: &str = "interface secrets { all: func() -> list<string>; }";

/// A core module, and the world for which it is made.
pub(crate) struct WorldModule<'guest> {
    pub(crate) module: Vec<u8>,
    /// The version of `gage:plugin`.
    pub(crate) version: &'guest str,
    /// Imports other than the log, in WIT.
    pub(crate) world_imports: &'guest str,
    /// Packages that these imports need, in WIT.
    pub(crate) packages: &'guest [String],
    /// Exported interfaces of `gage:plugin`.
    pub(crate) interfaces: Vec<&'static str>,
}

/// Encodes a plugin as a component.
pub(crate) fn encode(guest: WorldModule<'_>) -> Vec<u8> {
    let WorldModule { mut module, version, world_imports, packages, interfaces } = guest;
    let mut resolve = Resolve::default();
    let mut sources = SourceMap::default();
    for (name, text) in CONTRACT {
        sources.push_str(name, text.replace("@0.1.1", &format!("@{version}")));
    }
    sources.push_str("unknown.wit", UNKNOWN);
    let group = sources.parse().map_err(|(_, error)| error).expect("the contract is valid");
    resolve.push_group(group).expect("the contract stands on its own");
    for package in packages {
        resolve.push_source("package.wit", package).expect("the package is valid");
    }
    let mut world = format!("package corpus:probe;\nworld probe {{\nimport gage:plugin/log@{version};\n");
    world.push_str(world_imports);
    for interface in interfaces {
        let _ = writeln!(world, "export gage:plugin/{interface}@{version};");
    }
    world.push('}');
    let package = resolve.push_source("world.wit", &world).expect("the world is valid");
    let world = resolve.select_world(&[package], None).expect("there is one world");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("the world fits");
    ComponentEncoder::default()
        .validate(false)
        .merge_imports_based_on_semver(false)
        .module(&module)
        .and_then(|mut encoder| encoder.encode())
        .expect("the module fits its world")
}

/// Appends a component, in text, to another, and instantiates it.
pub(crate) fn graft(component: &[u8], text: &str) -> Vec<u8> {
    let added = wat::parse_str(text).expect("the text of a member is a component");
    let mut instances = ComponentInstanceSection::new();
    instances.instantiate(components_in(component), std::iter::empty::<(&str, _, u32)>());
    let mut grafted = graft_bytes(component, &added);
    instances.append_to_component(&mut grafted);
    grafted
}

/// Appends a component to another, without using it.
pub(crate) fn graft_bytes(component: &[u8], added: &[u8]) -> Vec<u8> {
    let mut grafted = component.to_vec();
    grafted.push(ComponentSectionId::Component.into());
    added.encode(&mut grafted);
    grafted
}

/// Appends a core module to a component, without using it.
pub(crate) fn graft_module(component: &[u8], module: &[u8]) -> Vec<u8> {
    let mut grafted = component.to_vec();
    RawSection { id: ComponentSectionId::CoreModule.into(), data: module }.append_to_component(&mut grafted);
    grafted
}

/// Returns the number of components defined directly in this one.
fn components_in(component: &[u8]) -> u32 {
    let (mut depth, mut found) = (0_u32, 0);
    for payload in Parser::new(0).parse_all(component) {
        match payload.expect("it was made here") {
            Payload::ComponentSection { .. } => {
                found += u32::from(depth == 0);
                depth += 1;
            }
            Payload::ModuleSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    found
}
