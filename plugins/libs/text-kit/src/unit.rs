//! Units of measurement: which ones measure the same quantity, and how they convert.

use crate::number_scale::{Place, read_scale};
use crate::unit_spelling::{is_spelled, singular};
use crate::unit_table::{KINDS, KnownUnit};

/// A unit as written, and the quantity that it measures, if known.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Spelling without white space and full stops at the ends.
    spelled: String,
    /// Multiple of the base: 10,000 for 万元. 1 unless the unit begins with a number word.
    scale: f64,
    base: Base,
}

/// A unit without a leading number word.
#[derive(Clone, Debug, PartialEq)]
enum Base {
    /// Only a number word: `million`.
    Number,
    /// A unit in the table: its kind, size and shift.
    Known(&'static str, f64, f64),
    /// Any other unit, in the singular.
    Other(String),
}

impl Unit {
    /// Reads a unit; `None` if the text is blank. A unit that is not in the table matches itself in any case and in the
    /// plural. It may begin with a number word (`million dollars`, 万元), or be only that (`million`).
    pub fn parse(text: &str) -> Option<Unit> {
        let spelled = text.trim().trim_end_matches(['.', '。']).trim_end();
        if spelled.is_empty() {
            return None;
        }
        let known = |text: &str| find(text).map(|(kind, unit)| Base::Known(kind, unit.size, unit.shift));
        let (scale, base) = match known(spelled) {
            Some(base) => (1.0, base),
            None => {
                let (scale, rest) = read_scale(spelled, Place { has_currency: false, is_running: true });
                let rest = rest.trim();
                // An added amount has no meaning without a number before it.
                let (scale, rest) = if scale.added == 0.0 { (scale.size(), rest) } else { (1.0, spelled) };
                let base = match rest {
                    "" => Base::Number,
                    rest => known(rest).unwrap_or_else(|| Base::Other(singular(rest))),
                };
                (scale, base)
            }
        };
        Some(Unit { spelled: spelled.to_owned(), scale, base })
    }

    /// Returns whether the table has the unit as is.
    pub fn is_known(&self) -> bool {
        self.scale == 1.0 && matches!(self.base, Base::Known(..))
    }

    /// Returns the multiplier of the leading number word; 1 without one.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Returns the unit as written.
    pub fn spelled(&self) -> &str {
        &self.spelled
    }

    /// Returns the number if the unit is only a number word: a million.
    pub fn number(&self) -> Option<f64> {
        (self.base == Base::Number).then_some(self.scale)
    }

    /// Returns whether both units are in the table and measure the same quantity.
    pub(crate) fn measures_as(&self, other: &Unit) -> bool {
        let of_kind = |base: &Base| if let Base::Known(kind, ..) = base { Some(*kind) } else { None };
        self.scale == 1.0 && of_kind(&self.base).is_some() && of_kind(&self.base) == of_kind(&other.base)
    }

    /// Converts a number to another unit; `None` if the units do not measure the same quantity.
    pub fn convert(&self, value: f64, to: &Unit) -> Option<f64> {
        match (&self.base, &to.base) {
            (Base::Known(kind, from, shift), Base::Known(other, size, back)) if kind == other => {
                if self.scale == to.scale && from == size && shift == back {
                    return Some(value);
                }
                let (from, size) = (from * self.scale, size * to.scale);
                Some(rescaled(value + shift / self.scale, from, size) - back / to.scale)
            }
            (Base::Other(from), Base::Other(other)) if from == other => {
                Some(rescaled(value, self.scale, to.scale))
            }
            (Base::Number, Base::Number) => Some(rescaled(value, self.scale, to.scale)),
            _ => None,
        }
    }
}

/// Converts a number between unit sizes. If one size is a multiple of the other, it is rounded once.
fn rescaled(value: f64, from: f64, to: f64) -> f64 {
    if from >= to && (from / to).fract() == 0.0 {
        value * (from / to)
    } else if (to / from).fract() == 0.0 {
        value / (to / from)
    } else {
        value * from / to
    }
}

fn find(text: &str) -> Option<(&'static str, &'static KnownUnit)> {
    // Longer than any spelling in the table.
    const MAX_UNIT_CHARS: usize = 32;
    if text.len() > MAX_UNIT_CHARS {
        return None;
    }
    let lower = singular(text);
    KINDS.iter().find_map(|kind| {
        let is_it = |unit: &&KnownUnit| unit.names.iter().any(|name| is_spelled(name, text, &lower));
        kind.units.iter().find(is_it).map(|unit| (kind.name, unit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit_spelling::spellings;

    #[test]
    fn conversions() {
        for (value, from, to, expected) in [
            (3.0, "km", "m", Some(3000.0)),
            (5.0, "g", "kg", Some(0.005)),
            (3.0, "Kilometres", "米", Some(3000.0)),
            (12.5, "%", "fraction", Some(0.125)),
            (5.0, "‰", "%", Some(0.5)),
            (90.0, "min", "h", Some(1.5)),
            (1.0, "apples", "Apple", Some(1.0)),
            (1.0, "s.", "s", Some(1.0)),
            (1.0, "MW", "mW", Some(1e9)),
            (3.0, "miles", "km", Some(4.828032)),
            (6.0, "ft", "in", Some(72.0)),
            (3.0, "ft", "yd", Some(1.0)),
            (1.0, "lb", "oz", Some(16.0)),
            (1.0, "lb", "kg", Some(0.453_592_37)),
            (3.0, "斤", "kg", Some(1.5)),
            (212.0, "°F", "°C", Some(100.0)),
            (-40.0, "°C", "°F", Some(-40.0)),
            (25.0, "°C", "K", Some(298.15)),
            (32.0, "F", "kelvin", Some(273.15)),
            (101.325, "kPa", "atm", Some(1.0)),
            (1.0, "bar", "Pa", Some(1e5)),
            (5.0, "m/s", "km/h", Some(18.0)),
            (18.0, "km/h", "m/s", Some(5.0)),
            (60.0, "mph", "km/h", Some(96.56064)),
            (3.0, "亩", "m²", Some(2000.0)),
            (1.0, "ha", "亩", Some(15.0)),
            (1.0, "sq ft", "square inches", Some(144.0)),
            (1.0, "GB", "MB", Some(1000.0)),
            (1.0, "GiB", "MiB", Some(1024.0)),
            (1.0, "GiB", "B", Some(1_073_741_824.0)),
            (1.0, "kWh", "J", Some(3.6e6)),
            (2.0, "kcal", "kJ", Some(8.368)),
            (2.0, "weeks", "days", Some(14.0)),
            (2.0, "hrs", "mins", Some(120.0)),
            (250.0, "mA", "A", Some(0.25)),
            (250.0, "cents", "dollars", Some(2.5)),
            (1.0, "gal", "L", Some(3.785_411_784)),
            (5.0, "kHz", "Hz", Some(5000.0)),
            (3.0, "万元", "元", Some(30_000.0)),
            (5.0, "million dollars", "$", Some(5e6)),
            (5.0, "USD", "thousand dollars", Some(0.005)),
            (2.0, "million apples", "apples", Some(2e6)),
            (5.0, "million", "thousand", Some(5000.0)),
            (5.0, "year", "day", None),
            (1.0, "million", "m", None),
            (1.0, "kg", "m", None),
            (1.0, "$", "€", None),
            (1.0, "apples", "kg", None),
        ] {
            let units = Unit::parse(from).zip(Unit::parse(to));
            let found = units.and_then(|(from, to)| from.convert(value, &to));
            assert_eq!(found, expected, "{from} {to}");
        }
        assert_eq!(Unit::parse(" . "), None);
        for (text, number) in
            [("million", Some(1e6)), ("万", Some(1e4)), ("dozen", Some(12.0)), ("千克", None), ("m", None)]
        {
            assert_eq!(Unit::parse(text).and_then(|unit| unit.number()), number, "{text}");
        }
    }

    #[test]
    fn no_spelling_has_two_meanings() {
        let mut names: Vec<&str> = spellings().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn sizes_are_whole_and_spellings_short() {
        for unit in KINDS.iter().flat_map(|kind| kind.units) {
            assert_eq!(unit.size.fract(), 0.0, "{:?}", unit.names);
            assert!(unit.names.iter().all(|name| name.len() <= 32), "{:?}", unit.names);
        }
    }

    #[test]
    fn the_readme_lists_all_units() {
        let readme = include_str!("../../../README.md");
        for kind in KINDS {
            let spelled = |unit: &KnownUnit| {
                unit.names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
            };
            let units: Vec<String> = kind.units.iter().map(spelled).collect();
            let row = format!("| {} | {} |", kind.name, units.join(", "));
            assert!(readme.contains(&row), "plugins/README.md has no row\n{row}");
        }
    }
}
