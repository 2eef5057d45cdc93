//! Prompts of a configuration: texts, files and chats.

use super::FILE;
use super::variables::spellings;
use crate::note::Notes;
use crate::source_folder::SourceFolder;
use crate::tree::{Mapping, Tree};
use gage_config::{Problems, parse_document};
use serde_json::Value;

/// Variable of promptfoo with the turns before a test.
const CONVERSATION: &str = "_conversation";
/// Spellings of the filter of promptfoo that reads JSON.
const LOAD_FILTERS: [&str; 2] = ["| load", "|load"];
/// Endings of files with code that makes prompts.
const CODE_ENDINGS: [&str; 15] = [
    ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".py", ".sh", ".bash", ".exe", ".bat", ".cmd", ".ps1",
    ".rb", ".pl",
];
/// Endings of files with texts.
const TEXT_ENDINGS: [&str; 8] = [".txt", ".md", ".json", ".jsonl", ".csv", ".yaml", ".yml", ".j2"];
/// Beginning of a program that writes a prompt.
const PROGRAM: &str = "exec:";
/// Beginnings of prompts that a service keeps.
const SERVICES: [&str; 3] = ["langfuse://", "helicone://", "portkey://"];
/// Text between the prompts of a file.
const SEPARATOR: &str = "\n---\n";

/// Returns the entries of `prompts`, each with its id.
pub(super) fn convert(config: &Mapping, folder: &dyn SourceFolder, notes: &mut Notes) -> Vec<Mapping> {
    let items = match config.get("prompts") {
        Some(Tree::List(items)) => items.clone(),
        Some(other) => vec![other.clone()],
        None => Vec::new(),
    };
    let mut reader = Reader { folder, notes };
    let mut prompts = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let key = format!("prompts[{place}]");
        for mut prompt in reader.prompts_of(item, &key) {
            reader.note_differences(&mut prompt, &key);
            let label = prompt.remove("label").map(|label| label.plain_text());
            let id = label.map_or_else(|| format!("prompt-{}", prompts.len() + 1), |label| id_of(&label));
            let is_taken = prompts.iter().any(|known: &Mapping| known.text("prompt_id") == Some(id.as_str()));
            let id = if is_taken { format!("prompt-{}", prompts.len() + 1) } else { id };
            prompt.set_first("prompt_id", Tree::text(id));
            prompts.push(prompt);
        }
    }
    prompts
}

/// Returns a label in the form of an id.
fn id_of(label: &str) -> String {
    let id: String = label
        .chars()
        .map(|one| if one.is_ascii_alphanumeric() { one.to_ascii_lowercase() } else { '-' })
        .collect();
    let id: String = id.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    let id: String = id.chars().take(40).collect();
    if id.is_empty() { "prompt".to_owned() } else { id }
}

struct Reader<'r> {
    folder: &'r dyn SourceFolder,
    notes: &'r mut Notes,
}

impl Reader<'_> {
    fn prompts_of(&mut self, item: &Tree, key: &str) -> Vec<Mapping> {
        match item {
            Tree::Map(map) => {
                let text = ["raw", "id", "prompt"].iter().find_map(|key| map.text(key)).unwrap_or_default();
                let mut prompts = self.prompts_of(&Tree::text(text), key);
                if let ([only], Some(label)) = (prompts.as_mut_slice(), map.text("label")) {
                    only.set("label", Tree::text(label));
                }
                prompts
            }
            other => {
                let text = other.plain_text();
                if let Some(program) = text.strip_prefix(PROGRAM) {
                    return self.missing(format!("the prompt is made by the program `{program}`"), key);
                }
                if is_address(&text) {
                    return self.missing(format!("the prompt `{text}` is kept by a service"), key);
                }
                match text.strip_prefix(FILE) {
                    Some(path) => self.file(path, key),
                    None if is_path(&text) => self.file(&text, key),
                    None => vec![prompt_of(&text)],
                }
            }
        }
    }

    /// Notes parts of a prompt that templates do not have here.
    fn note_differences(&mut self, prompt: &mut Mapping, key: &str) {
        if fields_of(std::slice::from_ref(prompt)).iter().any(|field| field == CONVERSATION) {
            let message =
                format!("the prompt reads earlier tests as `{CONVERSATION}`; here each test is on its own");
            let note = self.notes.needs_work(key.to_owned(), message, &mut prompt.comments);
            note.help("write the whole conversation as messages of the prompt");
        }
        if texts_of(prompt).iter().any(|text| LOAD_FILTERS.iter().any(|filter| text.contains(filter))) {
            let message = "the filter `load`, which reads JSON, has no counterpart";
            let note = self.notes.needs_work(key.to_owned(), message.to_owned(), &mut prompt.comments);
            note.help("write the value as a mapping into the rows, and remove the filter from the prompt");
        }
    }

    /// Returns the question in the place of a prompt that is not known.
    fn missing(&mut self, message: String, key: &str) -> Vec<Mapping> {
        let mut prompt = prompt_of("{{ question }}");
        let note = self.notes.needs_work(key.to_owned(), message, &mut prompt.comments);
        note.help("write the text of the prompt as `template`");
        vec![prompt]
    }

    fn file(&mut self, path: &str, key: &str) -> Vec<Mapping> {
        if names_code(path) {
            return self.missing(format!("the prompt is made by the code of `{path}`"), key);
        }
        match self.folder.read(path) {
            Ok(text) if path.ends_with(".txt") || path.ends_with(".md") => {
                let parts = text.split(SEPARATOR).map(|part| part.trim_end_matches('\n').to_owned());
                parts.filter(|part| !part.trim().is_empty()).map(|part| prompt_of(&part)).collect()
            }
            Ok(text) if path.ends_with(".jsonl") => {
                text.lines().filter(|line| !line.trim().is_empty()).map(prompt_of).collect()
            }
            Ok(text) if path.ends_with(".csv") => prompts_of_table(&text)
                .unwrap_or_else(|| self.missing(format!("the table `{path}` has no column `prompt`"), key)),
            Ok(text) => vec![prompt_of(text.trim_end_matches('\n'))],
            Err(reason) => self.missing(format!("cannot read the prompt `{path}`: {reason}"), key),
        }
    }
}

/// Returns true if a text is the name of a file, not a prompt.
fn is_path(text: &str) -> bool {
    let is_text = TEXT_ENDINGS.iter().any(|end| text.ends_with(end));
    !text.contains([' ', '\n', '{']) && (is_text || names_code(text))
}

/// Returns true for the name of a file with code. A function of the file may follow it.
fn names_code(path: &str) -> bool {
    let names_file = |part: &str| CODE_ENDINGS.iter().any(|end| part.ends_with(end));
    path.rsplit(':').take(2).any(names_file)
}

/// Returns true if a text is the address of a prompt, such as `langfuse://name:1`.
fn is_address(text: &str) -> bool {
    let is_letter = |one: char| one.is_ascii_alphanumeric() || "+-.".contains(one);
    let has_scheme = |text: &str| {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| !scheme.is_empty() && scheme.chars().all(is_letter))
    };
    let is_known = SERVICES.iter().any(|service| text.starts_with(service));
    is_known || !text.contains([' ', '\n', '{']) && !text.starts_with(FILE) && has_scheme(text)
}

/// Returns the prompts of a table: its column `prompt` with their `label`, or each line if there is one column.
fn prompts_of_table(text: &str) -> Option<Vec<Mapping>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let rows = reader.records().collect::<Result<Vec<_>, _>>().ok()?;
    let (names, others) = rows.split_first()?;
    let place_of = |name: &str| names.iter().position(|known| known.trim() == name);
    let (rows, place, label) = match place_of("prompt") {
        Some(place) => (others, place, place_of("label")),
        None if rows.iter().all(|row| row.len() == 1) => (rows.as_slice(), 0, None),
        None => return None,
    };
    let mut prompts = Vec::new();
    for row in rows {
        let Some(text) = row.get(place).filter(|text| !text.trim().is_empty()) else { continue };
        let mut prompt = prompt_of(text);
        if let Some(label) = label.and_then(|label| row.get(label)).filter(|label| !label.is_empty()) {
            prompt.set("label", Tree::text(label));
        }
        prompts.push(prompt);
    }
    Some(prompts).filter(|prompts| !prompts.is_empty())
}

/// Returns the prompt of a text, which may be the messages of a chat as JSON or YAML.
fn prompt_of(text: &str) -> Mapping {
    let mut prompt = Mapping::default();
    let is_chat = text.trim_start().starts_with(['[', '-']);
    let messages = is_chat.then(|| messages_of(text)).flatten();
    match messages {
        Some(messages) => prompt.set("messages", Tree::List(messages)),
        None => prompt.set("template", Tree::text(jinja(text))),
    }
    prompt
}

fn messages_of(text: &str) -> Option<Vec<Tree>> {
    let mut problems = Problems::default();
    let root = parse_document("prompt", text, None, &mut problems).filter(|_| !problems.has_errors())?;
    let Tree::List(items) = Tree::of_foreign(&root) else { return None };
    items
        .iter()
        .map(|item| {
            let given = item.as_map()?;
            let mut message = Mapping::default();
            message.set("role", Tree::text(given.text("role")?));
            let content = match given.get("content")? {
                Tree::List(parts) => text_of_parts(parts)?,
                text => text.as_text()?.to_owned(),
            };
            message.set("content", Tree::text(jinja(&content)));
            Some(Tree::Map(message))
        })
        .collect()
}

/// Returns the text of parts; `None` if there are others, such as images.
fn text_of_parts(parts: &[Tree]) -> Option<String> {
    parts
        .iter()
        .map(|part| part.as_map()?.text("text").map(str::to_owned))
        .collect::<Option<Vec<_>>>()
        .map(|texts| texts.concat())
}

/// Changes what Nunjucks spells in another way than Jinja.
fn jinja(text: &str) -> String {
    text.replace("| dump", "| tojson").replace("|dump", "|tojson")
}

/// Returns the template of a prompt, or the texts of its messages, the last one first: it probably has the question.
fn texts_of(prompt: &Mapping) -> Vec<&str> {
    let messages = prompt.get("messages").and_then(Tree::as_list).unwrap_or_default();
    let contents = messages.iter().filter_map(|message| message.as_map()?.text("content"));
    prompt.text("template").into_iter().chain(contents.rev()).collect()
}

/// Returns the text of the first prompt: its template, or its last message.
pub(super) fn first_text(prompts: &[Mapping]) -> Tree {
    Tree::text(prompts.first().map(texts_of).and_then(|texts| texts.first().copied()).unwrap_or_default())
}

/// Returns true if a prompt has a variable as a part of its text.
pub(super) fn reads(prompts: &[Mapping], name: &str) -> bool {
    let mut texts = prompts.iter().flat_map(texts_of);
    texts.any(|text| spellings(name).iter().any(|spelling| text.contains(spelling)))
}

/// Returns the fields that prompts read, in their order.
pub(super) fn fields_of(prompts: &[Mapping]) -> Vec<String> {
    let mut fields = Vec::new();
    for prompt in prompts {
        for text in texts_of(prompt) {
            for field in crate::template_names::fields(text) {
                if !fields.contains(&field) {
                    fields.push(field);
                }
            }
        }
    }
    fields
}

/// Returns a prompt in its shortest form.
pub(super) fn short(mut prompt: Mapping) -> Tree {
    prompt.remove("prompt_id");
    match prompt.entries.as_slice() {
        [only] if only.key == "template" && prompt.comments.is_empty() => only.value.clone(),
        [] => Tree::Scalar(Value::Null),
        _ => Tree::Map(prompt),
    }
}
