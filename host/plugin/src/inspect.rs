//! What a component is, read from its bytes before anything is compiled.

use gage_core::Digest;
use wasmparser::{Encoding, Parser, Payload};

/// Which of the plugin worlds a component belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum World {
    /// Scores samples.
    Metric,
    /// Turns rows into Samples.
    Preprocessor,
    /// Answers requests.
    Backend,
}

impl World {
    const ALL: [World; 3] = [World::Metric, World::Preprocessor, World::Backend];

    /// The interface that a component of this world exports.
    pub fn interface(self) -> &'static str {
        match self {
            World::Metric => "metric",
            World::Preprocessor => "preprocessor",
            World::Backend => "backend",
        }
    }
}

/// The version of `gage:plugin` that this host speaks.
pub(crate) const WIT_VERSION: &str = "0.1.0";

/// What a component is.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentSummary {
    /// Digest of its bytes.
    pub digest: Digest,
    /// Its world.
    pub world: World,
    /// The version of `gage:plugin` that it was built against.
    pub wit_version: String,
    /// The interfaces that it imports.
    pub imports: Vec<String>,
    /// The interfaces that it exports.
    pub exports: Vec<String>,
}

impl ComponentSummary {
    /// Whether it imports WASI.
    pub fn needs_wasi(&self) -> bool {
        self.imports.iter().any(|import| import.starts_with("wasi:"))
    }
}

/// Reads what a component imports and exports, and refuses what this host cannot run.
pub(crate) fn inspect(bytes: &[u8], most_bytes: usize) -> Result<ComponentSummary, String> {
    if bytes.len() > most_bytes {
        return Err(format!("it has {} bytes; at most {most_bytes} are allowed", bytes.len()));
    }
    let (imports, exports) = names_of(bytes)?;
    let refused: Vec<&str> =
        imports.iter().map(String::as_str).filter(|import| !is_allowed(import)).collect();
    if !refused.is_empty() {
        return Err(format!(
            "it imports {}, which this host does not give; allowed are gage:plugin/log@{WIT_VERSION}, \
             gage:plugin/types@{WIT_VERSION} and WASI 0.2, which is empty",
            refused.join(", ")
        ));
    }
    let (world, wit_version) = world_of(&exports)?;
    Ok(ComponentSummary { digest: Digest::of_bytes(bytes), world, wit_version, imports, exports })
}

fn is_allowed(import: &str) -> bool {
    let ours = |name: &str| import == format!("gage:plugin/{name}@{WIT_VERSION}");
    let wasi = ["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:io/", "wasi:random/", "wasi:sockets/"];
    ours("log")
        || ours("types")
        || (wasi.iter().any(|name| import.starts_with(name)) && import.contains("@0.2."))
}

fn names_of(bytes: &[u8]) -> Result<(Vec<String>, Vec<String>), String> {
    if !bytes.starts_with(b"\0asm") {
        return Err("it is not a WebAssembly component: the file does not begin like one".to_owned());
    }
    let (mut imports, mut exports) = (Vec::new(), Vec::new());
    let mut depth = 0_usize;
    let is_component = |encoding| encoding == Encoding::Component;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|error| format!("it is not a WebAssembly component: {error}"))? {
            Payload::Version { encoding, .. } if depth == 0 && !is_component(encoding) => {
                return Err("it is a core WebAssembly module, not a component; \
                            make one of it with `wasm-tools component new`"
                    .to_owned());
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    imports.push(import.map_err(|error| error.to_string())?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    exports.push(export.map_err(|error| error.to_string())?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok((imports, exports))
}

fn world_of(exports: &[String]) -> Result<(World, String), String> {
    for world in World::ALL {
        let prefix = format!("gage:plugin/{}@", world.interface());
        if let Some(version) = exports.iter().find_map(|export| export.strip_prefix(&prefix)) {
            if version != WIT_VERSION {
                return Err(format!(
                    "it was built against gage:plugin@{version}; this host speaks gage:plugin@{WIT_VERSION}: build it anew"
                ));
            }
            return Ok((world, version.to_owned()));
        }
    }
    let found = if exports.is_empty() { "nothing".to_owned() } else { exports.join(", ") };
    Err(format!(
        "it exports {found}; a plugin exports gage:plugin/metric, gage:plugin/preprocessor or gage:plugin/backend"
    ))
}
