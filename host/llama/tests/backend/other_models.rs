//! Models that are not made to generate answers, and the special tokens that they require.

use crate::gguf_file::{Setting, encoder, of_architecture, token, with_keys};
use crate::support::{model_program, open_file, question, tiny_file, try_generate};
use gage_backend::{
    Backend, BackendErrorKind, BenchOptions, Continuation, EmbedOutput, EmbedRequest, LoglikelihoodRequest,
    RollingRequest, bench,
};
use gage_core::SamplingParams;
use std::path::Path;
use std::sync::Arc;

const POOLING: &str = "llama.pooling_type";

async fn opened(folder: &Path, name: &str, bytes: Vec<u8>) -> Arc<dyn Backend> {
    let file = folder.join(name);
    std::fs::write(&file, bytes).expect("written");
    open_file(&file, ", slots: 1").await.unwrap_or_else(|errors| panic!("{name}: {errors:?}"))
}

async fn embedded(backend: &dyn Backend, texts: &[&str]) -> EmbedOutput {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    let request = EmbedRequest { id: "e".to_owned(), texts };
    backend.embed(request).await.unwrap_or_else(|error| panic!("{error}")).output
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encoder_makes_vectors_and_does_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let backend = opened(folder.path(), "encoder.gguf", encoder()).await;
    let capabilities = backend.info().capabilities;
    assert_eq!(
        (capabilities.generate, capabilities.loglikelihood, capabilities.rolling_loglikelihood),
        (false, false, false)
    );
    assert!(capabilities.embeddings);
    let output = embedded(backend.as_ref(), &["ab", "ba", "ab"]).await;
    let [one, other, again] = output.vectors.as_slice() else { panic!("{output:?}") };
    assert_eq!((one.len(), one), (64, again));
    assert!(one != other && one.iter().all(|number| number.is_finite()));
    // One token for each of two letters, and one at either end.
    assert_eq!(output.usage.map(|usage| usage.prompt_tokens), Some(3 * 4));
}

/// llama.cpp loads these like any other model, and returns numbers for any request.
#[tokio::test(flavor = "multi_thread")]
async fn models_that_predict_no_token_give_vectors_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (tiny, params) =
        (tiny_file(), SamplingParams { max_new_tokens: Some(2), ..SamplingParams::default() });
    for (name, bytes, why) in [
        (
            "noncausal.gguf",
            with_keys(&tiny, &[], &[("llama.attention.causal", Setting::Flag(false))]),
            "is an embedding model",
        ),
        ("llama-embed.gguf", of_architecture(&tiny, "llama-embed"), "is an embedding model"),
        ("llada.gguf", of_architecture(&tiny, "llada"), "is a diffusion model"),
    ] {
        let backend = opened(folder.path(), name, bytes).await;
        let generated = try_generate(backend.as_ref(), "What is 1 + 1?", params.clone()).await.err();
        let scored = LoglikelihoodRequest {
            id: "l".to_owned(),
            messages: question("What is 1 + 1?").into(),
            prompt: None,
            continuations: vec![Continuation { id: "2".to_owned(), text: "2".to_owned() }],
        };
        let scored = backend.loglikelihood(scored).await.err();
        let rolled =
            RollingRequest { id: "r".to_owned(), text: "A text.".to_owned(), has_special_tokens: false };
        let rolled = backend.rolling_loglikelihood(rolled).await.err();
        for (asked, error) in
            [("generate", generated), ("loglikelihood", scored), ("rolling_loglikelihood", rolled)]
        {
            let error = error.unwrap_or_else(|| panic!("{name} did `{asked}`"));
            assert_eq!(error.kind, BackendErrorKind::Unsupported, "{error}");
            assert!(error.message.contains(&format!("`{asked}` cannot be asked of {name}")), "{error}");
            assert!(error.message.contains(why), "{error}");
        }
        let vectors = embedded(backend.as_ref(), &["What is 1 + 1?"]).await.vectors;
        assert!(vectors[0].iter().any(|number| *number != 0.0), "{name}: {vectors:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_model_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let adapter = [("general.type", Setting::Text("adapter")), ("adapter.type", Setting::Text("lora"))];
    for (name, bytes, expected) in [
        ("adapter.gguf", with_keys(&tiny_file(), &[], &adapter), "name it as `lora: {path: …}`"),
        ("t5.gguf", of_architecture(&tiny_file(), "t5"), "is an encoder-decoder model"),
        ("clip.gguf", of_architecture(&tiny_file(), "clip"), "name it as `mmproj`"),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).expect("written");
        let errors =
            open_file(&file, ", slots: 1").await.err().unwrap_or_else(|| panic!("{name} was opened"));
        assert!(errors[0].message.contains(expected), "{errors:?}");
    }
}

/// Without our check, an assertion in llama.cpp would end the whole process.
#[test]
fn an_encoder_is_not_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("encoder.gguf");
    std::fs::write(&file, encoder()).expect("written");
    let options = BenchOptions {
        model_path: file,
        prompt_tokens: 8,
        answer_tokens: 2,
        queued_prompts: 1,
        repeats: 1,
        max_duration: std::time::Duration::from_secs(30),
    };
    let refused = bench(&options, &model_program()).expect_err("refused");
    assert!(
        refused.contains("encoder.gguf is an embedding model") && refused.contains("name a language model"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reranker_gives_no_vectors() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = with_keys(&tiny_file(), &[], &[(POOLING, Setting::Number(4))]);
    let backend = opened(folder.path(), "rank.gguf", bytes).await;
    assert!(!backend.info().capabilities.embeddings, "a suite with `embed` is refused before it runs");
    let request = EmbedRequest { id: "e".to_owned(), texts: vec!["a".to_owned()] };
    let error = backend.embed(request).await.expect_err("refused");
    assert_eq!(error.kind, BackendErrorKind::Unsupported);
    assert!(error.message.contains("gives texts a rank, and no vectors"), "{error}");
    // It can predict tokens, so it may be asked for a yes or no.
    let params = SamplingParams { max_new_tokens: Some(2), ..SamplingParams::default() };
    assert!(try_generate(backend.as_ref(), "What is 1 + 1?", params).await.is_ok());

    // One that is also an encoder predicts nothing either.
    let file = folder.path().join("encoder.gguf");
    std::fs::write(&file, encoder()).expect("written");
    let bytes = with_keys(&file, &[], &[("bert.pooling_type", Setting::Number(4))]);
    let capabilities = opened(folder.path(), "both.gguf", bytes).await.info().capabilities;
    assert_eq!(
        (capabilities.generate, capabilities.loglikelihood, capabilities.embeddings),
        (false, false, false)
    );
}

/// If the vector of the last token represents the text, only the token at the end counts.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_ends_with_the_token_that_the_model_wants() {
    let folder = tempfile::tempdir().expect("a folder");
    let last = || (POOLING, Setting::Number(3));
    let stop = token(&tiny_file(), ".");
    let closing = |flag| ("tokenizer.ggml.add_eos_token", Setting::Flag(flag));
    let ends = ("tokenizer.ggml.eos_token_id", Setting::Number(stop));
    let with = with_keys(&tiny_file(), &[], &[last(), closing(true), ends]);
    let with = opened(folder.path(), "with.gguf", with).await;
    let without = with_keys(&tiny_file(), &[], &[last(), closing(false)]);
    let without = opened(folder.path(), "without.gguf", without).await;
    let text = "What is the capital of France";
    let found = embedded(with.as_ref(), &[text]).await;
    let spelled = embedded(without.as_ref(), &[&format!("{text}.")]).await;
    let bare = embedded(without.as_ref(), &[text]).await;
    assert_eq!(found.vectors, spelled.vectors);
    assert!(found.vectors != bare.vectors, "the last token is another one");
    let tokens = |output: &EmbedOutput| output.usage.map_or(0, |usage| usage.prompt_tokens);
    assert_eq!(tokens(&found), tokens(&bare) + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_names_no_first_token_scores_no_whole_texts() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = ["bos", "eos", "eot"].map(|name| format!("tokenizer.ggml.{name}_token_id"));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let backend = opened(folder.path(), "none.gguf", with_keys(&tiny_file(), &names, &[])).await;
    let request =
        RollingRequest { id: "r".to_owned(), text: "A text.".to_owned(), has_special_tokens: false };
    let error = backend.rolling_loglikelihood(request).await.expect_err("refused");
    assert!(error.message.contains("token"), "{error}");
}
