//! Names in class paths of Python, and names of plugins made from them.

/// Returns true if a text is a class path or a module path: `pkg.mod:Class`, `pkg.mod.Class`.
pub(crate) fn is_path(text: &str) -> bool {
    let is_letter = |one: char| one.is_ascii_alphanumeric() || "_.:".contains(one);
    !text.contains('/')
        && text.contains([':', '.'])
        && !text.ends_with(".wasm")
        && text.chars().all(is_letter)
}

/// Returns the last name of a class path, in the form of a registered name: `pkg.mod:ExactMatch` is `exact_match`.
pub(crate) fn last_name(path: &str) -> String {
    let last = path.rsplit([':', '.']).next().unwrap_or(path);
    let mut name = String::with_capacity(last.len() + 4);
    let letters: Vec<char> = last.chars().collect();
    for (place, letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|place| letters.get(place));
        let next = letters.get(place + 1);
        let begins_word = letter.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || before.is_ascii_uppercase() && next.is_some_and(char::is_ascii_lowercase)
            });
        if begins_word {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// Returns a name without the words of the older program that say what kind of thing it names.
pub(crate) fn without_kind(name: &str) -> &str {
    const BEGINNINGS: [&str; 3] = ["preprocess_", "convert_", "preprocessor_"];
    const ENDS: [&str; 9] = [
        "_preprocessor",
        "_preprocess",
        "_standardizer",
        "_multimodal_inputs",
        "_inputs",
        "_chat",
        "_metric",
        "_converter",
        "_prompt",
    ];
    let mut short = name;
    loop {
        let before = short;
        short = BEGINNINGS.iter().find_map(|begin| short.strip_prefix(begin)).unwrap_or(short);
        short = ENDS.iter().find_map(|end| short.strip_suffix(end)).unwrap_or(short);
        if short == before {
            return short;
        }
    }
}

/// Returns the name of a plugin that takes the place of a piece of Python: lower-case letters, digits and `-`.
pub(crate) fn plugin_name(name: &str) -> String {
    let name = if is_path(name) { last_name(name) } else { name.to_ascii_lowercase() };
    let plain: String = name.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' }).collect();
    let plain = plain.trim_matches('-').to_owned();
    match plain.starts_with(|first: char| first.is_ascii_alphabetic()) {
        true => plain,
        false => format!("my-{plain}").trim_end_matches('-').to_owned(),
    }
}

/// Returns the file of a plugin that `gage-host plugin build` makes.
pub(crate) fn plugin_file(name: &str) -> String {
    let name = plugin_name(name);
    format!("./{name}/{name}.wasm")
}

/// Returns the command that makes the project of a plugin.
pub(crate) fn plugin_command(name: &str, kind: &str) -> String {
    format!("gage-host plugin new --lang python --kind {kind} {}", plugin_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_paths_become_registered_names() {
        for (path, expected) in [
            ("gage_eval.metrics.builtin.text:ExactMatchMetric", "exact_match_metric"),
            ("pkg.mod.MMMUAccuracy", "mmmu_accuracy"),
            ("pkg.image_utils:embed_local_message_images", "embed_local_message_images"),
        ] {
            assert!(is_path(path));
            assert_eq!(last_name(path), expected);
        }
        assert!(!is_path("exact_match") && !is_path("./mine.wasm") && !is_path("a/b.c"));
        assert_eq!(without_kind("preprocess_gsm8k_chat_preprocessor"), "gsm8k");
        assert_eq!(plugin_file("pkg.mod:MyMetric"), "./my-metric/my-metric.wasm");
        assert_eq!(plugin_name("24_game"), "my-24-game");
    }
}
