//! The shards of a run: their table, and the page of each.

use crate::server::{get, status};
use crate::support::{Served, append, begin, browser, complaints, end, failed, sample};
use gage_browser::Screen;
use gage_core::{ROWS_PER_BATCH, Shard};
use gage_record::{JournalWriter, Manifest, RunFolder, ShardOfRun, ShardedTask, shards_folder};
use serde_json::json;
use std::path::Path;

/// Starts a shard of the run `nightly`, which has a batch for each of three shards.
fn begin_shard(root: &Path, number: u64) -> (RunFolder, Manifest, JournalWriter) {
    let shard = Shard::new(number, 3).expect("a shard");
    let shards = shards_folder(&root.join("nightly"));
    let (folder, mut manifest, writer) = begin(&shards, &shard.folder_name());
    manifest.shard = Some(ShardOfRun {
        run_id: "nightly".to_owned(),
        number,
        count: shard.count(),
        rows_per_batch: ROWS_PER_BATCH,
        max_samples: None,
        tasks: vec![ShardedTask { task_id: "t".to_owned(), records: None }],
    });
    manifest.write(&folder).expect("a manifest");
    (folder, manifest, writer)
}

/// Writes a shard that is done.
fn done(root: &Path, number: u64) {
    let (folder, mut manifest, mut writer) = begin_shard(root, number);
    let first = (number - 1) * ROWS_PER_BATCH;
    let records: Vec<_> = (first..first + ROWS_PER_BATCH).map(|index| sample(index, "a", 1.0)).collect();
    append(&mut writer, &records);
    drop(writer);
    let tasks = vec![ShardedTask { task_id: "t".to_owned(), records: Some(3 * ROWS_PER_BATCH) }];
    manifest.shard = manifest.shard.map(|shard| ShardOfRun { tasks, ..shard });
    end(&folder, manifest);
}

#[test]
fn shards_are_told_apart_and_each_has_a_page() {
    let root = tempfile::tempdir().expect("a folder");
    done(root.path(), 1);
    let (running, _, mut writer) = begin_shard(root.path(), 2);
    append(&mut writer, &[sample(32, "a", 1.0), failed(33, "no answer")]);
    let served = Served::start(root.path());
    let list = served.json("/data/runs");
    let run = &list["runs"][0];
    assert_eq!((&run["name"], &run["status"]), (&json!("nightly"), &json!("live")), "{list}");
    assert_eq!((&run["shards"], &run["suite"]), (&json!("1 of 3 shards done"), &json!("sums")), "{list}");

    let now = served.json("/data/runs/nightly/shards");
    let rows = now["rows"].as_array().expect("rows").iter();
    let rows: Vec<_> = rows
        .map(|row| [&row["state"], &row["recorded"], &row["planned"], &row["failed"], &row["page"]])
        .collect();
    let expected = [
        [json!("done"), json!(32), json!(32), json!(0), json!("nightly:01-of-03")],
        [json!("running"), json!(2), json!(32), json!(1), json!("nightly:02-of-03")],
        [json!("not_started"), json!(0), json!(32), json!(null), json!(null)],
    ];
    assert_eq!(rows, expected.each_ref().map(|row| row.each_ref()), "{now}");
    assert_eq!((&now["totals"]["recorded"], &now["has_report"]), (&json!(34), &json!(false)));
    assert!(!now.to_string().contains(&root.path().display().to_string()), "{now}");

    for (path, code) in [
        ("/runs/nightly", "200"),
        ("/runs/nightly/shards", "200"),
        ("/runs/nightly:01-of-03", "200"),
        ("/runs/nightly%3A02-of-03", "200"),
        ("/data/runs/nightly%3A02-of-03", "200"),
        ("/data/runs/nightly%3A01-of-03/sample?task=t&index=0", "200"),
        ("/data/runs/nightly", "404"),
        ("/runs/nightly%3A03-of-03", "404"),
        ("/runs/nightly%3A1-of-3", "404"),
        ("/runs/nightly%3A..%2f..%2fnightly", "404"),
        ("/runs/nightly%3A01-of-03/shards", "404"),
        ("/runs/other/shards", "404"),
        ("/data/runs/other/shards", "404"),
        ("/data/runs/..%2fnightly/shards", "404"),
    ] {
        assert_eq!(status(&get(&served, path)), code, "{path}");
    }
    let of_shard = get(&served, "/runs/nightly:01-of-03");
    assert!(of_shard.contains("<title>nightly, shard 1 of 3 – gage-host"), "{of_shard}");
    assert!(of_shard.contains("<a class=\"back\" href=\"/runs/nightly/shards\">Shards of nightly</a>"));
    let live = served.json("/data/runs/nightly%3A02-of-03");
    let expected = json!({"run_id": "nightly", "number": 2, "count": 3});
    assert_eq!(live["run"]["shard"], expected, "{live}");
    drop((running, writer));
    let stopped = served.json("/data/runs");
    assert_eq!(stopped["runs"][0]["status"], "sharded", "{stopped}");
}

#[test]
fn the_page_of_an_unmerged_run_has_its_shards() {
    let Some(browser) = browser("shards of a run") else { return };
    let root = tempfile::tempdir().expect("a folder");
    done(root.path(), 1);
    let (_running, _, mut writer) = begin_shard(root.path(), 2);
    let served = Served::start(root.path());
    let page = browser.page(&Screen::DESKTOP).expect("a page");
    page.go(&served.url("/")).expect("the list");
    page.wait_for("document.getElementById('runs').innerText.includes('1 of 3 shards done')")
        .expect("its state");
    assert_eq!(page.text("String(document.querySelector('#runs input').disabled)").expect("a box"), "true");
    page.run("document.querySelector('#runs tbody a').click()").expect("to its page");
    page.wait_for("document.querySelectorAll('#shards tbody tr').length === 3").expect("three shards");
    append(&mut writer, &[sample(32, "a", 1.0), failed(33, "no answer")]);
    page.wait_for("document.querySelectorAll('#shards tbody tr')[1].innerText.includes('2 of 32')")
        .expect("more");
    let rows = "[...document.querySelectorAll('#shards tbody tr')].map((one) => one.innerText.replace(/\\s+/g, ' ')).join('|')";
    let text = page.text(rows).expect("rows");
    for part in ["1 done 32 of 32 0", " s ago|2 running now 2 of 32 1", "|3 not started – – – –"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    page.run("document.querySelector('#shards tbody a').click()").expect("to the first shard");
    page.wait_for("document.getElementById('count')?.textContent === '32 of 32 samples'")
        .expect("its report");
    assert_eq!(
        page.text("document.getElementById('title').textContent").expect("a title"),
        "nightly, shard 1 of 3"
    );
    let back =
        "[...document.querySelectorAll('.back')].find((one) => one.textContent === 'Shards of nightly')";
    page.run(&format!("{back}.click()")).expect("back to the shards");
    page.wait_for("document.querySelectorAll('#shards tbody tr').length === 3").expect("three shards");
    page.run("document.querySelectorAll('#shards tbody a')[1].click()").expect("to the second shard");
    page.wait_for("document.getElementById('title')?.textContent === 'nightly, shard 2 of 3'")
        .expect("its title");
    let link = "document.getElementById('shards').getAttribute('href')";
    assert_eq!(page.text(link).expect("a link"), "/runs/nightly/shards");
    assert_eq!(complaints(page.take_log(), Some(&served)), Vec::<String>::new());
}
