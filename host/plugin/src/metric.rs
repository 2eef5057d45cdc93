//! Metric plugins: what they declare, and how a batch of samples is scored.

use crate::batch::{ItemError, call_and_split};
use crate::bindings::metric_exports::{self as guest, Guest};
use crate::bindings::metric_world::{MetricPlugin, MetricPluginPre};
use crate::checked;
use crate::component::{CallError, Linked, LoadError, PluginIdentity};
use crate::host::PluginHost;
use crate::inputs::convert;
use crate::inspect::World;
use crate::limits::Limits;
use crate::sandbox::GuestState;
use crate::schema::ParamsSchema;
use gage_core::{FieldPath, Object, Outcome, Problem, Roots, ScoreCard};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wasmtime::Store;

/// The parameter that says what happens when a field is missing.
const ON_MISSING: &str = "on_missing_field";

/// A value that a metric reports.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ValueDescription {
    /// Its name.
    pub name: String,
    /// Which direction is better.
    pub higher_is_better: bool,
    /// Smallest value, where there is one.
    pub minimum: Option<f64>,
    /// Largest value, where there is one.
    pub maximum: Option<f64>,
}

/// A value that a metric reads.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct InputDescription {
    /// Its name.
    pub name: String,
    /// Parameters that override its path; the first that is set wins.
    pub path_params: Vec<String>,
    /// Where it is looked for otherwise; the first that exists wins.
    pub default_paths: Vec<String>,
}

/// What a metric says of itself.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct MetricDescription {
    /// Its name in the registry.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// Changes whenever a score could.
    pub scorer_version: String,
    /// What it reads.
    pub inputs: Vec<InputDescription>,
    /// What it reports; the first is the primary one.
    pub values: Vec<ValueDescription>,
    /// How its scores become one figure.
    pub default_aggregation: String,
    /// JSON Schema of its parameters.
    pub params_schema: Value,
}

/// A component with one or more metrics.
pub struct MetricFamily {
    linked: Linked,
    plugin: MetricPluginPre<GuestState>,
    identity: PluginIdentity,
    specs: Vec<guest::MetricSpec>,
}

impl MetricFamily {
    /// Loads a component and asks it what it holds.
    ///
    /// # Errors
    /// When it is not a metric plugin, does not compile, or declares something invalid.
    pub fn load(
        host: &PluginHost,
        name: &str,
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<MetricFamily, LoadError> {
        let linked = Linked::load(host, name, bytes, World::Metric, limits)?;
        let fail = |message: String| LoadError { name: name.to_owned(), message };
        let plugin =
            MetricPluginPre::new(linked.instance.clone()).map_err(|error| fail(format!("{error:#}")))?;
        let described = linked.call(|store| {
            let instance = plugin.instantiate(&mut *store)?;
            let info = instance.gage_plugin_metric().call_describe(&mut *store)?;
            Ok((info, instance.gage_plugin_metric().call_metrics(&mut *store)?))
        });
        let (info, specs) = described.map_err(|error| fail(describe_failure("describing itself", &error)))?;
        for spec in &specs {
            gage_core::check_name(&spec.name).map_err(|error| fail(format!("metric name: {error}")))?;
            if spec.values.is_empty() {
                return Err(fail(format!("the metric '{}' declares no value", spec.name)));
            }
            ParamsSchema::compile(&spec.params_schema)
                .map_err(|error| fail(format!("'{}': {error}", spec.name)))?;
        }
        let identity = linked.identity(info);
        Ok(MetricFamily { linked, plugin, identity, specs })
    }

    /// What a record of a run says about the component.
    pub fn identity(&self) -> &PluginIdentity {
        &self.identity
    }

    /// What its metrics say of themselves.
    pub fn descriptions(&self) -> Vec<MetricDescription> {
        self.specs.iter().map(describe).collect()
    }

    /// Makes a scorer of one of its metrics; without a name of the only one.
    ///
    /// # Errors
    /// Everything that is wrong with the name and the parameters; pointers lead into `params`.
    pub fn metric(
        self: &Arc<MetricFamily>,
        name: Option<&str>,
        params: Value,
    ) -> Result<Metric, Vec<Problem>> {
        let problem = |message: String| vec![Problem { pointer: String::new(), message }];
        let known: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        let spec = match (name, self.specs.as_slice()) {
            (None, [only]) => only,
            (None, _) => {
                return Err(problem(format!(
                    "the component holds several metrics; name one with #: {}",
                    known.join(", ")
                )));
            }
            (Some(name), specs) => specs.iter().find(|spec| spec.name == name).ok_or_else(|| {
                problem(format!("the component holds no metric '{name}'; it holds {}", known.join(", ")))
            })?,
        };
        let (inputs, missing, own_params) = split_params(spec, params)?;
        let own_text = Value::Object(own_params).to_string();
        let checked =
            self.call(|plugin, store| plugin.gage_plugin_metric().call_check(store, &spec.name, &own_text));
        match checked {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let error = checked::error(error, &self.linked.limits);
                let pointer = error.pointer.unwrap_or_default();
                return Err(vec![Problem { pointer, message: error.message }]);
            }
            Err(error) => return Err(problem(describe_failure("checking its parameters", &error))),
        }
        Ok(Metric {
            family: Arc::clone(self),
            description: describe(spec),
            inputs,
            missing,
            has_warned: AtomicBool::new(false),
            params: own_text,
        })
    }

    fn call<R>(
        &self,
        call: impl FnOnce(&MetricPlugin, &mut Store<GuestState>) -> wasmtime::Result<R>,
    ) -> Result<R, CallError> {
        self.linked.call(|store| {
            let instance = self.plugin.instantiate(&mut *store)?;
            call(&instance, store)
        })
    }
}

/// Says in words that a plugin failed while doing something.
pub(crate) fn describe_failure(doing: &str, error: &CallError) -> String {
    match error {
        CallError::Budget(message) | CallError::Failed(message) => format!("while {doing} it {message}"),
    }
}

fn describe(spec: &guest::MetricSpec) -> MetricDescription {
    MetricDescription {
        name: spec.name.clone(),
        description: spec.description.clone(),
        scorer_version: spec.scorer_version.clone(),
        inputs: spec
            .inputs
            .iter()
            .map(|input| InputDescription {
                name: input.name.clone(),
                path_params: input.path_params.clone(),
                default_paths: input.default_paths.clone(),
            })
            .collect(),
        values: spec
            .values
            .iter()
            .map(|value| ValueDescription {
                name: value.name.clone(),
                higher_is_better: value.higher_is_better,
                minimum: value.minimum,
                maximum: value.maximum,
            })
            .collect(),
        default_aggregation: spec.default_aggregation.clone(),
        params_schema: serde_json::from_str(&spec.params_schema).unwrap_or(Value::Null),
    }
}

/// One input of a scorer: the paths that are tried in turn.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// The paths; the first that leads somewhere counts.
    pub paths: Vec<FieldPath>,
    kind: guest::ValueKind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum OnMissing {
    Ignore,
    Warn,
    Error,
}

/// Takes the parameters that are the host's out of those of the metric, and checks both.
fn split_params(
    spec: &guest::MetricSpec,
    params: Value,
) -> Result<(Vec<Input>, OnMissing, Object), Vec<Problem>> {
    let mut own = match params {
        Value::Object(object) => object,
        Value::Null => Object::new(),
        _ => {
            let message = "the parameters must be a mapping".to_owned();
            return Err(vec![Problem { pointer: String::new(), message }]);
        }
    };
    let mut problems = Vec::new();
    let mut host_keys: Vec<String> = vec![ON_MISSING.to_owned()];
    let mut inputs = Vec::new();
    for input in &spec.inputs {
        let mut paths: Vec<FieldPath> = input.default_paths.iter().map(|path| FieldPath::new(path)).collect();
        let mut is_set = false;
        for key in &input.path_params {
            host_keys.push(key.clone());
            match own.shift_remove(key) {
                None | Some(Value::Null) => {}
                Some(Value::String(path)) if !is_set => {
                    if let Some(root) = meant_root(&path) {
                        problems.push(Problem {
                            pointer: format!("/{key}"),
                            message: format!(
                                "`{path}` begins with no known document; did you mean `{root}`?"
                            ),
                        });
                    }
                    paths = vec![FieldPath::new(&path)];
                    is_set = true;
                }
                Some(Value::String(_)) => {}
                Some(other) => problems.push(Problem {
                    pointer: format!("/{key}"),
                    message: format!("`{key}` must be a field path such as `sample.label`, found {other}"),
                }),
            }
        }
        inputs.push(Input { name: input.name.clone(), paths, kind: input.kind });
    }
    let missing = match own.shift_remove(ON_MISSING) {
        None | Some(Value::Null) => OnMissing::Ignore,
        Some(Value::String(text)) if text == "ignore" => OnMissing::Ignore,
        Some(Value::String(text)) if text == "warn" => OnMissing::Warn,
        Some(Value::String(text)) if text == "error" => OnMissing::Error,
        Some(other) => {
            let message = format!("`{ON_MISSING}` must be ignore, warn or error, found {other}");
            problems.push(Problem { pointer: format!("/{ON_MISSING}"), message });
            OnMissing::Ignore
        }
    };
    let own_value = Value::Object(own);
    match ParamsSchema::compile(&spec.params_schema) {
        Ok(schema) => problems.extend(schema.problems(&own_value, &host_keys)),
        Err(message) => problems.push(Problem { pointer: String::new(), message }),
    }
    match own_value {
        Value::Object(own) if problems.is_empty() => Ok((inputs, missing, own)),
        _ => Err(problems),
    }
}

/// The document that a path was probably meant to begin in, where it begins in none: a first
/// segment that is nearly the name of one is a slip and not a field of the Sample.
fn meant_root(path: &str) -> Option<&'static str> {
    const ROOTS: [&str; 3] = ["sample", "model_output", "judge_output"];
    let (first, _) = path.split_once('.')?;
    if ROOTS.contains(&first) { None } else { gage_core::nearest(first, ROOTS) }
}

/// A metric with its parameters, ready to score.
pub struct Metric {
    family: Arc<MetricFamily>,
    description: MetricDescription,
    inputs: Vec<Input>,
    missing: OnMissing,
    has_warned: AtomicBool,
    params: String,
}

/// One item of a batch, resolved from a sample.
pub struct MetricItem(Result<guest::Item, ItemError>);

impl Metric {
    /// What the metric says of itself.
    pub fn description(&self) -> &MetricDescription {
        &self.description
    }

    /// What a record of a run says about its component.
    pub fn identity(&self) -> &PluginIdentity {
        self.family.identity()
    }

    /// Its inputs, with the paths that count here.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Resolves the inputs of one sample.
    pub fn resolve(&self, sample_id: &str, roots: Roots<'_>) -> MetricItem {
        let values: Result<Vec<guest::Value>, ItemError> =
            self.inputs.iter().map(|input| self.resolve_input(input, sample_id, roots)).collect();
        MetricItem(values.map(|inputs| guest::Item { sample_id: sample_id.to_owned(), inputs }))
    }

    fn resolve_input(
        &self,
        input: &Input,
        sample_id: &str,
        roots: Roots<'_>,
    ) -> Result<guest::Value, ItemError> {
        let value = input.paths.iter().find_map(|path| path.resolve(roots));
        if value.is_none() {
            let paths: Vec<&str> = input.paths.iter().map(FieldPath::as_str).collect();
            let paths = paths.join(", ");
            match self.missing {
                OnMissing::Ignore => {}
                OnMissing::Warn => {
                    if !self.has_warned.swap(true, Ordering::Relaxed) {
                        let metric = &self.description.name;
                        tracing::warn!(%metric, sample = %sample_id, "nothing at {paths}; this is said once");
                    }
                }
                OnMissing::Error => {
                    return Err(ItemError {
                        outcome: Outcome::PluginError,
                        kind: "missing_field",
                        message: format!("the input '{}' is missing: nothing at {paths}", input.name),
                        pointer: None,
                    });
                }
            }
        }
        convert(value, input.kind, &input.name)
    }

    /// Scores a batch: one result for each item, in order.
    pub fn score(&self, items: Vec<MetricItem>) -> Vec<Result<ScoreCard, ItemError>> {
        let mut results: Vec<Option<Result<ScoreCard, ItemError>>> = Vec::with_capacity(items.len());
        let mut sound = Vec::with_capacity(items.len());
        for MetricItem(item) in items {
            match item {
                Ok(item) => {
                    sound.push(item);
                    results.push(None);
                }
                Err(error) => results.push(Some(Err(error))),
            }
        }
        let limits = &self.family.linked.limits;
        let scored = call_and_split(&sound, &mut |batch: &[guest::Item]| {
            let returned = self.family.call(|plugin, store| {
                let metric: &Guest = plugin.gage_plugin_metric();
                metric.call_score(store, &self.description.name, &self.params, batch)
            })?;
            let check = |result: Result<_, _>| match result {
                Ok(card) => checked::card(card, limits),
                Err(error) => Err(checked::error(error, limits)),
            };
            Ok(returned.into_iter().map(check).collect())
        });
        let mut scored = scored.into_iter();
        let missing = || {
            let error = CallError::Failed("returned too few results".to_owned());
            Err(ItemError::from(error))
        };
        results
            .into_iter()
            .map(|result| result.unwrap_or_else(|| scored.next().unwrap_or_else(missing)))
            .collect()
    }
}
