//! Options of a run: `commandLineOptions` and `evaluateOptions`.

use crate::note::Notes;
use crate::tree::{Mapping, Tree};
use serde_json::Value;

/// Sections with options; those of the first one come first.
pub(super) const SECTIONS: [&str; 2] = ["commandLineOptions", "evaluateOptions"];
/// Options with the same meaning in `custom`.
const SETTINGS: [(&str, &str); 2] = [("repeat", "repeat"), ("maxConcurrency", "concurrency")];
/// The option with the milliseconds between requests.
const DELAY: &str = "delay";

/// Returns the settings of `custom` that options become.
pub(super) fn convert(config: &Mapping, notes: &mut Notes, comments: &mut Vec<String>) -> Mapping {
    let sections: Vec<(&str, &Mapping)> =
        SECTIONS.iter().filter_map(|name| Some((*name, config.get(name)?.as_map()?))).collect();
    let given =
        |option: &str| sections.iter().find_map(|(section, options)| Some((*section, options.get(option)?)));
    let mut custom = Mapping::default();
    for (option, key) in SETTINGS {
        if let Some((_, value)) = given(option) {
            custom.set(key, value.clone());
        }
    }
    if let Some((section, value)) = given(DELAY).filter(|(_, value)| is_positive(value)) {
        // Then promptfoo sends one request at a time.
        custom.set("concurrency", Tree::Scalar(1.into()));
        let message = format!(
            "`{DELAY}` is left out: there is no pause of {} ms between requests, which are sent one at a time",
            value.shown()
        );
        let note = notes.changed(format!("{section}.{DELAY}"), message, comments);
        note.help("`requests_per_minute` of the backend limits requests");
    }
    for (section, options) in &sections {
        let is_other = |key: &&String| *key != DELAY && SETTINGS.iter().all(|(option, _)| option != key);
        for key in options.entries.iter().map(|entry| &entry.key).filter(is_other) {
            let message = format!("`{key}` is left out: options are given on the command line");
            // These are of no interest in the suite.
            notes.dropped(format!("{section}.{key}"), message, &mut Vec::new());
        }
    }
    custom
}

fn is_positive(value: &Tree) -> bool {
    matches!(value, Tree::Scalar(Value::Number(number)) if number.as_f64().is_some_and(|delay| delay > 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn options_are_kept_or_noted() {
        let delayed =
            "`delay` is left out: there is no pause of 500 ms between requests, which are sent one at a time";
        let unused = "`verbose` is left out: options are given on the command line";
        for (options, custom, messages, commented) in [
            (
                json!({"evaluateOptions": {"maxConcurrency": 4, "repeat": 2}}),
                json!({"repeat": 2, "concurrency": 4}),
                &[][..],
                0,
            ),
            (
                json!({"evaluateOptions": {"maxConcurrency": 4}, "commandLineOptions": {"maxConcurrency": 2}}),
                json!({"concurrency": 2}),
                &[],
                0,
            ),
            (
                json!({"evaluateOptions": {"delay": 500, "maxConcurrency": 4}}),
                json!({"concurrency": 1}),
                &[delayed],
                1,
            ),
            (json!({"evaluateOptions": {"delay": 0}}), json!({}), &[], 0),
            (json!({"commandLineOptions": {"verbose": true}}), json!({}), &[unused], 0),
        ] {
            let Tree::Map(config) = Tree::of_json(options.clone()) else { panic!("a mapping") };
            let (mut notes, mut comments) = (Notes::default(), Vec::new());
            let found = Tree::Map(convert(&config, &mut notes, &mut comments)).to_json();
            let notes = notes.into_list();
            let found_messages: Vec<&str> = notes.iter().map(|note| note.message.as_str()).collect();
            assert_eq!((found, comments.len()), (custom, commented), "{options}");
            assert_eq!(found_messages, messages, "{options}");
        }
    }
}
