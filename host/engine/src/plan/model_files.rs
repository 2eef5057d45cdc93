//! The files of a model, as a suite names them: a path, or a reference to a hub.

use gage_config::{LlamaCppConfig, Span};
use gage_data::hub::ModelReference;
use std::path::Path;

/// The hub that a reference is checked against before it is known which one is meant.
const ANY_HUB: &str = "https://huggingface.co";

/// What to write where a reference cannot be read.
pub(crate) const REFERENCE_HELP: &str =
    "write a path, or hub:owner/name/file.gguf with @revision if it is not main";

/// The files that a model is made of, as the suite names them, with their keys and places.
pub(crate) fn files_of(config: &LlamaCppConfig) -> Vec<(&'static str, &Path, Span)> {
    let mut files = vec![("model_path", config.model_path.as_path(), config.model_path_span)];
    if let Some(mmproj) = &config.mmproj {
        files.push(("mmproj", mmproj, config.mmproj_span));
    }
    files
}

/// Returns whether the name of a file is a reference to a hub: nothing where it is a path.
pub(crate) fn reference_of(name: &Path) -> Option<Result<ModelReference, String>> {
    let text = name.to_str().filter(|text| ModelReference::is_one(text))?;
    Some(ModelReference::read(text, ANY_HUB))
}
