use super::*;
use proptest::prelude::*;

const SHORT: &str = "oci://registry.example/m/new:1.0.0";

fn pin(id: &str) -> PluginPin {
    PluginPin { id: id.to_owned(), source: SHORT.to_owned(), sha256: None }
}

fn suite(text: &str) -> Result<SuitePlugins, SuiteError> {
    SuitePlugins::of_text(Path::new("suite.yaml"), text.to_owned())
}

fn shown(error: &SuiteError) -> String {
    format!("{error}\n{}", error.help().unwrap_or_default())
}

/// Adds an entry without a digest, and returns the text or the error.
fn added(text: &str) -> Result<String, String> {
    let mut suite = suite(text).map_err(|error| shown(&error))?;
    suite.add(&pin("new")).map_err(|error| shown(&error))?;
    Ok(suite.text().to_owned())
}

const NEW: &str = "- id: new\n    source: oci://registry.example/m/new:1.0.0";

#[test]
fn an_entry_follows_the_last_one_in_its_style() {
    let flow = "{id: new, source: oci://registry.example/m/new:1.0.0}";
    for (text, expected) in [
        // Block style: comments of the last entry stay with it, and those of the next section before that.
        (
            "plugins:\n  - id: a  # the first\n    source: a.wasm\n    # about a\n\n# models\nmodels: m\n",
            format!(
                "plugins:\n  - id: a  # the first\n    source: a.wasm\n    # about a\n  {NEW}\n\n# models\nmodels: m\n"
            ),
        ),
        ("plugins:\n- id: a\n  source: a.wasm\nx: 1\n", {
            let entry = "- id: new\n  source: oci://registry.example/m/new:1.0.0";
            format!("plugins:\n- id: a\n  source: a.wasm\n{entry}\nx: 1\n")
        }),
        ("plugins:\n  -   id: a\n      source: a\n", {
            let entry = "  -   id: new\n      source: oci://registry.example/m/new:1.0.0";
            format!("plugins:\n  -   id: a\n      source: a\n{entry}\n")
        }),
        (
            "plugins:\n  -\n    id: a\n    source: a\n",
            format!("plugins:\n  -\n    id: a\n    source: a\n  {NEW}\n"),
        ),
        ("plugins:\n  - id: a\n    limits:\n      host_calls: 1", {
            format!("plugins:\n  - id: a\n    limits:\n      host_calls: 1\n  {NEW}")
        }),
        (
            "plugins: &all\n  - id: a\n    source: a\n",
            format!("plugins: &all\n  - id: a\n    source: a\n  {NEW}\n"),
        ),
        ("x: &d {media: true}\nplugins:\n  - id: a\n    grants: *d\n", {
            format!("x: &d {{media: true}}\nplugins:\n  - id: a\n    grants: *d\n  {NEW}\n")
        }),
        // Entries in flow style, in a list in block style.
        ("plugins:\n  - {id: a, source: a}  # a\nx: 1\n", {
            format!("plugins:\n  - {{id: a, source: a}}  # a\n  - {flow}\nx: 1\n")
        }),
        // Flow style.
        (
            "plugins: [{id: a, source: a}]  # one\n",
            format!("plugins: [{{id: a, source: a}}, {flow}]  # one\n"),
        ),
        ("plugins: [{id: a, source: a},]\n", format!("plugins: [{{id: a, source: a}}, {flow},]\n")),
        ("plugins: [\n  {id: a, source: a},  # a\n]\n", {
            format!("plugins: [\n  {{id: a, source: a}},  # a\n  {flow},\n]\n")
        }),
        ("plugins: [\n  {id: a, source: a}  # a\n]\n", {
            format!("plugins: [\n  {{id: a, source: a}},  # a\n  {flow}\n]\n")
        }),
        // Line breaks.
        (
            "plugins:\r\n  - id: a\r\n    source: a\r\n",
            format!("plugins:\r\n  - id: a\r\n    source: a\r\n  {}\r\n", NEW.replace('\n', "\r\n")),
        ),
        // The end of the document.
        ("---\nplugins:\n- id: a\n  source: a\n...\n", {
            let entry = "- id: new\n  source: oci://registry.example/m/new:1.0.0";
            format!("---\nplugins:\n- id: a\n  source: a\n{entry}\n...\n")
        }),
        // A tab before a comment is not an indentation.
        ("plugins:\n  - id: a\n    source: a\t# tab\nx: 1\n", {
            format!("plugins:\n  - id: a\n    source: a\t# tab\n  {NEW}\nx: 1\n")
        }),
    ] {
        assert_eq!(added(text), Ok(expected), "{text}");
    }
}

#[test]
fn an_empty_section_gets_its_first_entry() {
    for (text, expected) in [
        ("plugins: []  # none\nx: 1\n", format!("plugins:  # none\n  {NEW}\nx: 1\n")),
        ("plugins:\nx: 1\n", format!("plugins:\n  {NEW}\nx: 1\n")),
        ("plugins:  # none\n  # - id: b\nx: 1\n", format!("plugins:  # none\n  {NEW}\n  # - id: b\nx: 1\n")),
        ("plugins: ~\n", format!("plugins:\n  {NEW}\n")),
        ("plugins: null", format!("plugins:\n  {NEW}")),
        ("x: 1\nplugins: []", format!("x: 1\nplugins:\n  {NEW}")),
    ] {
        assert_eq!(added(text), Ok(expected), "{text}");
    }
}

#[test]
fn a_missing_section_is_added_at_the_end() {
    let indentless = "- id: new\n  source: oci://registry.example/m/new:1.0.0";
    for (text, expected) in [
        ("x: 1\n", format!("x: 1\nplugins:\n  {NEW}\n")),
        ("x: 1", format!("x: 1\nplugins:\n  {NEW}")),
        ("x: 1\n\ny: 2\n", format!("x: 1\n\ny: 2\n\nplugins:\n  {NEW}\n")),
        ("tasks:\n- task_id: t\n", format!("tasks:\n- task_id: t\nplugins:\n{indentless}\n")),
        ("x: 1\n...\n", format!("x: 1\nplugins:\n  {NEW}\n...\n")),
        ("x: |\n  text\n\n", format!("x: |\n  text\n\nplugins:\n  {NEW}\n")),
        ("x: 1\r\n", format!("x: 1\r\nplugins:\r\n  {}\r\n", NEW.replace('\n', "\r\n"))),
        ("{x: 1}\n", "{x: 1, plugins: [{id: new, source: oci://registry.example/m/new:1.0.0}]}\n".to_owned()),
        ("{\n  \"x\": [1]\n}\n", {
            let entry = "{\"id\": \"new\", \"source\": \"oci://registry.example/m/new:1.0.0\"}";
            format!("{{\n  \"x\": [1],\n  \"plugins\": [{entry}]\n}}\n")
        }),
    ] {
        assert_eq!(added(text), Ok(expected), "{text}");
    }
}

#[test]
fn digests_are_part_of_a_new_entry() {
    let digest = Digest::of_bytes(b"component");
    let mut suite = suite("x: 1\n").unwrap();
    suite.add(&PluginPin { sha256: Some(digest), ..pin("new") }).unwrap();
    assert_eq!(suite.text(), format!("x: 1\nplugins:\n  {NEW}\n    sha256: {}\n", digest.hex()));
    assert_eq!(suite.pins(), [PluginPin { sha256: Some(digest), ..pin("new") }]);
}

#[test]
fn what_cannot_be_edited_is_refused_with_the_entry() {
    let paste =
        "add the entry yourself:\nplugins:\n  - id: new\n    source: oci://registry.example/m/new:1.0.0";
    for (text, reason) in [
        ("x: &p [{id: a, source: a}]\nplugins: *p\n", "is an alias"),
        ("plugins: &p [{id: a, source: a}]\nx: *p\n", "would change more than this entry"),
        ("x: &p {id: a, source: a}\nplugins:\n  - *p\n", "is an alias"),
        ("x: &p {plugins: []}\n<<: *p\n", "would change more than this entry"),
        ("plugins: {id: a}\n", "is not a list"),
        ("plugins: text\n", "is not a list"),
        ("- a\n", "is not a mapping"),
        ("plugins: !!seq\n", "has no value that can be edited"),
    ] {
        let error = added(text).expect_err(text);
        assert!(error.contains(reason), "{text}: {error}");
        let is_plain_refusal = error.contains("was not changed: ") && error.ends_with(paste);
        assert!(is_plain_refusal, "{text}: {error}");
    }
}

#[test]
fn suites_without_plugins_of_their_own_are_refused() {
    for (text, reason) in [
        ("kind: RunConfig\nbase_task: t\n", "its plugins are those of its template"),
        ("kind: BuiltinTemplate\ndefinition: {}\n", "is a template, and its digest covers its plugins"),
        ("x: [1\n", "cannot be used"),
    ] {
        let error = suite(text).map(drop).expect_err(text);
        assert!(error.to_string().contains(reason), "{text}: {error}");
    }
}

#[test]
fn tabs_for_indentation_are_not_edited() {
    let error = added("plugins:\n\t- id: a\n\t  source: a\n").expect_err("tabs");
    assert!(error.contains("suite.yaml"), "{error}");
}

#[test]
fn ids_are_valid_and_unique() {
    for (id, reason) in [
        ("a", "has a plugin `a` already"),
        ("a.b", "has a dot"),
        ("a b", "contains the character ' '"),
        ("", "is not a usable name"),
    ] {
        let mut suite = suite("plugins:\n  - id: a\n    source: a.wasm\n").unwrap();
        let error = suite.add(&pin(id)).expect_err(id);
        assert!(error.to_string().contains(reason), "{id}: {error}");
        assert!(error.help().is_some_and(|help| help.contains("--id")), "{id}");
    }
}

#[test]
fn updates_replace_the_source_and_the_digest() {
    let (old, new) = (Digest::of_bytes(b"old"), Digest::of_bytes(b"new"));
    let (old, hex) = (old.hex(), new.hex());
    for (text, expected) in [
        (
            format!(
                "plugins:\n  - id: new  # a\n    source: oci://r.example/a:1  # b\n    sha256: {old}  # c\n"
            ),
            format!("plugins:\n  - id: new  # a\n    source: {SHORT}  # b\n    sha256: {hex}  # c\n"),
        ),
        (
            format!("plugins: [{{id: new, source: 'oci://r.example/a:1', sha256: \"{old}\"}}]"),
            format!("plugins: [{{id: new, source: '{SHORT}', sha256: \"{hex}\"}}]"),
        ),
        (
            format!("plugins:\n- sha256: sha256:{old}\n  source: oci://r.example/a:1\n  id: new\n"),
            format!("plugins:\n- sha256: sha256:{hex}\n  source: {SHORT}\n  id: new\n"),
        ),
        (
            "plugins:\r\n  - source: oci://r.example/a:1  # b\r\n    id: new\r\n".to_owned(),
            format!("plugins:\r\n  - source: {SHORT}  # b\r\n    sha256: {hex}\r\n    id: new\r\n"),
        ),
        (
            "plugins:\n  - id: new\n    source: >-\n      oci://r.example/a:1\n".to_owned(),
            format!("plugins:\n  - id: new\n    source: >-\n      {SHORT}\n    sha256: {hex}\n"),
        ),
        (
            "{\"plugins\": [{\"id\": \"new\", \"source\": \"oci://r.example/a:1\"}]}".to_owned(),
            format!("{{\"plugins\": [{{\"id\": \"new\", \"source\": \"{SHORT}\", \"sha256\": \"{hex}\"}}]}}"),
        ),
    ] {
        let mut suite = suite(&text).unwrap();
        suite.update(&PluginPin { sha256: Some(new), ..pin("new") }).unwrap();
        assert_eq!(suite.text(), expected, "{text}");
    }
}

#[test]
fn entries_that_are_shared_or_computed_are_not_updated() {
    for (text, reason) in [
        ("plugins:\n  - id: b\n    source: a\n", "has no entry `new`"),
        ("plugins:\n  - id: new\n    source: ${BASE}/a:1\n", "`source` has a variable"),
        ("x: &s oci://r.example/a:1\nplugins:\n  - id: new\n    source: *s\n", "is not a text at its place"),
        ("plugins:\n  - id: new\n    source: &s oci://r.example/a:1\nx: *s\n", "is not a text at its place"),
        ("plugins:\n  - &p {id: new, source: a}\nx: *p\n", "would change more than this entry"),
    ] {
        let mut suite = suite(text).unwrap();
        let error = suite.update(&pin("new")).expect_err(text);
        assert!(error.to_string().contains(reason), "{text}: {error}");
        assert!(error.help().is_some_and(|help| help.starts_with("change the entry yourself:")), "{text}");
        assert_eq!(suite.text(), text);
    }
}

#[test]
fn a_saved_suite_keeps_its_link_and_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("real.yaml"), folder.path().join("suite.yaml"));
    std::fs::write(&file, "x: 1\n").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
    }
    #[cfg(not(unix))]
    std::fs::copy(&file, &link).unwrap();
    let mut suite = SuitePlugins::open(&link).unwrap();
    suite.add(&pin("new")).unwrap();
    suite.save().unwrap();
    assert_eq!(std::fs::read_to_string(&link).unwrap(), suite.text());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert!(link.is_symlink());
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    }
}

#[test]
fn line_of_a_source_is_counted_from_1() {
    let suite = suite("# a\nplugins:\n  - {id: a, source: x}\n  - id: b\n    source:\n      y\n").unwrap();
    for (id, expected) in [("a", Some(3)), ("b", Some(6)), ("c", None)] {
        assert_eq!(suite.source_line(id), expected, "{id}");
    }
}

proptest! {
    /// Whatever the document is, an edit adds exactly one entry, or the text stays as it was.
    #[test]
    fn edits_never_change_other_values(text in "(plugins:|x:|  - |- |id: a|\\{|\\}|\\[|\\]|,|#c|\n|\n  |'|\"| |&p |\\*p|~|\\|\n|é){0,14}") {
        if let Ok(mut suite) = suite(&text) {
            let before = suite.root.clone();
            match suite.add(&pin("new")) {
                Ok(()) => {
                    let expected = with_entry(&before, &pin("new")).unwrap();
                    prop_assert_eq!(exact_json(&suite.root), exact_json(&expected));
                }
                Err(_) => prop_assert_eq!(suite.text(), text),
            }
        }
    }
}
