//! Exported metrics. Their names follow OpenTelemetry's conventions for generative models, where those exist.

use super::task;
use crate::meters::AnswerMeasurements;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, MeterProvider as _, UpDownCounter};
use opentelemetry_sdk::metrics::SdkMeterProvider;

/// Bucket boundaries of durations, in seconds.
const SECONDS: [f64; 16] =
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 60.0, 300.0, 1_200.0];

pub(super) struct Instruments {
    samples: Counter<u64>,
    requests: Counter<u64>,
    tokens: Counter<u64>,
    in_flight: UpDownCounter<i64>,
    request: Histogram<f64>,
    first_token: Histogram<f64>,
    queue: Histogram<f64>,
}

impl Instruments {
    pub(super) fn new(provider: &SdkMeterProvider) -> Instruments {
        let meter = provider.meter("gage-host");
        let seconds = |name: &'static str, description: &'static str| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(description);
            histogram.with_boundaries(SECONDS.to_vec()).build()
        };
        Instruments {
            samples: meter.u64_counter("gage.samples").with_description("Samples that are finished").build(),
            requests: meter.u64_counter("gage.requests").with_description("Model calls").build(),
            tokens: meter.u64_counter("gage.tokens").with_description("Tokens").build(),
            in_flight: meter
                .i64_up_down_counter("gage.requests_in_flight")
                .with_description("Samples whose model is being asked")
                .build(),
            request: seconds("gen_ai.client.operation.duration", "Duration of answered model calls"),
            first_token: seconds("gage.time_to_first_token", "From the start of a call to the first piece"),
            queue: seconds("gage.queue.duration", "From the moment that a sample was ready to its turn"),
        }
    }

    pub(super) fn in_flight(&self, task_id: &str, change: i64) {
        self.in_flight.add(change, &[task(task_id)]);
    }

    pub(super) fn answered(&self, task_id: &str, answered: &AnswerMeasurements, has_failed: bool) {
        if answered.attempts == 0 {
            return;
        }
        let of_task = [task(task_id)];
        self.requests.add(u64::from(answered.attempts), &of_task);
        self.queue.record(answered.queue_ms / 1_000.0, &of_task);
        if !has_failed {
            self.request.record(answered.latency_ms / 1_000.0, &of_task);
        }
        if let Some(first_token_ms) = answered.first_token_ms {
            self.first_token.record(first_token_ms / 1_000.0, &of_task);
        }
        for (kind, count) in [("input", answered.prompt_tokens), ("output", answered.completion_tokens)] {
            self.tokens.add(count, &[task(task_id), KeyValue::new("gen_ai.token.type", kind)]);
        }
    }

    pub(super) fn finished(&self, task_id: &str, outcome: &str) {
        self.samples.add(1, &[task(task_id), KeyValue::new("gage.outcome", outcome.to_owned())]);
    }
}
