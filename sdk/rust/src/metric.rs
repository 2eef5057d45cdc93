//! The metric world.

pub use crate::bindings::metric_world::exports::gage::plugin::metric::{
    InputSpec, Item, MetricSpec, Value, ValueKind, ValueSpec,
};
use crate::{PluginError, ScoreCard};

/// One metric of a family.
pub trait Metric: Sized {
    /// Its name, its inputs, its values and its parameters.
    fn spec() -> MetricSpec;

    /// Makes the scorer from its parameters, once for each batch.
    ///
    /// # Errors
    /// `invalid-config` when the parameters cannot be used; the host asks before the run.
    fn prepare(params: serde_json::Value) -> Result<Self, PluginError>;

    /// Scores one item.
    ///
    /// # Errors
    /// An error is the outcome `plugin_error` for this sample, never a score.
    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError>;
}

/// The values of one item, in the order of `MetricSpec::inputs`.
#[derive(Clone, Copy)]
pub struct Inputs<'a>(&'a [Value]);

impl<'a> Inputs<'a> {
    /// Wraps the values; for tests.
    pub fn new(values: &'a [Value]) -> Inputs<'a> {
        Inputs(values)
    }

    /// The value at a place; `Absent` where the item has none.
    pub fn value(&self, index: usize) -> &'a Value {
        self.0.get(index).unwrap_or(&Value::Absent)
    }

    /// The text at a place, where it is one.
    pub fn text(&self, index: usize) -> Option<&'a str> {
        match self.value(index) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value at a place as JSON; `Null` where it is absent.
    pub fn json(&self, index: usize) -> serde_json::Value {
        self.value(index).to_json()
    }
}

impl Value {
    /// The value as JSON; `Null` where it is absent.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Absent => serde_json::Value::Null,
            Value::Text(text) => text.as_str().into(),
            Value::Number(number) => number_to_json(*number),
            Value::Boolean(boolean) => (*boolean).into(),
            Value::Texts(texts) => texts.as_slice().into(),
            Value::Json(text) => serde_json::from_str(text).unwrap_or(serde_json::Value::Null),
        }
    }
}

/// An integer where the number is one, so that `3` does not become `3.0`.
fn number_to_json(number: f64) -> serde_json::Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT && (number != 0.0 || number.is_sign_positive()) {
        // Exact: the bound above is that of the integers which an f64 holds.
        (number as i64).into()
    } else {
        number.into()
    }
}

impl MetricSpec {
    /// A metric with one value, `score`, from 0 to 1, higher is better, aggregated by mean.
    pub fn binary(name: &str, scorer_version: &str, description: &str) -> MetricSpec {
        MetricSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            scorer_version: scorer_version.to_owned(),
            inputs: Vec::new(),
            values: vec![ValueSpec {
                name: "score".to_owned(),
                higher_is_better: true,
                minimum: Some(0.0),
                maximum: Some(1.0),
            }],
            default_aggregation: "mean".to_owned(),
            params_schema: r#"{"type":"object","additionalProperties":false}"#.to_owned(),
        }
    }

    /// Names the primary value otherwise than `score`.
    #[must_use]
    pub fn value_name(mut self, name: &str) -> MetricSpec {
        self.values[0].name = name.to_owned();
        self
    }

    /// Takes away the bounds of the primary value and says which direction is better.
    #[must_use]
    pub fn unbounded(mut self, higher_is_better: bool) -> MetricSpec {
        self.values[0].minimum = None;
        self.values[0].maximum = None;
        self.values[0].higher_is_better = higher_is_better;
        self
    }

    /// Sets the JSON Schema of the properties of `params`; other keys are refused.
    #[must_use]
    pub fn params(mut self, properties: serde_json::Value) -> MetricSpec {
        self.params_schema = serde_json::json!({
            "type": "object", "additionalProperties": false, "properties": properties,
        })
        .to_string();
        self
    }

    /// Sets which parameters must be given; after [`MetricSpec::params`].
    #[must_use]
    pub fn required(mut self, names: &[&str]) -> MetricSpec {
        if let Ok(serde_json::Value::Object(mut schema)) = serde_json::from_str(&self.params_schema) {
            schema.insert("required".to_owned(), names.into());
            self.params_schema = serde_json::Value::Object(schema).to_string();
        }
        self
    }

    /// Adds an input.
    #[must_use]
    pub fn input(
        mut self,
        name: &str,
        path_params: &[&str],
        default_paths: &[&str],
        kind: ValueKind,
    ) -> MetricSpec {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        self.inputs.push(InputSpec {
            name: name.to_owned(),
            path_params: owned(path_params),
            default_paths: owned(default_paths),
            kind,
        });
        self
    }

    /// Adds the model's answer as it stands, with the parameter that overrides its path.
    #[must_use]
    pub fn prediction(self, path_param: &str) -> MetricSpec {
        self.input("prediction", &[path_param], &["model_output.answer"], ValueKind::Any)
    }

    /// Adds the label of the sample as it stands; `label_field` overrides its path.
    #[must_use]
    pub fn reference(self) -> MetricSpec {
        self.input("reference", &["label_field"], &["sample.label"], ValueKind::Any)
    }
}

/// Scores a batch with one metric; what the macro calls.
#[doc(hidden)]
pub fn score_batch<M: Metric>(params: &str, items: &[Item]) -> Vec<Result<ScoreCard, PluginError>> {
    match prepare::<M>(params) {
        Ok(metric) => items.iter().map(|item| metric.score(Inputs(&item.inputs))).collect(),
        Err(error) => items.iter().map(|_| Err(error.clone())).collect(),
    }
}

/// Makes a metric from the JSON text of its parameters; what the macro calls.
#[doc(hidden)]
pub fn prepare<M: Metric>(params: &str) -> Result<M, PluginError> {
    let params = serde_json::from_str(params)
        .map_err(|error| PluginError::invalid_config(format!("params are not JSON: {error}")))?;
    M::prepare(params)
}

/// Makes a component of the world `metric-plugin` from a family of [`Metric`]s.
#[macro_export]
macro_rules! metrics {
    (name: $name:expr, description: $description:expr, metrics: [$($metric:ty),+ $(,)?] $(,)?) => {
        struct GageComponent;

        impl $crate::bindings::metric_world::exports::gage::plugin::metric::Guest for GageComponent {
            fn describe() -> $crate::PluginInfo {
                $crate::PluginInfo {
                    name: $name.to_owned(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                    description: $description.to_owned(),
                }
            }

            fn metrics() -> Vec<$crate::metric::MetricSpec> {
                vec![$(<$metric as $crate::metric::Metric>::spec()),+]
            }

            fn check(metric: String, params: String) -> Result<(), $crate::PluginError> {
                $(if <$metric as $crate::metric::Metric>::spec().name == metric {
                    return $crate::metric::prepare::<$metric>(&params).map(|_| ());
                })+
                Err($crate::PluginError::unsupported(format!("no metric '{metric}' in this component")))
            }

            fn score(
                metric: String,
                params: String,
                items: Vec<$crate::metric::Item>,
            ) -> Vec<Result<$crate::ScoreCard, $crate::PluginError>> {
                $(if <$metric as $crate::metric::Metric>::spec().name == metric {
                    return $crate::metric::score_batch::<$metric>(&params, &items);
                })+
                let error = $crate::PluginError::unsupported(format!("no metric '{metric}' in this component"));
                items.iter().map(|_| Err(error.clone())).collect()
            }
        }

        $crate::bindings::metric_world::export!(GageComponent with_types_in $crate::bindings::metric_world);
    };
}
