//! The first-party plugins: components built from `plugins/` when this crate is built, and
//! carried in the program, so that it runs from one file.
//!
//! Data only; imports nothing of this workspace. The program hands it to the registry of
//! `gage-plugin`.

/// What a component does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its members are metrics.
    Metric,
    /// Its members are preprocessors.
    Preprocessor,
}

/// A component, and the names of what it holds.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// Its name.
    pub name: &'static str,
    /// What its members are.
    pub kind: Kind,
    /// The names of its members, as the component itself gives them.
    pub members: &'static [&'static str],
    /// The component.
    pub bytes: &'static [u8],
}

macro_rules! component {
    ($name:literal, $kind:expr, $members:expr) => {
        Component {
            name: $name,
            kind: $kind,
            members: $members,
            bytes: include_bytes!(concat!(env!("OUT_DIR"), "/gage-plugin-", $name, ".wasm")),
        }
    };
}

/// All of them.
pub const COMPONENTS: &[Component] = &[
    component!("choice", Kind::Metric, &["multi_choice_accuracy"]),
    component!("number", Kind::Metric, &["numeric_match"]),
    component!("preprocess", Kind::Preprocessor, &["default", "multi_choice", "piqa", "gsm8k"]),
    component!("text", Kind::Metric, &["exact_match", "contains", "regex_match", "text_length"]),
    component!("timing", Kind::Metric, &["latency"]),
];
