//! The plugin kinds.

/// The world in `wit/` to which a component belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum World {
    /// Scores samples.
    Metric,
    /// Turns rows into Samples.
    Preprocessor,
    /// Adds text or media to a Sample.
    DocHook,
    /// Computes figures from score cards.
    Aggregator,
    /// Asks a judge model and reads its reply.
    Judge,
    /// Finds the answer in a model's output.
    Extractor,
    /// Mediates between a step and its model.
    RoleAdapter,
    /// Answers requests in place of a model.
    Backend,
}

impl World {
    /// All worlds.
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

    /// Returns the interface that a component of this world exports.
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

    /// Returns the name of this kind of plugin, for messages and the command line.
    pub fn kind(self) -> &'static str {
        match self {
            World::DocHook => "doc-hook",
            World::Extractor => "extractor",
            other => other.interface(),
        }
    }

    /// Returns the world of a kind.
    pub fn of_kind(kind: &str) -> Option<World> {
        World::ALL.into_iter().find(|world| world.kind() == kind)
    }
}

impl std::fmt::Display for World {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.kind())
    }
}

/// A host interface that a component may import when granted.
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
    /// All capabilities.
    pub const ALL: [Capability; 3] = [Capability::Media, Capability::Http, Capability::Llm];

    /// Returns the name, which the interface and the grant share.
    pub fn name(self) -> &'static str {
        match self {
            Capability::Media => "media",
            Capability::Http => "http",
            Capability::Llm => "llm",
        }
    }

    /// Returns whether a call that uses it may wait for servers or models.
    pub(crate) fn may_wait(self) -> bool {
        matches!(self, Capability::Http | Capability::Llm)
    }

    /// Returns the worlds whose plugins may be granted this capability.
    pub fn worlds(self) -> &'static [World] {
        match self {
            Capability::Media => &[
                World::Metric,
                World::Preprocessor,
                World::DocHook,
                World::Judge,
                World::RoleAdapter,
                World::Backend,
            ],
            Capability::Http | Capability::Llm => &[World::Backend],
        }
    }

    /// Returns the lines of a suite that grant it, below `grants:`.
    pub fn example(self) -> &'static str {
        match self {
            Capability::Media => "media: true",
            Capability::Http => "http: [{host: HOST, methods: [POST]}]",
            Capability::Llm => "llm: [{role: ADAPTER_ID, max_calls: 1000, max_tokens: 1000000}]",
        }
    }
}
