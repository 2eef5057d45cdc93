//! Components that try to break the sandbox, each with the end it must come to.
//!
//! Most are made from a template of a plugin in WebAssembly text, `guest`, in which one thing
//! is replaced by something hostile. Nothing here runs a component: the tests do.

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
pub mod memory;
pub mod preprocessors;
pub mod random;
mod records;
pub mod shapes;
pub mod texts;
pub mod traps;
pub mod wasi;
mod wasi_wit;

/// The world that a member claims to belong to, and is loaded as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A metric.
    Metric,
    /// A preprocessor.
    Preprocessor,
    /// A backend.
    Backend,
}

/// How a member must end. The text is a part of the message; empty where any will do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// Refused by what its bytes say, before anything is compiled.
    Refused(&'static str),
    /// It does not compile.
    NotCompiled(&'static str),
    /// It does not link, or fails or lies while it describes itself.
    NotLoaded(&'static str),
    /// The parameters cannot be checked.
    NotChecked(&'static str),
    /// The one item that it is given ends as `plugin_error`.
    Failed(&'static str),
    /// The one item that it is given ends as `plugin_timeout`.
    Late(&'static str),
    /// It works, and a metric scores this.
    Scores(f64),
}

/// A component of the corpus.
#[derive(Clone, Debug)]
pub struct Member {
    /// A short name, unique in the corpus.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// The component, or what pretends to be one.
    pub bytes: Vec<u8>,
    /// What it is loaded as.
    pub kind: Kind,
    /// How it must end.
    pub end: End,
}

impl Member {
    pub(crate) fn metric(name: &'static str, about: &'static str, bytes: Vec<u8>, end: End) -> Member {
        Member { name, about, bytes, kind: Kind::Metric, end }
    }
}

/// A metric that behaves: it scores 1 for every item.
pub fn obedient() -> Vec<u8> {
    guest::Guest::metric().component()
}

/// All members but the compile bombs, which take long, and the endless families of `bytes`.
pub fn all() -> Vec<Member> {
    let groups = [
        loops::members(),
        memory::members(),
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
