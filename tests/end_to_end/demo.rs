//! `gage-host demo` without a model. The tests with a model run it.

use crate::support::Workspace;

const SUITE: &str = "gage-host-demo/config/custom/tiny.yaml";

#[test]
fn demo_overwrites_no_changed_file() {
    let changed_files = [SUITE, "gage-host-demo/config/models/gage-tiny-early.gguf"];
    for changed in changed_files {
        let workspace = Workspace::new();
        workspace.write(changed, "mine");
        let refused = workspace.run(&["demo"]).expect_code(2);
        let message = format!("error: {changed} exists, and differs from the file of the demo");
        let help = format!("nothing was written; run your version with `gage-host run {SUITE}`");
        assert!(refused.stderr.contains(&message), "{}", refused.stderr);
        assert!(refused.stderr.contains(&help), "{}", refused.stderr);
        assert_eq!(workspace.read(changed), "mine");
        assert!(!workspace.path("gage-host-demo/config/data").exists());
    }
}

#[test]
fn demo_needs_a_folder() {
    let workspace = Workspace::new();
    workspace.write("taken", "");
    let refused = workspace.run(&["demo", "--dir", "taken"]).expect_code(2);
    assert!(refused.stderr.contains("error: --dir: taken is not a folder"), "{}", refused.stderr);
    let workspace = Workspace::new();
    workspace.write("demo/config", "");
    let refused = workspace.run(&["demo", "--dir", "demo"]).expect_code(2);
    assert!(refused.stderr.contains("cannot read 'demo/config/custom/tiny.yaml'"), "{}", refused.stderr);
}

#[test]
fn demo_reads_the_variables_of_run() {
    let workspace = Workspace::new();
    let refused = workspace.run_with_env([("GAGE_HOST_CONCURRENCY", "many")], &["demo"]).expect_code(2);
    let expected = "The value is that of the variable GAGE_HOST_CONCURRENCY.";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    assert!(!workspace.path("gage-host-demo").exists());
}
