//! Samples per second and processor time per sample of multiple-choice questions, beside `wrk`, a bare client, with nginx as
//! the server of both.

use crate::lab::{Lab, size_of};
use crate::process::{Terminal, run};
use crate::table::{Table, median, whole};
use crate::words::Words;
use anyhow::Context as _;
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Requests in flight.
const IN_FLIGHT: usize = 256;
/// Folders in which Debian and others keep the modules of nginx.
const MODULES: [&str; 2] = ["/usr/lib/nginx/modules", "/usr/lib64/nginx/modules"];

/// A server of its own; ended when dropped.
struct Nginx {
    process: Child,
    port: u16,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // SIGTERM through its own command would need another process.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Nginx {
    /// `None` if nginx or its module is not installed.
    fn start(folder: &Path) -> anyhow::Result<Option<Nginx>> {
        let Some(modules) =
            MODULES.iter().find(|path| Path::new(path).join("ngx_http_echo_module.so").is_file())
        else {
            return Ok(None);
        };
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let text = include_str!("../nginx.conf")
            .replace("PORT", &port.to_string())
            .replace("FOLDER", &folder.display().to_string())
            .replace("MODULES", modules);
        let file = folder.join("nginx.conf");
        std::fs::write(&file, text)?;
        // One worker, which its master outlives: without a master, killing it ends everything.
        let spawned = Command::new("nginx")
            .args(["-g", "master_process off;", "-p"])
            .arg(folder)
            .arg("-c")
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(process) = spawned else { return Ok(None) };
        let server = Nginx { process, port };
        for _ in 0..100 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(Some(server));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        anyhow::bail!("nginx does not listen on port {port}")
    }
}

pub(crate) fn measure(lab: &Lab) -> anyhow::Result<()> {
    let folder = lab.folder.path();
    let Some(server) = Nginx::start(folder)? else {
        println!(
            "nginx: skipped, since nginx and its module echo are not installed (libnginx-mod-http-echo)\n"
        );
        return Ok(());
    };
    if Command::new("wrk").arg("--version").output().is_err() {
        println!("nginx: skipped, since wrk is not installed\n");
        return Ok(());
    }
    let rows = lab.either(100_000, 20_000);
    let suite = suite(folder, rows, server.port)?;
    let script = script(folder)?;
    let (mut bare, mut program, mut ratios, mut processor) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut bytes = 0;
    for round in 0..=lab.either(9, 3) {
        let of_wrk = wrk(server.port, &script, lab.either(4, 2))?;
        let output = folder.join("runs");
        let _ = std::fs::remove_dir_all(&output);
        let mut command = Command::new(&lab.program);
        command.args(["run", "--run-id", "run", "--concurrency"]).arg(IN_FLIGHT.to_string());
        command.arg("--output-dir").arg(&output).arg(&suite);
        let ran = run(&command, Terminal::Silent, false, folder)?;
        bytes = size_of(&output)?;
        // The first round only warms up.
        if round > 0 {
            let rate = rows as f64 / ran.wall.as_secs_f64();
            bare.push(of_wrk);
            program.push(rate);
            ratios.push(rate / of_wrk);
            processor.push(ran.processor.as_secs_f64() * 1e6 / rows as f64);
        }
    }
    let mut table = Table::new(["client", "requests/s", "of wrk", "processor a sample", "on disk a sample"]);
    table.row(["wrk".to_owned(), whole(median(bare)), String::new(), String::new(), String::new()]);
    table.row([
        "gage-host".to_owned(),
        whole(median(program)),
        format!("{:.2}", median(ratios)),
        format!("{:.1} µs", median(processor)),
        format!("{:.2} KB", bytes as f64 / 1e3 / rows as f64),
    ]);
    table.print("Multiple-choice questions, nginx answers after 10 ms, 256 in flight");
    println!(
        "{rows} samples, from the start of the process to its end, reports included; medians of rounds in turns.\n"
    );
    Ok(())
}

/// Writes rows and a suite, and returns the path of the suite.
fn suite(folder: &Path, count: usize, port: u16) -> anyhow::Result<PathBuf> {
    let rows = folder.join("choices.jsonl");
    let mut file = BufWriter::new(File::create(&rows)?);
    let mut words = Words::new();
    for number in 0..count {
        let question = words.text(9);
        let options = [2, 2, 2, 2].map(|count| words.text(count));
        let row =
            json!({ "id": format!("q{number}"), "question": question, "choices": options, "answer": "B" });
        writeln!(file, "{row}")?;
    }
    file.flush()?;
    let suite = folder.join("choices.yaml");
    let text = format!(
        "api_version: gage/v1alpha1
kind: PipelineConfig
datasets:
  - {{dataset_id: rows, loader: jsonl, params: {{path: '{}', preprocess: multi_choice}}}}
backends:
  - backend_id: model
    type: openai_http
    config: {{base_url: 'http://127.0.0.1:{port}/v1', model: m, proxy: none, max_concurrency: {IN_FLIGHT}}}
role_adapters:
  - {{adapter_id: dut, role_type: dut_model, backend_id: model}}
metrics: [multi_choice_accuracy]
custom:
  steps: [{{step: inference}}, {{step: auto_eval}}]
",
        rows.display()
    );
    std::fs::write(&suite, text)?;
    Ok(suite)
}

/// Writes the request of wrk, which is as long as those of the program.
fn script(folder: &Path) -> anyhow::Result<PathBuf> {
    let path = folder.join("request.lua");
    let mut words = Words::new();
    let options = ['A', 'B', 'C', 'D'].map(|letter| format!("{letter}. {}", words.text(2)));
    let content = format!(
        "{}\\\\n\\\\n{}\\\\n\\\\nAnswer with the letter of the correct option only.",
        words.text(9),
        options.join("\\\\n")
    );
    let text = format!(
        "wrk.method = \"POST\"\nwrk.headers[\"Content-Type\"] = \"application/json\"\nwrk.body = '{{\"model\":\"m\",\"messages\":[{{\"role\":\"user\",\"content\":\"{content}\"}}]}}'\n"
    );
    std::fs::write(&path, text)?;
    Ok(path)
}

/// Returns the requests per second of wrk.
fn wrk(port: u16, script: &Path, seconds: usize) -> anyhow::Result<f64> {
    let output = Command::new("wrk")
        .args(["-t1", &format!("-c{IN_FLIGHT}"), &format!("-d{seconds}"), "-s"])
        .arg(script)
        .arg(format!("http://127.0.0.1:{port}/v1/chat/completions"))
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let rate = text.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:"));
    rate.and_then(|rate| rate.trim().parse().ok()).with_context(|| format!("wrk printed no rate: {text}"))
}
