//! Embeddings of texts.

use crate::batch::TokenBatch;
use crate::context_parameters::context_parameters;
use crate::load::{Adapter, set_adapter};
use crate::runtime::{internal, new_context};
use crate::tokenizer::Tokenizer;
use gage_model_protocol::{Answer, JobError, JobErrorKind, JobResult, ModelOptions, Settings, to_u32};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaPoolingType;
use llama_cpp_2::model::LlamaModel;
use std::num::NonZeroU32;
use std::time::Instant;

/// Maximum length of an embedded text, in tokens. A text is computed in one call.
const MAX_CALL_TOKENS: usize = 512;

/// Context for embeddings. Each text is computed in its own call, so that vectors do not depend on one another.
pub struct Embedder<'m> {
    context: LlamaContext<'m>,
    tokenizer: Tokenizer<'m>,
    batch: TokenBatch,
    most_tokens: usize,
}

impl<'m> Embedder<'m> {
    /// Creates the context, with the same adapter as for answers.
    ///
    /// Vectors are pooled as the model specifies, or averaged over the tokens if it specifies nothing.
    ///
    /// # Errors
    /// Usually if memory does not suffice.
    pub fn new(
        model: &'m LlamaModel,
        settings: &Settings,
        options: &ModelOptions,
        adapter: Option<Adapter<'_>>,
    ) -> Result<Embedder<'m>, JobError> {
        let most_tokens = settings.context_length.min(MAX_CALL_TOKENS);
        let pooling_named = (model.meta_count() > 0)
            .then(|| model.meta_val_str("general.architecture").ok())
            .flatten()
            .and_then(|architecture| model.meta_val_str(&format!("{architecture}.pooling_type")).ok());
        let says_how = pooling_named.as_deref().is_some_and(|pooling| pooling != "0");
        if pooling_named.as_deref() == Some("4") {
            let message = "the model is a reranker: it gives texts a rank, and no vectors";
            return Err(JobError::new(JobErrorKind::Unsupported, message));
        }
        let pooling = if says_how { LlamaPoolingType::Unspecified } else { LlamaPoolingType::Mean };
        let parameters = context_parameters(settings, options, 1)
            .with_n_ctx(NonZeroU32::new(to_u32(most_tokens.next_multiple_of(256))))
            .with_n_batch(to_u32(most_tokens))
            .with_n_ubatch(to_u32(most_tokens))
            .with_embeddings(true)
            .with_pooling_type(pooling);
        let mut context = new_context(model, parameters)?;
        if let Some(adapter) = adapter {
            set_adapter(&mut context, adapter).map_err(internal)?;
        }
        Ok(Embedder {
            context,
            tokenizer: Tokenizer::new(model),
            batch: TokenBatch::new(most_tokens, most_tokens, 1),
            most_tokens,
        })
    }

    /// Turns texts into vectors. Calls `on_text` after each.
    ///
    /// # Errors
    /// If a text is empty or too long, or the model fails.
    pub fn embed(
        &mut self,
        name: &str,
        texts: Vec<String>,
        mut on_text: impl FnMut(),
    ) -> Result<JobResult, JobError> {
        let started = Instant::now();
        let mut tokens = 0;
        let mut vectors = Vec::with_capacity(texts.len());
        for (index, text) in texts.into_iter().enumerate() {
            let (vector, count) = self.vector(&text).map_err(|error| JobError {
                message: format!("request '{name}', text {index}: {}", error.message),
                ..error
            })?;
            vectors.push(vector);
            tokens += u64::from(to_u32(count));
            on_text();
        }
        Ok(JobResult {
            answer: Answer::Embedded { vectors, tokens },
            latency: started.elapsed(),
            first_token: None,
        })
    }

    fn vector(&mut self, text: &str) -> Result<(Vec<f32>, usize), JobError> {
        let tokens = self.tokenizer.whole(text)?;
        if text.is_empty() || tokens.is_empty() {
            return Err(JobError::new(JobErrorKind::Rejected, "it is empty"));
        }
        if tokens.len() > self.most_tokens {
            let message = format!(
                "it has {} tokens, and a text of at most {} can be embedded",
                tokens.len(),
                self.most_tokens
            );
            return Err(JobError::new(JobErrorKind::ContextLength, message));
        }
        self.context.clear_kv_cache();
        self.batch.clear();
        for (position, token) in tokens.iter().enumerate() {
            self.batch.add(*token, position, &[0], true)?;
        }
        self.batch.decode(&mut self.context)?;
        let vector = self
            .context
            .embeddings_seq_ith(0)
            .map_err(|error| internal(format!("the model gives no vector for a text: {error}")))?;
        if vector.iter().any(|number| !number.is_finite()) {
            return Err(internal("the model's vector is not numbers"));
        }
        Ok((vector.to_vec(), tokens.len()))
    }
}
