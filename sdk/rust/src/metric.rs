//! Metrics: score samples. Common shapes of metrics are in [`crate::base`].

use crate::bindings::metric::exports::gage::plugin::metric::Guest;
pub use crate::bindings::metric::exports::gage::plugin::metric::{MetricSpec, ValueSpec};
pub use crate::bindings::types::{InputSpec, Item, Value, ValueKind};
use crate::component::{Component, Plugin, each, kind, members};
use crate::member::{add_property, require, schema_of};
pub use crate::value::Inputs;
use crate::{PluginError, ScoreCard};

/// A metric of a component.
pub trait Metric {
    /// Returns its name in suites: letters, digits, `_`, `-` and `.`.
    fn name() -> &'static str
    where
        Self: Sized;

    /// Returns its inputs, its values and its parameters.
    fn spec() -> MetricSpec
    where
        Self: Sized;

    /// Creates the scorer from its parameters, once per batch.
    ///
    /// # Errors
    /// `invalid-config` if the parameters are unusable; the host checks this before the run.
    fn prepare(params: serde_json::Value) -> Result<Self, PluginError>
    where
        Self: Sized;

    /// Scores one item.
    ///
    /// # Errors
    /// An error gives this sample the outcome `plugin_error`, never a score.
    fn score(&self, inputs: Inputs<'_>) -> Result<ScoreCard, PluginError>;
}

impl MetricSpec {
    /// Creates the spec of a metric with one value, `score`, from 0 to 1, higher is better, aggregated by
    /// mean, without inputs and parameters. Its name comes from `name()`.
    pub fn new(scorer_version: &str, description: &str) -> MetricSpec {
        MetricSpec {
            name: String::new(),
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
            params_schema: schema_of(serde_json::json!({})),
        }
    }

    /// Renames the primary value, `score` by default.
    #[must_use]
    pub fn value_name(mut self, name: &str) -> MetricSpec {
        self.values[0].name = name.to_owned();
        self
    }

    /// Removes the bounds of the primary value and sets which direction is better.
    #[must_use]
    pub fn unbounded(mut self, higher_is_better: bool) -> MetricSpec {
        self.values[0].minimum = None;
        self.values[0].maximum = None;
        self.values[0].higher_is_better = higher_is_better;
        self
    }

    /// Sets the lower bound of the primary value; call after [`MetricSpec::unbounded`].
    #[must_use]
    pub fn at_least(mut self, minimum: f64) -> MetricSpec {
        self.values[0].minimum = Some(minimum);
        self
    }

    /// Sets the upper bound of the primary value; call after [`MetricSpec::unbounded`].
    #[must_use]
    pub fn at_most(mut self, maximum: f64) -> MetricSpec {
        self.values[0].maximum = Some(maximum);
        self
    }

    /// Adds a sub-score without bounds.
    #[must_use]
    pub fn sub_score(mut self, name: &str, higher_is_better: bool) -> MetricSpec {
        self.values.push(ValueSpec { name: name.to_owned(), higher_is_better, minimum: None, maximum: None });
        self
    }

    /// Sets the JSON Schema of the properties of `params`; other keys are rejected.
    #[must_use]
    pub fn params(mut self, properties: serde_json::Value) -> MetricSpec {
        self.params_schema = schema_of(properties);
        self
    }

    /// Adds one parameter with its JSON Schema.
    #[must_use]
    pub fn param(mut self, name: &str, schema: serde_json::Value) -> MetricSpec {
        add_property(&mut self.params_schema, name, schema);
        self
    }

    /// Sets the required parameters; call after [`MetricSpec::params`].
    #[must_use]
    pub fn required(mut self, names: &[&str]) -> MetricSpec {
        require(&mut self.params_schema, names);
        self
    }

    /// Adds an input; see [`InputSpec::new`].
    #[must_use]
    pub fn input(
        mut self,
        name: &str,
        path_params: &[&str],
        default_paths: &[&str],
        kind: ValueKind,
    ) -> MetricSpec {
        self.inputs.push(InputSpec::new(name, path_params, default_paths, kind));
        self
    }

    /// Adds the model's answer unchanged, with the parameter that overrides its path.
    #[must_use]
    pub fn prediction(self, path_param: &str) -> MetricSpec {
        self.input("prediction", &[path_param], &["model_output.answer"], ValueKind::Any)
    }

    /// Adds the label of the sample unchanged; `label_field` overrides its path.
    #[must_use]
    pub fn reference(self) -> MetricSpec {
        self.input("reference", &["label_field"], &["sample.label"], ValueKind::Any)
    }
}

kind!(Metric, "metric", MetricSpec, name);

impl<P: Plugin<Kind = dyn Metric>> Guest for Component<P> {
    members!(metrics, MetricSpec);

    fn score(metric: String, params: String, items: Vec<Item>) -> Vec<Result<ScoreCard, PluginError>> {
        each::<P, _, _>(&metric, &params, items, |metric, item| metric.score(Inputs::new(&item.inputs)))
    }
}

/// Creates a component of the world `metric-plugin` from [`Metric`](crate::metric::Metric)s.
///
/// An optional `extra`, an object, comes before `metrics`.
#[macro_export]
macro_rules! metrics {
    (name: $name:expr, description: $description:expr, $(extra: $extra:expr,)? metrics: [$($metric:ty),+ $(,)?] $(,)?) => {
        $crate::__component!(metric, $crate::metric::Metric, $crate::metric::Metric, $name, $description, [$($extra)?], [$($metric),+]);
    };
}
