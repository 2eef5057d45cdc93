//! Unknown keys: those that resemble a known one are errors, the others are passed to the server with a warning.

use super::HttpKind;
use crate::elements::sampling;
use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::old_names::old_key;
use crate::problems::Problems;
use gage_core::{Object, SamplingParams};

/// Returns true if a name is that of a sampling parameter.
fn is_sampling(name: &str) -> bool {
    name == "max_tokens" || SamplingParams::NAMES.contains(&name)
}

/// Other names of sampling parameters in request bodies.
const NAMES_IN_BODIES: [&str; 8] = [
    "max_completion_tokens",
    "stop_sequences",
    "maxOutputTokens",
    "topP",
    "topK",
    "stopSequences",
    "presencePenalty",
    "frequencyPenalty",
];
/// Objects that hold the sampling parameters in request bodies, if not at the top level.
const PLACES_IN_BODIES: [&str; 2] = ["generationConfig", "parameters"];

/// Rejects sampling parameters in `extra_body`. There they would override those of samples, tasks and roles, and
/// records would list parameters that were not sent.
pub(super) fn refuse_params(table: &mut MappingReader<'_>, problems: &mut Problems) {
    let path = table.path_of("extra_body");
    let at_top = table.get("extra_body").and_then(Node::as_map).unwrap_or_default();
    let nested = at_top.iter().filter(|entry| PLACES_IN_BODIES.contains(&entry.key.as_str()));
    let below = nested.flat_map(|outer| {
        outer.node.as_map().unwrap_or_default().iter().map(|entry| (format!("{path}.{}", outer.key), entry))
    });
    for (path, entry) in at_top.iter().map(|entry| (path.clone(), entry)).chain(below) {
        let name = entry.key.as_str();
        if is_sampling(name) || NAMES_IN_BODIES.contains(&name) {
            let message =
                format!("`{name}` is a sampling parameter, and would override those of samples and tasks");
            problems
                .error(entry.key_span, &format!("{path}.{name}"), message)
                .help("put it into `default_params`, or into `sampling_params` of the role or the task");
        }
    }
}

/// Returns the unknown keys, which are passed to the server, each with a warning. Keys that resemble a known one, and keys
/// that look like credentials, are rejected. Settings that gage-eval gave to a process of its own are
/// not passed. Sampling parameters are returned separately: they are defaults, and do not override what samples
/// request.
pub(super) fn read_further(
    table: MappingReader<'_>,
    kind: HttpKind,
    problems: &mut Problems,
) -> (Object, SamplingParams) {
    let (path, span) = (table.path.clone(), table.span);
    let (further, known) = table.further();
    let (mut passed, mut params) = (Object::new(), Object::new());
    for entry in further {
        let name = entry.key.as_str();
        let place = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        if crate::secrets::is_secret_key(&entry.key) {
            problems.error(entry.key_span, &place, format!("unknown key `{name}` in `{path}`")).help(
                "give the key by `api_key_env`, `api_key_file` or `api_key`, and other credentials by `headers`",
            );
            continue;
        }
        if is_sampling(name) {
            let message =
                format!("`{name}` is a sampling parameter; it is treated as one of `default_params`");
            problems.warning(entry.key_span, &place, message).help("write it there");
            params.insert(entry.key.clone(), entry.node.to_json());
            continue;
        }
        if let Some(old) = old_key(&path, name) {
            let message = format!("`{name}` is not a key of {}; it is not sent", kind.name());
            problems.warning(entry.key_span, &place, message).help(old.help);
            continue;
        }
        if let Some(meant) = gage_core::nearest(name, known.iter().copied().chain(SamplingParams::NAMES)) {
            let message = format!("`{name}` is not a key of {}", kind.name());
            let help = format!("did you mean `{meant}`? a key for the server itself belongs in `extra_body`");
            problems.error(entry.key_span, &place, message).help(help);
            continue;
        }
        let message =
            format!("`{name}` is not a key of {}; it is added to the body of every request", kind.name());
        problems.warning(entry.key_span, &place, message).help(
            "put it into `extra_body` if the server needs it; sampling parameters belong in `default_params`",
        );
        passed.insert(entry.key.clone(), entry.node.to_json());
    }
    (passed, sampling::read_object(params, &path, |_| span, problems))
}
