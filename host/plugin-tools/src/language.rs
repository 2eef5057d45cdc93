//! The languages that projects are written in.

/// A language with an SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Small and fast components.
    Rust,
    /// Components that carry CPython.
    Python,
    /// JavaScript and TypeScript; components that carry an engine.
    #[serde(rename = "js")]
    JavaScript,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 3] = [Language::Rust, Language::Python, Language::JavaScript];

    /// What the command line and gage-plugin.toml call it.
    pub fn name(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::Python => "python",
            Language::JavaScript => "js",
        }
    }

    /// The language of a name.
    pub fn of_name(name: &str) -> Option<Language> {
        Language::ALL.into_iter().find(|language| language.name() == name)
    }
}

impl std::fmt::Display for Language {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}
