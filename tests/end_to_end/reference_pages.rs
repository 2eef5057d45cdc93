//! The generated pages of the reference are what the program says.
//!
//! `GAGE_RECORD_DOCS=1 cargo test -p gage-host --test end_to_end reference_pages` writes them again.

mod command_line;
mod markdown;
mod plugins;
mod run_folder;
mod suite_keys;
mod variables;

use crate::support::{Workspace, repository};

/// Compares a page with the program, or writes it if that is asked for.
#[track_caller]
fn check_page(name: &str, page: &str) {
    check_file(&format!("docs/reference/{name}"), page);
}

#[track_caller]
fn check_file(name: &str, page: &str) {
    let path = repository().join(name);
    let page = format!("{}\n", page.trim_end());
    if std::env::var_os("GAGE_RECORD_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, page).expect("written");
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "{name} is out of date; write it again with GAGE_RECORD_DOCS=1 and review the difference"
    );
}

#[test]
fn page_of_suite_keys_is_current() {
    let workspace = Workspace::new();
    let schema = workspace.run(&["schema", "suite"]).expect_code(0).stdout_json();
    check_page("suite.md", &suite_keys::page(&schema));
    check_file("config/run_configs/suite.schema.json", &format!("{schema:#}"));
}

#[test]
fn page_of_the_command_line_is_current() {
    check_page("cli.md", &command_line::page(&Workspace::new()));
}

#[test]
fn page_of_exit_codes_is_current() {
    check_page("exit-codes.md", &command_line::exit_codes(&Workspace::new()));
}

#[test]
fn page_of_variables_is_current() {
    let workspace = Workspace::new();
    let variables = workspace.run(&["env", "--json"]).expect_code(0).stdout_json();
    check_page("environment.md", &variables::page(&variables));
}

#[test]
fn pages_of_plugins_are_current() {
    let workspace = Workspace::new();
    let list = workspace.run(&["list", "--json"]).expect_code(0).stdout_json();
    let example = |name: &str, kind: &str| {
        let explained = workspace.run(&["metrics", name, "--json"]).expect_code(0).stdout_json();
        let members = explained.as_array().cloned().unwrap_or_else(|| vec![explained]);
        members.into_iter().find(|member| member["kind"] == kind).unwrap_or_default()
    };
    for page in plugins::PAGES {
        check_page(page.file, &page.render(&list, &example));
    }
}

#[test]
fn page_of_run_folders_names_every_key() {
    let page = std::fs::read_to_string(repository().join("docs/reference/run-folder.md")).expect("the page");
    let names = run_folder::names(&page);
    let lacking: Vec<String> = run_folder::documents()
        .iter()
        .flat_map(|(file, document)| run_folder::keys(file, document))
        .filter(|(key, _)| !names.contains(key.as_str()))
        .map(|(_, path)| path)
        .collect();
    assert!(lacking.is_empty(), "docs/reference/run-folder.md lacks these keys:\n{}", lacking.join("\n"));
}
