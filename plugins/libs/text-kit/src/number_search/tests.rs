//! Numbers in a text, and texts that are not numbers.

use super::*;

fn last(text: &str) -> Option<(f64, &str)> {
    NumberSearch::default().last(text).ok()?.map(|found| (found.value, found.spelled))
}

#[test]
fn last_numbers() {
    for (text, expected) in [
        ("3 apples and 4.5 pears", Some((4.5, "4.5"))),
        ("it fell to -12.", Some((-12.0, "-12"))),
        ("10-12", Some((12.0, "12"))),
        ("f(x)-12", Some((12.0, "12"))),
        ("5 - 3", Some((3.0, "3"))),
        ("x=-3", Some((-3.0, "-3"))),
        ("答案是-3元", Some((-3.0, "-3"))),
        ("−7 °C", Some((-7.0, "−7"))),
        ("-$5.20", Some((-5.2, "-$5.20"))),
        ("1,234,567.8", Some((1_234_567.8, "1,234,567.8"))),
        ("12,34", Some((34.0, "34"))),
        ("1,2345", Some((2345.0, "2345"))),
        ("1234,567", Some((567.0, "567"))),
        ("1, 2, 3.", Some((3.0, "3"))),
        ("The answer is 1,234.5", Some((1234.5, "1,234.5"))),
        ("$1,234", Some((1234.0, "1,234"))),
        ("2.5e-3x", Some((0.0025, "2.5e-3"))),
        ("1 1/2", Some((2.0, "2"))),
        ("v1.2.3", Some((0.3, ".3"))),
        ("-.5", Some((-0.5, "-.5"))),
        ("0.5.", Some((0.5, "0.5"))),
        ("+5", Some((5.0, "+5"))),
        ("1e3", Some((1000.0, "1e3"))),
        ("2E-3x", Some((0.002, "2E-3"))),
        ("5e", Some((5.0, "5"))),
        ("3/4", Some((4.0, "4"))),
        ("-0", Some((0.0, "-0"))),
        ("１２．", Some((12.0, "１２"))),
        ("٣ و ٤", Some((4.0, "٤"))),
        ("x² + ½", None),
        ("inf NaN 三", None),
        ("", None),
    ] {
        assert_eq!(last(text), expected, "{text}");
    }
}

#[test]
fn what_multiplies_a_number_belongs_to_it() {
    for (text, expected, spelled, unit) in [
        ("The answer is 3 million", 3e6, "3 million", None),
        ("5 million people", 5e6, "5 million", None),
        ("2.5 billion dollars", 2.5e9, "2.5 billion", Some("dollars")),
        ("about $3 million.", 3e6, "3 million", Some("$")),
        ("-$2.5m a year", -2.5e6, "-$2.5m", Some("$")),
        ("一共3万人", 30000.0, "3万", Some("人")),
        ("共3万5千元。", 35000.0, "3万5千", Some("元")),
        ("1.5亿元", 1.5e8, "1.5亿", Some("元")),
        ("重5千克", 5.0, "5", Some("千克")),
        ("1.2 × 10^3", 1200.0, "1.2 × 10^3", None),
        (r"so $1.2 \times 10^{3}$ m", 1200.0, r"1.2 \times 10^{3}", Some("m")),
        ("1.2e3", 1200.0, "1.2e3", None),
        ("10^3", 1000.0, "10^3", None),
        ("10³ m", 1000.0, "10³", Some("m")),
        ("2**10", 1024.0, "2**10", None),
        ("**5**", 5.0, "5", None),
        ("1.1 million", 1.1e6, "1.1 million", None),
        ("2.5e3 million", 2.5e9, "2.5e3 million", None),
        ("it costs 5k", 5000.0, "5k", None),
        ("5 k", 5.0, "5", None),
        ("2 dozen eggs", 24.0, "2 dozen", None),
        ("5 millionaires", 5.0, "5", None),
        ("3百分点", 3.0, "3", Some("百分点")),
        ("1,234 thousand", 1_234_000.0, "1,234 thousand", None),
        ("25 °C", 25.0, "25", Some("°C")),
    ] {
        let found = NumberSearch::default().last(text).ok().flatten();
        let found = found.map(|found| (found.value, found.spelled, found.unit));
        assert_eq!(found, Some((expected, spelled, unit)), "{text}");
    }
    assert!(NumberSearch::default().last("10^400").is_err());
    for (text, expected) in [
        ("1 1/2 million", Some(1.5e6)),
        (r"\frac{3}{4}", Some(0.75)),
        ("三千五百", Some(3500.0)),
        ("一半", Some(0.5)),
        ("1点5", Some(1.5)),
        ("(3)", Some(3.0)),
        (r"\alpha = 3", Some(3.0)),
        ("3 million or 4 million", None),
    ] {
        assert_eq!(only_number(text).ok().flatten().map(|found| found.value), expected, "{text}");
    }
}

#[test]
fn blanks_separate_groups_of_three() {
    for (text, expected, spelled) in [
        ("so 1 000 000.", 1e6, "1 000 000"),
        ("1 234,5", 1234.5, "1 234,5"),
        ("-1 234.5 km", -1234.5, "-1 234.5"),
        ("1\u{202f}234\u{a0}567", 1_234_567.0, "1\u{202f}234\u{a0}567"),
        ("12\u{2009}345", 12345.0, "12\u{2009}345"),
        ("$1 500", 1500.0, "1 500"),
        ("1 200 300", 1_200_300.0, "1 200 300"),
        ("1 000-2 000", 2000.0, "2 000"),
        ("1 200 thousand", 1_200_000.0, "1 200 thousand"),
        ("1 200, 300", 300.0, "300"),
        ("１ ２００", 1200.0, "１ ２００"),
        // No rows of groups.
        ("1 2 345", 345.0, "345"),
        ("2024 100", 100.0, "100"),
        ("2024 100 200", 200.0, "200"),
        ("1 234 56", 56.0, "56"),
        ("1 2345", 2345.0, "2345"),
        ("0 500", 500.0, "500"),
        ("at 10:30 200", 200.0, "200"),
        ("[100 200]", 200.0, "200"),
        ("1,5 200", 200.0, "200"),
        ("1 234,567,890", 234_567_890.0, "234,567,890"),
        ("1  234", 234.0, "234"),
        ("1\n234", 234.0, "234"),
    ] {
        let found = NumberSearch::default().last(text).ok().flatten();
        assert_eq!(found.map(|found| (found.value, found.spelled)), Some((expected, spelled)), "{text}");
    }
    let many = format!("1{}", " 234".repeat(MAX_GROUPS + 1));
    assert_eq!(last(&many), Some((234.0, "234")));
    for (text, expected) in
        [("1 000 000", Some(1e6)), ("so 1 234,5 kg", Some(1234.5)), ("5 300/400", None), ("1 000/300", None)]
    {
        assert_eq!(only_number(text).ok().flatten().map(|found| found.value), expected, "{text}");
    }
}

#[test]
fn what_a_float_cannot_hold_is_an_error() {
    for text in ["1 or 1e400", "-1e400", &"9".repeat(400)] {
        assert!(NumberSearch::default().last(text).is_err(), "{text}");
    }
    assert_eq!(
        NumberSearch::default().last("1e400 or 1").map(|found| found.map(|found| found.value)),
        Ok(Some(1.0))
    );
}

#[test]
fn fractions() {
    for (text, expected) in [
        ("so 3/4.", Some((0.75, "3/4"))),
        ("-3/4", Some((-0.75, "-3/4"))),
        ("x = 1 1/2 cups", Some((1.5, "1 1/2"))),
        ("-1 1/2", Some((-1.5, "-1 1/2"))),
        ("1½ or ½", Some((0.5, "½"))),
        ("1 ½", Some((1.5, "1 ½"))),
        ("２⁄４", Some((0.5, "２⁄４"))),
        ("5 3/2", Some((1.5, "3/2"))),
        ("1 2 1/2", Some((2.5, "2 1/2"))),
        ("7 3/4/2020", Some((2020.0, "2020"))),
        ("1/2/3", Some((3.0, "3"))),
        ("3/0", Some((0.0, "0"))),
        ("3/4.5", Some((4.5, "4.5"))),
        ("1.5/2", Some((2.0, "2"))),
        ("1,000/2", Some((2.0, "2"))),
        ("1.5 1/2", Some((0.5, "1/2"))),
        ("3 / 4", Some((4.0, "4"))),
        ("no ½x", Some((0.5, "½"))),
        (".½", Some((0.5, "½"))),
        ("1/½", Some((0.5, "½"))),
        ("x²", None),
        ("5 300/400", Some((400.0, "400"))),
        ("1 000/300", Some((300.0, "300"))),
    ] {
        let found = (NumberSearch { fractions: true }).last(text);
        let found = found.map(|found| found.map(|found| (found.value, found.spelled)));
        assert_eq!(found, Ok(expected), "{text}");
    }
}

#[test]
fn long_texts_take_linear_time() {
    for text in [
        "1,".repeat(1 << 19),
        "1 2/".repeat(1 << 18),
        "1".repeat(1 << 19) + " 1/2",
        "1万".repeat(1 << 17),
        "1 k^".repeat(1 << 18),
    ] {
        let last = (NumberSearch { fractions: true }).last(&text);
        assert!(last.is_ok_and(|found| found.is_some()));
    }
}

#[test]
fn the_first_and_the_only_one() {
    let value =
        |found: Result<Option<FoundNumber<'_>>, PluginError>| found.ok().flatten().map(|found| found.value);
    assert_eq!(value(NumberSearch::default().first("-1 or 2")), Some(-1.0));
    assert_eq!(value(only_number("so 2 kg")), Some(2.0));
    assert_eq!(value(only_number("2 or 3")), None);
    assert_eq!(value(only_number("so 1 1/2 kg")), Some(1.5));
    assert_eq!(value(only_number("3/4/2020")), None);
}

proptest::proptest! {
    #[test]
    fn any_text_is_read(text in r"\PC*") {
        for fractions in [false, true] {
            if let Ok(Some(found)) = (NumberSearch { fractions }).last(&text) {
                proptest::prop_assert!(found.value.is_finite() && text.contains(found.spelled));
            }
        }
    }

    #[test]
    fn what_is_almost_a_fraction_is_read(text in "[0-3./½¾⁄ -]{0,16}") {
        let found = (NumberSearch { fractions: true }).last(&text);
        let has_any = text.contains(|character| is_digit(character) || is_vulgar(character));
        proptest::prop_assert_eq!(found.map(|found| found.is_some()), Ok(has_any));
    }

    #[test]
    fn numbers_are_found_as_they_are_written(number in -1e12..1e12_f64) {
        let text = format!("so it is {number}, I think");
        proptest::prop_assert_eq!(last(&text).map(|(value, _)| value), Some(number));
    }
}
