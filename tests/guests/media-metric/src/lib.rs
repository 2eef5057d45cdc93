//! A metric that reads the media of an answer, for tests of the import `media`: the score is the total size in bytes, and
//! `detail` has the type and the first bytes of each.

use gage_sdk::metric::{Inputs, Metric, MetricSpec, ValueKind};
use gage_sdk::serde_json::Value;
use gage_sdk::{PluginError, ScoreCard, json, media};

struct MediaSize;

impl Metric for MediaSize {
    fn name() -> &'static str {
        "media_size"
    }

    fn spec() -> MetricSpec {
        MetricSpec::new("1", "Total size of the media of an answer").unbounded(true).input(
            "media",
            &[],
            &["model_output.media"],
            ValueKind::Any,
        )
    }

    fn prepare(_params: Value) -> Result<Self, PluginError> {
        Ok(MediaSize)
    }

    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError> {
        let (mut total, mut found) = (0, Vec::new());
        let parts = inputs.json(0);
        for part in parts.as_array().into_iter().flatten() {
            // Media that the server named by URL are not stored.
            let Some(digest) = part["digest"].as_str() else { continue };
            let kind = media::find(digest)?.media_type;
            let bytes = media::read_all(digest)?;
            total += bytes.len();
            found.push(format!("{kind} {}", String::from_utf8_lossy(&bytes[..bytes.len().min(4)])));
        }
        Ok(ScoreCard::of(total as f64).detail(&json!({"media": found})))
    }
}

gage_sdk::metrics! { name: "media-metric", description: "Measures media", metrics: [MediaSize] }
