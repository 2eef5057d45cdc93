//! A metric that does what its input says, for tests of the sandbox: `trap`, `loop`,
//! `memory`, `error`, `nan`, `log`, `debug`, `state`, and anything else scores 1.

use gage_sdk::metric::{Inputs, Metric, MetricSpec};
use gage_sdk::{PluginError, ScoreCard};
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of items that this instance has scored.
static SCORED: AtomicU32 = AtomicU32::new(0);

struct Obedient;

impl Metric for Obedient {
    fn name() -> &'static str {
        "obedient"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new("1", "Does what its input says").prediction("prediction_field").unbounded(true)
    }

    fn prepare(_params: gage_sdk::serde_json::Value) -> Result<Obedient, PluginError> {
        Ok(Obedient)
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let scored = SCORED.fetch_add(1, Ordering::Relaxed);
        match inputs.text(0).unwrap_or_default() {
            "trap" => panic!("as told"),
            "loop" => loop {
                std::hint::black_box(scored);
            },
            "memory" => {
                let mut kept: Vec<Vec<u8>> = Vec::new();
                loop {
                    kept.push(std::hint::black_box(vec![1_u8; 1 << 20]));
                }
            }
            "error" => Err(PluginError::invalid_input("as told").at("/prediction")),
            "nan" => Ok(ScoreCard::of(f64::NAN)),
            "log" => {
                for _ in 0..1000 {
                    gage_sdk::log::info("\u{1b}[31mred");
                }
                Ok(ScoreCard::binary(true))
            }
            "debug" => {
                if gage_sdk::log::enabled(gage_sdk::log::Level::Debug) {
                    gage_sdk::log::debug("built with care");
                } else {
                    gage_sdk::log::info("debug lines are dropped");
                }
                Ok(ScoreCard::binary(true))
            }
            "state" => Ok(ScoreCard::of(f64::from(scored))),
            _ => Ok(ScoreCard::binary(true)),
        }
    }
}

gage_sdk::metrics!(
    name: "hostile",
    description: "Does what its input says",
    metrics: [Obedient],
);
