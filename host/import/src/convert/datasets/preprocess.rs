//! `preprocess` and `preprocess_kwargs`.

use crate::convert::old_keys::path_of;
use crate::note::Notes;
use crate::python_name::{plugin_command, plugin_file};
use crate::tables::keys::{HOOKS, OLD_KWARGS};
use crate::tables::preprocessors::{
    PreprocessorMatch, PreprocessorReplacement, find, hub_fields, impossible, kwargs_of,
};
use crate::tree::{Mapping, Tree};

/// Converts the preprocessors of a dataset.
pub(super) fn convert(params: &mut Mapping, path: &str, notes: &mut Notes) {
    let hub_id = params.text("hub_id").unwrap_or_default().to_owned();
    let place = path_of(path, "preprocess");
    match params.get("preprocess").cloned() {
        None => {
            params.remove("preprocess");
        }
        Some(Tree::List(items)) => {
            let mut comments = Vec::new();
            let mut links = Vec::with_capacity(items.len());
            for (number, item) in items.into_iter().enumerate() {
                let place = format!("{place}[{number}]");
                let mut link = PreprocessorCall::of(item, &hub_id);
                link.convert(&place, notes, &mut comments);
                links.push(link.into_tree());
            }
            params.set("preprocess", Tree::List(links));
            params.comments_of("preprocess").extend(comments);
        }
        Some(one) => {
            let mut call = PreprocessorCall::of(one, &hub_id);
            if let Some(Tree::Map(kwargs)) = params.get("preprocess_kwargs").cloned() {
                for entry in kwargs.entries {
                    call.kwargs.set(&entry.key, entry.value);
                }
            }
            let mut comments = Vec::new();
            let moved = call.convert(&place, notes, &mut comments);
            params.set("preprocess", Tree::text(call.name));
            params.comments_of("preprocess").extend(comments);
            match call.kwargs.entries.is_empty() {
                true => drop(params.remove("preprocess_kwargs")),
                false => params.set("preprocess_kwargs", Tree::Map(call.kwargs)),
            }
            give_to_hooks(params, moved, path, notes);
        }
    }
    if !params.has("preprocess_kwargs") {
        params.remove("preprocess_kwargs");
    }
}

/// Gives parameters that only hooks have to the hooks of the dataset.
fn give_to_hooks(params: &mut Mapping, moved: Mapping, path: &str, notes: &mut Notes) {
    const HOOK_KEYS: [&str; 3] = ["doc_to_text", "doc_to_visual", "doc_to_audio"];
    for entry in moved.entries {
        if !HOOK_KEYS.iter().any(|hook| params.has(hook)) {
            let place = path_of(&path_of(path, "preprocess_kwargs"), &entry.key);
            let message = format!("`{}` is left out: the preprocessor has no such parameter", entry.key);
            notes.dropped(place, message, params.comments_of("preprocess"));
        }
        for hook in HOOK_KEYS {
            if params.has(hook)
                && let Some(kwargs) = params.section(&format!("{hook}_kwargs"))
            {
                kwargs.set_missing(&entry.key, entry.value.clone());
            }
        }
    }
}

/// A preprocessor with its parameters.
struct PreprocessorCall {
    name: String,
    kwargs: Mapping,
    hub_id: String,
}

impl PreprocessorCall {
    fn of(item: Tree, hub_id: &str) -> PreprocessorCall {
        let hub_id = hub_id.to_owned();
        match item {
            Tree::Map(mut link) => {
                let kwargs =
                    ["kwargs", "preprocess_kwargs", "params"].iter().find_map(|key| link.remove(key));
                PreprocessorCall {
                    name: link.text("name").unwrap_or("default").to_owned(),
                    kwargs: match kwargs {
                        Some(Tree::Map(kwargs)) => kwargs,
                        _ => Mapping::default(),
                    },
                    hub_id,
                }
            }
            text => {
                let name = text.as_text().unwrap_or("default").to_owned();
                PreprocessorCall { name, kwargs: Mapping::default(), hub_id }
            }
        }
    }

    fn into_tree(self) -> Tree {
        if self.kwargs.entries.is_empty() {
            return Tree::text(self.name);
        }
        let mut link = Mapping::default();
        link.set("name", Tree::text(self.name));
        link.set("kwargs", Tree::Map(self.kwargs));
        Tree::Map(link)
    }

    /// Converts name and parameters. Returns the parameters that belong to hooks.
    fn convert(&mut self, place: &str, notes: &mut Notes, comments: &mut Vec<String>) -> Mapping {
        self.kwargs.remove_nulls();
        match find(&self.name) {
            PreprocessorMatch::Same => {}
            PreprocessorMatch::Other(replacement) => self.replace(replacement, place, notes, comments),
            PreprocessorMatch::Unknown => self.replace_unknown(place, notes, comments),
        }
        self.settle_kwargs(place, notes, comments)
    }

    fn replace(
        &mut self,
        replacement: PreprocessorReplacement,
        place: &str,
        notes: &mut Notes,
        comments: &mut Vec<String>,
    ) {
        let message = format!("the preprocessor `{}` is `{}` here", self.name, replacement.name);
        let note = notes.changed(place.to_owned(), message, comments);
        let fields = hub_fields(&self.hub_id);
        if !replacement.kwargs.is_empty() {
            note.help("check that `preprocess_kwargs` name the fields of the rows: `gage-host data preview` shows them");
        }
        for (key, value) in replacement.kwargs {
            let value = match (*key, fields) {
                ("question_field", Some((question, _))) => question,
                ("answer_field", Some((_, answer))) => answer,
                _ => *value,
            };
            self.kwargs.set_missing(key, Tree::text(value));
        }
        if let Some(work) = replacement.work {
            let help = plugin_command(&self.name, "preprocessor");
            let message = format!("`{}`: {work}", self.name);
            notes.needs_work(place.to_owned(), message, comments).help(format!("make it by: {help}"));
        }
        replacement.name.clone_into(&mut self.name);
    }

    fn replace_unknown(&mut self, place: &str, notes: &mut Notes, comments: &mut Vec<String>) {
        if let Some(reason) = impossible(&self.name) {
            let message = format!("the preprocessor `{}` is `default`: {reason}", self.name);
            notes.needs_work(place.to_owned(), message, comments);
            "default".clone_into(&mut self.name);
            self.kwargs = Mapping::default();
            return;
        }
        let file = plugin_file(&self.name);
        let message = format!("there is no preprocessor `{}`; a plugin takes its place", self.name);
        notes
            .needs_work(place.to_owned(), message, comments)
            .help(format!("make {file} by: {}", plugin_command(&self.name, "preprocessor")));
        self.name = file;
    }

    fn settle_kwargs(&mut self, place: &str, notes: &mut Notes, comments: &mut Vec<String>) -> Mapping {
        let mut moved = Mapping::default();
        let Some(known) = kwargs_of(&self.name) else { return moved };
        for (preprocessor, old, new) in OLD_KWARGS {
            let is_free = !self.kwargs.has(new) && !known.contains(old);
            if *preprocessor == self.name && self.kwargs.has(old) && is_free {
                self.kwargs.rename(old, new);
            }
        }
        for key in self.kwargs.keys() {
            if known.contains(&key.as_str()) {
                continue;
            }
            let Some(value) = self.kwargs.remove(&key) else { continue };
            if HOOKS.iter().any(|(_, kwargs)| kwargs.contains(&key.as_str())) {
                moved.set(&key, value);
                continue;
            }
            let message =
                format!("`{key}` is left out: the preprocessor `{}` has no such parameter", self.name);
            notes.dropped(path_of(place, &key), message, comments);
        }
        moved
    }
}
