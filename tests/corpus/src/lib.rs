//! Components that try to break the sandbox, each with its required end.
//!
//! Most are made from a template of a plugin in WebAssembly text, `guest`, in which one thing is replaced by something
//! hostile. Only the tests run components, not this crate.

#![expect(
    clippy::expect_used,
    reason = "the corpus is fixed: a member that cannot be made is a bug of this crate"
)]

pub mod answers;
pub mod backends;
pub mod bombs;
pub mod bytes;
mod encode;
mod guest;
mod image;
pub mod imports;
pub mod loading;
pub mod loops;
pub mod machine;
pub mod memory;
pub mod preprocessors;
pub mod random;
mod records;
pub mod shapes;
pub mod texts;
pub mod traps;
pub mod wasi;
mod wasi_wit;

/// World that a member claims to belong to, and is loaded as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A metric.
    Metric,
    /// A preprocessor.
    Preprocessor,
    /// A backend.
    Backend,
}

/// Required end of a member. The text is a part of the message; empty if any message will do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// Refused because of its bytes, before anything is compiled.
    Refused(&'static str),
    /// Fails to compile.
    NotCompiled(&'static str),
    /// Fails to link, or fails or lies while it describes itself.
    NotLoaded(&'static str),
    /// The parameters cannot be checked.
    NotChecked(&'static str),
    /// The only item ends as `plugin_error`.
    Failed(&'static str),
    /// The only item ends as `plugin_timeout`.
    Late(&'static str),
    /// Works, and a metric returns this score.
    Scores(f64),
}

/// A component of the corpus.
#[derive(Clone, Debug)]
pub struct Member {
    /// A short name, unique in the corpus.
    pub name: &'static str,
    /// Description of its behaviour.
    pub about: &'static str,
    /// The component, or a file that pretends to be one.
    pub bytes: Vec<u8>,
    /// Kind that it is loaded as.
    pub kind: Kind,
    /// Required end.
    pub end: End,
}

impl Member {
    pub(crate) fn metric(name: &'static str, about: &'static str, bytes: Vec<u8>, end: End) -> Member {
        Member { name, about, bytes, kind: Kind::Metric, end }
    }
}

/// Returns a metric that behaves: it scores 1 for every item.
pub fn obedient() -> Vec<u8> {
    guest::Guest::metric().component()
}

/// Returns all members except the compile bombs, which take long, and the endless families of `bytes`.
pub fn all() -> Vec<Member> {
    let groups = [
        loops::members(),
        memory::members(),
        machine::members(),
        traps::members(),
        answers::members(),
        texts::members(),
        loading::members(),
        preprocessors::members(),
        backends::members(),
        imports::members(),
        wasi::members(),
        shapes::members(),
        bytes::members(),
    ];
    groups.into_iter().flatten().collect()
}
