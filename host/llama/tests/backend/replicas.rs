//! Several processes that run one model.

use crate::support::{generate, tiny};
use gage_backend::Backend;
use gage_core::SamplingParams;
use serde_json::Value;

/// Returns what the backend reports of each replica.
fn replicas_of(backend: &dyn Backend) -> Vec<Value> {
    let replicas = backend.statistics().get("replicas").and_then(|replicas| replicas.as_array().cloned());
    replicas.expect("a list")
}

async fn ask(backend: &dyn Backend, number: usize) -> String {
    let params =
        SamplingParams { max_new_tokens: Some(8), temperature: Some(0.0), ..SamplingParams::default() };
    generate(backend, &format!("What is {number} + 45?"), params).await.answer
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_share_the_requests_and_give_the_same_answers() {
    let settings = ", slots: 2, deterministic: true";
    let (one, two) = (tiny(settings).await, tiny(&format!("{settings}, replicas: 2")).await);
    for (backend, replicas) in [(&one, 1), (&two, 2)] {
        assert_eq!(backend.info().details["replicas"], replicas);
        assert_eq!(backend.info().max_concurrency, 8 * replicas);
    }
    let numbers = || 10..26_usize;
    let expected = futures::future::join_all(numbers().map(|number| ask(one.as_ref(), number))).await;
    let answers = futures::future::join_all(numbers().map(|number| ask(two.as_ref(), number))).await;
    assert_eq!(answers, expected);
    let replicas = replicas_of(two.as_ref());
    assert_ne!(replicas[0]["process_id"], replicas[1]["process_id"]);
    let requests: Vec<u64> = replicas.iter().filter_map(|replica| replica["requests"].as_u64()).collect();
    assert!(requests.len() == 2 && requests.iter().all(|count| *count >= 4), "{requests:?}");
    assert_eq!(requests.iter().sum::<u64>(), 16);
}

/// The other replica is not disturbed, and the requests of the killed one are sent again.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_is_killed_loses_no_request() {
    use std::sync::Arc;
    fn signal(name: &str, process: &Value) {
        let status =
            std::process::Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
        assert!(status.expect("kill runs").success());
    }
    let backend = tiny(", slots: 2, replicas: 2").await;
    let process = replicas_of(backend.as_ref())[0]["process_id"].clone();
    // A stopped process answers nothing, so its requests are in flight when it is killed.
    signal("STOP", &process);
    let asked: Vec<_> = (10..18)
        .map(|number| {
            let backend = Arc::clone(&backend);
            tokio::spawn(async move { ask(backend.as_ref(), number).await })
        })
        .collect();
    while replicas_of(backend.as_ref())[0]["requests"] == 0 {
        tokio::task::yield_now().await;
    }
    signal("KILL", &process);
    for answer in asked {
        assert!(!answer.await.expect("no panic").is_empty());
    }
    let crashes: Vec<Value> =
        replicas_of(backend.as_ref()).iter().map(|replica| replica["crashes"].clone()).collect();
    assert_eq!(crashes, [1, 0]);
    assert_eq!(backend.statistics()["crashes"], 1);
}

/// There are no GPUs in the tests, where one replica is enough.
#[tokio::test(flavor = "multi_thread")]
async fn auto_is_one_replica_without_a_gpu() {
    let backend = tiny(", replicas: auto").await;
    assert_eq!(backend.info().details["replicas"], 1);
}
