//! The kinds of plugins.

/// Which of the worlds of `wit/` a component belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum World {
    /// Scores samples.
    Metric,
    /// Turns rows into Samples.
    Preprocessor,
    /// Adds text or media to a Sample.
    DocHook,
    /// Makes figures of score cards.
    Aggregator,
    /// Asks a judge model and reads its reply.
    Judge,
    /// Finds the answer in what a model wrote.
    Extractor,
    /// Stands between a step and its model.
    RoleAdapter,
    /// Answers requests in place of a model.
    Backend,
}

impl World {
    /// All of them.
    pub const ALL: [World; 8] = [
        World::Metric,
        World::Preprocessor,
        World::DocHook,
        World::Aggregator,
        World::Judge,
        World::Extractor,
        World::RoleAdapter,
        World::Backend,
    ];

    /// The interface that a component of this world exports.
    pub fn interface(self) -> &'static str {
        match self {
            World::Metric => "metric",
            World::Preprocessor => "preprocessor",
            World::DocHook => "doc-hooks",
            World::Aggregator => "aggregator",
            World::Judge => "judge",
            World::Extractor => "answer-extractor",
            World::RoleAdapter => "role-adapter",
            World::Backend => "backend",
        }
    }

    /// What a person calls a plugin of this world, and the command line takes as its kind.
    pub fn kind(self) -> &'static str {
        match self {
            World::DocHook => "doc-hook",
            World::Extractor => "extractor",
            other => other.interface(),
        }
    }

    /// The world of a kind.
    pub fn of_kind(kind: &str) -> Option<World> {
        World::ALL.into_iter().find(|world| world.kind() == kind)
    }
}

impl std::fmt::Display for World {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.kind())
    }
}

/// An interface of the host that a component may import when it is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// `gage:plugin/media`
    Media,
    /// `gage:plugin/http`
    Http,
    /// `gage:plugin/llm`
    Llm,
}

impl Capability {
    /// All of them.
    pub const ALL: [Capability; 3] = [Capability::Media, Capability::Http, Capability::Llm];

    /// Returns its name, which is that of the interface and of the grant.
    pub fn name(self) -> &'static str {
        match self {
            Capability::Media => "media",
            Capability::Http => "http",
            Capability::Llm => "llm",
        }
    }

    /// The worlds whose plugins may be granted it.
    pub fn worlds(self) -> &'static [World] {
        match self {
            Capability::Media => {
                &[World::Preprocessor, World::DocHook, World::Judge, World::RoleAdapter, World::Backend]
            }
            Capability::Http | Capability::Llm => &[World::Backend],
        }
    }

    /// The lines of a suite that grant it, below `grants:`.
    pub(crate) fn example(self) -> &'static str {
        match self {
            Capability::Media => "media: true",
            Capability::Http => "http: [{host: HOST, methods: [POST]}]",
            Capability::Llm => "llm: [{role: ADAPTER_ID, max_calls: 1000, max_tokens: 1000000}]",
        }
    }
}
