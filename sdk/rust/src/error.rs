//! Short ways to make errors.

use crate::{ErrorKind, PluginError};

impl PluginError {
    /// An error of a kind; not retryable, without a pointer.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> PluginError {
        PluginError { kind, message: message.into(), pointer: None, retryable: false }
    }

    /// The parameters cannot be used.
    pub fn invalid_config(message: impl Into<String>) -> PluginError {
        PluginError::new(ErrorKind::InvalidConfig, message)
    }

    /// This input cannot be processed.
    pub fn invalid_input(message: impl Into<String>) -> PluginError {
        PluginError::new(ErrorKind::InvalidInput, message)
    }

    /// A value that is needed is absent.
    pub fn missing_field(message: impl Into<String>) -> PluginError {
        PluginError::new(ErrorKind::MissingField, message)
    }

    /// The plugin does not offer what was asked of it.
    pub fn unsupported(message: impl Into<String>) -> PluginError {
        PluginError::new(ErrorKind::Unsupported, message)
    }

    /// Something outside the plugin failed.
    pub fn upstream(message: impl Into<String>) -> PluginError {
        PluginError::new(ErrorKind::Upstream, message)
    }

    /// A fault of the plugin itself.
    pub fn internal(message: impl Into<String>) -> PluginError {
        PluginError::new(ErrorKind::Internal, message)
    }

    /// Says which field is to blame, as a JSON pointer.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> PluginError {
        self.pointer = Some(pointer.into());
        self
    }

    /// Says whether the same call may succeed later.
    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> PluginError {
        self.retryable = retryable;
        self
    }
}
