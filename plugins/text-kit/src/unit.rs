//! Units of measurement: which of them measure the same, and how they convert.

/// The size of a unit, and how it is written.
type Spellings = (f64, &'static [&'static str]);

/// Units that convert into each other, with their size in the smallest of them, so that all sizes
/// are whole numbers. Spellings in lower case with three letters or more are found in any case.
const KINDS: &[(&str, &[Spellings])] = &[
    (
        "share",
        &[
            (1.0, &["ppm"]),
            (100.0, &["bp", "bps"]),
            (1e3, &["‰", "permille"]),
            (1e4, &["%", "percent", "per cent", "pct", "\\%", "个百分点"]),
            (1e6, &["1", "fraction", "ratio", "share"]),
        ],
    ),
    (
        "length",
        &[
            (1.0, &["nm", "nanometer", "nanometre", "纳米"]),
            (1e3, &["µm", "μm", "um", "micrometer", "micrometre", "微米"]),
            (1e6, &["mm", "millimeter", "millimetre", "毫米"]),
            (1e7, &["cm", "centimeter", "centimetre", "厘米", "公分"]),
            (1e8, &["dm", "decimeter", "decimetre", "分米"]),
            (1e9, &["m", "meter", "metre", "米", "公尺"]),
            (1e12, &["km", "Km", "KM", "kilometer", "kilometre", "千米", "公里"]),
        ],
    ),
    (
        "mass",
        &[
            (1.0, &["µg", "μg", "ug", "microgram", "微克"]),
            (1e3, &["mg", "milligram", "毫克"]),
            (1e6, &["g", "gram", "克"]),
            (1e9, &["kg", "Kg", "KG", "kilogram", "kilo", "千克", "公斤"]),
            (1e12, &["t", "ton", "tonne", "吨"]),
        ],
    ),
    (
        "time",
        &[
            (1.0, &["ns", "nanosecond", "纳秒"]),
            (1e3, &["µs", "μs", "us", "microsecond", "微秒"]),
            (1e6, &["ms", "millisecond", "毫秒"]),
            (1e9, &["s", "sec", "second", "秒"]),
            (6e10, &["min", "minute", "分钟"]),
            (3.6e12, &["h", "hr", "hour", "小时"]),
            (8.64e13, &["d", "day", "天"]),
        ],
    ),
    (
        "volume",
        &[
            (1.0, &["ml", "mL", "ML", "milliliter", "millilitre", "毫升", "cm³", "cm3", "cm^3"]),
            (1e3, &["l", "L", "liter", "litre", "升"]),
            (1e6, &["m³", "m3", "m^3", "立方米"]),
        ],
    ),
    ("energy", &[(1.0, &["J", "joule"]), (1e3, &["kJ", "kilojoule"]), (1e6, &["MJ", "megajoule"])]),
    ("power", &[(1.0, &["W", "watt"]), (1e3, &["kW", "kilowatt"]), (1e6, &["MW", "megawatt"])]),
    ("US dollar", &[(1.0, &["$", "USD", "US$", "dollar", "美元"])]),
    ("euro", &[(1.0, &["€", "EUR", "euro", "欧元"])]),
    ("pound sterling", &[(1.0, &["£", "GBP", "英镑"])]),
    // The sign is that of two currencies; where it matters, say CNY or JPY.
    ("yuan", &[(1.0, &["¥", "CNY", "RMB", "yuan", "元", "人民币", "块"])]),
    ("yen", &[(1.0, &["JPY", "yen", "日元", "円"])]),
    ("rupee", &[(1.0, &["₹", "INR", "rupee", "卢比"])]),
];

/// Signs of currencies that stand before a number, longer ones first.
pub(crate) const SIGNS: &[&str] =
    &["US$", "USD", "EUR", "GBP", "CNY", "RMB", "JPY", "INR", "人民币", "$", "€", "£", "¥", "₹"];

/// A unit as it was written, and what it measures, where that is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Without white space and full stops at the ends.
    spelled: String,
    /// Kind and size.
    known: Option<(&'static str, f64)>,
}

impl Unit {
    /// Reads a unit; `None` where the text is blank. One that is not in the table is the same as
    /// itself in any case, and as its plural.
    pub fn parse(text: &str) -> Option<Unit> {
        let spelled = text.trim().trim_end_matches(['.', '。']).trim_end();
        (!spelled.is_empty()).then(|| Unit { spelled: spelled.to_owned(), known: find(spelled) })
    }

    /// Whether the table has it.
    pub fn is_known(&self) -> bool {
        self.known.is_some()
    }

    /// As it was written.
    pub fn spelled(&self) -> &str {
        &self.spelled
    }

    /// What a number in this unit is in another one; `None` where they do not measure the same.
    pub fn convert(&self, value: f64, to: &Unit) -> Option<f64> {
        match (self.known, to.known) {
            (Some((kind, from)), Some((other, to))) if kind == other => {
                // Sizes are whole, so dividing by the larger one rounds once.
                Some(if from >= to { value * (from / to) } else { value / (to / from) })
            }
            (None, None) if singular(&self.spelled) == singular(&to.spelled) => Some(value),
            _ => None,
        }
    }
}

/// The spellings of the units that convert, each with the rule of [`is_spelled`].
pub(crate) fn spellings() -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|(_, units)| units.iter().flat_map(|(_, names)| names.iter().copied()))
}

/// Whether a text, in `singular` once more as [`singular`] gives it, is a spelling of the table.
pub(crate) fn is_spelled(name: &str, text: &str, singular: &str) -> bool {
    name == text || (name.len() >= 3 && name == singular)
}

/// Whether a text is a unit of the table.
pub(crate) fn is_known(text: &str) -> bool {
    find(text).is_some()
}

fn find(text: &str) -> Option<(&'static str, f64)> {
    // Longer than any spelling in the table.
    const LONGEST: usize = 32;
    if text.len() > LONGEST {
        return None;
    }
    let lower = singular(text);
    KINDS.iter().find_map(|(kind, units)| {
        let size = units.iter().find(|(_, names)| names.iter().any(|name| is_spelled(name, text, &lower)))?.0;
        Some((*kind, size))
    })
}

/// In lower case, without the ending of an English plural.
pub(crate) fn singular(text: &str) -> String {
    let mut lower = text.to_lowercase();
    if lower.len() > 3 && lower.ends_with('s') && !lower.ends_with("ss") {
        lower.pop();
    }
    lower
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (1.0, "mW", "MW", None),
            (1.0, "kg", "m", None),
            (1.0, "$", "€", None),
            (1.0, "apples", "kg", None),
        ] {
            let units = Unit::parse(from).zip(Unit::parse(to));
            let found = units.and_then(|(from, to)| from.convert(value, &to));
            assert_eq!(found, expected, "{from} {to}");
        }
        assert_eq!(Unit::parse(" . "), None);
    }

    #[test]
    fn no_spelling_has_two_meanings() {
        let mut names: Vec<&str> = spellings().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
