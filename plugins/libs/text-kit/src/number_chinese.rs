//! Integers in Chinese numerals: 三千五百, 一万二, 两亿, 二〇二四, 壹佰.

/// Reads the numeral that a text begins with. Returns its ASCII digits and the text after it. A digit after a unit
/// counts in the next lower unit (一万二 is 12,000, but 一万零二 is 10,002). Digits without any unit are read one by one
/// (二〇二四).
pub(crate) fn read(text: &str) -> Option<(String, &str)> {
    let end = text.find(|character| meaning(character).is_none()).unwrap_or(text.len());
    let (numeral, rest) = (text.get(..end)?, text.get(end..)?);
    let parts: Vec<Part> = numeral.chars().filter_map(meaning).collect();
    let digits: Option<String> = parts.iter().map(|part| part.digit()).collect();
    match digits {
        Some(digits) if digits.is_empty() => None,
        Some(digits) => Some((digits, rest)),
        None => value(&parts).map(|value| (value.to_string(), rest)),
    }
}

/// Reads digits one by one, as after a decimal point; empty if there are none.
pub(crate) fn read_digits(text: &str) -> (String, &str) {
    let digit = |character| meaning(character).and_then(Part::digit);
    let digits: String = text.chars().map_while(digit).collect();
    let end = text.char_indices().nth(digits.len()).map_or(text.len(), |(at, _)| at);
    (digits, text.get(end..).unwrap_or_default())
}

#[derive(Clone, Copy)]
enum Part {
    Digit(u8),
    /// Ten, hundred, thousand.
    Unit(u128),
    /// Ten thousand, or a hundred million: multiplies the number before it.
    Group(u128),
}

impl Part {
    fn digit(self) -> Option<char> {
        match self {
            Part::Digit(digit) => char::from_digit(digit.into(), 10),
            Part::Unit(_) | Part::Group(_) => None,
        }
    }
}

fn meaning(character: char) -> Option<Part> {
    Some(match character {
        '零' | '〇' | '○' => Part::Digit(0),
        '一' | '壹' => Part::Digit(1),
        '二' | '两' | '兩' | '贰' | '貳' => Part::Digit(2),
        '三' | '叁' | '參' => Part::Digit(3),
        '四' | '肆' => Part::Digit(4),
        '五' | '伍' => Part::Digit(5),
        '六' | '陆' | '陸' => Part::Digit(6),
        '七' | '柒' => Part::Digit(7),
        '八' | '捌' => Part::Digit(8),
        '九' | '玖' => Part::Digit(9),
        '十' | '拾' => Part::Unit(10),
        '百' | '佰' => Part::Unit(100),
        '千' | '仟' => Part::Unit(1000),
        '万' | '萬' => Part::Group(10_000),
        '亿' | '億' => Part::Group(100_000_000),
        _ => return None,
    })
}

/// Returns the value of a numeral with units; `None` if two digits are adjacent, if a group has nothing before it, or
/// above 10³⁸.
fn value(parts: &[Part]) -> Option<u128> {
    let (mut total, mut section) = (0_u128, 0_u128);
    let mut pending: Option<u128> = None;
    // Unit of a digit at the end.
    let mut next_lower = 1;
    for part in parts {
        match *part {
            Part::Digit(0) => {
                if pending.is_some() {
                    return None;
                }
                next_lower = 1;
            }
            Part::Digit(digit) => {
                if pending.replace(digit.into()).is_some() {
                    return None;
                }
            }
            Part::Unit(unit) => {
                section = section.checked_add(pending.take().unwrap_or(1).checked_mul(unit)?)?;
                next_lower = unit / 10;
            }
            Part::Group(group) => {
                section = section.checked_add(pending.take().unwrap_or(0))?;
                if total == 0 && section == 0 {
                    return None;
                }
                // 三万亿: a larger group multiplies everything before it; 一亿二千万: a smaller one only its own part.
                let (kept, counted) = if group == 10_000 { (total, section) } else { (0, total + section) };
                total = kept.checked_add(counted.checked_mul(group)?)?;
                section = 0;
                next_lower = group / 10;
            }
        }
    }
    let last = pending.unwrap_or(0).checked_mul(next_lower)?;
    total.checked_add(section)?.checked_add(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numerals() {
        for (text, expected) in [
            ("三千五百", Some("3500")),
            ("一万二", Some("12000")),
            ("一万零二", Some("10002")),
            ("三千五", Some("3500")),
            ("一百二", Some("120")),
            ("一百零二", Some("102")),
            ("十", Some("10")),
            ("十二", Some("12")),
            ("二十", Some("20")),
            ("两亿三", Some("230000000")),
            ("一亿二千万", Some("120000000")),
            ("三万亿", Some("3000000000000")),
            ("一万三千五", Some("13500")),
            ("二〇二四", Some("2024")),
            ("零", Some("0")),
            ("壹佰贰拾叁", Some("123")),
            ("百", Some("100")),
            ("一二十", None),
            ("万", None),
            ("克", None),
            ("", None),
        ] {
            assert_eq!(read(text).map(|(digits, _)| digits).as_deref(), expected, "{text}");
        }
        assert_eq!(read("三千克"), Some(("3000".to_owned(), "克")));
        assert_eq!(read(&"亿".repeat(30).replacen('亿', "一亿", 1)), None);
        assert_eq!(read_digits("一四万"), ("14".to_owned(), "万"));
    }
}
