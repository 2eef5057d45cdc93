//! Letters that belong to a name, a quantity or a formula: `vitamin C`, `point A`, `5 A`, `C major`, `$F = ma$`.

use crate::characters::{is_blank, is_word, split_last_word, word_at};
use crate::scan::find_any;
use crate::verdict::rest_of_list;
use crate::vocabulary::{Words, ends_with_any, strip_any};
use gage_text_kit::latex_boxed::without_commands;

/// Nouns whose letter is part of a name, in the languages of [`crate::vocabulary`].
static NOUNS: Words = Words::new(&[
    "vitamin vitamins hepatitis influenza plan plans point points grade grades type types class group groups team teams",
    "town towns city cities village villages station stations country countries company companies person player",
    "appendix chapter section side sides angle angles vertex vertices node nodes set sets matrix matrices vector",
    "vectors event events segment line lines region regions area areas zone phase stage level layer box container",
    "tank vessel beaker train car machine schedule planet star particle particles object objects body sample samples",
    "protein proteins compound compounds substance substances element string gate terminal floor block room axis",
    "factor drive gene allele chromosome patient variable variables function part process state system product",
    "hepatitis punkt punkte punkten gruppe typ klasse note stadt ort städten orten seite firma land blutgruppe gerade",
    "winkel menge mengen ereignis vektor körper stoff stufe phase",
    "vitamine vitamines hépatite points plan groupe type classe ville villes société pays côté droite ensemble",
    "vecteur matrice événement",
    "vitamina vitaminas hepatitis punto puntos grupo tipo clase ciudad ciudades pueblo empresa país lado recta",
    "conjunto vector matriz evento",
    "hepatite ponto pontos plano classe cidade cidades empresa reta vetor evento",
    "vitamine epatite punto punti piano gruppo classe città paese lato retta insieme vettore evento",
    "витамин витамина витамины витамином гепатит гепатита точка точки точке точку точками пункта пункты пунктами",
    "пунктов пункте план плана плану группа группы тип типа класс класса город города городами множество вектор",
]);

/// Nouns of names in Chinese, Japanese and Korean, where the noun touches the letter.
const EAST_ASIAN_NOUNS: &[&str] = &[
    "维生素",
    "維生素",
    "维他命",
    "肝炎",
    "计划",
    "地点",
    "点",
    "甲型",
    "集合",
    "事件",
    "向量",
    "矩阵",
    "ビタミン",
    "地点",
    "プラン",
    "グループ",
    "タイプ",
    "集合",
    "비타민",
    "지점",
    "점",
    "플랜",
    "그룹",
    "간염",
    "집합",
];

/// Words after a letter that make it part of a name.
static NOUNS_AFTER: Words =
    Words::new(&["major minor sharp flat cell cells vitamin vitamins battery batteries"]);
const EAST_ASIAN_NOUNS_AFTER: &[&str] = &[
    "地", "点", "市", "镇", "村", "站", "城", "国", "公司", "型", "级", "班", "町", "社", "駅", "県", "地点",
    "시", "도시", "마을", "형", "지점",
];

/// Maximum length of a formula, in bytes.
const MAX_FORMULA_BYTES: usize = 2_000;

/// Returns the end of the name that the letter at `at` belongs to, if it does. All letters of a list belong to it:
/// `points A, B and C`, `from point A to point B`.
pub(crate) fn name_end(lower: &str, at: usize) -> Option<usize> {
    let before = lower.get(..at)?;
    let after = lower.get(at + 1..)?;
    let near = before.trim_end_matches(is_blank);
    let is_quantity = near.len() < before.len() && near.ends_with(|digit: char| digit.is_ascii_digit());
    let is_after = strip_any(after, EAST_ASIAN_NOUNS_AFTER).is_some() || {
        let next = after.trim_start_matches(is_blank);
        next.len() < after.len() && NOUNS_AFTER.contains(word_at(next, 0))
    };
    let noun = split_last_word(near).1;
    let is_noun =
        (near.len() < before.len() && NOUNS.contains(noun)) || ends_with_any(near, EAST_ASIAN_NOUNS);
    if is_noun {
        let rest = rest_of_list(after).map_or(after, |(rest, _)| rest);
        return Some(lower.len() - rest.len());
    }
    (is_quantity || is_after).then_some(at + 1)
}

/// Returns whether the text after a letter makes it a side of an equation or a comparison: `F = ma`, `a < b`.
pub(crate) fn is_equated(after: &str) -> bool {
    let next = after.trim_start_matches(is_blank);
    let is_tag = next.len() == after.len();
    match next.chars().next() {
        Some('=') => !next.starts_with("=>"),
        Some('<' | '>') => !is_tag,
        sign => matches!(sign, Some('≈' | '≤' | '≥' | '∪' | '∩' | '⊂' | '∈')),
    }
}

/// Start and end of a formula in a text.
pub(crate) type Formula = (usize, usize);

/// Returns the formulas of a text that are more than one letter: `$F = ma$`, but not `$B$`. A dollar sign opens one
/// only before, and closes one only after, a character that is not white space.
pub(crate) fn formulas(text: &str) -> Vec<Formula> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut open: Option<(usize, u8)> = None;
    let mut at = 0;
    // Most of a text has neither of the signs.
    while let Some(sign) = find_any(bytes, at, [b'$', b'\\'])
        && let Some(byte) = bytes.get(sign)
    {
        at = sign;
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        let previous = at.checked_sub(1).and_then(|before| bytes.get(before)).copied().unwrap_or(b' ');
        let (opens, closes, width) = match (byte, next) {
            (b'$', b'$') => (Some(b'D'), Some(b'D'), 2),
            (b'$', _) => {
                let opens = !next.is_ascii_whitespace();
                let closes = !previous.is_ascii_whitespace() && !next.is_ascii_digit();
                (opens.then_some(b'$'), closes.then_some(b'$'), 1)
            }
            (b'\\', b'(' | b'[') => (Some(next), None, 2),
            (b'\\', b')') => (None, Some(b'('), 2),
            (b'\\', b']') => (None, Some(b'['), 2),
            (b'\\', _) => (None, None, 2),
            _ => (None, None, 1),
        };
        match open {
            Some((start, kind)) if closes == Some(kind) && at - start <= MAX_FORMULA_BYTES => {
                if text.get(start..at).is_some_and(is_formula) {
                    found.push((start, at));
                }
                open = None;
            }
            _ => open = opens.map(|kind| (at + width, kind)).or(open),
        }
        at += width;
    }
    found
}

/// Returns whether the text between the marks of a formula is more than a label.
fn is_formula(held: &str) -> bool {
    let bare = without_commands(held);
    bare.chars().filter(|character| is_word(*character)).count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_names() {
        for (lower, at, end) in [
            ("vitamin c is", 8, Some(9)),
            ("from point a to point b", 11, Some(12)),
            ("points a, b and c lie", 7, Some(17)),
            ("维生素c", 9, Some(10)),
            ("从a地到b地", 3, Some(4)),
            ("a current of 5 a", 15, Some(16)),
            ("in c major", 3, Some(4)),
            ("витамин c", 15, Some(16)),
            ("option c", 7, None),
            ("5. c", 3, None),
        ] {
            assert_eq!(name_end(lower, at), end, "{lower}");
        }
    }

    #[test]
    fn formulas_are_more_than_a_letter() {
        for (text, count) in [
            ("$F = ma$ and $a = 2$", 2),
            ("$B$", 0),
            (r"$\text{B}$", 0),
            (r"\(A \cup B\) or \[x\]", 1),
            ("it costs $5, B costs $6", 0),
            ("$$x + y$$", 1),
            ("$x", 0),
        ] {
            assert_eq!(formulas(text).len(), count, "{text}");
        }
    }
}
