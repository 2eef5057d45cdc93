//! JSON whose values take many times as much memory as their text, and files that unpack to any size.

use crate::support::{CommandOutput, Workspace, rows, suite};
use gage_load_server::{Answer, LoadServer, Reply, Request, completion, last_message};
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Maximum memory of the program in these tests.
#[cfg(target_os = "linux")]
const MAX_MEMORY_BYTES: u64 = 1 << 30;

/// Peak memory of the program, as seen whenever its server is asked.
#[derive(Default)]
struct PeakMemory {
    process: OnceLock<u32>,
    bytes: AtomicU64,
}

impl PeakMemory {
    /// Reads the peak memory of the program, if it is known and the system reports it.
    fn look(&self) {
        let status =
            self.process.get().and_then(|id| std::fs::read_to_string(format!("/proc/{id}/status")).ok());
        let line =
            status.as_deref().and_then(|text| text.lines().find_map(|line| line.strip_prefix("VmHWM:")));
        let kibibytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        self.bytes.fetch_max(kibibytes.unwrap_or(0) << 10, Ordering::SeqCst);
    }

    /// Runs a suite, and checks the peak memory until the last request.
    #[track_caller]
    fn check(&self, workspace: &Workspace, arguments: &[&str]) -> CommandOutput {
        let child = workspace.start(arguments);
        self.process.set(child.id()).expect("one run");
        let ended = CommandOutput::wait_for(child);
        #[cfg(target_os = "linux")]
        {
            let bytes = self.bytes.load(Ordering::SeqCst);
            assert!((1..MAX_MEMORY_BYTES).contains(&bytes), "{bytes} bytes\n{}", ended.transcript());
        }
        ended
    }
}

/// Starts a server that notes the memory of the program at each request.
fn server(
    memory: &Arc<PeakMemory>,
    answer: impl Fn(&Request) -> Answer + Send + Sync + 'static,
) -> LoadServer {
    let memory = Arc::clone(memory);
    let server = LoadServer::start(move |request| {
        memory.look();
        answer(request)
    });
    server.expect("a server")
}

fn backend(server: &LoadServer) -> String {
    format!("type: openai_http\n    config: {{base_url: '{}/v1', model: m, max_retries: 0}}", server.url())
}

/// Returns a list of about `bytes` bytes that repeats an item.
fn list_of(item: &str, bytes: usize) -> String {
    format!("[{}0]", format!("{item},").repeat(bytes / (item.len() + 1)))
}

#[test]
fn sixteen_hostile_replies_stay_below_one_gibibyte() {
    const BYTES: usize = 8_000_000;
    const ROWS: usize = 33;
    let message = |key: &str, value: &str| {
        format!(r#"{{"choices": [{{"message": {{"content": "x", "{key}": {value}}}, "logprobs": null}}]}}"#)
    };
    let stream = format!("data: {}\n\ndata: [DONE]\n\n", message("tool_calls", &list_of("[0]", BYTES)));
    let hostile: Vec<Reply> = vec![
        Reply::new(200, "application/json", message("tool_calls", &list_of("{}", BYTES))),
        Reply::new(200, "application/json", message("tool_calls", &list_of("[[[[0]]]]", BYTES))),
        Reply::new(200, "application/json", format!(r#"{{"unknown": {}}}"#, list_of("0", BYTES))),
        Reply::new(200, "application/json", message("reasoning", &list_of(r#"{"a":{"b":0}}"#, BYTES))),
        Reply::new(200, "text/event-stream", stream),
    ];
    let memory = Arc::new(PeakMemory::default());
    let server = server(&memory, move |request| {
        let question = last_message(request);
        let number = question.rsplit(' ').next().and_then(|number| number.parse::<usize>().ok()).unwrap_or(0);
        match hostile.get(number % hostile.len()) {
            Some(reply) if number < ROWS - 1 => reply.clone().into(),
            _ => completion(&question.replace("question", "answer")).into(),
        }
    });
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(ROWS));
    workspace.write("suite.yaml", suite(&backend(&server), "[exact_match]") + "  min_coverage: 0.0\n");
    let arguments = ["run", "suite.yaml", "--quiet", "--run-id", "r", "--concurrency", "16"];
    memory.check(&workspace, &arguments).expect_code(0);
    for (number, sample) in workspace.samples("r").iter().enumerate().take(ROWS - 1) {
        let message = sample["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("more than 131072 JSON values"), "{number}: {sample}");
        assert_eq!(sample["error"]["kind"], "protocol", "{sample}");
    }
}

#[test]
fn a_filter_reads_its_field_and_builds_no_row() {
    const BYTES: usize = 16_000_000;
    let memory = Arc::new(PeakMemory::default());
    let server = server(&memory, |request| completion(&last_message(request)).into());
    let workspace = Workspace::new();
    let hostile = |item: &str| format!("{{\"x\": {}, \"level\": 2}}\n", list_of(item, BYTES));
    let named = format!("{{\"level\": {}}}\n", list_of("{}", BYTES));
    let good = r#"{"id": "q", "question": "question 0", "answer": "question 0", "level": 1}"#;
    workspace.write("rows.jsonl", hostile("[0]") + &hostile(r#"{"a":0}"#) + &named + good);
    let text = suite(&backend(&server), "[exact_match]");
    workspace.write("suite.yaml", text.replace("path: rows.jsonl", "path: rows.jsonl, filter: {level: 1}"));
    memory.check(&workspace, &["run", "suite.yaml", "--quiet", "--run-id", "r"]).expect_code(0);
    assert_eq!(workspace.samples("r").len(), 1);
}

/// Returns a zstd frame whose content is one byte, repeated for some blocks of 128 KiB.
fn repeated_byte(blocks: usize) -> Vec<u8> {
    const BLOCK_BYTES: u32 = 1 << 17;
    const RUN_LENGTH: u32 = 1;
    // The magic number, a descriptor without flags, and a window of 128 KiB.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    for block in 1..=blocks {
        let header = BLOCK_BYTES << 3 | RUN_LENGTH << 1 | u32::from(block == blocks);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(b'a');
    }
    frame
}

#[test]
fn a_small_recording_may_not_unpack_to_gigabytes() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    let backend = "type: openai_http\n    config: {base_url: 'http://127.0.0.1:9/v1', model: m}";
    workspace.write("suite.yaml", suite(backend, "[exact_match]"));
    let head = json!({"format": "gage-host-http-recording", "version": 1}).to_string() + "\n";
    let head = zstd::bulk::compress(head.as_bytes(), 3).expect("compressed");
    workspace.write("tape.zst", [head, repeated_byte(32 * 1024)].concat());
    let ended = workspace.run(&["run", "suite.yaml", "--replay", "tape.zst", "--run-id", "r"]);
    assert!(matches!(ended.code, Some(1 | 2)), "{}", ended.transcript());
    assert!(ended.stderr.contains("tape.zst is not a usable recording"), "{}", ended.stderr);
    assert!(ended.stderr.contains("a frame unpacks to more than 268500992 bytes"), "{}", ended.stderr);
}

#[test]
fn a_tokenizer_may_not_double_a_text_again_and_again() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    let step = json!({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"});
    let tokenizer = json!({
        "version": "1.0",
        "normalizer": {"type": "Sequence", "normalizers": vec![step; 24]},
        "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
        "added_tokens": [],
    });
    workspace.write("tokenizer.json", tokenizer.to_string());
    let ended =
        workspace.run(&["data", "stats", "rows.jsonl", "--tokenizer", "tokenizer.json"]).expect_code(2);
    assert!(ended.stderr.contains("tokenizer.json cannot be used"), "{}", ended.stderr);
    assert!(ended.stderr.contains("16777216 times as long"), "{}", ended.stderr);
}

#[test]
fn hostile_tokenizers_are_refused() {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(1));
    let look_around =
        json!({"type": "Split", "pattern": {"Regex": "(?=(a+)+b)"}, "behavior": "Isolated", "invert": false});
    let pieces = json!([["a", 0.0], ["b".repeat(100_000), -1.0]]);
    for (member, value, message) in [
        ("model", json!({"type": "Unigram", "unk_id": 0, "vocab": pieces}), "at most 256 are allowed"),
        ("pre_tokenizer", look_around, "could take unbounded time"),
        ("pre_tokenizer", json!({"type": "FixedLength", "length": 0}), "its `length` is 0"),
        ("normalizer", json!({"type": "Precompiled", "precompiled_charsmap": "BAAAAAAEAAA="}), "is damaged"),
    ] {
        let mut tokenizer = json!({
            "version": "1.0",
            "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
            "added_tokens": [],
        });
        tokenizer[member] = value;
        workspace.write("tokenizer.json", tokenizer.to_string());
        let ended =
            workspace.run(&["data", "stats", "rows.jsonl", "--tokenizer", "tokenizer.json"]).expect_code(2);
        assert!(ended.stderr.contains("tokenizer.json cannot be used"), "{}", ended.stderr);
        assert!(ended.stderr.contains(message) && !ended.stderr.contains("panicked"), "{}", ended.stderr);
    }
}

#[test]
fn a_manifest_with_many_values_is_an_error_of_its_run() {
    let workspace = Workspace::new();
    let manifest = format!("{{\"format_version\": 1, \"facts\": {}}}", list_of("0", 6_000_000));
    workspace.write("runs/hostile/manifest.json", manifest);
    let listed = workspace.run(&["runs", "list"]);
    let shown = workspace.run(&["runs", "show", "hostile"]);
    assert!(shown.code.is_some_and(|code| code != 0), "{}", shown.transcript());
    assert!(shown.stderr.contains("more than 2097152 JSON values"), "{}", shown.stderr);
    assert!(listed.code.is_some() && !listed.stderr.contains("panicked"), "{}", listed.transcript());
}
