//! The units that can be converted.

/// A unit: its names, its size as a fraction, and the basic units that it measures in.
#[derive(Debug)]
pub struct UnitEntry {
    names: &'static [&'static str],
    /// Numerator of the size.
    pub numerator: u64,
    /// Denominator of the size.
    pub denominator: u64,
    /// Basic units with their powers, sorted by name.
    pub powers: &'static [(&'static str, i64)],
}

const METRE: &[(&str, i64)] = &[("metre", 1)];
const SECOND: &[(&str, i64)] = &[("second", 1)];
const GRAM: &[(&str, i64)] = &[("gram", 1)];
const LITRE: &[(&str, i64)] = &[("metre", 3)];
const DOLLAR: &[(&str, i64)] = &[("dollar", 1)];
const SPEED: &[(&str, i64)] = &[("metre", 1), ("second", -1)];

const fn unit(
    names: &'static [&'static str],
    (numerator, denominator): (u64, u64),
    powers: &'static [(&'static str, i64)],
) -> UnitEntry {
    UnitEntry { names, numerator, denominator, powers }
}

const UNITS: &[UnitEntry] = &[
    unit(&["m", "meter", "meters", "metre", "metres"], (1, 1), METRE),
    unit(&["mm", "millimeter", "millimeters", "millimetre", "millimetres"], (1, 1000), METRE),
    unit(&["cm", "centimeter", "centimeters", "centimetre", "centimetres"], (1, 100), METRE),
    unit(&["dm", "decimeter", "decimeters"], (1, 10), METRE),
    unit(&["km", "kilometer", "kilometers", "kilometre", "kilometres"], (1000, 1), METRE),
    unit(&["in", "inch", "inches"], (127, 5000), METRE),
    unit(&["ft", "foot", "feet"], (381, 1250), METRE),
    unit(&["yd", "yard", "yards"], (1143, 1250), METRE),
    unit(&["mi", "mile", "miles"], (201_168, 125), METRE),
    unit(&["s", "sec", "secs", "second", "seconds"], (1, 1), SECOND),
    unit(&["ms", "millisecond", "milliseconds"], (1, 1000), SECOND),
    unit(&["min", "mins", "minute", "minutes"], (60, 1), SECOND),
    unit(&["h", "hr", "hrs", "hour", "hours"], (3600, 1), SECOND),
    unit(&["day", "days"], (86_400, 1), SECOND),
    unit(&["week", "weeks"], (604_800, 1), SECOND),
    unit(&["g", "gram", "grams"], (1, 1), GRAM),
    unit(&["mg", "milligram", "milligrams"], (1, 1000), GRAM),
    unit(&["kg", "kilogram", "kilograms"], (1000, 1), GRAM),
    unit(&["lb", "lbs", "pound", "pounds"], (45_359_237, 100_000), GRAM),
    unit(&["oz", "ounce", "ounces"], (45_359_237, 1_600_000), GRAM),
    unit(&["l", "liter", "liters", "litre", "litres"], (1, 1000), LITRE),
    unit(&["ml", "milliliter", "milliliters", "millilitre", "millilitres"], (1, 1_000_000), LITRE),
    unit(&["mph"], (1397, 3125), SPEED),
    unit(&["kph", "kmh", "kmph"], (5, 18), SPEED),
    unit(&["newton", "newtons"], (1000, 1), &[("gram", 1), ("metre", 1), ("second", -2)]),
    unit(&["joule", "joules"], (1000, 1), &[("gram", 1), ("metre", 2), ("second", -2)]),
    unit(&["watt", "watts"], (1000, 1), &[("gram", 1), ("metre", 2), ("second", -3)]),
    unit(&["dollar", "dollars", "usd"], (1, 1), DOLLAR),
    unit(&["cent", "cents"], (1, 100), DOLLAR),
    unit(&["degree", "degrees", "deg"], (1, 1), &[("degree", 1)]),
    unit(&["radian", "radians", "rad"], (1, 1), &[("radian", 1)]),
    unit(&["unit", "units", "times"], (1, 1), &[]),
    unit(&["percent", "pct"], (1, 100), &[]),
    unit(&["dozen", "dozens"], (12, 1), &[]),
    unit(&["hundred"], (100, 1), &[]),
    unit(&["thousand"], (1000, 1), &[]),
    unit(&["million"], (1_000_000, 1), &[]),
    unit(&["billion"], (1_000_000_000, 1), &[]),
    unit(&["trillion"], (1_000_000_000_000, 1), &[]),
];

/// Capital letters that are units of their own, and short for a unit in the table.
const CAPITALS: &[(&str, &str)] = &[("N", "newton"), ("J", "joule"), ("W", "watt"), ("L", "l"), ("mL", "ml")];

/// Returns the unit with a name. Names of one letter differ by case.
pub fn entry(word: &str) -> Option<&'static UnitEntry> {
    let capital = CAPITALS.iter().find(|(name, _)| *name == word).map(|(_, unit)| *unit);
    let lower = word.to_lowercase();
    let name = match capital {
        Some(unit) => unit,
        None if word.len() == 1 => word,
        None => lower.as_str(),
    };
    UNITS.iter().find(|unit| unit.names.contains(&name))
}

/// Returns whether a word is a short name of a unit, which formulas would spell with letters.
pub fn is_abbreviation(word: &str) -> bool {
    (2..=3).contains(&word.len()) && entry(word).is_some()
}
