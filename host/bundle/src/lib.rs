//! The first-party plugins: components built from `plugins/` when this crate is built, and
//! carried in the program, so that it runs from one file.
//!
//! Data only. Imports `gage-plugin` for the shape of an entry; the program hands the list to
//! the registry.

use gage_plugin::{BundledComponent, World};

macro_rules! component {
    ($name:literal, $world:expr, $members:expr) => {
        BundledComponent {
            name: $name,
            world: $world,
            members: $members,
            bytes: include_bytes!(concat!(env!("OUT_DIR"), "/gage-plugin-", $name, ".wasm")),
        }
    };
}

/// All of them, each with the names of its members as the component itself gives them.
pub const COMPONENTS: &[BundledComponent] = &[
    component!("choice", World::Metric, &["multi_choice_accuracy"]),
    component!("number", World::Metric, &["numeric_match"]),
    component!("preprocess", World::Preprocessor, &["default", "multi_choice", "piqa", "gsm8k"]),
    component!("text", World::Metric, &["exact_match", "contains", "regex_match", "text_length"]),
    component!("timing", World::Metric, &["latency"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use gage_plugin::{HostOptions, Limits, MetricFamily, PluginHost, PreprocessorFamily};

    #[test]
    fn the_names_are_those_that_the_components_give() {
        let host = PluginHost::new(&HostOptions::default()).expect("an engine");
        for component in COMPONENTS {
            let limits = Limits::default();
            let names: Vec<String> = match component.world {
                World::Metric => {
                    let family = MetricFamily::load(&host, component.name, component.bytes, &limits);
                    family.expect("loads").descriptions().into_iter().map(|metric| metric.name).collect()
                }
                _ => {
                    let family = PreprocessorFamily::load(&host, component.name, component.bytes, &limits);
                    family.expect("loads").descriptions().iter().map(|one| one.name.clone()).collect()
                }
            };
            assert_eq!(names, component.members, "{}", component.name);
        }
    }
}
