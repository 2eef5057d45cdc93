//! Short ways to make the shared values.

use crate::{ErrorKind, PluginError, ScoreCard, SubScore};

impl PluginError {
    fn of(kind: ErrorKind, message: String) -> PluginError {
        PluginError { kind, message, pointer: None, retryable: false }
    }

    /// The parameters cannot be used.
    pub fn invalid_config(message: impl Into<String>) -> PluginError {
        PluginError::of(ErrorKind::InvalidConfig, message.into())
    }

    /// This input cannot be processed.
    pub fn invalid_input(message: impl Into<String>) -> PluginError {
        PluginError::of(ErrorKind::InvalidInput, message.into())
    }

    /// A value that is needed is absent.
    pub fn missing_field(message: impl Into<String>) -> PluginError {
        PluginError::of(ErrorKind::MissingField, message.into())
    }

    /// The plugin does not offer what was asked of it.
    pub fn unsupported(message: impl Into<String>) -> PluginError {
        PluginError::of(ErrorKind::Unsupported, message.into())
    }

    /// A fault of the plugin itself.
    pub fn internal(message: impl Into<String>) -> PluginError {
        PluginError::of(ErrorKind::Internal, message.into())
    }

    /// Says which field is to blame, as a JSON pointer.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> PluginError {
        self.pointer = Some(pointer.into());
        self
    }
}

impl ScoreCard {
    /// A card with a primary score and nothing else.
    pub fn of(primary_score: f64) -> ScoreCard {
        ScoreCard {
            primary_score: Some(primary_score),
            pass: None,
            sub_scores: Vec::new(),
            error_tags: Vec::new(),
            explain: None,
            detail: "{}".to_owned(),
        }
    }

    /// 1 and passed, or 0 and not passed.
    pub fn binary(pass: bool) -> ScoreCard {
        ScoreCard { pass: Some(pass), ..ScoreCard::of(if pass { 1.0 } else { 0.0 }) }
    }

    /// A card that says why there is nothing to score; the sample stays out of the mean.
    pub fn none(explain: impl Into<String>) -> ScoreCard {
        ScoreCard { primary_score: None, ..ScoreCard::of(0.0) }.explain(explain)
    }

    /// Adds a sub-score.
    #[must_use]
    pub fn sub_score(mut self, name: &str, value: f64) -> ScoreCard {
        self.sub_scores.push(SubScore { name: name.to_owned(), value });
        self
    }

    /// Adds a tag that says why the score is low.
    #[must_use]
    pub fn tag(mut self, tag: &str) -> ScoreCard {
        self.error_tags.push(tag.to_owned());
        self
    }

    /// Says in words how the score came about.
    #[must_use]
    pub fn explain(mut self, text: impl Into<String>) -> ScoreCard {
        self.explain = Some(text.into());
        self
    }

    /// Sets what the scorer saw; an object.
    #[must_use]
    pub fn detail(mut self, detail: &serde_json::Value) -> ScoreCard {
        self.detail = detail.to_string();
        self
    }
}
