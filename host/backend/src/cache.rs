//! Cache of answers, so that the same question is not sent twice.
//!
//! A backend with a cache looks there first. Answers are looked up by the digest of everything that can change them
//! ([`key`]). Each answer is in its own file ([`store`]), in one of many folders ([`shard`]) and in the format of [`entry`].
//! Failures are never cached.

mod entry;
mod key;
mod shard;
mod store;

use crate::api::{
    Backend, BackendError, BackendInfo, EmbedOutput, EmbedRequest, GenerateRequest, LoglikelihoodOutput,
    LoglikelihoodRequest, Reply, RequestTiming, RollingOutput, RollingRequest,
};
use async_trait::async_trait;
use entry::CacheEntry;
use gage_core::{Digest, ModelOutput, Object};
use gage_plugin::Models;
pub(crate) use key::CacheKeys;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use store::Lookup;
pub use store::{AnswerCache, AnswerCacheError, AnswerReading};

/// A backend whose answers are cached.
pub(crate) struct CachingBackend {
    inner: Arc<dyn Backend>,
    keys: CacheKeys,
    cache: Arc<AnswerCache>,
    counts: CacheCounters,
}

/// Counters of a backend's requests, by result.
#[derive(Default)]
struct CacheCounters {
    hits: AtomicU64,
    misses: AtomicU64,
    /// Requests that bypassed the cache.
    passed: AtomicU64,
    kept: AtomicU64,
    /// Files without a complete answer; counted as misses too.
    damaged: AtomicU64,
    /// Answers that could not be written.
    unwritten: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl CachingBackend {
    pub(crate) fn new(inner: Arc<dyn Backend>, keys: CacheKeys, cache: Arc<AnswerCache>) -> CachingBackend {
        CachingBackend { inner, keys, cache, counts: CacheCounters::default() }
    }

    /// Returns the cached answer under a key. It was not requested from the backend, so it has no attempts.
    async fn find<T: CacheEntry>(&self, key: Digest) -> Option<Reply<T>> {
        let began = Instant::now();
        let cache = Arc::clone(&self.cache);
        let found = tokio::task::spawn_blocking(move || match cache.get(key) {
            Lookup::Answer(text) => T::read(&text).map_or(Lookup::Damaged, Lookup::Answer),
            Lookup::Nothing => Lookup::Nothing,
            Lookup::Damaged => Lookup::Damaged,
        });
        match found.await {
            Ok(Lookup::Answer(output)) => {
                count(&self.counts.hits);
                let timing = RequestTiming { latency: began.elapsed(), attempts: 0, first_token: None };
                return Some(Reply { output, timing });
            }
            Ok(Lookup::Damaged) => count(&self.counts.damaged),
            Ok(Lookup::Nothing) | Err(_) => {}
        }
        count(&self.counts.misses);
        None
    }

    /// Returns the cached answer under a key, or asks the backend and caches its answer. Without a key, always asks the
    /// backend.
    async fn answer<T: CacheEntry>(
        &self,
        key: Option<Digest>,
        asked: impl Future<Output = Result<Reply<T>, BackendError>>,
    ) -> Result<Reply<T>, BackendError> {
        let Some(key) = key else { return asked.await };
        if let Some(reply) = self.find(key).await {
            return Ok(reply);
        }
        let reply = asked.await?;
        self.keep(key, &reply.output).await;
        Ok(reply)
    }

    /// Caches an answer. If it cannot be written, the only loss is time in the next run.
    async fn keep<T: CacheEntry>(&self, key: Digest, output: &T) {
        let Some(text) = output.is_whole().then(|| output.write()) else { return };
        let cache = Arc::clone(&self.cache);
        match tokio::task::spawn_blocking(move || cache.put(key, &text)).await {
            Ok(Ok(true)) => count(&self.counts.kept),
            Ok(Ok(false)) | Err(_) => {}
            Ok(Err(error)) => {
                if self.counts.unwritten.fetch_add(1, Ordering::Relaxed) == 0 {
                    tracing::warn!("{error}; the run continues without caching such answers");
                }
            }
        }
    }
}

#[async_trait]
impl Backend for CachingBackend {
    fn info(&self) -> &BackendInfo {
        self.inner.info()
    }

    fn check_files(&self) -> Result<(), String> {
        self.inner.check_files()
    }

    async fn generate(&self, request: Box<GenerateRequest>) -> Result<Reply<ModelOutput>, BackendError> {
        let key = self.keys.of_generate(&request).filter(|_| self.info().capabilities.generate);
        if key.is_none() {
            count(&self.counts.passed);
        }
        self.answer(key, self.inner.generate(request)).await
    }

    async fn loglikelihood(
        &self,
        request: LoglikelihoodRequest,
    ) -> Result<Reply<LoglikelihoodOutput>, BackendError> {
        let key = self.info().capabilities.loglikelihood.then(|| self.keys.of_loglikelihood(&request));
        self.answer(key, self.inner.loglikelihood(request)).await
    }

    async fn rolling_loglikelihood(
        &self,
        request: RollingRequest,
    ) -> Result<Reply<RollingOutput>, BackendError> {
        let key = self.info().capabilities.rolling_loglikelihood.then(|| self.keys.of_rolling(&request));
        self.answer(key, self.inner.rolling_loglikelihood(request)).await
    }

    async fn embed(&self, request: EmbedRequest) -> Result<Reply<EmbedOutput>, BackendError> {
        let key = self.info().capabilities.embeddings.then(|| self.keys.of_embed(&request));
        self.answer(key, self.inner.embed(request)).await
    }

    fn statistics(&self) -> Object {
        let mut statistics = self.inner.statistics();
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let CacheCounters { hits, misses, passed, kept, damaged, unwritten } = &self.counts;
        let counts = json!({
            "hits": number(hits),
            "misses": number(misses),
            "passed": number(passed),
            "kept": number(kept),
            "damaged": number(damaged),
            "unwritten": number(unwritten),
        });
        statistics.insert("cache".to_owned(), counts);
        statistics
    }

    fn set_models(&self, models: Arc<dyn Models>) {
        self.inner.set_models(models);
    }
}
