//! Names of other programs in the form of ids.

/// Maximum number of characters of an id.
const MAX_ID_CHARS: usize = 128;

/// Returns a name as the id of a task or a dataset: letters, digits, `.`, `_` and `-`, with a letter or a digit first.
pub(crate) fn id_of(name: &str) -> String {
    let id: String = name
        .chars()
        .map(|one| if one.is_ascii_alphanumeric() || "._-".contains(one) { one } else { '-' })
        .take(MAX_ID_CHARS)
        .collect();
    let id = id.trim_start_matches(['.', '_', '-']);
    if id.is_empty() { "task".to_owned() } else { id.to_owned() }
}

/// Returns a name as the id of a metric: letters, digits, `_` and `-`.
pub(crate) fn metric_id_of(name: &str) -> String {
    name.chars()
        .map(|one| if one.is_ascii_alphanumeric() || "_-".contains(one) { one } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_ids() {
        for (name, id, metric_id) in
            [("a b.c", "a-b.c", "a-b-c"), ("_é", "task", "_-"), ("pass@1", "pass-1", "pass-1")]
        {
            assert_eq!((id_of(name), metric_id_of(name)), (id.to_owned(), metric_id.to_owned()), "{name}");
        }
    }
}
