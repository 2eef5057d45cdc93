//! Answers of the server to clients other than browsers.

use crate::support::{Served, forty, sample, whole};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// Sends a raw request, and returns the whole answer.
fn ask(served: &Served, request: &str) -> String {
    let mut stream = TcpStream::connect(served.address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a bound");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    String::from_utf8_lossy(&answer).into_owned()
}

pub(crate) fn get(served: &Served, path: &str) -> String {
    ask(served, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
}

pub(crate) fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

#[test]
fn only_those_who_mean_this_machine_are_answered() {
    let root = tempfile::tempdir().expect("a folder");
    let served = Served::start(root.path());
    let asked_as = |host: &str| {
        let answer = ask(&served, &format!("GET /data/runs HTTP/1.1\r\n{host}Connection: close\r\n\r\n"));
        status(&answer).to_owned()
    };
    for host in
        ["Host: localhost\r\n", "Host: 127.0.0.1:7\r\n", "Host: [::1]:7\r\n", "Host: evals.example:80\r\n"]
    {
        assert_eq!(asked_as(host), "200", "{host}");
    }
    for host in [
        "Host: evil.example\r\n",
        "Host: localhost.evil.example\r\n",
        "Host: a b\r\n",
        "",
        "Host: localhost\r\nHost: localhost\r\n",
        "Host: localhost\r\nHost: evil.example\r\n",
        "Host: evil@localhost\r\n",
        "Host: localhost@localhost\r\n",
    ] {
        assert!(matches!(asked_as(host).as_str(), "421" | "400"), "{host}");
    }
    // The address of the request counts as well.
    for address in ["http://evil.example/", "http://evil@localhost/"] {
        let request = format!("GET {address} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let answer = ask(&served, &request);
        assert!(matches!(status(&answer), "421" | "400"), "{address}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let request = format!(
            "{method} /data/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        );
        assert_eq!(status(&ask(&served, &request)), "405", "{method}");
    }
}

#[test]
fn a_sample_is_found_by_its_task_and_number() {
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "inside", &forty(0));
    let served = Served::start(root.path());
    for index in [3, 13, 3] {
        let sample = served.json(&format!("/data/runs/inside/sample?task=t&index={index}"));
        assert_eq!(sample["id"], format!("s-{index}"), "{sample}");
    }
    for (path, code) in [
        ("/data/runs/inside/sample?task=t&index=40", "404"),
        ("/data/runs/inside/sample?task=other&index=0", "404"),
        ("/data/runs/none/sample?task=t&index=0", "404"),
        ("/data/runs/..%2foutside/sample?task=t&index=0", "404"),
        ("/data/runs/inside/sample?task=t", "400"),
        ("/data/runs/inside/sample?task=t&index=-1", "400"),
    ] {
        assert_eq!(status(&get(&served, path)), code, "{path}");
    }
}

#[test]
fn blocks_and_searches_are_those_of_a_run_in_the_folder() {
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "inside", &forty(0));
    let served = Served::start(root.path());
    for (path, code) in [
        ("/data/runs/none/page", "404"),
        ("/data/runs/none/columns/0", "404"),
        ("/data/runs/inside/columns/0", "404"),
        ("/data/runs/inside/excerpts/0", "404"),
        ("/data/runs/inside/columns/..%2f..%2fmanifest.json", "404"),
        ("/data/runs/none/search?q=wrong", "404"),
        ("/data/runs/inside/search", "400"),
        ("/data/runs/inside/search?q=", "400"),
        ("/data/runs/inside/search?q=wrong", "200"),
    ] {
        assert_eq!(status(&get(&served, path)), code, "{path}");
    }
    let found = get(&served, "/data/runs/inside/search?q=WRONG+8");
    assert!(
        found.contains("\r\n8\n{\"searched\":40,\"is_end\":true,\"ended_by\":null,\"too_long\":0}\n"),
        "{found}"
    );
}

#[test]
fn notes_that_no_own_page_sent_are_refused() {
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "inside", &forty(0));
    let served = Served::start(root.path());
    assert!(get(&served, "/data/runs/inside/notes").ends_with("[]"));
    assert_eq!(status(&get(&served, "/data/runs/none/notes")), "404");
    let note = r#"{"task_id": "t", "index": 0, "sample_id": "s-0", "label": 1, "note": ""}"#;
    for headers in [
        "",
        "Origin: http://localhost\r\n",
        "Origin: http://localhost\r\nX-Gage-Token: guessed\r\n",
        "Origin: http://evil.example\r\nX-Gage-Token: guessed\r\n",
    ] {
        let request = format!(
            "POST /data/runs/inside/notes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n{note}",
            note.len()
        );
        assert_eq!(status(&ask(&served, &request)), "403", "{headers}");
    }
    assert!(!root.path().join("inside/notes.jsonl").exists());
}

#[test]
fn nothing_outside_of_the_folder_is_read() {
    let root = tempfile::tempdir().expect("a folder");
    let runs = root.path().join("runs");
    std::fs::create_dir(&runs).expect("a folder");
    whole(&runs, "inside", &forty(0));
    whole(root.path(), "outside", &forty(0));
    let served = Served::start(&runs);
    for path in [
        "/runs/../outside",
        "/runs/..%2foutside",
        "/runs/%2e%2e%2foutside",
        "/runs/..",
        "/runs/inside%2f..%2f..%2foutside",
        "/runs/%00",
        "/runs/%ff",
        "/data/runs/..%2foutside",
        "/runs/..%2foutside/report",
        "/compare?run=inside&run=../outside",
        "/compare?run=inside&run=..%2foutside",
        "/runs/inside/manifest.json",
        "/../outside",
        "/runs/none",
    ] {
        let answer = get(&served, path);
        assert!(matches!(status(&answer), "404" | "400"), "{path}: {}", &answer[..answer.len().min(300)]);
    }
    for (path, code, part) in [
        ("/compare", "400", "No run is named here"),
        ("/compare?x=1", "400", "No run is named here"),
        ("/compare?run=inside", "400", "One run is named here"),
        ("/compare?run=inside&run=inside", "400", "The run 'inside' is named 2 times"),
        ("/compare?run=inside&run=%3Cb%3E", "404", "no run '&lt;b&gt;' in this folder"),
        ("/runs/none", "404", "no run 'none' in this folder"),
        ("/runs/%ff", "404", "no such run in this folder"),
        ("/nowhere", "404", "nothing at this address"),
    ] {
        let answer = get(&served, path);
        assert_eq!(status(&answer), code, "{path}");
        let text = answer.replace("&#39;", "'").replace("&apos;", "'");
        assert!(text.contains(part), "{path}: {}", text.rsplit("<main>").next().unwrap_or_default());
        assert!(answer.contains("content-type: text/html") && answer.contains("href=\"/\""), "{path}");
    }
    assert_eq!(status(&get(&served, "/runs/inside")), "200");
}

#[test]
fn what_is_not_there_is_said_to_be_unknown() {
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "inside", &forty(0));
    let served = Served::start(root.path());
    for (path, code, part) in [
        ("/data/history", "200", "\"suite\":"),
        ("/data/history?suite=", "200", "\"suite\":"),
        ("/data/history?suite=nope", "404", "no run in the folder is of the suite 'nope'; suites are: "),
        ("/data/history?suite=%00%1b%5b31m", "404", "is of the suite '\\u{0}\\u{1b}[31m'"),
        ("/data/runs/none", "404", "there is no such run in this folder"),
        ("/data/none", "404", "there is nothing here"),
    ] {
        let answer = get(&served, path);
        assert_eq!(status(&answer), code, "{path}: {answer}");
        assert!(answer.contains(part) && !answer.contains('\u{1b}'), "{path}: {answer}");
        assert!(!answer.contains(&root.path().display().to_string()), "{path}: {answer}");
    }
}

#[test]
fn every_answer_has_its_rules() {
    let root = tempfile::tempdir().expect("a folder");
    whole(root.path(), "inside", &forty(0));
    let served = Served::start(root.path());
    for path in ["/", "/history", "/runs/inside", "/data/runs", "/data/history", "/nowhere"] {
        let answer = get(&served, path).to_lowercase();
        let head = answer.split("\r\n\r\n").next().unwrap_or_default();
        for rule in [
            "content-security-policy: default-src 'none'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(head.contains(rule), "{path}: {rule}\n{head}");
        }
        assert!(!head.contains("access-control-allow-origin") && !head.contains("unsafe-"), "{path}\n{head}");
    }
    // Damage is reported, without a folder of the machine.
    let journal = root.path().join("inside/journal/000001.jsonl");
    let whole = std::fs::read_to_string(&journal).expect("a journal");
    std::fs::write(&journal, format!("damaged\n{whole}")).expect("written");
    let answer = get(&served, "/runs/inside");
    assert!(
        answer.contains("good lines follow") && !answer.contains(&root.path().display().to_string()),
        "{}",
        &answer[..answer.len().min(500)]
    );
}

/// Returns a text that hardly can be compressed.
fn random_text(seed: u64, length: usize) -> String {
    let mut state = seed;
    let letter = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b' ' + (state >> 58) as u8)
    };
    (0..length).map(letter).collect()
}

/// Each of these clients reads only the beginning of its report.
#[test]
fn clients_that_do_not_read_block_no_report() {
    // More than are written at the same time.
    const CLIENTS: usize = 8;
    let root = tempfile::tempdir().expect("a folder");
    // More than the buffers between the server and a client hold.
    let records: Vec<_> = (0..40).map(|index| sample(index, &random_text(index, 1 << 18), 1.0)).collect();
    whole(root.path(), "long", &records);
    let served = Served::start(root.path());
    let request = b"GET /runs/long HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let clients: Vec<TcpStream> = (0..CLIENTS)
        .map(|_| {
            let mut stream = TcpStream::connect(served.address).expect("a connection");
            stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a bound");
            stream.write_all(request).expect("sent");
            let mut begin = [0; 12];
            stream.read_exact(&mut begin).expect("the beginning of a report");
            assert_eq!(&begin, b"HTTP/1.1 200");
            stream
        })
        .collect();
    let answer = get(&served, "/runs/long");
    assert!(answer.len() > 8 << 20, "{} bytes", answer.len());
    assert!(answer.contains("</html>"), "the report is complete");
    drop(clients);
}
