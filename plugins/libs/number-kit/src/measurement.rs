//! Numbers with a unit and a tolerance, as answers and as labels.

use crate::tolerance::{own_tolerance, own_tolerance_abs};
use gage_sdk::PluginError;
use gage_sdk::metric::Value;
use gage_sdk::serde_json::{self, Map};
use gage_text_kit::answer::value_of;
use gage_text_kit::number_written::{Quantity, read_quantity_in};
use gage_text_kit::unit::Unit;
use gage_text_kit::value::as_float;
use std::borrow::Cow;

/// Format in which texts are read as numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Format {
    /// The format of Python's `float()`.
    Plain,
    /// The format that people write: with separators, currency signs, units, Chinese numerals.
    Written,
}

/// A value that may be an object around the number: `{"value": 12.5, "unit": "%", "tolerance_abs": 0.5,
/// "tolerance_rel": 0.02}`.
pub struct Measurement<'item> {
    value: Cow<'item, Value>,
    /// Other fields of the object.
    fields: Map<String, serde_json::Value>,
}

impl<'item> Measurement<'item> {
    /// Reads the object, or takes the value as is.
    pub fn new(value: &'item Value) -> Measurement<'item> {
        if let Value::Json(json) = value
            && json.starts_with('{')
            && let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(json)
        {
            return Measurement::of_object(fields);
        }
        Measurement { value: Cow::Borrowed(value), fields: Map::new() }
    }

    /// Creates a measurement from parsed JSON.
    pub fn of_json(json: serde_json::Value) -> Measurement<'static> {
        match json {
            serde_json::Value::Object(fields) => Measurement::of_object(fields),
            single => Measurement { value: Cow::Owned(value_of(single)), fields: Map::new() },
        }
    }

    fn of_object(mut fields: Map<String, serde_json::Value>) -> Measurement<'static> {
        let value = fields.remove("value").map_or(Value::Absent, value_of);
        Measurement { value: Cow::Owned(value), fields }
    }

    /// Returns the unit that the object names.
    pub fn unit(&self) -> Option<Unit> {
        Unit::parse(self.fields.get("unit")?.as_str()?)
    }

    /// Returns the largest absolute error that the object allows.
    ///
    /// # Errors
    /// See [`own_tolerance_abs`].
    pub fn tolerance_abs(&self) -> Result<Option<f64>, PluginError> {
        own_tolerance_abs(self.field("tolerance_abs"), self.field("tolerance"))
    }

    /// Returns the largest error that the object allows, as a share of the size of the number.
    ///
    /// # Errors
    /// See [`own_tolerance`].
    pub fn tolerance_rel(&self) -> Result<Option<f64>, PluginError> {
        own_tolerance(self.field("tolerance_rel"), "tolerance_rel")
    }

    fn field(&self, name: &str) -> &serde_json::Value {
        self.fields.get(name).unwrap_or(&serde_json::Value::Null)
    }

    /// Returns whether there is nothing to read.
    pub fn is_absent(&self) -> bool {
        *self.value == Value::Absent
    }

    /// Returns the number and its unit: the unit of the object, otherwise the one in the text. A unit that is a number
    /// word multiplies: 5 with the unit `million` is 5,000,000. `wanted` is the unit that the number should be in, if
    /// known. `None` if there is no finite number.
    pub fn quantity(&self, format: Format, wanted: Option<&Unit>) -> Option<Quantity> {
        let own = self.unit();
        let quantity = match (self.value.as_ref(), format) {
            (Value::Text(text), Format::Written) => read_quantity_in(text, own.as_ref().or(wanted))?,
            (value, _) => Quantity { value: as_float(value)?, unit: None },
        };
        let Some(unit) = own else {
            return quantity.value.is_finite().then_some(quantity);
        };
        if let Some(number) = unit.number() {
            // `{"value": "5 million", "unit": "million"}` names the unit twice.
            let is_said =
                matches!(self.value.as_ref(), Value::Text(text) if text.trim_end().ends_with(unit.spelled()));
            let value = if is_said { quantity.value } else { quantity.value * number };
            return value.is_finite().then_some(Quantity { value, ..quantity });
        }
        // The text may name a different unit from the object around it.
        let value = match &quantity.unit {
            Some(written) => written.convert(quantity.value, &unit)?,
            None => quantity.value,
        };
        value.is_finite().then_some(Quantity { value, unit: Some(unit) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements() {
        let json = |json: &str| Value::Json(json.to_owned());
        for (value, format, expected) in [
            (Value::Number(5.0), Format::Plain, Some((5.0, None))),
            (Value::Boolean(true), Format::Plain, Some((1.0, None))),
            ("5".into(), Format::Plain, Some((5.0, None))),
            ("5 km".into(), Format::Plain, None),
            ("5 km".into(), Format::Written, Some((5.0, Some("km")))),
            (json(r#"{"value":5,"unit":"km"}"#), Format::Plain, Some((5.0, Some("km")))),
            (json(r#"{"value":"5000 m","unit":"km"}"#), Format::Written, Some((5.0, Some("km")))),
            (json(r#"{"value":"5 kg","unit":"km"}"#), Format::Written, None),
            (json(r#"{"value":5,"unit":"million"}"#), Format::Plain, Some((5e6, None))),
            (json(r#"{"value":"5","unit":"万"}"#), Format::Written, Some((5e4, None))),
            (json(r#"{"value":"5 million","unit":"million"}"#), Format::Written, Some((5e6, None))),
            (json(r#"{"value":5,"unit":"万元"}"#), Format::Written, Some((5.0, Some("万元")))),
            (json(r#"{"value":"300K","unit":"K"}"#), Format::Written, Some((300.0, Some("K")))),
            ("300K".into(), Format::Written, Some((3e5, None))),
            (json(r#"{"unit":"km"}"#), Format::Written, None),
            (json("[5]"), Format::Written, None),
            (Value::Number(f64::NAN), Format::Plain, None),
            ("1e400".into(), Format::Plain, None),
            (json("1e400"), Format::Plain, None),
            (Value::Absent, Format::Written, None),
        ] {
            let found = Measurement::new(&value).quantity(format, None);
            let found = found.as_ref().map(|found| (found.value, found.unit.as_ref().map(Unit::spelled)));
            assert_eq!(found, expected, "{value:?}");
        }
        let label = json(r#"{"value":5,"tolerance_abs":"0.5","tolerance_rel":-1}"#);
        let label = Measurement::new(&label);
        assert_eq!(label.tolerance_abs(), Ok(Some(0.5)));
        assert!(label.tolerance_rel().is_err());
    }
}
