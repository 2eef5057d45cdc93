//! The minimal client: it sends prepared bodies, and reads and drops the answers. It runs in its own process, like the
//! program.

use crate::process::processor_of_children;
use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use reqwest::header::CONTENT_TYPE;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Has this program be that client.
pub(crate) const COMMAND: &str = "bare";

/// Sends the bodies, as many at once as are allowed; returns the processor time that it took.
pub(crate) fn send(url: &str, bodies: &[Bytes], in_flight: usize, folder: &Path) -> anyhow::Result<Duration> {
    let file = folder.join("bodies.jsonl");
    let mut lines = Vec::new();
    for body in bodies {
        lines.extend_from_slice(body);
        lines.push(b'\n');
    }
    std::fs::write(&file, lines)?;
    let mut child = Command::new(std::env::current_exe()?);
    child.args([COMMAND, url, &in_flight.to_string()]).arg(&file).stdin(Stdio::null());
    let before = processor_of_children();
    let status = child.status()?;
    ensure!(status.success(), "the bare loop ended with {status}");
    Ok(processor_of_children().saturating_sub(before))
}

/// Runs the process.
pub(crate) fn run(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let (Some(url), Some(in_flight), Some(file)) = (arguments.next(), arguments.next(), arguments.next())
    else {
        bail!("an address, a number and a file are wanted");
    };
    let url = reqwest::Url::parse(&format!("{url}/v1/chat/completions"))?;
    let in_flight: usize = in_flight.parse()?;
    let bytes = Bytes::from(std::fs::read(file)?);
    let bodies: Vec<Bytes> = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| bytes.slice_ref(line))
        .collect();
    // Fails only if a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .timeout(Duration::from_secs(600))
        .tcp_nodelay(true)
        .pool_max_idle_per_host(in_flight)
        .no_proxy()
        .build()?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let (bodies, next) = (Arc::new(bodies), Arc::new(AtomicUsize::new(0)));
        let mut loops = tokio::task::JoinSet::new();
        for _ in 0..in_flight {
            let (client, url) = (client.clone(), url.clone());
            let (bodies, next) = (Arc::clone(&bodies), Arc::clone(&next));
            loops.spawn(async move {
                while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let request = client.post(url.clone()).header(CONTENT_TYPE, "application/json");
                    let response = request.body(body.clone()).send().await?.error_for_status()?;
                    response.bytes().await?;
                }
                Ok::<(), reqwest::Error>(())
            });
        }
        while let Some(ended) = loops.join_next().await {
            ended?.context("a request failed")?;
        }
        Ok(())
    })
}
