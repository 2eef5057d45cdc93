//! What the program does not know and the server may: it is passed on, and said.

use super::HttpKind;
use crate::elements::sampling;
use crate::node::Node;
use crate::problems::Problems;
use crate::table::Table;
use gage_core::{Object, SamplingParams};

/// Reads `default_params`, and `generation_parameters`, which besides sampling parameters may hold
/// anything that the server takes: that is returned apart.
pub(super) fn read_params(table: &mut Table<'_>, problems: &mut Problems) -> (SamplingParams, Object) {
    let params = sampling::read(table, "default_params", problems);
    let path = table.path_of("generation_parameters");
    let entries = table.free_map("generation_parameters", problems).and_then(Node::as_map);
    let (mut known, mut further) = (Object::new(), Object::new());
    for entry in entries.unwrap_or_default() {
        let name = entry.key.as_str();
        if name == "max_tokens" || SamplingParams::NAMES.contains(&name) {
            known.insert(entry.key.clone(), entry.node.to_json());
            continue;
        }
        if let Some(meant) = gage_core::nearest(name, SamplingParams::NAMES) {
            problems
                .warning(
                    entry.key_span,
                    &format!("{path}.{name}"),
                    format!(
                        "`{name}` is no sampling parameter; it goes into the body of every request as it is"
                    ),
                )
                .help(format!("did you mean `{meant}`?"));
        }
        further.insert(entry.key.clone(), entry.node.to_json());
    }
    let below = match SamplingParams::from_object(known) {
        Ok(below) => below,
        Err(found) => {
            for problem in found {
                let name = problem.pointer.trim_start_matches('/');
                let span = table
                    .get("generation_parameters")
                    .map_or(table.span, |node| node.nearest(&problem.pointer).span);
                problems.error(span, &format!("{path}.{name}"), format!("`{name}`: {}", problem.message));
            }
            SamplingParams::default()
        }
    };
    (params.over(&below), further)
}

/// The keys that nobody asked for. They are passed on to the server, each with a warning that names the
/// known key that it may have been meant for. What looks like a key of an account is refused.
pub(super) fn read_further(table: Table<'_>, kind: HttpKind, problems: &mut Problems) -> Object {
    let path = table.path.clone();
    let (further, known) = table.further();
    let mut passed = Object::new();
    for entry in further {
        let name = entry.key.as_str();
        let place = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        if crate::secrets::is_secret_key(&entry.key) {
            problems.error(entry.key_span, &place, format!("unknown key `{name}` in `{path}`")).help(
                "keys are given by `api_key_env`, `api_key_file` or `api_key`, further ones by `headers`",
            );
            continue;
        }
        let message =
            format!("`{name}` is no key of {}; it goes into the body of every request as it is", kind.name());
        let problem = problems.warning(entry.key_span, &place, message);
        match gage_core::nearest(name, known.iter().copied()) {
            Some(meant) => problem
                .help(format!("did you mean `{meant}`? what is meant for the server stands in `extra_body`")),
            None => problem.help("put it into `extra_body` where it is meant for the server"),
        };
        passed.insert(entry.key.clone(), entry.node.to_json());
    }
    passed
}
