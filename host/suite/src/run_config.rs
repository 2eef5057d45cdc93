//! `RunConfig`: binds a template, and specifies where it runs.

use crate::document::listed;
use crate::template::{BuiltinTemplate, OtherTemplate};
use crate::{SuiteError, TemplateRef, placeholders};
use gage_config::{API_VERSION, Entry, Environment, Node, NodeValue, Problems, Span, parse_document};
use gage_core::Digest;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Keys of a RunConfig.
const KEYS: [&str; 8] = [
    "api_version",
    "kind",
    "metadata",
    "base_task",
    "template_version",
    "template_digest",
    "template_path",
    "runtime",
];

/// Sections that define the work, which are only allowed in a template.
const LOGIC: [&str; 11] = [
    "datasets",
    "backends",
    "tasks",
    "custom",
    "builtin",
    "observability",
    "role_adapters",
    "prompts",
    "metrics",
    "plugins",
    "definition",
];

/// Keys of a task that a RunConfig may set.
const TASK_KEYS: [&str; 4] = ["max_samples", "concurrency", "max_inflight", "prefetch_factor"];

/// Folders of the RunConfig and of its template, as `${config_dir}` is written in each.
pub(crate) struct Folders<'f> {
    /// Folder of the RunConfig, as a path.
    pub(crate) own: &'f Path,
    /// Formats a folder.
    pub(crate) spell: &'f dyn Fn(&Path) -> String,
}

/// Compiles a RunConfig that was read into a PipelineConfig document. Problems are added to `problems`. If the
/// template is missing or differs from the bound one, `other_template` receives what was found, with its file
/// digest.
pub(crate) fn compile(
    root: &Node,
    folders: &Folders<'_>,
    variable: &dyn Fn(&str) -> Option<String>,
    other_template: &mut Option<OtherTemplate>,
    problems: &mut Problems,
) -> Option<(Node, TemplateRef)> {
    check_keys(root, problems);
    let template = bound_template(root, folders, other_template, problems)?;
    if problems.has_errors() {
        return None;
    }
    let empty = Node::new(NodeValue::Map(Vec::new()), root.span);
    let runtime = root.get("runtime").filter(|node| !node.is_null()).unwrap_or(&empty);
    let template_variable = |name: &str| {
        if name.starts_with("runtime.") { placeholders::mark(name, Some(runtime)) } else { variable(name) }
    };
    let environment = Environment {
        variable: &template_variable,
        config_dir: (folders.spell)(&crate::files::folder_of(&template.path)),
    };
    let name = template.path.display().to_string();
    let document = parse_document(&name, &template.text, Some(&environment), problems)?;
    let mut definition = document.get("definition")?.clone();
    placeholders::fill(&mut definition, runtime, problems);
    apply(&mut definition, runtime, &template, problems);
    let span = root.span;
    let mut entries = vec![
        Entry::new("api_version", Node::text(API_VERSION, span)),
        Entry::new("kind", Node::text("PipelineConfig", span)),
    ];
    entries.extend(definition.as_map()?.iter().cloned());
    Some((Node::new(NodeValue::Map(entries), definition.span), template.reference))
}

fn check_keys(root: &Node, problems: &mut Problems) {
    for one in root.as_map().unwrap_or_default() {
        let key = one.key.as_str();
        if LOGIC.contains(&key) {
            problems
                .error(
                    one.key_span,
                    key,
                    format!(
                        "a RunConfig cannot have `{key}`: the template defines the \
                    evaluation"
                    ),
                )
                .help(
                    "set values of datasets and backends below `runtime`; for anything else, make a suite \
                    of the template with `gage-host init --mode pipeline-config`",
                );
        } else if !KEYS.contains(&key) {
            problems
                .error(one.key_span, key, format!("unknown key `{key}` in the document"))
                .known(key, KEYS);
        }
    }
    if root.text_of("api_version") != Some(API_VERSION) {
        let span = root.get("api_version").map_or(start(root), |node| node.span);
        problems.error(span, "api_version", format!("`api_version` must be {API_VERSION}"));
    }
}

fn start(root: &Node) -> Span {
    Span { end: root.span.start, ..root.span }
}

/// Finds the template that a RunConfig names, and verifies its digest.
fn bound_template(
    root: &Node,
    folders: &Folders<'_>,
    other_template: &mut Option<OtherTemplate>,
    problems: &mut Problems,
) -> Option<BuiltinTemplate> {
    let (name, version) = named_template(root, problems)?;
    let path = match root.text_of("template_path") {
        // A lock reads it with an unexpanded folder.
        Some(path) => match path.strip_prefix("${config_dir}/") {
            Some(rest) => folders.own.join(rest),
            None => PathBuf::from(path),
        },
        None => match find_template(folders.own, name, version) {
            Some(path) => path,
            None => {
                *other_template = Some(OtherTemplate::Gone);
                let message = format!("there is no template builtin_templates/{name}/{version}.yaml");
                problems.error(span_of(root, "base_task"), "base_task", message).help(
                    "it is looked for in the folder of this file, in each folder above it, and in ./config; \
                     another place is named with `template_path`",
                );
                return None;
            }
        },
    };
    let key = if root.get("template_path").is_some() { "template_path" } else { "base_task" };
    if !problems.check_file(span_of(root, key), key, &path) {
        return None;
    }
    let template = read_template(root, &path, other_template, problems)?;
    let reference = &template.reference;
    if reference.name != name || !reference.version.eq_ignore_ascii_case(version) {
        let message = format!(
            "{} is `{}` {}, and this file binds `{name}` {version}",
            path.display(),
            reference.name,
            reference.version
        );
        problems.error(span_of(root, "template_version"), "template_version", message);
    }
    check_digest(root, reference, other_template, problems);
    Some(template)
}

/// Returns the span of a key, or the start of the document if the key is missing.
fn span_of(root: &Node, key: &str) -> Span {
    root.get(key).map_or(start(root), |node| node.span)
}

/// Returns the name and the version of the template that a RunConfig binds.
fn named_template<'r>(root: &'r Node, problems: &mut Problems) -> Option<(&'r str, &'r str)> {
    let base = root.text_of("base_task").and_then(|base| base.strip_prefix("builtin/"));
    let Some(name) = base.filter(|name| gage_core::check_name(name).is_ok()) else {
        problems
            .error(span_of(root, "base_task"), "base_task", "`base_task` must name a template")
            .help("write it like builtin/piqa_suite");
        return None;
    };
    let Some(version) =
        root.text_of("template_version").filter(|version| gage_core::check_name(version).is_ok())
    else {
        let message = "`template_version` must name a version";
        problems
            .error(span_of(root, "template_version"), "template_version", message)
            .help("write it like v1");
        return None;
    };
    Some((name, version))
}

/// Reads a template, and adds its problems to those of the RunConfig.
fn read_template(
    root: &Node,
    path: &Path,
    other_template: &mut Option<OtherTemplate>,
    problems: &mut Problems,
) -> Option<BuiltinTemplate> {
    let base_span = span_of(root, "base_task");
    match BuiltinTemplate::read(path) {
        Ok(template) => Some(template),
        Err(SuiteError::Document { problems: found, .. }) => {
            let text = crate::files::read(path).ok();
            *other_template =
                text.as_ref().map(|text| OtherTemplate::Digest(Digest::of_bytes(text.as_bytes())));
            let number = problems.sources.add(path.display().to_string(), text.unwrap_or_default());
            for problem in found.sorted() {
                let span = problem.span.map_or(base_span, |span| Span { source: number, ..span });
                problems.error(span, &problem.key, problem.message.clone()).help = problem.help.clone();
            }
            None
        }
        Err(error) => {
            *other_template = match &error {
                SuiteError::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
                    Some(OtherTemplate::Gone)
                }
                SuiteError::Io { source, .. } => {
                    Some(OtherTemplate::Unreadable(format!("unreadable: {source}")))
                }
                _ => None,
            };
            problems.error(base_span, "base_task", error.to_string());
            None
        }
    }
}

/// Checks that the digest of a template is the one that the RunConfig binds.
fn check_digest(
    root: &Node,
    reference: &TemplateRef,
    other_template: &mut Option<OtherTemplate>,
    problems: &mut Problems,
) {
    match root.text_of("template_digest") {
        None => {
            problems
                .error(start(root), "template_digest", "a RunConfig needs the key `template_digest`")
                .help(format!("the template has {}", reference.digest));
        }
        Some(digest) if digest == reference.digest.to_string() => {}
        Some(_) => {
            *other_template = Some(OtherTemplate::Digest(reference.file_digest));
            problems
                .error(
                    span_of(root, "template_digest"),
                    "template_digest",
                    format!(
                        "the template differs from the one that this file names: it has {}",
                        reference.digest
                    ),
                )
                .help(
                    "restore the template that was bound, or make a RunConfig for this one with `gage-host \
                    init`",
                );
        }
    }
}

/// Finds a template: below `builtin_templates` in a folder or its parent, or in `./config`.
pub(crate) fn find_template(folder: &Path, name: &str, version: &str) -> Option<PathBuf> {
    // The older program writes `V2` for the file v2.yaml.
    let spellings = [version.to_owned(), version.to_ascii_lowercase()];
    let below = |folder: &Path| {
        let folder = folder.join("builtin_templates").join(name);
        spellings.iter().map(|version| folder.join(format!("{version}.yaml"))).find(|path| path.is_file())
    };
    let canonical = crate::files::canonical_path(folder);
    let found = canonical.ancestors().find_map(below).or_else(|| below(Path::new("config")))?;
    // A relative path is shorter, and the same on every machine.
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).ok();
    let short = here.and_then(|here| found.strip_prefix(here).map(Path::to_owned).ok());
    Some(short.unwrap_or(found))
}

/// Merges the values of `runtime` into the definition.
fn apply(definition: &mut Node, runtime: &Node, template: &BuiltinTemplate, problems: &mut Problems) {
    let Some(sections) = runtime.as_map() else {
        problems.error(
            runtime.span,
            "runtime",
            format!("`runtime` must be a mapping, found {}", runtime.kind()),
        );
        return;
    };
    for section in sections {
        let key = section.key.as_str();
        match key {
            "datasets" => apply_to(definition, section, "dataset_id", None, problems),
            "backends" => apply_to(definition, section, "backend_id", None, problems),
            "tasks" => {
                add_implied_tasks(definition);
                apply_to(definition, section, "task_id", Some(&TASK_KEYS), problems);
            }
            "global" => check_global(section, template, problems),
            _ => {
                problems
                    .error(
                        section.key_span,
                        &format!("runtime.{key}"),
                        format!("unknown key `{key}` in `runtime`"),
                    )
                    .known(key, ["datasets", "backends", "tasks", "global"]);
            }
        }
    }
}

/// Writes out the tasks of a definition without tasks: one for each dataset, with its name.
fn add_implied_tasks(definition: &mut Node) {
    if listed(definition, "tasks", "task_id").next().is_some() {
        return;
    }
    let span = definition.span;
    let task = |id: &str| {
        let keys = ["task_id", "dataset_id"];
        Node::map(keys.map(|key| Entry::new(key, Node::text(id, span))).to_vec(), span)
    };
    let tasks = listed(definition, "datasets", "dataset_id").map(|(id, _)| task(id)).collect();
    let tasks = Node::new(NodeValue::List(tasks), span);
    if let Some(entries) = definition.entries_mut() {
        entries.retain(|one| one.key != "tasks");
        entries.push(Entry::new("tasks", tasks));
    }
}

/// Checks that each global value has a placeholder; otherwise it would have no effect.
fn check_global(section: &Entry, template: &BuiltinTemplate, problems: &mut Problems) {
    let used: Vec<String> =
        placeholders::names(&template.definition).into_iter().map(|(name, ..)| name).collect();
    for one in section.node.as_map().unwrap_or_default() {
        let path = format!("runtime.global.{}", one.key);
        if !used.iter().any(|name| *name == path || name.starts_with(&format!("{path}."))) {
            problems
                .error(one.key_span, &path, format!("the template has no placeholder ${{{path}}}"))
                .known(&path, used.iter().map(String::as_str));
        }
    }
}

fn apply_to(
    definition: &mut Node,
    section: &Entry,
    id_key: &'static str,
    allowed: Option<&[&str]>,
    problems: &mut Problems,
) {
    let path = format!("runtime.{}", section.key);
    let Some(values) = section.node.as_map() else {
        if !section.node.is_null() {
            problems.error(
                section.node.span,
                &path,
                format!("`{path}` must be a mapping, found {}", section.node.kind()),
            );
        }
        return;
    };
    let places = places_of(definition, &section.key, id_key);
    for value in values {
        let path = format!("{path}.{}", value.key);
        let Some(place) = places.get(&value.key) else {
            if problems.is_full() {
                return;
            }
            let known: Vec<String> =
                listed(definition, &section.key, id_key).map(|(id, _)| id.to_owned()).collect();
            problems
                .error(
                    value.key_span,
                    &path,
                    format!("the template has no `{}` among its {}", value.key, section.key),
                )
                .known(&value.key, known.iter().map(String::as_str));
            continue;
        };
        for one in value.node.as_map().unwrap_or_default() {
            if one.key == id_key || allowed.is_some_and(|allowed| !allowed.contains(&one.key.as_str())) {
                problems
                    .error(
                        one.key_span,
                        &format!("{path}.{}", one.key),
                        format!("`{}` cannot be set here: the template defines it", one.key),
                    )
                    .known(&one.key, allowed.unwrap_or_default().iter().copied());
            }
        }
        let item = definition.get_mut(&section.key).and_then(|list| match &mut list.value {
            NodeValue::List(items) => items.get_mut(*place),
            _ => None,
        });
        if let Some(item) = item {
            merge(item, &value.node);
        }
    }
}

/// Returns the place of each id in a list; that of the first item for an id that occurs several times.
fn places_of(definition: &Node, key: &str, id_key: &str) -> HashMap<String, usize> {
    let items = definition.get(key).and_then(Node::as_list).unwrap_or_default();
    let mut places = HashMap::new();
    for (place, item) in items.iter().enumerate() {
        if let Some(id) = item.text_of(id_key) {
            places.entry(id.to_owned()).or_insert(place);
        }
    }
    places
}

/// Merges a mapping into another, key by key; lists are replaced as a whole.
fn merge(under: &mut Node, over: &Node) {
    let (Some(values), true) = (over.as_map(), under.as_map().is_some()) else {
        *under = over.clone();
        return;
    };
    let Some(entries) = under.entries_mut() else { return };
    let keys = entries.iter().enumerate().map(|(place, one)| (one.key.clone(), place));
    let places: HashMap<String, usize> = keys.collect();
    for value in values {
        let Some(place) = places.get(&value.key).copied() else {
            entries.push(value.clone());
            continue;
        };
        let one = &mut entries[place];
        match one.node.as_map().is_some() && value.node.as_map().is_some() {
            true => merge(&mut one.node, &value.node),
            false => *one = value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn implied_tasks_have_the_names_of_their_datasets() {
        let read = |text: &str| parse_document("test", text, None, &mut Problems::default()).expect("YAML");
        let one = "datasets: [{dataset_id: rows}]";
        for (definition, task_ids) in [
            (one.to_owned(), vec!["rows"]),
            (format!("{one}\ntasks: []"), vec!["rows"]),
            (format!("{one}\ntasks: [{{task_id: t, dataset_id: rows}}]"), vec!["t"]),
            ("datasets: [{dataset_id: a}, {dataset_id: b}]".to_owned(), vec!["a", "b"]),
        ] {
            let mut definition = read(&definition);
            add_implied_tasks(&mut definition);
            let found: Vec<&str> = listed(&definition, "tasks", "task_id").map(|(id, _)| id).collect();
            assert_eq!(found, task_ids, "{:?}", definition.to_json());
        }
    }

    #[test]
    fn settings_of_a_run_replace_those_of_the_template_by_key() {
        let read = |text: &str| parse_document("test", text, None, &mut Problems::default()).expect("YAML");
        for (under, over, expected) in [
            ("{a: 1, b: 2}", "{b: 3}", json!({"a": 1, "b": 3})),
            ("{a: {x: 1, y: 2}}", "{a: {y: 3, z: 4}}", json!({"a": {"x": 1, "y": 3, "z": 4}})),
            ("{a: {x: 1}}", "{a: 2}", json!({"a": 2})),
            ("{a: 1}", "{a: {x: 2}}", json!({"a": {"x": 2}})),
            ("{a: [1, 2]}", "{a: [3]}", json!({"a": [3]})),
            ("{a: 1}", "{a: null}", json!({"a": null})),
        ] {
            let mut merged = read(under);
            merge(&mut merged, &read(over));
            assert_eq!(merged.to_json(), expected, "{under} {over}");
        }
    }
}
