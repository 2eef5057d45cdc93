//! Traces and metrics of a run, sent to an OpenTelemetry collector by OTLP over HTTP.

mod client;
mod instruments;

use crate::meters::AnswerMeasurements;
use crate::shutdown::SHUTDOWN_TIMEOUT_AFTER_FAILURE;
use crate::telemetry::{SampleEnd, TelemetryError, TelemetrySettings};
use client::{CountedSpans, Transport};
use gage_core::{ensure_threads, spawn_thread};
use instruments::Instruments;
use opentelemetry::trace::{
    Link, Span as _, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _, Tracer as _,
    TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{
    MetricExporter, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracer, SdkTracerProvider};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant, SystemTime};

/// Maximum number of spans waiting to be sent.
const SPAN_QUEUE_CAPACITY: usize = 16_384;
/// Number of threads that export: one for requests, one that looks up names, and one each for spans and metrics.
const EXPORT_THREADS: usize = 4;

/// Sends a trace of the run with a span for each task, and metrics. Each sampled sample gets a trace of its own,
/// linked to the span of its task. Only [`Telemetry::finish`] blocks.
pub struct Telemetry {
    tracer: SdkTracer,
    spans: SdkTracerProvider,
    metrics: SdkMeterProvider,
    instruments: Instruments,
    run: Context,
    tasks: Mutex<HashMap<String, Context>>,
    ended: AtomicU64,
    arrived: Arc<AtomicU64>,
    transport: Transport,
    // The exporters use this runtime as long as they exist.
    runtime: Mutex<Option<tokio::runtime::Runtime>>,
}

impl Telemetry {
    /// Starts the trace of a run.
    ///
    /// # Errors
    /// When the address is not that of a server, or the environment has invalid settings.
    pub fn start(settings: &TelemetrySettings) -> Result<Telemetry, TelemetryError> {
        let (_, client) = crate::http::client(&settings.endpoint, settings.timeout)?;
        ensure_threads(EXPORT_THREADS).map_err(|shortage| io::Error::from(shortage.report()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("telemetry")
            .enable_all()
            .build()?;
        let transport = Transport::new(client, runtime.handle().clone());
        let base = settings.endpoint.trim().trim_end_matches('/');
        let resource = Resource::builder()
            .with_attribute(KeyValue::new("service.version", settings.version.clone()))
            .with_attribute(KeyValue::new("service.instance.id", settings.run_id.clone()))
            .with_attribute(KeyValue::new("gage.run_id", settings.run_id.clone()));
        let named = std::env::var_os("OTEL_SERVICE_NAME").is_some_and(|name| !name.is_empty());
        let resource = if named { resource } else { resource.with_service_name("gage-host") }.build();

        let arrived = Arc::new(AtomicU64::new(0));
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(transport.clone())
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(settings.timeout)
            .with_endpoint(format!("{base}/v1/traces"))
            .build()?;
        let batches = BatchConfigBuilder::default().with_max_queue_size(SPAN_QUEUE_CAPACITY).build();
        let exporter = CountedSpans::new(exporter, Arc::clone(&arrived));
        let spans = SdkTracerProvider::builder()
            .with_span_processor(BatchSpanProcessor::builder(exporter).with_batch_config(batches).build())
            .with_resource(resource.clone())
            .build();
        let exporter = MetricExporter::builder()
            .with_http()
            .with_http_client(transport.clone())
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(settings.timeout)
            .with_endpoint(format!("{base}/v1/metrics"))
            .build()?;
        let metrics =
            SdkMeterProvider::builder().with_periodic_exporter(exporter).with_resource(resource).build();
        let instruments = Instruments::new(&metrics);
        let tracer = spans.tracer("gage-host");
        let mut run = tracer.build_with_context(SpanBuilder::from_name("run"), &Context::new());
        run.set_attribute(KeyValue::new("gage.run_id", settings.run_id.clone()));
        Ok(Telemetry {
            tracer,
            spans,
            metrics,
            instruments,
            run: Context::new().with_span(run),
            tasks: Mutex::default(),
            ended: AtomicU64::new(0),
            arrived,
            transport,
            runtime: Mutex::new(Some(runtime)),
        })
    }

    /// Records the start of a task.
    pub fn task_started(&self, task_id: &str) {
        let builder = SpanBuilder::from_name("task").with_attributes([task(task_id)]);
        let span = self.tracer.build_with_context(builder, &self.run);
        let context = Context::new().with_span(span);
        if let Some(earlier) = self.tasks.lock().insert(task_id.to_owned(), context) {
            self.end(&earlier, SystemTime::now());
        }
    }

    /// Records the end of a task.
    pub fn task_finished(&self, task_id: &str) {
        let context = self.tasks.lock().remove(task_id);
        context.iter().for_each(|context| self.end(context, SystemTime::now()));
    }

    /// Changes the number of model calls in flight.
    pub fn in_flight(&self, task_id: &str, change: i64) {
        self.instruments.in_flight(task_id, change);
    }

    /// Records the final result of a sample's model calls.
    pub fn answered(&self, task_id: &str, answered: &AnswerMeasurements, has_failed: bool) {
        self.instruments.answered(task_id, answered, has_failed);
    }

    /// Records the end of a sample in the metrics.
    pub fn finished(&self, task_id: &str, outcome: &str) {
        self.instruments.finished(task_id, outcome);
    }

    /// Records the end of a sample in the traces. The start and end of its stages are derived from their durations,
    /// counting back from the time they were recorded.
    pub fn sample(&self, sample: &SampleEnd<'_>) {
        let end = SystemTime::now();
        let of_task =
            self.tasks.lock().get(sample.task_id).map(|context| context.span().span_context().clone());
        let milliseconds = |ms: f64| Duration::try_from_secs_f64(ms / 1_000.0).unwrap_or_default();
        let before = |time: SystemTime, ms: f64| time.checked_sub(milliseconds(ms)).unwrap_or(time);
        let scored_from = before(end, sample.scoring_ms.unwrap_or_default());
        let asked_from = sample
            .answered
            .map_or(scored_from, |(answered, at)| before(at, answered.latency_ms + answered.queue_ms));
        let is_before = |name: &str| matches!(name, "preprocess" | "support" | "prompt");
        let earlier: f64 = sample.stages.iter().filter(|(name, _)| is_before(name)).map(|(_, ms)| ms).sum();
        let start = before(asked_from, earlier);
        let mut attributes = vec![
            task(sample.task_id),
            KeyValue::new("gage.sample_id", sample.sample_id.to_owned()),
            KeyValue::new("gage.sample_index", i64::try_from(sample.index).unwrap_or(i64::MAX)),
            KeyValue::new("gage.outcome", sample.outcome.to_owned()),
        ];
        if let Some((stage, kind, _)) = sample.error {
            attributes.push(KeyValue::new("gage.stage", stage.to_owned()));
            attributes.push(KeyValue::new("error.type", kind.to_owned()));
        }
        let links = of_task.map(|context: SpanContext| Link::with_context(context)).into_iter().collect();
        let builder = SpanBuilder::from_name("sample")
            .with_start_time(start)
            .with_attributes(attributes)
            .with_links(links);
        let mut span = self.tracer.build_with_context(builder, &Context::new());
        if let Some((_, _, message)) = sample.error {
            span.set_status(Status::error(gage_secrets::redact(message).into_owned()));
        }
        let whole = Context::new().with_span(span);
        if let Some((answered, at)) = sample.answered {
            let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            let mut attributes = vec![
                KeyValue::new("gage.attempts", i64::from(answered.attempts)),
                KeyValue::new("gage.queue_ms", answered.queue_ms),
                KeyValue::new("gen_ai.usage.input_tokens", count(answered.prompt_tokens)),
                KeyValue::new("gen_ai.usage.output_tokens", count(answered.completion_tokens)),
            ];
            attributes.extend(answered.first_token_ms.map(|ms| KeyValue::new("gage.first_token_ms", ms)));
            let stage = SpanBuilder::from_name("inference")
                .with_kind(SpanKind::Client)
                .with_start_time(before(at, answered.latency_ms))
                .with_attributes(attributes);
            self.stage(stage, at, &whole);
        }
        let answered_at = sample.answered.map_or(scored_from, |(_, at)| at);
        let (mut next, mut next_after) = (start, answered_at);
        for (name, ms) in &sample.stages {
            let begin = match *name {
                // Extraction is the first part of scoring.
                "extract" => scored_from,
                name if is_before(name) => next,
                _ => next_after,
            };
            let over = begin.checked_add(milliseconds(*ms)).unwrap_or(begin);
            match is_before(name) {
                true => next = over,
                false => next_after = over,
            }
            let stage = SpanBuilder::from_name(*name).with_kind(SpanKind::Internal).with_start_time(begin);
            self.stage(stage, over, &whole);
        }
        if sample.scoring_ms.is_some() {
            let stage =
                SpanBuilder::from_name("scoring").with_kind(SpanKind::Internal).with_start_time(scored_from);
            self.stage(stage, end, &whole);
        }
        self.end(&whole, end);
    }

    /// Ends the trace, and sends the remaining data until `by` at most. Returns the number of spans that did not
    /// arrive, and warns about it once.
    pub fn finish(&self, by: Instant) -> u64 {
        let Some(runtime) = self.runtime.lock().take() else {
            return 0;
        };
        let tasks = std::mem::take(&mut *self.tasks.lock());
        tasks.values().chain([&self.run]).for_each(|context| self.end(context, SystemTime::now()));
        let is_late = !self.shut_down(by);
        runtime.shutdown_background();
        let lost = self.ended.load(Ordering::Relaxed).saturating_sub(self.arrived.load(Ordering::Relaxed));
        let late = || "the collector had not taken all of it when the run was over".to_owned();
        let reason = if is_late { Some(late()) } else { self.transport.last_error() };
        if lost > 0 || reason.is_some() {
            let reason = reason.unwrap_or_else(|| "they came faster than they could be sent".to_owned());
            tracing::warn!(
                lost_spans = lost,
                reason,
                "not everything reached the collector; results are not affected"
            );
        }
        lost
    }

    /// Sends spans and metrics concurrently. Returns whether both finished in time. An exporter may be in the middle
    /// of an unanswered post, and knows no time limit other than that of the post. Therefore the threads that wait
    /// for it are abandoned.
    fn shut_down(&self, by: Instant) -> bool {
        let left = || by.saturating_duration_since(Instant::now());
        let (spans, metrics, timeout) = (self.spans.clone(), self.metrics.clone(), left());
        let (sender, ended) = channel();
        let works: [Box<dyn FnOnce() -> OTelSdkResult + Send>; 2] = [
            Box::new(move || spans.shutdown_with_timeout(timeout)),
            Box::new(move || metrics.shutdown_with_timeout(timeout)),
        ];
        let count = works.len();
        for work in works {
            let sender = sender.clone();
            // If no thread can be started, no end is reported.
            let _ = spawn_thread("telemetry-end", move || {
                // The transport knows any other failure.
                let _ = sender.send(!matches!(work(), Err(OTelSdkError::Timeout(_))));
            });
        }
        (0..count).all(|_| ended.recv_timeout(left()).unwrap_or(false))
    }

    /// Records a finished stage of a sample.
    fn stage(&self, builder: SpanBuilder, end: SystemTime, sample: &Context) {
        let span = self.tracer.build_with_context(builder, sample);
        self.end(&Context::new().with_span(span), end);
    }

    /// Ends a span, and counts it if it is sent.
    fn end(&self, context: &Context, at: SystemTime) {
        let is_recording = context.span().is_recording();
        context.span().end_with_timestamp(at);
        self.ended.fetch_add(u64::from(is_recording), Ordering::Relaxed);
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        // A run that ended normally has already done this.
        self.finish(Instant::now() + SHUTDOWN_TIMEOUT_AFTER_FAILURE);
    }
}

fn task(task_id: &str) -> KeyValue {
    KeyValue::new("gage.task_id", task_id.to_owned())
}
