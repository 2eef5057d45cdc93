//! The address of a server.

use super::HttpKind;
use crate::elements::address::check;
use crate::mapping_reader::MappingReader;
use crate::problems::Problems;
use crate::resources::ResourceKind;

/// Reads `base_url`. An invalid address is reported, and the result is `None`.
pub(super) fn read(table: &mut MappingReader<'_>, kind: HttpKind, problems: &mut Problems) -> Option<String> {
    let given = table.text("base_url", problems);
    let Some(text) = given.or_else(|| kind.default_base_url().map(str::to_owned)) else {
        if table.get("base_url").is_none() {
            table.required("base_url", problems);
        }
        return None;
    };
    if let Err((message, help)) = check(&text, "base_url") {
        table.error("base_url", message, problems).help(help);
        return None;
    }
    if let Some(host) = ResourceKind::host_of(&text) {
        table.uses("base_url", host, problems);
    }
    Some(text.trim_end_matches('/').to_owned())
}
