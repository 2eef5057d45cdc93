//! Capabilities that a plugin can be granted: HTTP requests, models, media.

pub(crate) mod address;
pub(crate) mod http;
pub(crate) mod media;
pub(crate) mod models;

use crate::bindings::types::{ErrorKind, PluginError};
use gage_config::Grants;
use http::HttpAccess;
use media::MediaSet;
use models::{ModelAccess, Models};
use std::sync::Arc;

/// Access of a component under its grants, ready to use.
#[derive(Clone, Default)]
pub(crate) struct Access {
    pub(crate) http: Option<Arc<HttpAccess>>,
    pub(crate) models: Option<Arc<ModelAccess>>,
    pub(crate) media: Option<Arc<MediaSet>>,
}

impl Access {
    /// Sets up access from grants: looks up secrets and creates clients. Models are added later with
    /// [`Access::with_models`], since they are opened after plugins.
    pub(crate) fn new(grants: &Grants, secret: &dyn Fn(&str) -> Option<String>) -> Result<Access, String> {
        let http = match grants.http.is_empty() {
            true => None,
            false => Some(Arc::new(HttpAccess::new(grants, secret)?)),
        };
        // Calls with media replace this empty set.
        let media = grants.media.then(Arc::default);
        Ok(Access { http, models: None, media })
    }

    pub(crate) fn with_models(self, grants: &Grants, models: Arc<dyn Models>) -> Access {
        match grants.llm.is_empty() {
            true => self,
            false => Access { models: Some(Arc::new(ModelAccess::new(&grants.llm, models))), ..self },
        }
    }
}

/// Creates an error that is returned to a guest.
pub(crate) fn refuse(kind: ErrorKind, message: impl Into<String>) -> PluginError {
    PluginError { kind, message: message.into(), pointer: None, retryable: false }
}

/// Creates the error of a guest that uses something it was not granted.
pub(crate) fn denied(message: impl Into<String>) -> PluginError {
    refuse(ErrorKind::Denied, message)
}

/// Creates the error of a guest that exceeds a limit.
pub(crate) fn exceeded(message: impl Into<String>) -> PluginError {
    refuse(ErrorKind::LimitExceeded, message)
}
