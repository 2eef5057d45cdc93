//! Texts that are numbers, and texts that are not.

use super::*;
use proptest::prelude::*;

fn value(text: &str) -> Option<f64> {
    read_quantity(text).map(|quantity| quantity.value)
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn numbers() {
    for (text, expected) in [
        ("5", 5.0),
        (" 5.0\n", 5.0),
        ("5.", 5.0),
        ("1,234.5", 1234.5),
        ("1 234,5", 1234.5),
        ("1\u{202f}234\u{a0}567", 1_234_567.0),
        ("12,34,567", 1_234_567.0),
        ("1’234.5", 1234.5),
        ("−3", -3.0),
        ("- 3", -3.0),
        ("+3", 3.0),
        ("(1,234)", -1234.0),
        ("1.2e3", 1200.0),
        ("1.2E-3", 0.0012),
        ("1.2 × 10^3", 1200.0),
        (r"1.2 \times 10^{-3}", 0.0012),
        ("1.2x10⁻³", 0.0012),
        ("3/4", 0.75),
        ("3⁄4", 0.75),
        ("1 1/2", 1.5),
        ("-1 1/2", -1.5),
        ("½", 0.5),
        ("1½", 1.5),
        ("1 ½", 1.5),
        ("１２", 12.0),
        ("٣", 3.0),
        ("三千五百", 3500.0),
        ("一万二", 12000.0),
        ("负两百", -200.0),
        ("三点一五", 3.15),
        ("三点五万", 35000.0),
        ("1.1万", 11000.0),
        ("3.5亿", 350_000_000.0),
        ("四分之三", 0.75),
        ("1.1 million", 1_100_000.0),
        ("1 1/2 million", 1_500_000.0),
        ("5 lakh", 500_000.0),
        ("1e-400", 0.0),
        ("10^3", 1000.0),
        ("10³", 1000.0),
        ("10**3", 1000.0),
        ("2^10", 1024.0),
        ("10^-3", 0.001),
        ("1.2*10**3", 1200.0),
        (r"$1.2 \times 10^3$", 1200.0),
        ("5k", 5000.0),
        ("5K", 5000.0),
        ("5M", 5e6),
        ("5bn", 5e9),
        ("5 mn", 5e6),
        ("5 millions", 5e6),
        ("5 hundred", 500.0),
        ("5 hundred thousand", 500_000.0),
        ("1,000 k", 1e6),
        ("2 dozen", 24.0),
        ("1点5", 1.5),
        ("三点5", 3.5),
        ("1点5万", 15000.0),
        ("3万5千", 35000.0),
        ("3万零5百", 30500.0),
        ("1亿2千万", 120_000_000.0),
        ("3百万", 3e6),
        ("一半", 0.5),
        ("半", 0.5),
        ("3 / 4", 0.75),
        (r"\frac{3}{4}", 0.75),
        (r"-1\frac{1}{2}", -1.5),
        ("1-1/2", 1.5),
        ("**5**", 5.0),
        ("$5$", 5.0),
        ("≈5", 5.0),
        ("~5", 5.0),
        ("约5", 5.0),
    ] {
        assert_eq!(read_quantity(text), Some(Quantity { value: expected, unit: None }), "{text}");
    }
}

#[test]
fn units() {
    for (text, expected, unit) in [
        ("12.5%", 12.5, "%"),
        ("12.5 ％", 12.5, "%"),
        ("50 percent", 50.0, "percent"),
        ("百分之十二", 12.0, "%"),
        ("百分之12.5", 12.5, "%"),
        ("千分之五", 5.0, "‰"),
        ("$1,234.50", 1234.5, "$"),
        ("-$5", -5.0, "$"),
        ("$-5", -5.0, "$"),
        ("($5)", -5.0, "$"),
        ("$3 million", 3_000_000.0, "$"),
        ("￥36", 36.0, "¥"),
        ("36 元", 36.0, "元"),
        ("3 kg.", 3.0, "kg"),
        ("5千克", 5.0, "千克"),
        ("三千克", 3000.0, "克"),
        ("5 m^2", 5.0, "m^2"),
        ("12 apples", 12.0, "apples"),
        ("3.5 million km", 3_500_000.0, "km"),
        ("$5m", 5e6, "$"),
        ("$5B", 5e9, "$"),
        (r"\$5", 5.0, "$"),
        ("5m", 5.0, "m"),
        ("5 million dollars", 5e6, "dollars"),
        ("3万元", 30000.0, "元"),
        ("3万人", 30000.0, "人"),
        ("五成", 50.0, "%"),
        ("三成五", 35.0, "%"),
        ("半小时", 0.5, "小时"),
        ("300 K", 300.0, "K"),
        (r"5\,\text{km}", 5.0, "km"),
        ("5 m/s^2", 5.0, "m/s^2"),
    ] {
        let found = read_quantity(text).map(|found| (found.value, found.unit));
        let unit = Unit::parse(unit);
        assert_eq!(found, Some((expected, unit)), "{text}");
    }
}

#[test]
fn what_is_no_number() {
    for text in [
        "",
        " ",
        "-",
        "abc",
        "nan",
        "inf",
        "-inf",
        "Infinity",
        "1e400",
        "1.2.3",
        "1,2,3",
        "3/0",
        "3/4/2020",
        "1/2/3",
        "5 3/2",
        "1 2",
        "5-3",
        "5 - 3",
        "5+3",
        "--5",
        "(-5)",
        "()",
        "5 < 6",
        "5 to 6",
        "v1",
        "1:30",
        "12\u{301}",
        "$",
        "$5 kg",
        "百分之",
        "1e",
        "3 x 10",
        "5 mil",
        "5 and a half",
        "3 tenths",
        "5个半",
        "5G",
        "5B",
        "10^x",
        "5x3",
        "5²×3",
        "3千5万",
        "1点5分",
        "5 squared",
        "5!",
        r"\frac{3}{0}",
        r"\frac{x}{4}",
        "两半",
        "5-1/2-3",
    ] {
        // A letter after digits is a unit; the rest of these texts is not.
        let found = read_quantity(text);
        let is_unit = matches!(text, "1e" | "12\u{301}");
        assert_eq!(found.is_some(), is_unit, "{text}: {found:?}");
    }
    assert_eq!(read_quantity(&"1".repeat(1 << 20)), None);
    assert_eq!(value(&"9".repeat(250)), Some(1e250));
}

proptest! {
    #[test]
    fn any_text_is_read_or_not(text in "\\PC{0,40}") {
        if let Some(quantity) = read_quantity(&text) {
            prop_assert!(quantity.value.is_finite());
        }
    }

    #[test]
    fn what_is_almost_a_number_does_no_harm(text in "[0-9., '/e+()$%½三千万分之点百\\-]{0,16}") {
        prop_assert!(value(&text).is_none_or(f64::is_finite));
    }

    #[test]
    fn floats_are_read_exactly(number in -1e15..1e15_f64) {
        prop_assert_eq!(value(&number.to_string()), Some(number));
        prop_assert_eq!(value(&format!("{number:e}")), Some(number));
    }

    #[test]
    fn separators_change_nothing(number in 0_u64..1_000_000_000_000) {
        let digits = number.to_string();
        let mut grouped = String::new();
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place) % 3 == 0 {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        prop_assert_eq!(value(&grouped), Some(number as f64));
    }
}

#[test]
fn letters_are_units_where_those_are_wanted() {
    for (text, unit, expected) in [
        ("300K", "°C", 300.0),
        ("300K", "USD", 3e5),
        ("512B", "KB", 512.0),
        ("5m", "km", 5.0),
        ("5 million km", "m", 5e6),
    ] {
        let found = read_quantity_in(text, Unit::parse(unit).as_ref()).map(|found| found.value);
        assert_eq!(found, Some(expected), "{text} {unit}");
    }
}
