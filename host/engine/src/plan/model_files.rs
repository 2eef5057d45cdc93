//! The files of a model, as the suite writes them: a path or a reference to a hub.

use gage_config::{LlamaCppConfig, Span};
use gage_data::hub::ModelReference;
use std::path::Path;

/// The hub to check a reference against before the actual hub is known.
const ANY_HUB: &str = "https://huggingface.co";

/// Help for a reference that cannot be parsed.
pub(crate) const REFERENCE_HELP: &str =
    "write a path, or hub:owner/name/file.gguf with @revision if it is not main";

/// Returns the files of a model, as the suite writes them, with their keys and spans.
pub(crate) fn files_of(config: &LlamaCppConfig) -> Vec<(&'static str, &Path, Span)> {
    let mut files = vec![("model_path", config.model_path.as_path(), config.model_path_span)];
    if let Some(mmproj) = &config.mmproj {
        files.push(("mmproj", mmproj, config.mmproj_span));
    }
    files
}

/// Parses a file name as a reference to a hub. `None` if it is a path.
pub(crate) fn reference_of(name: &Path) -> Option<Result<ModelReference, String>> {
    let text = name.to_str().filter(|text| ModelReference::is_one(text))?;
    Some(ModelReference::read(text, ANY_HUB))
}
