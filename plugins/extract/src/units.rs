//! Units that stand beside a number.

use gage_text_kit::text::is_space;

/// Signs that may stand before a number, after it, or, for some, either way.
const CURRENCY_SIGNS: &[char] = &['$', '€', '£', '¥', '￥', '₹', '₩', '₽', '＄'];

/// Units after a number, the longer before those that they begin with. Units that are also words of a
/// sentence (`in`, `a`, `at`) are left out: `5 in a row` is no length.
const UNITS: &[&str] = &[
    "percentage points",
    "percent",
    "per cent",
    "%",
    "％",
    "‰",
    "°C",
    "°F",
    "℃",
    "℉",
    "°",
    "km/h",
    "m/s",
    "mph",
    "km",
    "cm",
    "mm",
    "μm",
    "µm",
    "nm",
    "m²",
    "m³",
    "m^2",
    "m^3",
    "miles",
    "mile",
    "feet",
    "foot",
    "ft",
    "inches",
    "inch",
    "meters",
    "meter",
    "metres",
    "metre",
    "m",
    "kg",
    "mg",
    "μg",
    "µg",
    "grams",
    "gram",
    "g",
    "lbs",
    "lb",
    "tonnes",
    "tons",
    "ton",
    "mL",
    "ml",
    "liters",
    "liter",
    "litres",
    "litre",
    "L",
    "hours",
    "hour",
    "minutes",
    "minute",
    "min",
    "seconds",
    "second",
    "ms",
    "s",
    "days",
    "day",
    "weeks",
    "week",
    "months",
    "month",
    "years",
    "year",
    "kWh",
    "kW",
    "MW",
    "W",
    "kJ",
    "J",
    "kHz",
    "MHz",
    "GHz",
    "Hz",
    "KB",
    "MB",
    "GB",
    "TB",
    "dollars",
    "dollar",
    "cents",
    "cent",
    "euros",
    "euro",
    "pounds",
    "yuan",
    "USD",
    "EUR",
    "GBP",
    "CNY",
    "RMB",
    "JPY",
    "thousand",
    "million",
    "billion",
    "trillion",
    "百分点",
    "万亿元",
    "万亿",
    "亿元",
    "亿",
    "万元",
    "万",
    "美元",
    "欧元",
    "日元",
    "人民币",
    "元",
    "块",
    "角",
    "公里",
    "千米",
    "厘米",
    "毫米",
    "平方米",
    "立方米",
    "米",
    "千克",
    "公斤",
    "毫克",
    "克",
    "吨",
    "毫升",
    "升",
    "小时",
    "分钟",
    "秒",
    "个月",
    "天",
    "周",
    "年",
    "岁",
    "人",
    "个",
    "次",
    "度",
];

/// The unit of the number between two places of a text: a currency sign before it, otherwise what
/// stands right after it or after one blank. As it is spelled; `None` where it is not a known one.
pub(crate) fn unit(text: &str, start: usize, end: usize) -> Option<&str> {
    let before = text.get(..start)?.trim_end_matches(['-', '+', '−']);
    if let Some(sign) = before.chars().next_back().filter(|sign| CURRENCY_SIGNS.contains(sign)) {
        return before.get(before.len() - sign.len_utf8()..);
    }
    let rest = text.get(end..)?;
    if let Some(sign) = rest.chars().next().filter(|sign| CURRENCY_SIGNS.contains(sign)) {
        return rest.get(..sign.len_utf8());
    }
    let near = rest.strip_prefix(is_space).unwrap_or(rest);
    let is_unit = |unit: &&&str| {
        near.strip_prefix(**unit).is_some_and(|after| {
            let is_word = unit.ends_with(|last: char| last.is_ascii_alphanumeric());
            !is_word || !after.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_')
        })
    };
    UNITS.iter().find(is_unit).and_then(|unit| near.get(..unit.len()))
}

/// Whether a character is a currency sign.
pub(crate) fn is_currency_sign(character: char) -> bool {
    CURRENCY_SIGNS.contains(&character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_beside_a_number() {
        for (text, expected) in [
            ("5%", Some("%")),
            ("5 %.", Some("%")),
            ("$5", Some("$")),
            ("$-5", Some("$")),
            ("5€", Some("€")),
            ("5 km away", Some("km")),
            ("5km/h", Some("km/h")),
            ("5 kmx", None),
            ("5 in a row", None),
            ("5 apples", None),
            ("5  m", None),
            ("5 元。", Some("元")),
            ("5万元", Some("万元")),
            ("5", None),
        ] {
            let start = text.find('5').unwrap_or_default();
            let start = if text.contains("-5") { start - 1 } else { start };
            let end = text.find('5').map_or(0, |at| at + 1);
            assert_eq!(unit(text, start, end), expected, "{text}");
        }
    }

    #[test]
    fn longer_units_come_before_those_they_begin_with() {
        for (index, unit) in UNITS.iter().enumerate() {
            let hidden = UNITS.iter().take(index).find(|earlier| {
                unit.starts_with(**earlier) && !earlier.ends_with(|last: char| last.is_ascii_alphanumeric())
            });
            assert_eq!(hidden, None, "{unit} is never found");
        }
    }
}
