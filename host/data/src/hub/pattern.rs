//! Glob patterns of paths, as in `data_files` and dataset cards.
//!
//! `*`, `?` and `[…]` stay within one component of a path; `**` stands for any number of components. Hidden files, folders that
//! begin with `__`, and the files that describe a dataset are matched only if the pattern names them.
//!
//! The crate `globset` is not used because it gives braces a meaning that they do not have on the hub; `glob` is not used because
//! it rejects `[^…]` and unclosed brackets, and because a hostile pattern of a dataset card can make it backtrack for hours.

const MAX_PATTERN_BYTES: usize = 1_024;
const MAX_COMPONENTS: usize = 64;
/// Files that are about the data, and are none.
const DESCRIPTIONS: [&str; 6] = [
    "README.md",
    "config.json",
    "dataset_info.json",
    "dataset_infos.json",
    "dataset_dict.json",
    "dummy_data.zip",
];

/// A pattern that was read.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    text: String,
    components: Vec<Component>,
}

#[derive(Clone, Debug)]
enum Component {
    AnyRun,
    Name(Vec<Token>),
}

#[derive(Clone, Debug)]
enum Token {
    Is(char),
    Any,
    AnyRun,
    OneOf { is_negated: bool, ranges: Vec<(char, char)> },
}

impl Pattern {
    /// Reads a pattern; says what is wrong with it.
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
        let components = text.split('/').map(Component::parse).collect::<Result<_, _>>()?;
        Ok(Pattern { text: text.to_owned(), components })
    }

    /// Whether it stands for one path only.
    pub(super) fn is_plain(&self) -> bool {
        self.components.iter().all(|component| match component {
            Component::AnyRun => false,
            Component::Name(tokens) => tokens.iter().all(|token| matches!(token, Token::Is(_))),
        })
    }

    /// Whether the path is one of a data file that is meant.
    pub(super) fn selects(&self, path: &str) -> bool {
        let name = last_part(path);
        if DESCRIPTIONS.contains(&name) && last_part(&self.text) != name {
            return false;
        }
        hidden_parts(path) == hidden_parts(&self.text)
            && special_folders(path) == special_folders(&self.text)
            && self.matches(path)
    }

    fn matches(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        let is_name = |component: &Component, text: &&str| match component {
            Component::AnyRun => false,
            Component::Name(tokens) => name_matches(tokens, text),
        };
        run_matches(&self.components, &parts, |component| matches!(component, Component::AnyRun), is_name)
    }
}

/// Whether a path is one of a data file, where nothing names it.
pub(super) fn is_ordinary(path: &str) -> bool {
    !DESCRIPTIONS.contains(&last_part(path)) && hidden_parts(path) == 0 && special_folders(path) == 0
}

impl Component {
    fn parse(text: &str) -> Result<Component, String> {
        if text == "**" {
            return Ok(Component::AnyRun);
        }
        if text.contains("**") {
            return Err(format!("'**' must be a whole part, as in 'data/**/*.jsonl'; found '{text}'"));
        }
        let mut tokens = Vec::new();
        let mut rest = text.chars();
        while let Some(character) = rest.next() {
            tokens.push(match character {
                '*' => Token::AnyRun,
                '?' => Token::Any,
                '[' => match class(rest.as_str()) {
                    Some((token, behind)) => {
                        rest = behind.chars();
                        token
                    }
                    // A bracket that is not closed is a character like any other.
                    None => Token::Is('['),
                },
                character => Token::Is(character),
            });
        }
        Ok(Component::Name(tokens))
    }
}

/// Reads what stands behind `[`; a `]` that comes first is one of the characters.
fn class(text: &str) -> Option<(Token, &str)> {
    let (is_negated, body) = match text.strip_prefix(['!', '^']) {
        Some(body) => (true, body),
        None => (false, text),
    };
    let first = body.chars().next()?.len_utf8();
    let end = first + body.get(first..)?.find(']')?;
    let characters: Vec<char> = body.get(..end)?.chars().collect();
    let mut ranges = Vec::new();
    let mut rest = characters.as_slice();
    loop {
        rest = match rest {
            [from, '-', to, rest @ ..] => {
                ranges.push((*from, *to));
                rest
            }
            [one, rest @ ..] => {
                ranges.push((*one, *one));
                rest
            }
            [] => break,
        };
    }
    Some((Token::OneOf { is_negated, ranges }, body.get(end + 1..)?))
}

fn name_matches(tokens: &[Token], text: &str) -> bool {
    let characters: Vec<char> = text.chars().collect();
    let is_character = |token: &Token, character: &char| match token {
        Token::Is(expected) => expected == character,
        Token::Any => true,
        Token::AnyRun => false,
        Token::OneOf { is_negated, ranges } => {
            ranges.iter().any(|(from, to)| (from..=to).contains(&character)) != *is_negated
        }
    };
    run_matches(tokens, &characters, |token| matches!(token, Token::AnyRun), is_character)
}

/// Matches items one by one, where some patterns stand for any run of items. Only the last such run
/// is ever lengthened, so that the time is at most the product of both lengths.
fn run_matches<P, T>(
    patterns: &[P],
    items: &[T],
    is_run: impl Fn(&P) -> bool,
    is_match: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut next) = (0, 0);
    let mut last_run: Option<(usize, usize)> = None;
    while let Some(item) = items.get(next) {
        match (patterns.get(at), last_run) {
            (Some(pattern), _) if is_run(pattern) => {
                at += 1;
                last_run = Some((at, next));
            }
            (Some(pattern), _) if is_match(pattern, item) => {
                at += 1;
                next += 1;
            }
            (_, Some((behind, from))) => {
                at = behind;
                next = from + 1;
                last_run = Some((behind, next));
            }
            (_, None) => return false,
        }
    }
    patterns.iter().skip(at).all(is_run)
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
