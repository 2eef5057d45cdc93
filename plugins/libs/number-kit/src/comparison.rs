//! Two numbers in the same unit, and the distance between them.

use crate::measurement::{Format, Measurement};
use gage_sdk::ScoreCard;
use gage_text_kit::number_written::Quantity;
use gage_text_kit::unit::Unit;

/// A prediction and its target, both finite and in the same unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The predicted number.
    pub number: f64,
    /// The expected number.
    pub target: f64,
    /// Unit of both numbers, if known.
    pub unit: Option<Unit>,
}

/// Reason why there are no two numbers to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The prediction is missing.
    MissingPrediction,
    /// The reference is missing.
    MissingReference,
    /// The reference is not a number.
    InvalidReference,
    /// The prediction is not a number, or is not finite in the unit of the reference.
    InvalidFormat,
    /// The prediction measures a different quantity than the reference.
    WrongUnit,
}

impl Failure {
    /// Returns the error tag.
    pub fn tag(self) -> &'static str {
        match self {
            Failure::MissingPrediction => "missing_prediction",
            Failure::MissingReference => "missing_reference",
            Failure::InvalidReference => "invalid_reference",
            Failure::InvalidFormat => "invalid_format",
            Failure::WrongUnit => "wrong_unit",
        }
    }

    /// Describes the failure in one line.
    pub fn explained(self) -> &'static str {
        match self {
            Failure::MissingPrediction => "there is no prediction",
            Failure::MissingReference => "there is no reference",
            Failure::InvalidReference => "the reference is not a finite number",
            Failure::InvalidFormat => "the prediction is not a finite number",
            Failure::WrongUnit => "the unit of the prediction cannot be converted to that of the reference",
        }
    }
}

impl Pair {
    /// Reads both numbers and converts the prediction to the unit of the reference, or to `unit` if the reference has
    /// none. A prediction without a unit is assumed to be in that unit.
    ///
    /// # Errors
    /// Reports which number is missing, unreadable or cannot be converted. A missing reference comes first: without it
    /// nothing can be compared.
    pub fn read(
        predicted: &Measurement<'_>,
        expected: &Measurement<'_>,
        unit: Option<&Unit>,
        format: Format,
    ) -> Result<Pair, Failure> {
        match (predicted.is_absent(), expected.is_absent()) {
            (_, true) => return Err(Failure::MissingReference),
            (true, false) => return Err(Failure::MissingPrediction),
            (false, false) => {}
        }
        let Some(Quantity { value: target, unit: own }) = expected.quantity(format, unit) else {
            return Err(Failure::InvalidReference);
        };
        // A number word multiplies the reference and is not a unit.
        let (factor, unit) = match own.or_else(|| unit.cloned()) {
            Some(unit) => unit.number().map_or((1.0, Some(unit)), |number| (number, None)),
            None => (1.0, None),
        };
        let target = target * factor;
        let number = predicted.quantity(format, unit.as_ref()).ok_or(Failure::InvalidFormat)?;
        let converted = match (&number.unit, &unit) {
            (Some(from), Some(to)) => from.convert(number.value, to),
            (Some(from), None) => Some(number.value * from.scale()),
            (None, _) => Some(number.value),
        };
        match converted {
            Some(number) if number.is_finite() => Ok(Pair { number, target, unit }),
            Some(_) => Err(Failure::InvalidFormat),
            None => Err(Failure::WrongUnit),
        }
    }

    /// Returns the error of the prediction. The allowed error is the larger of `tolerance_abs` and `tolerance_rel`
    /// times the size of the target.
    pub fn deviation(&self, tolerance_abs: f64, tolerance_rel: f64) -> Deviation {
        let absolute = (self.number - self.target).abs();
        let relative = if absolute == 0.0 { 0.0 } else { absolute / self.target.abs() };
        // Infinity times zero is NaN, which `max` ignores.
        let tolerance = (tolerance_rel * self.target.abs()).max(tolerance_abs);
        Deviation { absolute, relative, tolerance }
    }
}

/// Distance between a number and its target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// The absolute error, in the unit of the reference; infinite if the difference is too large for a float.
    pub absolute: f64,
    /// The error as a share of the size of the reference; infinite if the reference is 0 and the error is not.
    pub relative: f64,
    /// The largest absolute error allowed.
    pub tolerance: f64,
}

impl Deviation {
    /// Returns whether the error is allowed. An error too large for a float never is.
    pub fn is_within(&self) -> bool {
        self.absolute.is_finite() && self.absolute <= self.tolerance
    }

    /// Adds the sub-scores `mae` and `relative_error`, unless they are infinite.
    pub fn add_to(&self, card: ScoreCard) -> ScoreCard {
        let figures = [("mae", self.absolute), ("relative_error", self.relative)];
        let figures = figures.into_iter().filter(|(_, value)| value.is_finite());
        figures.fold(card, |card, (name, value)| card.sub_score(name, value))
    }

    /// Describes the error in one line.
    pub fn explained(&self) -> String {
        format!("off by {}, {} is allowed", self.absolute, self.tolerance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::metric::Value;
    use proptest::prelude::*;

    fn read(prediction: Value, reference: Value, unit: &str) -> Result<(f64, f64), Failure> {
        let (predicted, expected) = (Measurement::new(&prediction), Measurement::new(&reference));
        let pair = Pair::read(&predicted, &expected, Unit::parse(unit).as_ref(), Format::Written)?;
        Ok((pair.number, pair.target))
    }

    #[test]
    fn pairs() {
        let label = || Value::Json(r#"{"value":5,"unit":"km"}"#.to_owned());
        for (prediction, reference, unit, expected) in [
            ("5000 m".into(), label(), "", Ok((5.0, 5.0))),
            ("5000".into(), label(), "m", Ok((5000.0, 5.0))),
            ("5000 m".into(), Value::Number(5.0), "km", Ok((5.0, 5.0))),
            ("5 kg".into(), label(), "", Err(Failure::WrongUnit)),
            ("5,000,000".into(), Value::Number(5.0), "million", Ok((5e6, 5e6))),
            ("5万元".into(), Value::Number(5.0), "万元", Ok((5.0, 5.0))),
            ("5".into(), Value::Number(5.0), "万元", Ok((5.0, 5.0))),
            (Value::Json(r#"{"value":5,"unit":"万元"}"#.into()), Value::Number(5e4), "", Ok((5e4, 5e4))),
            ("300K".into(), Value::Number(300.0), "K", Ok((300.0, 300.0))),
            ("300K".into(), Value::Number(3e5), "", Ok((3e5, 3e5))),
            ("1 GiB".into(), Value::Number(1024.0), "MiB", Ok((1024.0, 1024.0))),
            ("five".into(), label(), "", Err(Failure::InvalidFormat)),
            ("1e308 km".into(), Value::Number(5.0), "nm", Err(Failure::InvalidFormat)),
            ("5".into(), "five".into(), "", Err(Failure::InvalidReference)),
            ("5".into(), Value::Absent, "", Err(Failure::MissingReference)),
            (Value::Absent, Value::Absent, "", Err(Failure::MissingReference)),
            (Value::Absent, "five".into(), "", Err(Failure::MissingPrediction)),
        ] {
            assert_eq!(read(prediction.clone(), reference, unit), expected, "{prediction:?}");
        }
    }

    proptest! {
        #[test]
        fn a_number_is_within_any_tolerance_of_itself(
            number in -1e300..1e300_f64, absolute in 0.0..1e9_f64, relative in 0.0..1.0_f64,
        ) {
            let pair = Pair { number, target: number, unit: None };
            let found = pair.deviation(absolute, relative);
            prop_assert!(found.is_within() && found.absolute == 0.0 && found.relative == 0.0);
        }
    }
}
