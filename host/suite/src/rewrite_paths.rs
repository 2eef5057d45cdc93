//! Rewrites `${config_dir}` when a text moves to a file in another folder. The variable refers to the new file's
//! folder, so the path after it changes.

use crate::document::each_text;
use crate::files::canonical_path;
use gage_config::{Node, NodeValue};
use std::path::{Component, Path};

const VARIABLE: &str = "${config_dir}";

/// Rewrites every `${config_dir}` of a document for a file in another folder.
pub(crate) fn rebase(document: &mut Node, from: &Path, to: &Path) {
    let (from, to) = (canonical_path(from), canonical_path(to));
    each_text(document, &mut |node| {
        if let NodeValue::Text(text) = &mut node.value
            && text.contains(VARIABLE)
        {
            *text = rebased(text, &from, &to);
            if node.plain.is_some() {
                node.plain = Some(text.clone());
            }
        }
    });
}

/// Returns the relative path between two folders. It is empty if they are equal, and the whole path if they
/// have nothing in common.
fn relative_path(from: &Path, to: &Path) -> Vec<String> {
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (from.components().collect(), to.components().collect());
    let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let name = |component: &Component<'_>| component.as_os_str().to_string_lossy().into_owned();
    let back = from.iter().skip(common).map(|_| "..".to_owned());
    back.chain(to.iter().skip(common).map(name)).collect()
}

/// Formats a folder relative to `${config_dir}`.
pub(crate) fn spelled(own: &Path, folder: &Path) -> String {
    let mut text = VARIABLE.to_owned();
    for name in relative_path(own, &canonical_path(folder)) {
        text.push('/');
        text.push_str(&name);
    }
    text
}

/// Rewrites the paths after variables relative to another folder; both folders are canonical.
fn rebased(text: &str, from: &Path, to: &Path) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    let mut rest = text;
    while let Some(start) = rest.find(VARIABLE) {
        let (before, behind) = (&rest[..start], &rest[start + VARIABLE.len()..]);
        out.push_str(before);
        out.push_str(VARIABLE);
        rest = behind;
        // `$${config_dir}` is not a variable.
        if before.ends_with('$') {
            continue;
        }
        // Only complete path components before the next variable can be joined with the relative path.
        let end = rest.find(['$', '}']).unwrap_or(rest.len());
        let end = if end == rest.len() { end } else { rest[..end].rfind('/').map_or(0, |slash| slash) };
        let (literal, further) = rest.split_at(end);
        let mut target = from.to_owned();
        for name in literal.split('/').filter(|name| !name.is_empty() && *name != ".") {
            match name {
                ".." => drop(target.pop()),
                name => target.push(name),
            }
        }
        for name in relative_path(to, &target) {
            out.push('/');
            out.push_str(&name);
        }
        rest = further;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_from_another_folder_and_back() {
        let (custom, template) = (Path::new("/r/config/custom"), Path::new("/r/config/templates/x"));
        for (before, after) in [
            ("${config_dir}/../data/a.jsonl", "${config_dir}/../../data/a.jsonl"),
            ("${config_dir}/a.jsonl", "${config_dir}/../../custom/a.jsonl"),
            ("${config_dir}/../models/${M:-m}.gguf", "${config_dir}/../../models/${M:-m}.gguf"),
            ("${config_dir}", "${config_dir}/../../custom"),
            ("${D:-${config_dir}/d}/x", "${D:-${config_dir}/../../custom/d}/x"),
            ("$${config_dir}/x", "$${config_dir}/x"),
            ("./x", "./x"),
        ] {
            assert_eq!(rebased(before, custom, template), after, "{before}");
            assert_eq!(rebased(after, template, custom), before, "{after}");
        }
        assert_eq!(rebased("${config_dir}/x", custom, custom), "${config_dir}/x");
    }
}
