//! The words that the rules know, in the languages that answers are written in.
//!
//! Each row of a list is one language: English, German, French, Spanish, Portuguese, Italian, Russian. Words are in
//! lower case. Chinese, Japanese and Korean join their words, so their lists hold prefixes, longer ones first.

use std::sync::OnceLock;

/// Number of keys of words.
const KEYS: usize = 1024;

/// Returns a number that few words share.
const fn key(word: &[u8]) -> usize {
    if word.is_empty() {
        return 0;
    }
    let (first, last) = (word[0] as usize, word[word.len() - 1] as usize);
    (first + 35 * last + 153 * word.len()) % KEYS
}

/// The keys of a set of words. Most words of a text are not in the set, and their keys show it.
#[derive(Clone)]
struct Keys([u64; KEYS / 64]);

impl Keys {
    const NONE: Keys = Keys([0; KEYS / 64]);

    /// Returns the keys of rows of words.
    const fn of(rows: &[&str]) -> Keys {
        let (mut keys, mut row) = (Keys::NONE, 0);
        while row < rows.len() {
            let mut rest = rows[row].as_bytes();
            let mut at = 0;
            while at <= rest.len() {
                if at == rest.len() || rest[at] == b' ' {
                    let (word, after) = rest.split_at(at);
                    keys.add(word);
                    rest = if after.is_empty() { after } else { after.split_at(1).1 };
                    at = 0;
                    if rest.is_empty() {
                        break;
                    }
                } else {
                    at += 1;
                }
            }
            row += 1;
        }
        keys
    }

    const fn add(&mut self, word: &[u8]) {
        let key = key(word);
        self.0[key / 64] |= 1 << (key % 64);
    }

    /// Returns whether the set may contain a word.
    fn may_contain(&self, word: &[u8]) -> bool {
        let key = key(word);
        self.0[key / 64] >> (key % 64) & 1 == 1
    }
}

/// A set of words, indexed on first use.
pub(crate) struct Words {
    rows: &'static [&'static str],
    keys: Keys,
    index: OnceLock<Index<()>>,
}

impl Words {
    pub(crate) const fn new(rows: &'static [&'static str]) -> Words {
        Words { rows, keys: Keys::of(rows), index: OnceLock::new() }
    }

    /// Returns whether the set contains a word, given in lower case.
    pub(crate) fn contains(&self, word: &str) -> bool {
        let words = || self.rows.iter().flat_map(|row| row.split(' ')).map(|word| (word, ()));
        self.keys.may_contain(word.as_bytes())
            && self.index.get_or_init(|| Index::new(words())).get(word.as_bytes()).is_some()
    }
}

/// A map of words.
pub(crate) struct Index<T> {
    keys: Keys,
    /// The words by their keys, which are grouped.
    words: Vec<Vec<(&'static str, T)>>,
}

/// Number of groups of keys in an index.
const GROUPS: usize = 256;

impl<T: Copy> Index<T> {
    /// Builds a map. Of several values of one word the first counts.
    pub(crate) fn new(words: impl Iterator<Item = (&'static str, T)>) -> Index<T> {
        let mut index = Index { keys: Keys::NONE, words: vec![Vec::new(); GROUPS] };
        for (word, value) in words {
            index.keys.add(word.as_bytes());
            let group = index.words.get_mut(key(word.as_bytes()) % GROUPS);
            group.into_iter().for_each(|words| words.push((word, value)));
        }
        index
    }

    pub(crate) fn get(&self, word: &[u8]) -> Option<T> {
        if !self.keys.may_contain(word) {
            return None;
        }
        let words = self.words.get(key(word) % GROUPS)?;
        words.iter().find(|(known, _)| known.as_bytes() == word).map(|(_, value)| *value)
    }
}

/// Removes the first of several East Asian prefixes that a text begins with.
pub(crate) fn strip_any<'text>(text: &'text str, prefixes: &[&str]) -> Option<&'text str> {
    // The prefixes are East Asian, and most texts begin otherwise.
    if text.as_bytes().first().is_none_or(u8::is_ascii) {
        return None;
    }
    prefixes.iter().find_map(|prefix| text.strip_prefix(*prefix))
}

/// Returns whether a text ends with one of several East Asian words.
pub(crate) fn ends_with_any(text: &str, words: &[&str]) -> bool {
    text.as_bytes().last().is_some_and(|last| !last.is_ascii())
        && words.iter().any(|word| text.ends_with(word))
}

/// Words that call an option right.
pub(crate) static RIGHT: Words = Words::new(&[
    "correct right answer best accurate appropriate suitable solution",
    "richtig richtige richtigen korrekt korrekte antwort lösung zutreffend",
    "correct correcte juste bonne exacte exact réponse",
    "correcta correcto adecuada respuesta acertada",
    "correta correto certa certo resposta adequada gabarito",
    "corretta corretto giusta giusto esatta esatto risposta",
    "верно верный верен верна правильно правильный правильная правильным верным ответ ответом подходит",
]);

/// Words that call an option wrong. The English `false` and `untrue` are excluded: if the options are statements, the
/// false one may be the answer.
pub(crate) static WRONG: Words = Words::new(&[
    "wrong incorrect eliminated excluded ruled rejected dismissed discarded",
    "falsch falsche inkorrekt unrichtig unzutreffend ausgeschlossen aus",
    "faux fausse fausses incorrecte incorrectes incorrects mauvaise exclue exclues éliminée éliminées erronée erronées",
    "incorrecta incorrecto incorrectas equivocada equivocadas errónea erróneas descartada descartadas descarta descartan",
    "incorreta incorreto incorretas errada errado erradas descartada eliminada eliminadas",
    "sbagliata sbagliato sbagliate errata errate scorretta scorrette scartata scartate esclusa escluse",
    "неверно неверный неверен неверна неверны неправильно неправильный неправильная ошибочен ошибочно исключаем",
]);

/// Words that deny what follows.
pub(crate) static DENIALS: Words = Words::new(&[
    "not never neither nor except excluding cannot unlike without",
    "nicht kein keine weder noch außer",
    "pas ni sauf non jamais",
    "no excepto salvo",
    "não nem exceto",
    "né tranne eccetto",
    "не ни кроме",
]);

/// Forms of `to be` that link a statement to its subject.
pub(crate) static LINKS: Words = Words::new(&[
    "is was be are were",
    "ist sind war lautet heißt bleibt",
    "est sont serait sera",
    "es son sea sería era",
    "é são seria era",
    "è sono sarebbe sia",
    "это является",
]);

/// Words that stand for an option: `option B`, `B is the right choice`.
pub(crate) static OPTION_NOUNS: Words = Words::new(&[
    "option options choice choices letter letters alternative alternatives one statement statements answer answers",
    "buchstabe option optionen auswahl möglichkeit aussage alternative antwort antworten",
    "lettre proposition propositions réponse réponses l'option choix affirmation",
    "opción opciones letra respuesta respuestas inciso alternativa",
    "opção opções letra letras alternativas resposta respostas item",
    "opzione opzioni lettera risposta risposte",
    "вариант варианты варианта вариантом буква ответ пункт",
]);

/// Articles before an option.
pub(crate) static ARTICLES: Words =
    Words::new(&["the", "die der das den", "la le les", "la el las los", "a o as os", "il le lo i"]);

/// Words before a statement that carry no judgement: articles and adverbs.
pub(crate) static ADVERBS: Words = Words::new(&[
    "also both all clearly definitely obviously therefore thus simply actually probably likely most the a an so",
    "indeed certainly be hence",
    "auch beide alle klar eindeutig offensichtlich daher somit also wohl die der das den eindeutige einzige",
    "aussi clairement donc sûrement tout toutes deux la le les l' une un à évidemment seule",
    "también claramente por lo tanto ambas la el las los una un única",
    "também claramente portanto ambas a o as os uma um única",
    "anche chiaramente quindi entrambe la il le l' una un unica",
    "также явно очевидно оба обе все значит",
]);

/// Words that join two letters as alternatives or as a list.
pub(crate) static JOINTS: Words =
    Words::new(&["and or", "und oder", "et ou", "y o u", "e ou", "e ed o", "и или либо"]);

/// Words that begin a reason.
pub(crate) static REASONS: Words = Words::new(&[
    "because since as for",
    "weil da denn",
    "car parce puisque",
    "porque ya pues",
    "porque pois já",
    "perché poiché",
    "потому так поскольку",
]);

/// Chinese, Japanese and Korean words that call an option right, longer ones first.
pub(crate) const EAST_ASIAN_RIGHT: &[&str] = &[
    "正确",
    "正確",
    "最正确",
    "最合适",
    "最符合",
    "符合题意",
    "正しい",
    "正しく",
    "正解",
    "適切",
    "答えです",
    "答え",
    "が答え",
    "を選",
    "를 선택",
    "을 선택",
    "를 고",
    "을 고",
    "맞습",
    "맞다",
    "맞는",
    "정답",
    "옳",
    "올바",
    "답입니다",
    "답이다",
];

/// Words that call an option wrong, longer ones first. None of them is the beginning of another meaning.
pub(crate) const EAST_ASIAN_WRONG: &[&str] = &[
    "错误",
    "错",
    "錯誤",
    "不对",
    "不正确",
    "不是正确",
    "不是对",
    "不符合",
    "不成立",
    "不准确",
    "不恰当",
    "不合适",
    "有误",
    "排除",
    "誤り",
    "誤って",
    "間違",
    "不正解",
    "正しくな",
    "正しくあ",
    "不適切",
    "ではな",
    "ではあり",
    "じゃな",
    "違い",
    "除外",
    "틀렸",
    "틀린",
    "틀립",
    "오답",
    "잘못",
    "아니",
    "아닙",
    "맞지 않",
    "제외",
];

/// Words that apply a statement to a whole list.
pub(crate) const EAST_ASIAN_ALL: &[&str] =
    &["全部", "都", "均", "皆", "全", "はどちらも", "はいずれも", "どちらも", "いずれも", "모두", "둘 다"];

/// Words allowed between a letter and the statement about it, longer ones first.
pub(crate) const EAST_ASIAN_BETWEEN: &[&str] = &[
    "选项",
    "選択肢",
    "显然",
    "肯定",
    "明显",
    "项",
    "也",
    "则",
    "是",
    "被",
    "は",
    "が",
    "も",
    "番",
    "번",
    "는",
    "은",
    "이",
    "가",
    "도",
];

/// Words that link an answer to its announcement, longer ones first.
pub(crate) const EAST_ASIAN_FILLERS: &[&str] = &[
    "应该",
    "应当",
    "正确",
    "选择",
    "选项",
    "選択肢",
    "答案",
    "択",
    "择",
    "应",
    "为",
    "是",
    "选",
    "就",
    "的",
    "项",
    "は",
    "が",
    "の",
    "番号",
    "은",
    "는",
    "이",
    "가",
    "선택지",
    "보기",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_their_words_and_no_others() {
        for set in [&RIGHT, &WRONG, &DENIALS, &LINKS, &OPTION_NOUNS, &ARTICLES, &ADVERBS, &JOINTS, &REASONS] {
            for word in set.rows.iter().flat_map(|row| row.split(' ')) {
                assert!(set.contains(word), "{word}");
                assert!(!set.contains(&word.repeat(2)), "{word}");
            }
            assert!(!set.contains(""));
        }
    }

    #[test]
    fn the_first_value_of_a_word_counts() {
        let index = Index::new([("a", 1), ("b", 2), ("a", 3)].into_iter());
        assert_eq!(
            ["a", "b", "c", ""].map(|word| index.get(word.as_bytes())),
            [Some(1), Some(2), None, None]
        );
    }

    #[test]
    fn east_asian_words_at_either_end() {
        assert_eq!(strip_any("错误的", EAST_ASIAN_WRONG), Some("的"));
        assert_eq!(strip_any("x错误", EAST_ASIAN_WRONG), None);
        assert!(ends_with_any("是错误", EAST_ASIAN_WRONG));
        assert!(!ends_with_any("错误x", EAST_ASIAN_WRONG));
        let lists =
            [EAST_ASIAN_RIGHT, EAST_ASIAN_WRONG, EAST_ASIAN_ALL, EAST_ASIAN_BETWEEN, EAST_ASIAN_FILLERS];
        assert!(lists.concat().iter().all(|word| !word.starts_with(|first: char| first.is_ascii())));
    }
}
