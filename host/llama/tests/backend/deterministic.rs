//! With `deterministic: true`, every bit is the same regardless of the other requests in flight.

use crate::support::{generate, loglikelihood, texts, tiny};
use gage_backend::Backend;
use gage_core::SamplingParams;
use proptest::prelude::{Just, ProptestConfig, Strategy};
use proptest::test_runner::TestRunner;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Questions with lengths around chunk boundaries, with prompts that share much and little, and of both kinds.
fn questions() -> Vec<String> {
    (0..24)
        .map(|number| {
            format!("{}What is {} + 45?", "Which is larger, 3 or 5? ".repeat(number % 9), 10 + number)
        })
        .collect()
}

/// Returns the result of every question, by number: the bits of the likelihoods, or the answer with the bits of its
/// tokens.
async fn ask_all(backend: &Arc<dyn Backend>, order: &[usize], concurrency: usize) -> Vec<String> {
    let questions = questions();
    let permits = Arc::new(Semaphore::new(concurrency));
    let asked = order.iter().map(|index| {
        let (backend, permits, question) =
            (Arc::clone(backend), Arc::clone(&permits), questions[*index].clone());
        async move {
            let _permit = permits.acquire_owned().await.expect("open");
            let found = if index % 2 == 0 {
                let options = texts(&["68", "5", "no idea at all", "70"]);
                let scores = loglikelihood(backend.as_ref(), &question, &options).await.scores;
                scores.iter().map(|score| format!("{:016x} ", score.logprob.to_bits())).collect()
            } else {
                let params = SamplingParams { max_new_tokens: Some(12), ..SamplingParams::default() };
                let output = generate(backend.as_ref(), &question, params).await;
                format!("{} {:?}", output.answer, output.extra)
            };
            (*index, found)
        }
    });
    let mut found = futures::future::join_all(asked).await;
    found.sort();
    found.into_iter().map(|(_, found)| found).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn bits_depend_on_nothing_but_the_request() {
    let forwards: Vec<usize> = (0..24).collect();
    let backwards: Vec<usize> = (0..24).rev().collect();
    let reference = ask_all(&tiny(", deterministic: true, logprobs: 1").await, &forwards, 1).await;
    assert!(reference.iter().skip(1).step_by(2).any(|answer| answer.contains("logprob")), "{reference:?}");
    for (settings, order, concurrency) in [
        ("threads: 2", &backwards, 1),
        ("threads: 1", &forwards, 4),
        ("threads: 2, batch_size: 32", &backwards, 4),
        ("threads: 1, batch_size: 64, slots: 16", &backwards, 16),
        ("threads: 2, batch_size: 2048, slots: 1", &forwards, 16),
        ("threads: 1, replicas: 2", &backwards, 16),
    ] {
        let backend = tiny(&format!(", deterministic: true, logprobs: 1, {settings}")).await;
        assert_eq!(
            ask_all(&backend, order, concurrency).await,
            reference,
            "{settings}, {concurrency} at once"
        );
    }
}

/// Varies the order of arrival, the concurrency, and the requests before in the same model.
#[test]
fn no_bit_depends_on_any_order_of_arrival() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let backend = runtime.block_on(tiny(", deterministic: true, logprobs: 1"));
    let order: Vec<usize> = (0..24).collect();
    let reference = runtime.block_on(ask_all(&backend, &order, 1));
    let orders = (Just(order).prop_shuffle(), 1_usize..=16);
    let checked = TestRunner::new(ProptestConfig::with_cases(8)).run(&orders, |(order, concurrency)| {
        let found = runtime.block_on(ask_all(&backend, &order, concurrency));
        proptest::prop_assert_eq!(&found, &reference);
        Ok(())
    });
    checked.unwrap_or_else(|error| panic!("{error}"));
}
