//! Mentions of one text in another, as whole words: "up" occurs in "goes up", but not in "supply".

use unicode_normalization::char::is_combining_mark;

/// Returns whether `text` mentions `wanted`, which is not empty, as whole words.
///
/// A letter or digit, or a mark above one, may not continue the first or last word of `wanted`; in
/// scripts that are written without blanks between words (Chinese, Japanese, Thai and their like) any
/// place is a boundary. Nor may a number go on: `5` is not mentioned in `1.5`, `5.25`, `5,000` or `-5`.
///
/// Takes linear time: occurrences are tried from the left, without overlap.
pub fn mentions(text: &str, wanted: &str) -> bool {
    text.match_indices(wanted).any(|(start, found)| {
        let before = text.get(..start).unwrap_or_default();
        let after = text.get(start + found.len()..).unwrap_or_default();
        !goes_on_before(before, wanted) && !goes_on_after(wanted, after)
    })
}

fn goes_on_before(before: &str, wanted: &str) -> bool {
    let (Some(left), Some(right)) = (before.chars().next_back(), wanted.chars().next()) else { return false };
    if continues(left, right) {
        return true;
    }
    if !right.is_ascii_digit() {
        return false;
    }
    let further = before.chars().rev().nth(1);
    match left {
        // After a letter it is a full stop: "no.5".
        '.' => !further.is_some_and(char::is_alphabetic),
        ',' => further.is_some_and(|further| further.is_ascii_digit()) && leading_digits(wanted) == 3,
        '-' | '−' => !further.is_some_and(|further| further.is_alphanumeric() || further == ')'),
        _ => false,
    }
}

fn goes_on_after(wanted: &str, after: &str) -> bool {
    let (Some(left), Some(right)) = (wanted.chars().next_back(), after.chars().next()) else { return false };
    if continues(left, right) {
        return true;
    }
    if !left.is_ascii_digit() {
        return false;
    }
    let further = after.get(right.len_utf8()..).unwrap_or_default();
    match right {
        '.' => leading_digits(further) > 0,
        ',' => leading_digits(further) == 3,
        _ => false,
    }
}

fn leading_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Returns whether two neighbours belong to one word.
fn continues(left: char, right: char) -> bool {
    const JOINER: char = '\u{200d}';
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    // A mark belongs to the character before it, which it changes.
    if is_combining_mark(right) || right == JOINER || left == JOINER {
        return true;
    }
    let left_is_part = is_part(left) || is_combining_mark(left);
    left_is_part && is_part(right) && !is_unspaced(left) && !is_unspaced(right)
}

/// Returns whether a character is of a script without blanks between words, or, as Korean, with endings
/// that stick to them.
fn is_unspaced(character: char) -> bool {
    matches!(u32::from(character),
        0x0e00..=0x109f | 0x1100..=0x11ff | 0x1780..=0x17ff // Thai to Myanmar, Hangul Jamo, Khmer
        | 0x3005..=0x3007 | 0x3040..=0x318f | 0x31a0..=0x31ff // kana, Bopomofo, Hangul
        | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff | 0xff66..=0xff9f
        | 0x1b000..=0x1b16f | 0x20000..=0x3ffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_words() {
        for (text, wanted, expected) in [
            ("goes up", "up", true),
            ("up", "up", true),
            ("supply is up.", "up", true),
            ("supply", "up", false),
            ("up_2", "up", false),
            ("(up)", "up", true),
            ("所以是正面的", "正面", true),
            ("选b项", "b", true),
            ("서울은", "서울", true),
            ("café", "caf", false),
            ("cafe\u{301}", "cafe", false),
            ("не верно", "верно", true),
            ("неверно", "верно", false),
            ("it is 10", "0", false),
            ("it is 0.", "0", true),
            ("it is 0.5", "0", false),
            ("it is 1.5", "5", false),
            ("it is .5", "5", false),
            ("item no.5", "5", true),
            ("it is 5,000", "5", false),
            ("it is 5,000", "000", false),
            ("5,10,20", "5", true),
            ("it is -5", "5", false),
            ("it is -5", "-5", true),
            ("10-5", "5", true),
            ("50%", "50", true),
            ("x = 5", "5", true),
            ("", "a", false),
        ] {
            assert_eq!(mentions(text, wanted), expected, "{text:?} {wanted:?}");
        }
    }

    #[test]
    fn long_texts_take_linear_time() {
        let text = "a".repeat(1 << 20);
        assert!(!mentions(&text, &"a".repeat(1 << 19)[1..]));
        assert!(mentions(&format!("{text} b"), "b"));
    }

    proptest! {
        #[test]
        fn a_word_between_blanks_is_mentioned(
            before in "[a-z0-9 ]{0,20}",
            word in "[a-z0-9]{1,9}",
            after in "\\PC{0,20}",
        ) {
            let text = format!("{before} {word} {after}");
            prop_assert!(mentions(&text, &word));
            let inside = format!("x{word}x");
            prop_assert!(!mentions(&inside, &word) || word.bytes().all(|byte| byte == b'x'));
        }
    }
}
