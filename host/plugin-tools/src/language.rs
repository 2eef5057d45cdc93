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

    /// Returns further names on the command line.
    pub fn other_names(self) -> &'static [&'static str] {
        match self {
            Language::Rust => &[],
            Language::Python => &["py"],
            Language::JavaScript => &["javascript", "typescript"],
        }
    }

    /// Returns advice on a module or package that was not found.
    pub(crate) fn package_advice(self, name: &str) -> String {
        let package = name.split('.').next().unwrap_or(name);
        match self {
            Language::Python => format!(
                "install it into the project: write {package} into requirements.in, and run `gage-host plugin lock`; a package with native code \
                 (.so) cannot be in a component, so take one in pure Python"
            ),
            Language::JavaScript => format!(
                "install it into the project: npm install {name}; a package with native code (.node) cannot be in a \
                 component, so take one in pure JavaScript"
            ),
            Language::Rust => format!("add it to Cargo.toml: cargo add {name}"),
        }
    }

    /// Returns the language with this name.
    pub fn of_name(name: &str) -> Option<Language> {
        Language::ALL.into_iter().find(|one| one.name() == name || one.other_names().contains(&name))
    }
}

impl std::fmt::Display for Language {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}
