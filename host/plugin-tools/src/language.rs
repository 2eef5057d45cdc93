//! Programming languages of projects.

/// A language with an SDK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Small and fast components.
    Rust,
    /// Components that contain CPython.
    Python,
    /// JavaScript and TypeScript; components that contain an engine.
    #[serde(rename = "js")]
    JavaScript,
}

impl Language {
    /// All languages.
    pub const ALL: [Language; 3] = [Language::Rust, Language::Python, Language::JavaScript];

    /// Returns the name used on the command line and in gage-plugin.toml.
    pub fn name(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::Python => "python",
            Language::JavaScript => "js",
        }
    }

    /// Returns the language with this name.
    pub fn of_name(name: &str) -> Option<Language> {
        Language::ALL.into_iter().find(|language| language.name() == name)
    }
}

impl std::fmt::Display for Language {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}
