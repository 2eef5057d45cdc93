//! Glob patterns of paths, as in `data_files` and dataset cards.
//!
//! `*`, `?` and `[…]` stay within one component of a path; `**` matches any number of components. Hidden files,
//! folders that begin with `__`, and files that describe a dataset match only if the pattern names them.
//!
//! A pattern becomes a regular expression, whose time is bounded. The crate `globset` (0.4) is not used because its
//! `?` and `[…]` match bytes instead of characters, and braces are alternatives. The crate `glob` (0.3) rejects
//! `[^…]` and unclosed brackets.

use regex::Regex;

const MAX_PATTERN_BYTES: usize = 1_024;
const MAX_COMPONENTS: usize = 64;
/// Files that describe the data but contain none.
const DESCRIPTIONS: [&str; 6] = [
    "README.md",
    "config.json",
    "dataset_info.json",
    "dataset_infos.json",
    "dataset_dict.json",
    "dummy_data.zip",
];

/// A parsed pattern.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    text: String,
    /// Matches paths with a `/` after each component.
    regex: Regex,
    is_plain: bool,
}

impl Pattern {
    /// Parses a pattern. The error describes the problem.
    pub(super) fn parse(text: &str) -> Result<Pattern, String> {
        let text = text.trim_start_matches("./");
        if text.is_empty() || text.len() > MAX_PATTERN_BYTES || text.split('/').count() > MAX_COMPONENTS {
            return Err(format!(
                "a pattern has 1 to {MAX_PATTERN_BYTES} bytes and at most {MAX_COMPONENTS} parts"
            ));
        }
        if text.contains("://") || text.starts_with('/') || text.split('/').any(|part| part == "..") {
            return Err(
                "patterns are paths within the repository, without '..' and without an address".to_owned()
            );
        }
        let (mut regex, mut is_plain) = (r"\A".to_owned(), true);
        for component in text.split('/') {
            if component == "**" {
                regex.push_str("(?:[^/]*/)*");
                is_plain = false;
            } else if component.contains("**") {
                let message =
                    format!("'**' must be a whole part, as in 'data/**/*.jsonl'; found '{component}'");
                return Err(message);
            } else {
                is_plain &= push_component(component, &mut regex);
                regex.push('/');
            }
        }
        let regex = Regex::new(&format!(r"{regex}\z")).map_err(|error| error.to_string())?;
        Ok(Pattern { text: text.to_owned(), regex, is_plain })
    }

    /// Returns whether the pattern matches exactly one path.
    pub(super) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Returns whether the pattern selects a path as a data file.
    pub(super) fn selects(&self, path: &str) -> bool {
        let name = last_part(path);
        if DESCRIPTIONS.contains(&name) && last_part(&self.text) != name {
            return false;
        }
        hidden_parts(path) == hidden_parts(&self.text)
            && special_folders(path) == special_folders(&self.text)
            && self.regex.is_match(&format!("{path}/"))
    }
}

/// Returns whether a path is a data file when no pattern names it.
pub(super) fn is_ordinary(path: &str) -> bool {
    !DESCRIPTIONS.contains(&last_part(path)) && hidden_parts(path) == 0 && special_folders(path) == 0
}

/// Adds the expression of a component. Returns whether it is literal.
fn push_component(component: &str, regex: &mut String) -> bool {
    let mut is_plain = true;
    let mut rest = component.chars();
    while let Some(character) = rest.next() {
        // An unclosed bracket is an ordinary character.
        let class = (character == '[').then(|| class(rest.as_str())).flatten();
        is_plain &= class.is_none() && !matches!(character, '*' | '?');
        match (character, class) {
            (_, Some((class, after))) => {
                regex.push_str(&class);
                rest = after.chars();
            }
            ('*', None) => regex.push_str("[^/]*"),
            ('?', None) => regex.push_str("[^/]"),
            (other, None) => regex.push_str(&escaped(other)),
        }
    }
    is_plain
}

/// Returns the expression of the text after a `[`, and the remaining text. A `]` that comes first is one of the
/// characters.
fn class(text: &str) -> Option<(String, &str)> {
    let (is_negated, body) = match text.strip_prefix(['!', '^']) {
        Some(body) => (true, body),
        None => (false, text),
    };
    let first = body.chars().next()?.len_utf8();
    let end = first + body.get(first..)?.find(']')?;
    let characters: Vec<char> = body.get(..end)?.chars().collect();
    let (mut items, mut rest) = (String::new(), characters.as_slice());
    while let [from, after @ ..] = rest {
        let (to, after) = match after {
            ['-', to, after @ ..] => (to, after),
            after => (from, after),
        };
        // A reversed range contains no characters.
        if from <= to {
            items.push_str(&format!("{}-{}", escaped(*from), escaped(*to)));
        }
        rest = after;
    }
    let class = match (is_negated, items.is_empty()) {
        (true, _) => format!("[^/{items}]"),
        (false, false) => format!("[[{items}]&&[^/]]"),
        (false, true) => "[a&&b]".to_owned(),
    };
    Some((class, body.get(end + 1..)?))
}

fn escaped(character: char) -> String {
    regex::escape(character.encode_utf8(&mut [0; 4]))
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn hidden_parts(path: &str) -> usize {
    path.split('/').filter(|part| part.starts_with('.') && !matches!(*part, "." | "..")).count()
}

fn special_folders(path: &str) -> usize {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').filter(|part| part.starts_with("__")).count()
}

#[cfg(test)]
mod tests;
