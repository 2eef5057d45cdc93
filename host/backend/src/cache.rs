//! Answers that are kept, so that the same question need not be asked twice.
//!
//! A backend that has a cache looks there first. An answer is found by the digest of everything that can change it
//! ([`key`]), and lies in a file of its own ([`store`]) as [`entry`] writes it. Failures are never kept.

mod entry;
mod key;
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

/// A backend before which a cache stands.
pub(crate) struct CachingBackend {
    inner: Arc<dyn Backend>,
    keys: CacheKeys,
    cache: Arc<AnswerCache>,
    counts: CacheCounters,
}

/// What became of the requests of a backend.
#[derive(Default)]
struct CacheCounters {
    hits: AtomicU64,
    misses: AtomicU64,
    /// Asked without a look into the cache.
    passed: AtomicU64,
    kept: AtomicU64,
    /// Files that were no whole answers; misses too.
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

    /// The answer that is kept under a key. It was not asked for, so it has no attempts.
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

    /// Keeps an answer. That it cannot be written costs the next run time, and nothing else.
    async fn keep<T: CacheEntry>(&self, key: Digest, output: &T) {
        let Some(text) = output.is_whole().then(|| output.write()) else { return };
        let cache = Arc::clone(&self.cache);
        match tokio::task::spawn_blocking(move || cache.put(key, &text)).await {
            Ok(Ok(true)) => count(&self.counts.kept),
            Ok(Ok(false)) | Err(_) => {}
            Ok(Err(error)) => {
                if self.counts.unwritten.fetch_add(1, Ordering::Relaxed) == 0 {
                    tracing::warn!("{error}; the run goes on without keeping such answers");
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
        let Some(key) = key else {
            count(&self.counts.passed);
            return self.inner.generate(request).await;
        };
        if let Some(reply) = self.find(key).await {
            return Ok(reply);
        }
        let reply = self.inner.generate(request).await?;
        self.keep(key, &reply.output).await;
        Ok(reply)
    }

    async fn loglikelihood(
        &self,
        request: LoglikelihoodRequest,
    ) -> Result<Reply<LoglikelihoodOutput>, BackendError> {
        if !self.info().capabilities.loglikelihood {
            return self.inner.loglikelihood(request).await;
        }
        let key = self.keys.of_loglikelihood(&request);
        if let Some(reply) = self.find(key).await {
            return Ok(reply);
        }
        let reply = self.inner.loglikelihood(request).await?;
        self.keep(key, &reply.output).await;
        Ok(reply)
    }

    async fn rolling_loglikelihood(
        &self,
        request: RollingRequest,
    ) -> Result<Reply<RollingOutput>, BackendError> {
        if !self.info().capabilities.rolling_loglikelihood {
            return self.inner.rolling_loglikelihood(request).await;
        }
        let key = self.keys.of_rolling(&request);
        if let Some(reply) = self.find(key).await {
            return Ok(reply);
        }
        let reply = self.inner.rolling_loglikelihood(request).await?;
        self.keep(key, &reply.output).await;
        Ok(reply)
    }

    fn embedding_model(&self) -> &str {
        self.inner.embedding_model()
    }

    async fn embed(&self, request: EmbedRequest) -> Result<Reply<EmbedOutput>, BackendError> {
        if !self.info().capabilities.embeddings {
            return self.inner.embed(request).await;
        }
        let key = self.keys.of_embed(&request);
        if let Some(reply) = self.find(key).await {
            return Ok(reply);
        }
        let reply = self.inner.embed(request).await?;
        self.keep(key, &reply.output).await;
        Ok(reply)
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
