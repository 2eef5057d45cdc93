//! Readers of `params`, with errors that name the key.

use crate::number::parse_float;
use gage_sdk::serde_json::{Map, Value};
use gage_sdk::{PluginError, json};
use serde::de::DeserializeOwned;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Parameters of a plugin. The host has already checked them against the schema. This code checks again only values
/// that the program would otherwise misread.
pub struct Params(Map<String, Value>);

impl Params {
    /// Takes the parameters; `null` counts as none.
    ///
    /// # Errors
    /// `invalid-config` if they are not an object.
    pub fn new(params: Value) -> Result<Params, PluginError> {
        match params {
            Value::Object(params) => Ok(Params(params)),
            Value::Null => Ok(Params(Map::new())),
            _ => Err(PluginError::invalid_config("params must be an object")),
        }
    }

    /// Rejects a parameter with a name not in this list. The names are requested only if there are parameters.
    ///
    /// # Errors
    /// `invalid-config` for the first such parameter.
    pub fn known<'name, N: IntoIterator<Item = &'name str>>(
        self,
        names: impl FnOnce() -> N,
    ) -> Result<Params, PluginError> {
        if self.0.is_empty() {
            return Ok(self);
        }
        let names: Vec<&str> = names().into_iter().collect();
        match self.0.keys().find(|name| !names.contains(&name.as_str())) {
            None => Ok(self),
            Some(name) => {
                let message = format!("params: unknown parameter '{name}'; known are {}", names.join(", "));
                Err(PluginError::invalid_config(message).at(format!("/{name}")))
            }
        }
    }

    /// Returns whether the parameter is given, perhaps as null.
    pub fn is_given(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns the parameter as is, if it is given and not null.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// Reads a flag: true and false, or 1 and 0. A text is rejected, since some languages treat `"false"` as true.
    ///
    /// # Errors
    /// `invalid-config` for any other value.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, PluginError> {
        let Some(value) = self.get(name) else { return Ok(default) };
        let as_number = || value.as_f64().filter(|number| matches!(number, 0.0 | 1.0));
        match value {
            Value::Bool(flag) => Ok(*flag),
            _ => as_number()
                .map(|number| number == 1.0)
                .ok_or_else(|| refuse(name, "must be true or false", value)),
        }
    }

    /// Reads a number, or a text that spells one as Python's `float()` reads it.
    ///
    /// # Errors
    /// `invalid-config` for any other value.
    pub fn number(&self, name: &str) -> Result<Option<f64>, PluginError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => parse_float(text),
            _ => None,
        };
        number.map(Some).ok_or_else(|| refuse(name, "must be a number", value))
    }

    /// Reads a number that must be finite, such as a bound.
    ///
    /// # Errors
    /// `invalid-config` for any other value, and for infinity and NaN; `1e400` is infinite.
    pub fn finite(&self, name: &str) -> Result<Option<f64>, PluginError> {
        match (self.number(name)?, self.get(name)) {
            (Some(number), Some(value)) if !number.is_finite() => {
                Err(refuse(name, "must be a finite number", value))
            }
            (number, _) => Ok(number),
        }
    }

    /// Reads an integer within bounds; `default` if it is not given.
    ///
    /// # Errors
    /// `invalid-config` for any other value.
    pub fn whole(&self, name: &str, bounds: RangeInclusive<u8>, default: u8) -> Result<u8, PluginError> {
        let Some(number) = self.number(name)? else { return Ok(default) };
        bounds.clone().find(|&whole| f64::from(whole) == number).ok_or_else(|| {
            let (first, last) = bounds.into_inner();
            refuse(name, &format!("must be a whole number from {first} to {last}"), &number)
        })
    }

    /// Reads a number within bounds.
    ///
    /// # Errors
    /// `invalid-config` for any other value, including NaN.
    pub fn within(&self, name: &str, bounds: RangeInclusive<f64>) -> Result<Option<f64>, PluginError> {
        match self.number(name)? {
            Some(number) if !bounds.contains(&number) => {
                let (first, last) = bounds.into_inner();
                Err(refuse(name, &format!("must be a number from {first} to {last}"), &number))
            }
            number => Ok(number),
        }
    }

    /// Reads the parameter `fallback`: the score of a sample that has none of its own, from 0 to 1; 0 by default.
    ///
    /// # Errors
    /// `invalid-config` for any other value.
    pub fn fallback(&self) -> Result<f64, PluginError> {
        let fallback = self.number("fallback")?.unwrap_or(0.0);
        if !(0.0..=1.0).contains(&fallback) {
            let message = format!("params: 'fallback' must be a score from 0 to 1, not {fallback}");
            return Err(PluginError::invalid_config(message).at("/fallback"));
        }
        Ok(fallback)
    }

    /// Reads a text.
    ///
    /// # Errors
    /// `invalid-config` for any other value.
    pub fn text(&self, name: &str) -> Result<Option<&str>, PluginError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| refuse(name, "must be a text", value))
    }

    /// Reads a text; `default` if it is not given.
    ///
    /// # Errors
    /// `invalid-config` for any other value.
    pub fn text_or(&self, name: &str, default: &str) -> Result<String, PluginError> {
        Ok(self.text(name)?.unwrap_or(default).to_owned())
    }

    /// Reads a value of a type defined by the plugin.
    ///
    /// # Errors
    /// `invalid-config` for a value that does not fit the type.
    pub fn parsed<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, PluginError> {
        let parse = |value| {
            T::deserialize(value).map_err(|error| {
                PluginError::invalid_config(format!("params: '{name}': {error}")).at(format!("/{name}"))
            })
        };
        self.get(name).map(parse).transpose()
    }

    /// Reads one of some words; `default` if it is not given.
    ///
    /// # Errors
    /// `invalid-config` for any other value; the message names the words.
    pub fn one_of<T: Copy>(&self, name: &str, allowed: &[(&str, T)], default: T) -> Result<T, PluginError> {
        let Some(given) = self.text(name)? else { return Ok(default) };
        allowed.iter().find(|(word, _)| *word == given).map(|(_, meaning)| *meaning).ok_or_else(|| {
            let words: Vec<&str> = allowed.iter().map(|(word, _)| *word).collect();
            let message = format!("params: '{name}' must be one of {}, not '{given}'", words.join(", "));
            PluginError::invalid_config(message).at(format!("/{name}"))
        })
    }
}

fn refuse(name: &str, expected: &str, value: &dyn Display) -> PluginError {
    PluginError::invalid_config(format!("params: '{name}' {expected}, not {value}")).at(format!("/{name}"))
}

/// Returns the JSON Schema of a flag.
pub fn flag_schema(default: bool, description: &str) -> Value {
    json!({ "enum": [true, false, 0, 1], "default": default, "description": description })
}

/// Returns the JSON Schema of a flag without a default.
pub fn optional_flag_schema(description: &str) -> Value {
    json!({ "enum": [true, false, 0, 1, null], "default": null, "description": description })
}

/// Returns the JSON Schema of a number that may be given as text.
pub fn number_schema(description: &str) -> Value {
    json!({ "type": ["number", "string"], "description": description })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_booleans() {
        let params = Params::new(json!({ "on": true, "zero": 0, "one": 1, "text": "false", "two": 2 }));
        let Ok(params) = params else { panic!("an object is accepted") };
        assert_eq!(params.flag("on", false), Ok(true));
        assert_eq!(params.flag("zero", true), Ok(false));
        assert_eq!(params.flag("one", false), Ok(true));
        assert_eq!(params.flag("absent", true), Ok(true));
        assert!(params.flag("text", true).is_err());
        assert!(params.flag("two", true).is_err());
    }

    #[test]
    fn numbers_may_be_texts() {
        let params = Params::new(json!({ "number": 0.5, "text": " 5e-1", "bad": "abc", "null": null }));
        let Ok(params) = params else { panic!("an object is accepted") };
        assert_eq!(params.number("number"), Ok(Some(0.5)));
        assert_eq!(params.number("text"), Ok(Some(0.5)));
        assert_eq!(params.number("null"), Ok(None));
        assert!(params.number("bad").is_err());
        assert_eq!(params.finite("text"), Ok(Some(0.5)));
        for value in [json!("inf"), json!("1e400"), json!("nan"), json!("abc"), json!(true)] {
            let found = Params::new(json!({ "bound": value })).and_then(|params| params.finite("bound"));
            assert!(found.is_err(), "{value}");
        }
        assert!(Params::new(json!([])).is_err());
    }

    #[test]
    fn words_have_meanings() {
        let Ok(params) = Params::new(json!({ "word": "b" })) else { panic!("an object is accepted") };
        assert_eq!(params.one_of("word", &[("a", 1), ("b", 2)], 1), Ok(2));
        assert_eq!(params.one_of("absent", &[("a", 1)], 7), Ok(7));
        let error = params.one_of("word", &[("a", 1), ("c", 2)], 1).map_err(|error| error.message);
        assert_eq!(error, Err("params: 'word' must be one of a, c, not 'b'".to_owned()));
    }

    #[test]
    fn fallbacks_are_scores() {
        for (value, expected) in [
            (json!(null), Some(0.0)),
            (json!("0.5"), Some(0.5)),
            (json!(1), Some(1.0)),
            (json!(1.5), None),
            (json!(-1), None),
            (json!("nan"), None),
            (json!([]), None),
        ] {
            let found = Params::new(json!({ "fallback": value })).and_then(|params| params.fallback());
            assert_eq!(found.ok(), expected, "{value}");
        }
    }

    #[test]
    fn bounds_are_kept() {
        let params = Params::new(json!({ "whole": 3, "part": 2.5, "nan": "nan", "big": "1e400" }));
        let Ok(params) = params else { panic!("an object is accepted") };
        assert_eq!(params.whole("whole", 1..=3, 2), Ok(3));
        assert_eq!(params.whole("absent", 1..=3, 2), Ok(2));
        assert!(params.whole("whole", 1..=2, 2).is_err());
        assert!(params.whole("part", 1..=4, 2).is_err());
        assert_eq!(params.within("part", 0.0..=3.0), Ok(Some(2.5)));
        assert_eq!(params.within("absent", 0.0..=3.0), Ok(None));
        for name in ["nan", "big", "whole"] {
            assert!(params.within(name, 0.0..=1.0).is_err(), "{name}");
        }
    }
}
