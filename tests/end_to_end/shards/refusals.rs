//! Shards that cannot be merged, run or continued.

use super::{run_shard, small_workspace};
use crate::files::{copy_folder, files_below};
use crate::scripted_backend::constant_backend;
use crate::support::{Workspace, rows, suite};
use crate::verifying::with_digest;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Replaces a part of a file of a shard.
fn edit(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).expect("a file");
    let edited = text.replacen(from, to, 1);
    assert_ne!(edited, text, "{}", file.display());
    fs::write(file, edited).expect("written");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of changes, each with what it is refused for")]
fn shards_that_do_not_belong_together_are_not_merged() {
    let workspace = small_workspace(100);
    let run_in = |folder: &str, run_id: &str, shard: &str, further: &[&str]| {
        let further = [&["--output-dir", folder, "--quiet"], further].concat();
        run_shard(&workspace, run_id, shard, &further).expect_code(0);
    };
    run_in("runs", "r", "1/2", &[]);
    run_in("runs", "r", "2/2", &[]);
    run_in("runs", "s", "2/2", &[]);
    run_in("thirds", "r", "1/3", &[]);
    run_in("settings", "r", "2/2", &["--set", "backends.model.config.config.default=answer 8"]);
    workspace.write("rows.jsonl", rows(110));
    run_in("grown", "r", "2/2", &[]);
    workspace.write("rows.jsonl", rows(100));
    // Replaces the second shard by another one.
    let replace = |shards: &Path, other: &str| {
        let second = shards.join("02-of-02");
        fs::remove_dir_all(&second).expect("removed");
        copy_folder(&workspace.path(other), &second);
    };
    let remove_line = |shards: &Path, number: usize| {
        let file = shards.join("02-of-02/journal/000001.jsonl");
        let text = fs::read_to_string(&file).expect("a journal");
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        lines.remove(number.min(lines.len() - 1));
        fs::write(&file, lines.concat()).expect("written");
    };
    let journal = "02-of-02/journal/000001.jsonl";
    let cases: [(&str, &dyn Fn(&Path), i32, &str); 12] = [
        (
            "a byte of a journal",
            &|shards| edit(&shards.join(journal), "\"index\":33,", "\"index\":35,"),
            3,
            "the checksum does not match",
        ),
        ("a line of a journal", &|shards| remove_line(shards, 2), 3, "line 3: it was written as line 4"),
        ("the last line", &|shards| remove_line(shards, usize::MAX), 3, "cannot be trusted: "),
        (
            "a manifest",
            &|shards| edit(&shards.join("02-of-02/manifest.json"), "\"complete\"", "\"interrupted\""),
            3,
            "cannot be trusted: its manifest: it was edited",
        ),
        (
            "a lock",
            &|shards| fs::write(shards.join("02-of-02/gage.lock"), "parts: {}\n").expect("written"),
            3,
            "cannot be trusted: gage.lock changed after the shard ended",
        ),
        (
            "a renamed shard",
            &|shards| replace(shards, "runs/r/shards/01-of-02"),
            3,
            "is not this shard of the run: its manifest says shard 1/2",
        ),
        (
            "a shard of another run",
            &|shards| replace(shards, "runs/s/shards/02-of-02"),
            3,
            "is not this shard of the run: it is a shard of the run `s`",
        ),
        (
            "other settings",
            &|shards| replace(shards, "settings/r/shards/02-of-02"),
            3,
            "default: \"answer 7\" before, \"answer 8\" now",
        ),
        ("a larger dataset", &|shards| replace(shards, "grown/r/shards/02-of-02"), 3, "\n  datasets.rows"),
        (
            "another division",
            &|shards| copy_folder(&workspace.path("thirds/r/shards"), shards),
            3,
            "the shards are not of one division: there is 1/2, and 1/3",
        ),
        (
            "a foreign folder",
            &|shards| copy_folder(&shards.join("02-of-02"), &shards.join("copy")),
            2,
            "it is not the folder of a shard, such as 03-of-16; move it away",
        ),
        (
            "a shard that is gone",
            &|shards| fs::remove_dir_all(shards.join("01-of-02")).expect("removed"),
            4,
            "shard 1/2 was not started and lacks 64 records",
        ),
    ];
    for (number, (case, change, code, expected)) in cases.into_iter().enumerate() {
        let folder = format!("case-{number}");
        let run = workspace.path(&folder).join("r");
        copy_folder(&workspace.path("runs/r"), &run);
        change(&run.join("shards"));
        let ended = workspace.run(&["merge", "r", "--output-dir", &folder]);
        assert_eq!(ended.code, Some(code), "{case}: {}", ended.transcript());
        assert!(ended.stderr.contains(expected), "{case}: {}", ended.stderr);
        assert!(!run.join("manifest.json").exists() && !run.join("journal").exists(), "{case}");
        // What is wrong is not left out.
        if code == 3 {
            workspace.run(&["merge", "r", "--partial", "--output-dir", &folder]).expect_code(3);
        }
    }
    workspace.run(&["merge", "r"]).expect_code(0);
    let none = workspace.run(&["merge", "nothing"]).expect_code(2);
    assert!(none.stderr.contains("has no shards"), "{}", none.stderr);
}

/// Another metric would describe and aggregate scores that it did not give.
#[test]
fn shards_are_not_merged_with_a_changed_plugin() {
    let workspace = small_workspace(40);
    workspace.write("recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    let metrics = "[{metric_id: recall, implementation: ./recall.wasm}]";
    workspace.write("suite.yaml", suite(&constant_backend(&workspace, "answer 7"), metrics));
    for shard in ["1/2", "2/2"] {
        run_shard(&workspace, "r", shard, &["--quiet"]).expect_code(0);
    }
    // A custom section changes the bytes, and nothing that they do.
    workspace.write("recall.wasm", [gage_test_guests::BARE_WORD_RECALL, &[0, 3, 1, b'x', 0]].concat());
    let refused = workspace.run(&["merge", "r"]).expect_code(3);
    for part in ["is not the one that scored the shards: its digest is now sha256:", "--plugin-dir DIR"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    workspace.write("recall.wasm", gage_test_guests::BARE_WORD_RECALL);
    workspace.run(&["merge", "r"]).expect_code(0);
}

#[test]
fn shards_of_other_inputs_are_refused_at_their_start() {
    let workspace = small_workspace(70);
    run_shard(&workspace, "r", "1/2", &["--quiet"]).expect_code(0);
    for (further, expected) in [
        (&["--set", "backends.model.config.config.default=other"][..], "\"answer 7\" before, \"other\" now"),
        (&["--max-samples", "40"], "--max-samples: none before, 40 now"),
    ] {
        let refused = run_shard(&workspace, "r", "2/2", further).expect_code(3);
        let message = "shard 1/2 of the run was made from other inputs than this one";
        assert!(refused.stderr.contains(message) && refused.stderr.contains(expected), "{}", refused.stderr);
        assert!(!workspace.path("runs/r/shards/02-of-02/manifest.json").exists());
    }
    run_shard(&workspace, "r", "2/2", &["--quiet"]).expect_code(0);
    workspace.run(&["merge", "r"]).expect_code(0);
}

/// Records of shards that are done since do not replace those of a shard whose folder is gone.
#[test]
fn merged_run_is_not_replaced_by_one_that_lacks_a_shard() {
    let workspace = small_workspace(160);
    // Of five batches, shard 3 has one, and the others have two.
    run_shard(&workspace, "r", "1/3", &["--quiet"]).expect_code(0);
    workspace.run(&["merge", "r", "--partial", "--quiet"]).expect_code(4);
    let samples = workspace.read("runs/r/samples.jsonl");
    let first = workspace.path("runs/r/shards/01-of-03");
    fs::rename(&first, workspace.path("aside")).expect("moved");
    for shard in ["2/3", "3/3"] {
        run_shard(&workspace, "r", shard, &["--quiet"]).expect_code(0);
    }
    for further in [&[][..], &["--partial"]] {
        let refused = workspace.run(&[&["merge", "r"], further].concat()).expect_code(3);
        let expected =
            "runs/r has 64 records of shard 1/3, and the folder of the shard has 0: it is gone, or";
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
        assert!(refused.stderr.contains("restore the folder"), "{}", refused.stderr);
    }
    assert_eq!(workspace.read("runs/r/samples.jsonl"), samples);
    let status = workspace.run(&["runs", "status", "r"]).expect_code(0);
    let expected = "; 1 shard folder was deleted, and must be restored before";
    assert!(status.stdout.replace("\n  ", " ").contains(expected), "{}", status.stdout);
    fs::rename(workspace.path("aside"), &first).expect("moved back");
    workspace.run(&["merge", "r", "--quiet"]).expect_code(0);
    assert_eq!(workspace.samples("r").len(), 160);
}

#[test]
fn complete_merged_run_needs_no_shards() {
    let workspace = small_workspace(70);
    for shard in ["1/2", "2/2"] {
        run_shard(&workspace, "r", shard, &["--quiet"]).expect_code(0);
    }
    workspace.run(&["merge", "r"]).expect_code(0);
    let samples = workspace.read("runs/r/samples.jsonl");
    let shards = workspace.path("runs/r/shards");
    let gc =
        |further: &[&str]| workspace.run(&[&["runs", "gc", "--keep", "0"], further].concat()).expect_code(0);
    for (folder, deleted) in [
        (shards.join("01-of-02"), "1 shard folder"),
        (shards.join("02-of-02"), "2 shard folders"),
        (shards, "2 shard folders"),
    ] {
        fs::remove_dir_all(folder).expect("removed");
        let again = run_shard(&workspace, "r", "1/2", &[]).expect_code(2);
        let expected = "shard 1/2 of runs/r was merged, and its folder is gone";
        assert!(again.stderr.contains(expected), "{}", again.stderr);
        for arguments in [&["merge", "r"][..], &["merge", "runs/r", "--partial"]] {
            let merged = workspace.run(arguments).expect_code(0);
            let expected = format!("the records of all shards ({deleted} deleted)");
            assert!(merged.stderr.contains(&expected), "{arguments:?}: {}", merged.stderr);
        }
        let status = workspace.run(&["runs", "status", "r"]).expect_code(0);
        let were = if deleted.ends_with('s') { "were" } else { "was" };
        let expected = format!("the shards are merged; {deleted} {were} deleted\n");
        assert!(status.stdout.contains(&expected), "{}", status.stdout);
        assert_eq!(status.stderr, "", "nothing is left to do");
        assert!(gc(&[]).stderr.contains("would delete 1 run"));
    }
    assert_eq!(workspace.read("runs/r/samples.jsonl"), samples);
    workspace.run(&["verify", "r"]).expect_code(0);
    assert!(gc(&["--yes"]).stderr.contains("deleted 1 of 1 run"));
}

/// The shards of two runs have the same names. Only the ids of their journals differ.
#[test]
fn journal_of_another_run_is_not_taken() {
    let workspace = small_workspace(70);
    run_shard(&workspace, "r", "1/2", &["--quiet"]).expect_code(0);
    run_shard(&workspace, "s", "1/2", &["--quiet"]).expect_code(0);
    workspace.run(&["run", "suite.yaml", "--run-id", "t", "--quiet"]).expect_code(0);
    let other = ["run", "suite.yaml", "--run-id", "t", "--quiet", "--output-dir", "other"];
    workspace.run(&other).expect_code(0);
    for (folder, of_other, run, read) in [
        (
            "runs/r/shards/01-of-02",
            "runs/s/shards/01-of-02",
            &["run", "suite.yaml", "--run-id", "r", "--shard", "1/2"][..],
            &["merge", "r", "--partial"][..],
        ),
        ("runs/t", "other/t", &["run", "suite.yaml", "--resume", "t"], &["score", "t"]),
    ] {
        unfinish(&workspace, folder);
        let [own, foreign] =
            [folder, of_other].map(|folder| workspace.path(folder).join("journal/000001.jsonl"));
        let before = fs::read(&own).expect("a journal");
        fs::copy(&foreign, &own).expect("copied");
        for (arguments, code) in [(run, 2), (read, if folder == "runs/t" { 2 } else { 3 })] {
            let refused = workspace.run(arguments).expect_code(code);
            let expected = "journal/000001.jsonl belongs to another journal: it has the journal id ";
            assert!(refused.stderr.contains(expected), "{arguments:?}: {}", refused.stderr);
        }
        fs::write(&own, before).expect("written");
        workspace.run(run).expect_code(0);
    }
}

/// Makes a finished run one that was killed: its manifest names no files, whose digests would reveal any change.
fn unfinish(workspace: &Workspace, folder: &str) {
    let path = format!("{folder}/manifest.json");
    let mut manifest: Value = serde_json::from_str(&workspace.read(&path)).expect("a manifest");
    manifest["status"] = "running".into();
    manifest["files"] = json!({});
    manifest.as_object_mut().expect("a manifest").shift_remove("finished_at");
    workspace.write(&path, with_digest(manifest));
}

/// Long rows, so that the journal is sealed when the shard ends, and a writer would begin another segment.
#[test]
fn refused_command_leaves_a_finished_shard_as_it_was() {
    let workspace = small_workspace(160);
    let long = format!("\"{} question ", "x".repeat(20_000));
    workspace.write("rows.jsonl", rows(160).replace("\"question ", &long));
    for shard in ["1/2", "2/2"] {
        run_shard(&workspace, "r", shard, &["--quiet"]).expect_code(0);
    }
    let shard = workspace.path("runs/r/shards/01-of-02");
    let files = || {
        let mut files = files_below(&shard);
        files.sort();
        files.into_iter().map(|path| (fs::read(&path).expect("a file"), path)).collect::<Vec<_>>()
    };
    let before = files();
    assert!(shard.join("journal/000001.jsonl.zst").is_file());
    let refused = run_shard(&workspace, "r", "1/2", &["--max-samples", "20"]).expect_code(2);
    assert!(refused.stderr.contains("at most 20 samples of each task"), "{}", refused.stderr);
    assert!(files() == before, "the shard was touched");
    workspace.run(&["merge", "r", "--quiet"]).expect_code(0);
}

#[cfg(unix)]
#[test]
fn links_among_shards_are_refused() {
    let workspace = small_workspace(70);
    for shard in ["1/2", "2/2"] {
        run_shard(&workspace, "r", shard, &["--quiet"]).expect_code(0);
    }
    let shard = workspace.path("runs/r/shards/02-of-02");
    fs::rename(&shard, workspace.path("elsewhere")).expect("moved");
    std::os::unix::fs::symlink(workspace.path("elsewhere"), &shard).expect("a link");
    let linked = workspace.run(&["merge", "r"]).expect_code(2);
    assert!(linked.stderr.contains("it is a link; move the folder of the shard here"), "{}", linked.stderr);
    fs::create_dir_all(workspace.path("runs/s")).expect("a folder");
    fs::create_dir(workspace.path("scratch")).expect("a folder");
    std::os::unix::fs::symlink(workspace.path("scratch"), workspace.path("runs/s/shards")).expect("a link");
    let linked = run_shard(&workspace, "s", "1/2", &[]).expect_code(2);
    assert!(linked.stderr.contains("link the folder of runs instead"), "{}", linked.stderr);
}

#[test]
fn two_merges_do_not_write_one_run() {
    let workspace = small_workspace(70);
    run_shard(&workspace, "r", "1/1", &["--quiet"]).expect_code(0);
    let folder = fs::File::open(workspace.path("runs/r")).expect("the run");
    folder.lock().expect("locked");
    let second = workspace.run(&["merge", "r"]).expect_code(5);
    assert!(second.stderr.contains("another process merges or writes"), "{}", second.stderr);
    drop(folder);
    workspace.run(&["merge", "r"]).expect_code(0);
}

#[test]
fn sharded_run_is_neither_started_nor_resumed_as_a_whole() {
    let workspace = small_workspace(70);
    let run = |arguments: &[&str]| workspace.run(&[&["run", "suite.yaml", "--quiet"], arguments].concat());
    let refuse = |arguments: &[&str], expected: &str| {
        let ended = run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}", ended.transcript());
        assert!(ended.stderr.contains(expected), "{arguments:?}: {}", ended.stderr);
    };
    run(&["--run-id", "r", "--shard", "1/2"]).expect_code(0);
    refuse(&["--run-id", "r"], "already exists in runs/r, divided into shards; run one of them with --shard");
    refuse(&["--run-id", "r", "--resume"], "is divided into shards, and is not resumed as a whole");
    refuse(&["--run-id", "r", "--shard", "1/3"], "it belongs to a run of 2 shards, and this is shard 1/3");
    refuse(
        &["--resume", "runs/r/shards/01-of-02"],
        "it is shard 1/2 of the run `r`, and a whole run was to be",
    );
    let other = "backends.model.config.config.default=other";
    refuse(&["--run-id", "r", "--shard", "1/2", "--set", other], "\"answer 7\" before, \"other\" now");
    let reading = workspace.run(&["report", "r"]).expect_code(2);
    assert!(reading.stderr.contains("the shards of runs/r are not merged"), "{}", reading.stderr);
    // A copy of a shard under another number.
    copy_folder(&workspace.path("runs/r/shards/01-of-02"), &workspace.path("runs/r/shards/02-of-02"));
    refuse(
        &["--run-id", "r", "--shard", "2/2"],
        "it belongs to run '01-of-02'; give the folder its name back",
    );
    fs::remove_dir_all(workspace.path("runs/r/shards/02-of-02")).expect("removed");
    // The same shard of another run.
    run(&["--run-id", "s", "--shard", "2/2"]).expect_code(0);
    copy_folder(&workspace.path("runs/s/shards/02-of-02"), &workspace.path("runs/r/shards/02-of-02"));
    let expected = "it is shard 2/2 of the run `s`, and shard 2/2 of the run `r` was to be written";
    refuse(&["--run-id", "r", "--shard", "2/2"], expected);
    fs::remove_dir_all(workspace.path("runs/r/shards/02-of-02")).expect("removed");

    run(&["--run-id", "r", "--shard", "2/2"]).expect_code(0);
    workspace.run(&["merge", "r", "--quiet"]).expect_code(0);
    refuse(&["--run-id", "r"], "there is a run 'r' already");
    refuse(&["--run-id", "r", "--resume"], "it was merged from shards, and is not resumed as a whole");

    run(&["--run-id", "whole"]).expect_code(0);
    let shard = ["--run-id", "whole", "--shard", "1/2"];
    refuse(&shard, "there is a run 'whole' already");
    let none = workspace.run(&["merge", "whole"]).expect_code(2);
    assert!(none.stderr.contains("has no shards"), "{}", none.stderr);
    fs::remove_file(workspace.path("runs/whole/manifest.json")).expect("removed");
    refuse(&shard, "has lost its manifest.json");
    assert!(!workspace.path("runs/whole/shards").exists());
}

#[test]
fn unsuitable_options_of_a_shard_are_refused() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(4));
    workspace.write("answers.jsonl", "{\"id\": \"q0\", \"response\": \"x\"}\n");
    let model = "model: openai:m@http://127.0.0.1:9/v1\n";
    workspace.write("suite.yaml", format!("datasets: [rows.jsonl]\n{model}metrics: [exact_match]\n"));
    let shard = ["--run-id", "r", "--shard", "1/2"];
    for (arguments, expected) in [
        (&["--run-id", "r", "--shard", "0/3"][..], "'0/3' is not a shard: write K/N, such as 3/16"),
        (&["--run-id", "r", "--shard", "4/3"], "'4/3' is not a shard"),
        (&["--run-id", "r", "--shard", "index:3/3"], "'index:3/3' is not a shard"),
        (&["--run-id", "r", "--shard", "x"], "'x' is not a shard"),
        (&["--run-id", "r", "--shard", "1/10001"], "N is at most 10000"),
        (&["--shard", "1/2"], "required arguments were not provided"),
        (&[&shard[..], &["--resume"]].concat(), "cannot be used with"),
        (&[&shard[..], &["--requests-out", "requests.jsonl"]].concat(), "cannot be used with"),
        (&[&shard[..], &["--responses", "answers.jsonl"]].concat(), "cannot be used with"),
        (
            &[&shard[..], &["--answers", "answers.jsonl"]].concat(),
            "cannot be divided into shards: the answers of ",
        ),
        (
            &[&shard[..], &["--model", "openai:a", "--model", "openai:b"]].concat(),
            "the suite has several models or prompts, and a shard is of one run",
        ),
    ] {
        let ended = workspace.run(&[&["run", "suite.yaml"], arguments].concat()).expect_code(2);
        assert!(ended.stderr.contains(expected), "{arguments:?}: {}", ended.stderr);
    }
    assert!(!workspace.path("runs/r/shards/01-of-02").exists());
}
