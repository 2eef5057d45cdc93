//! The first keys of a document, and templates of the older program.

use crate::note::Notes;
use crate::tree::{Mapping, Tree};
use gage_config::API_VERSION;

const KIND: &str = "PipelineConfig";

/// Converts `api_version` and `kind`, and takes the suite out of a template. Returns false if the document is no suite.
pub(super) fn convert(document: &mut Mapping, notes: &mut Notes) -> bool {
    unfold_template(document, notes);
    let kind = document.text("kind").unwrap_or_default().to_owned();
    if kind == "RunConfig" {
        let message =
            "`kind: RunConfig` names a template of the older program, whose digest differs here".to_owned();
        let place = "kind".to_owned();
        notes
            .needs_work(place, message, document.comments_of("kind"))
            .help("import the suite of the template, then run `gage-host distill` and `gage-host init`");
        return false;
    }
    if kind != KIND {
        document.set_first("kind", Tree::text(KIND));
        let message = format!("`kind` is {KIND}");
        notes.changed("kind".to_owned(), message, document.comments_of("kind"));
    }
    if document.text("api_version") != Some(API_VERSION) {
        document.set_first("api_version", Tree::text(API_VERSION));
        let message = format!("`api_version` is {API_VERSION}");
        notes.changed("api_version".to_owned(), message, document.comments_of("api_version"));
    }
    if document.get("metadata").is_some_and(|metadata| metadata.as_map().is_none()) {
        document.remove("metadata");
        let message = "`metadata` is left out: it is not a mapping".to_owned();
        notes.dropped("metadata".to_owned(), message, &mut document.comments);
    }
    true
}

/// Puts the definition of a template in its place.
fn unfold_template(document: &mut Mapping, notes: &mut Notes) {
    if document.text("kind").is_none_or(|kind| kind != "BuiltinTemplate") {
        return;
    }
    let Some(Tree::Map(definition)) = document.remove("definition") else { return };
    let name = document.remove("metadata");
    let parameters = document.remove("parameters");
    *document = definition;
    if let Some(parameters) = parameters {
        document.set_missing("parameters", parameters);
    }
    if let Some(name) = name.filter(|_| !document.has("metadata")) {
        document.set_first("metadata", name);
    }
    document.set_first("kind", Tree::text(KIND));
    document.set_first("api_version", Tree::text(API_VERSION));
    let message = "the `definition` of the template is the suite".to_owned();
    notes
        .changed("kind".to_owned(), message, document.comments_of("kind"))
        .help("`gage-host distill` makes a template of it");
}
