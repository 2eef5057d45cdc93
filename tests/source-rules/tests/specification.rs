//! Checks the page of the specification: every row has a state, and names the tests or the page that show it. Also checks the
//! pages of faults and of promises, whose rows name tests.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Number of requirements in the two lists.
const ROWS: [usize; 2] = [173, 151];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// A row: number, requirement, state, and what shows it.
struct Row {
    number: usize,
    state: String,
    shown_by: String,
}

fn rows_of(page: &str) -> Vec<Row> {
    let cells = |line: &str| {
        let cells: Vec<String> =
            line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
        let [number, _, state, shown_by] = <[String; 4]>::try_from(cells).ok()?;
        Some(Row { number: number.parse().ok()?, state, shown_by })
    };
    page.lines().filter(|line| line.starts_with("| ")).filter_map(cells).collect()
}

/// Returns the texts in backticks.
fn code_of(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns what is wrong with a row.
fn problem(row: &Row, sources: &mut BTreeMap<String, String>, root: &Path) -> Option<String> {
    match row.state.as_str() {
        "works" => {
            let mut tests = code_of(&row.shown_by).peekable();
            if tests.peek().is_none() {
                return Some("it works, but names no test".to_owned());
            }
            tests.find_map(|test| {
                let Some((file, name)) = test.split_once("::") else {
                    return Some(format!("`{test}` is not like `path/file.rs::test`"));
                };
                let read = || fs::read_to_string(root.join(file)).unwrap_or_default();
                let source = sources.entry(file.to_owned()).or_insert_with(read);
                (!source.contains(&format!("fn {name}("))).then(|| format!("there is no test `{test}`"))
            })
        }
        "converted" | "differs" | "later" => {
            row.shown_by.is_empty().then(|| format!("it {}, but does not say how", row.state))
        }
        other => Some(format!("`{other}` is not a state")),
    }
}

#[test]
fn every_requirement_names_what_shows_it() {
    let root = repository();
    let page = fs::read_to_string(root.join("docs/reference/specification.md")).expect("the page");
    let rows = rows_of(&page);
    let numbers: Vec<usize> = rows.iter().map(|row| row.number).collect();
    let expected: Vec<usize> = ROWS.into_iter().flat_map(|most| 1..=most).collect();
    assert_eq!(numbers, expected);
    let mut sources = BTreeMap::new();
    let problems: Vec<String> = rows
        .iter()
        .filter_map(|row| Some(format!("{}: {}", row.number, problem(row, &mut sources, &root)?)))
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Checks that every row of a page's tables with a column of tests names tests that exist.
fn check_tests_of_page(page: &str, min_rows: usize) {
    let root = repository();
    let text = fs::read_to_string(root.join(page)).expect("the page");
    let mut sources = BTreeMap::new();
    let (mut has_tests, mut rows) = (false, 0);
    let mut problems = Vec::new();
    for line in text.lines() {
        let last = line.trim_matches('|').rsplit(" | ").next().unwrap_or_default().trim();
        if !line.starts_with('|') || last == "test" {
            has_tests = last == "test";
        } else if has_tests && line.starts_with("| ") && !last.starts_with("---") {
            rows += 1;
            let row = Row { number: rows, state: "works".to_owned(), shown_by: last.to_owned() };
            problems.extend(problem(&row, &mut sources, &root).map(|problem| format!("{problem}: {line}")));
        }
    }
    assert!(problems.is_empty(), "{page}:\n{}", problems.join("\n"));
    assert!(rows >= min_rows, "{page}: {rows} rows");
}

/// Every row of the page of faults ends with the test that shows it.
#[test]
fn every_fault_names_its_test() {
    check_tests_of_page("docs/concepts/what-survives.md", 30);
}

/// Every promise about strangers ends with the tests that attack it.
#[test]
fn every_promise_names_the_tests_that_attack_it() {
    check_tests_of_page("docs/concepts/security.md", 70);
}
