//! Place and remedy of a syntax error in YAML. The parser names a rule of its own, and often another line.

/// A syntax error, as it is reported.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// Offset of the error in bytes.
    pub(crate) start: usize,
    /// How to fix it.
    pub(crate) help: Option<String>,
}

/// Maximum number of other indentations that a message names.
const MAX_NAMED_LEVELS: usize = 3;

impl SyntaxError {
    /// Explains the error that the parser describes by `info`, at an offset in bytes.
    pub(crate) fn new(text: &str, start: usize, info: &str) -> SyntaxError {
        let found = text.get(..start).map(|before| before.rfind('\n').map_or(0, |end| end + 1));
        let Some(line_start) = found else { return SyntaxError { start, help: None } };
        let info = info.to_lowercase();
        if info.contains("tab")
            && let Some(tab) = indenting_tab(text, line_start)
        {
            let help = "indent with spaces: YAML allows no tab there".to_owned();
            return SyntaxError { start: tab, help: Some(help) };
        }
        let help = if info.contains("did not find expected") {
            indentation_help(text, line_start)
        } else if info.contains("mapping values are not allowed") {
            let quotes = || "put a text that contains a colon and a space into quotes".to_owned();
            Some(indentation_help(text, line_start).unwrap_or_else(quotes))
        } else {
            None
        };
        SyntaxError { start, help }
    }
}

/// Returns the offset of the first tab that indents a line, from the line at `line_start` on.
fn indenting_tab(text: &str, line_start: usize) -> Option<usize> {
    let mut start = line_start;
    for line in text.get(line_start..)?.split_inclusive('\n') {
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        if let Some(tab) = line[..blank].find('\t') {
            return Some(start + tab);
        }
        start += line.len();
    }
    None
}

/// Returns help for a line whose indentation fits none of the lines above it.
fn indentation_help(text: &str, line_start: usize) -> Option<String> {
    let (above, rest) = text.split_at_checked(line_start)?;
    let line = rest.lines().next()?;
    let indent = line.len() - line.trim_start_matches(' ').len();
    let levels = levels_above(above);
    if levels.is_empty() || levels.iter().any(|(level, _)| *level == indent) {
        return None;
    }
    let levels = levels.iter().take(MAX_NAMED_LEVELS);
    let levels: Vec<String> = levels.map(|(level, line)| format!("{level} (line {line})")).collect();
    Some(format!(
        "this line is indented by {indent}, and those above it by {}: give it the indentation of the entries that it \
         belongs to",
        levels.join(", ")
    ))
}

/// Returns the indentations of the entries that are open at the end of a text, the deepest first, each with its line.
fn levels_above(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut levels: Vec<(usize, usize)> = Vec::new();
    for (place, line) in lines.iter().enumerate().rev() {
        let content = line.trim_start_matches(' ');
        if content.trim().is_empty() || content.starts_with('#') {
            continue;
        }
        let indent = line.len() - content.len();
        // An item of a list has the indentation of its dash, and that of its keys.
        let keys = content.strip_prefix("- ").map(|keys| line.len() - keys.trim_start_matches(' ').len());
        for level in [keys, Some(indent)].into_iter().flatten() {
            if levels.last().is_none_or(|(last, _)| level < *last) {
                levels.push((level, place + 1));
            }
        }
        if indent == 0 {
            break;
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use crate::pipeline::{Environment, load};

    /// Returns the place of the only error of a text as line and column, and its help.
    fn error_of(text: &str) -> (u64, u64, String) {
        let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
        let (_, problems) = load("test.yaml", text, &[], &environment);
        let problems = problems.to_json();
        assert_eq!(problems.as_array().map(Vec::len), Some(1), "{problems}");
        let problem = &problems[0];
        let number = |key: &str| problem[key].as_u64().expect("a number");
        (number("line"), number("column"), problem["help"].as_str().unwrap_or_default().to_owned())
    }

    #[test]
    fn a_tab_is_marked_in_its_own_line() {
        for (text, place) in [
            ("datasets:\n  - dataset_id: mine\n    loader: jsonl\n\tparams: {}\n", (4, 1)),
            ("datasets:\n\t- dataset_id: mine\n", (2, 1)),
        ] {
            let (line, column, help) = error_of(text);
            assert_eq!((line, column), place, "{text}");
            assert_eq!(help, "indent with spaces: YAML allows no tab there", "{text}");
        }
    }

    #[test]
    fn a_wrong_indentation_is_compared_with_the_lines_above() {
        let levels = "give it the indentation of the entries that it belongs to";
        for (text, expected) in [
            (
                "datasets:\n  - dataset_id: mine\n    loader: jsonl\n   params: {}\n",
                "this line is indented by 3, and those above it by 4 (line 3), 2 (line 2), 0 (line 1): ",
            ),
            (
                "config:\n      base_url: a\n     model: m\n",
                "this line is indented by 5, and those above it by 6 (line 2), 0 (line 1): ",
            ),
            (
                "config:\n      base_url: a\n       model: m\n",
                "this line is indented by 7, and those above it by 6 (line 2), 0 (line 1): ",
            ),
        ] {
            assert_eq!(error_of(text).2, format!("{expected}{levels}"), "{text}");
        }
        let (.., help) = error_of("prompt: Answer: yes or no\n");
        assert_eq!(help, "put a text that contains a colon and a space into quotes");
    }
}
