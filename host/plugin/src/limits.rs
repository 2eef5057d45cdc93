//! Limits of a plugin.

use gage_config::PluginLimits;
use gage_core::{Object, shown_name};
use std::time::Duration;

/// Key of the limits that a component declares, in its `extra` metadata.
const DECLARED_LIMITS: &str = "limits";

/// Maximum work per item that a component can declare, in units of fuel. A suite can allow more.
pub(crate) const MAX_DECLARED_FUEL: u64 = 10_000_000_000;

/// Maximum wall time per call that a component can declare. A suite can allow more.
pub(crate) const MAX_DECLARED_WALL_TIME: Duration = Duration::from_secs(60);

/// Limits of a plugin. All are configurable; the defaults are safe.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Limits {
    /// Total size of all linear memories of an instance, in bytes; default 64 MiB, 256 MiB for guests with an
    /// interpreter.
    pub memory_bytes: usize,
    /// Total number of elements in all tables of an instance; default 20,000, for interpreters 100,000.
    pub table_elements: usize,
    /// Work per item, in units of fuel (about one per WebAssembly instruction); default 500 million, some
    /// tenths of a second. The same input runs out at the same place on every machine.
    pub fuel_per_item: u64,
    /// Wall time per call, excluding waits for granted requests; default 2 s.
    #[serde(serialize_with = "in_seconds")]
    pub wall_time: Duration,
    /// Total time that one call may wait for granted requests; default 1 hour.
    #[serde(serialize_with = "in_seconds")]
    pub wait_time: Duration,
    /// Number of host calls per guest call, excluding WASI; default 10,000.
    pub host_calls: u64,
    /// Maximum size of one result, in bytes; default 1 MiB.
    pub result_bytes: usize,
    /// Maximum size of a Sample from a preprocessor, in bytes; default 16 MiB.
    pub sample_bytes: usize,
    /// Maximum nesting of a returned JSON value; default 32.
    pub json_depth: usize,
    /// Size in bytes at which an error's text is truncated; default 8 KiB.
    pub error_bytes: usize,
    /// Maximum number of sub-scores, and of error tags, per card; default 64 each.
    pub names_per_card: usize,
    /// Maximum length of a sub-score or tag name, in characters; default 64.
    pub name_characters: usize,
    /// Total size of log lines per call, in bytes; default 64 KiB.
    pub log_bytes: usize,
    /// Number of log lines per call; default 200.
    pub log_lines: usize,
    /// Maximum size of a component, in bytes; default 32 MiB, for interpreters 64 MiB.
    pub component_bytes: usize,
}

/// Serializes a duration in the configuration's format.
fn in_seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory_bytes: 64 << 20,
            table_elements: 20_000,
            fuel_per_item: 500_000_000,
            wall_time: Duration::from_secs(2),
            wait_time: Duration::from_secs(3600),
            host_calls: 10_000,
            result_bytes: 1 << 20,
            sample_bytes: 16 << 20,
            json_depth: 32,
            error_bytes: 8 << 10,
            names_per_card: 64,
            name_characters: 64,
            log_bytes: 64 << 10,
            log_lines: 200,
            component_bytes: 32 << 20,
        }
    }
}

impl Limits {
    /// Returns the defaults for guests with an interpreter that needs WASI to start: Python. JavaScript
    /// components of the SDK import no WASI and fit the usual limits.
    pub fn of_interpreter() -> Limits {
        Limits {
            memory_bytes: 256 << 20,
            table_elements: 100_000,
            component_bytes: 64 << 20,
            ..Limits::default()
        }
    }

    /// Returns these limits with the overrides of a suite.
    #[must_use]
    pub fn with(self, set: &PluginLimits) -> Limits {
        Limits {
            memory_bytes: set.memory_bytes.unwrap_or(self.memory_bytes),
            table_elements: set.table_elements.unwrap_or(self.table_elements),
            fuel_per_item: set.fuel_per_item.unwrap_or(self.fuel_per_item),
            wall_time: set.wall_time.unwrap_or(self.wall_time),
            wait_time: set.wait_time.unwrap_or(self.wait_time),
            host_calls: set.host_calls.unwrap_or(self.host_calls),
            result_bytes: set.result_bytes.unwrap_or(self.result_bytes),
            sample_bytes: set.sample_bytes.unwrap_or(self.sample_bytes),
            component_bytes: set.component_bytes.unwrap_or(self.component_bytes),
            ..self
        }
    }

    /// Returns these limits with those that a component declares in its `extra` metadata, up to the maximums. The limits
    /// that a suite sets stay.
    ///
    /// # Errors
    /// If it declares something else.
    pub(crate) fn with_declared(self, extra: &Object, set: &PluginLimits) -> Result<Limits, String> {
        let Some(declared) = extra.get(DECLARED_LIMITS) else { return Ok(self) };
        let fail = |message: &str| format!("its `extra`: `{DECLARED_LIMITS}` {message}");
        let declared = declared.as_object().ok_or_else(|| fail("is not an object"))?;
        let mut limits = self;
        for (key, value) in declared {
            match key.as_str() {
                "fuel_per_item" => {
                    let fuel = value.as_u64().filter(|fuel| *fuel > 0);
                    let fuel =
                        fuel.ok_or_else(|| fail("has a `fuel_per_item` that is not a positive integer"))?;
                    limits.fuel_per_item = fuel.min(MAX_DECLARED_FUEL);
                }
                "wall_time" => {
                    let seconds = value.as_f64().filter(|seconds| *seconds > 0.0);
                    let seconds = seconds
                        .ok_or_else(|| fail("has a `wall_time` that is not a positive number of seconds"))?;
                    let most = MAX_DECLARED_WALL_TIME.as_secs_f64();
                    limits.wall_time = Duration::from_secs_f64(seconds.min(most));
                }
                other => {
                    let other = shown_name(other);
                    let message =
                        format!("has `{other}`; a component declares `fuel_per_item` and `wall_time` only");
                    return Err(fail(&message));
                }
            }
        }
        Ok(limits.with(set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;
    use serde_json::{Value, json};

    fn declared(limits: Value, set: &PluginLimits) -> Result<(u64, f64), String> {
        let extra = Object::from_iter([(DECLARED_LIMITS.to_owned(), limits)]);
        let limits = Limits::default().with(set).with_declared(&extra, set)?;
        Ok((limits.fuel_per_item, limits.wall_time.as_secs_f64()))
    }

    #[test]
    fn components_declare_limits_up_to_a_maximum() {
        let set = PluginLimits { fuel_per_item: Some(20_000_000_000), ..PluginLimits::default() };
        let unset = PluginLimits::default();
        for (limits, set, expected) in [
            (json!({}), &unset, (500_000_000, 2.0)),
            (json!({"wall_time": 7.5}), &unset, (500_000_000, 7.5)),
            (json!({"fuel_per_item": 9_000_000_000_u64, "wall_time": 60}), &unset, (9_000_000_000, 60.0)),
            (json!({"fuel_per_item": u64::MAX, "wall_time": 1e300}), &unset, (10_000_000_000, 60.0)),
            (json!({"fuel_per_item": 1, "wall_time": 3}), &set, (20_000_000_000, 3.0)),
        ] {
            assert_eq!(declared(limits.clone(), set), Ok(expected), "{limits}");
        }
    }

    #[test]
    fn other_declarations_of_limits_are_refused() {
        for (limits, expected) in [
            (json!([]), "is not an object"),
            (json!({"fuel_per_item": 0}), "has a `fuel_per_item` that is not a positive integer"),
            (json!({"fuel_per_item": 1.5}), "has a `fuel_per_item` that is not a positive integer"),
            (json!({"wall_time": -1}), "has a `wall_time` that is not a positive number of seconds"),
            (json!({"wall_time": "60"}), "has a `wall_time` that is not a positive number of seconds"),
            (
                json!({"memory_mib": 4000}),
                "has `memory_mib`; a component declares `fuel_per_item` and `wall_time` only",
            ),
        ] {
            let error = declared(limits, &PluginLimits::default()).expect_err("refused").recorded("plugins");
            assert_eq!(error, format!("its `extra`: `limits` {expected}"));
        }
    }
}
