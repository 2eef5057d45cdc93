//! Constructors and builder methods for errors.

use crate::{ErrorKind, PluginError};

impl PluginError {
    /// Creates an error of this kind; not retryable, without a pointer.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> PluginError {
        PluginError { kind, message: message.into(), pointer: None, retryable: false }
    }

    /// The parameters are unusable.
    pub fn invalid_config(message: impl Into<String>) -> PluginError {
        PluginError::new(ErrorKind::InvalidConfig, message)
    }

    /// This input cannot be processed.
    pub fn invalid_input(message: impl Into<String>) -> PluginError {
        PluginError::new(ErrorKind::InvalidInput, message)
    }

    /// A required value is missing.
    pub fn missing_field(message: impl Into<String>) -> PluginError {
        PluginError::new(ErrorKind::MissingField, message)
    }

    /// The plugin does not support the request.
    pub fn unsupported(message: impl Into<String>) -> PluginError {
        PluginError::new(ErrorKind::Unsupported, message)
    }

    /// Something outside the plugin failed.
    pub fn upstream(message: impl Into<String>) -> PluginError {
        PluginError::new(ErrorKind::Upstream, message)
    }

    /// The plugin itself is faulty.
    pub fn internal(message: impl Into<String>) -> PluginError {
        PluginError::new(ErrorKind::Internal, message)
    }

    /// Sets the faulty field, as a JSON pointer.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> PluginError {
        self.pointer = Some(pointer.into());
        self
    }

    /// Sets whether the same call may succeed later.
    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> PluginError {
        self.retryable = retryable;
        self
    }
}
