//! The words that announce an answer: `answer`, `correct`, `I choose`, `therefore`, `it is`, and those of other
//! languages.

use crate::characters::{is_blank, is_east_asian, is_word, split_last_word, word_len};
use crate::scan::leading;
use crate::vocabulary::{DENIALS, Index, LINKS, WRONG, Words};
use gage_text_kit::text::is_space;
use std::collections::VecDeque;
use std::sync::LazyLock;

/// Kinds of cues. They differ in what must follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cue {
    /// A noun for the answer. A link must follow: without it, `the answer A is wrong` would announce A.
    Noun,
    /// A verb of choosing, which needs no link.
    Verb,
    /// A Chinese, Japanese or Korean noun or verb, which needs no link.
    EastAsian,
    /// A word that calls the answer right. A link must follow, and no subject may come before: `A is correct: B is not`.
    Praise,
    /// The beginning of a conclusion: `so`, `it is`. The letter must end its clause.
    Conclusion,
    /// A noun for an option, after which the answer may call it right: `the third option is correct`.
    Option,
}

const NOUNS: &[&str] = &[
    "answer ans",
    "antwort lösung",
    "réponse reponse",
    "respuesta",
    "resposta gabarito",
    "risposta",
    "ответ ответом",
];

const VERBS: &[&str] = &[
    "choose select pick mark chose selected choosing selecting picking say guess with for",
    "wähle wählen nehme entscheide tippe sage",
    "choisis choisirais choisissons dirais opte retiens sélectionne coche",
    "elijo elegiría escojo escogería diría opto marco selecciono elegimos",
    "escolho escolheria diria opto marco seleciono fico",
    "scelgo sceglierei direi opto seleziono segno",
    "выбираю выберу выбираем выбрал выбрала скажу",
];

/// English verbs of choosing that also occur in descriptions: `those who choose A`. A subject such as `I` must come
/// before them.
const ENGLISH_VERBS: &[&str] =
    &["choose", "select", "pick", "mark", "chose", "selected", "say", "guess", "with", "for"];
static ENGLISH_SUBJECTS: Words = Words::new(&[
    "i we i'd we'd i'll we'll would must should will to therefore thus so hence please let's would've have is best only",
    "my final go going opt opting settle settling",
]);

const PRAISES: &[&str] = &[
    "correct right best appropriate suitable accurate plausible remaining only left guess choice pick conclusion",
    "richtig richtige korrekt korrekte einzige",
    "correcte correct bonne juste exacte",
    "correcta correcto adecuada",
    "correta correto certa adequada",
    "corretta corretto giusta esatta",
    "верно верный правильный правильно правильным",
];

const CONCLUSIONS: &[&str] = &[
    "so thus therefore hence consequently it it's this that that's leaves leaving remains matches corresponds",
    "daher somit also folglich deshalb bleibt es das entspricht",
    "donc c'est reste alors ainsi correspond",
    "tanto luego entonces queda es sería corresponde",
    "portanto logo então resta sobra é seria corresponde",
    "quindi dunque pertanto resta rimane è sarebbe corrisponde",
    "значит следовательно поэтому это остаётся остается итак соответствует",
];

const OPTIONS: &[&str] = &[
    "option alternative one",
    "aussage möglichkeit",
    "proposition",
    "opción",
    "opção alternativa",
    "opzione",
    "вариант",
];

/// Returns the cues of one word.
fn western() -> Index<Cue> {
    let kinds = [
        (NOUNS, Cue::Noun),
        (VERBS, Cue::Verb),
        (PRAISES, Cue::Praise),
        (CONCLUSIONS, Cue::Conclusion),
        (OPTIONS, Cue::Option),
    ];
    let rows = kinds.iter().flat_map(|(rows, cue)| rows.iter().map(move |row| (*row, *cue)));
    Index::new(rows.flat_map(|(row, cue)| row.split(' ').map(move |word| (word, cue))))
}

static CUES: LazyLock<Index<Cue>> = LazyLock::new(western);

/// Chinese, Japanese and Korean cues, longer ones first.
const EAST_ASIAN: &[(&str, Cue)] = &[
    ("选项", Cue::Option),
    ("選択肢", Cue::Option),
    ("答案", Cue::EastAsian),
    ("答え", Cue::EastAsian),
    ("正解", Cue::EastAsian),
    ("解答", Cue::EastAsian),
    ("回答", Cue::EastAsian),
    ("选", Cue::EastAsian),
    ("選", Cue::EastAsian),
    ("正确", Cue::Praise),
    ("正しい", Cue::Praise),
    ("正しいの", Cue::Praise),
    ("正答", Cue::EastAsian),
    ("정답", Cue::EastAsian),
    ("답", Cue::Noun),
    ("所以", Cue::Conclusion),
    ("因此", Cue::Conclusion),
    ("剩下", Cue::Conclusion),
    ("よって", Cue::Conclusion),
    ("따라서", Cue::Conclusion),
    ("그러므로", Cue::Conclusion),
];

/// Words before `选` that reverse its meaning.
const REFUSALS: &[&str] = &["不", "不应", "不应该", "不能", "不会", "不可", "勿", "别"];

/// Words before a cue that make it a condition: `if the answer is A`.
static CONDITIONS: Words = Words::new(&["if whether unless suppose", "wenn falls ob", "si", "se", "если"]);

/// Maximum distance from a cue to the word that makes it a condition, in bytes.
const MAX_CLAUSE_BYTES: usize = 60;

/// A cue in a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announcement {
    start: usize,
    /// Position after the cue.
    pub(crate) end: usize,
    pub(crate) cue: Cue,
}

/// Returns the announcements of a text in lower case, in order, whether or not they hold. A single pass.
fn announcements(lower: &str) -> impl Iterator<Item = Announcement> {
    let cues = &*CUES;
    let bytes = lower.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + leading(bytes.get(at..)?, &BETWEEN_WORDS);
            let is_ascii = bytes.get(start)?.is_ascii();
            let first = if is_ascii { None } else { lower.get(start..)?.chars().next() };
            match first.filter(|first| !is_word(*first)) {
                None => {
                    at = start + word_len(lower, start);
                    if let Some(cue) = cues.get(bytes.get(start..at)?) {
                        return Some(Announcement { start, end: at, cue });
                    }
                }
                Some(first) => {
                    at = start + first.len_utf8();
                    let found = may_begin_cue(first).then(|| east_asian(lower.get(start..)?)).flatten();
                    if let Some((word, cue)) = found {
                        at = start + word.len();
                        return Some(Announcement { start, end: at, cue });
                    }
                }
            }
        }
    })
}

/// ASCII characters that begin no word.
static BETWEEN_WORDS: [bool; 256] = {
    let (mut set, mut byte) = ([false; 256], 0);
    while byte < 0x80_u8 {
        set[byte as usize] = !byte.is_ascii_alphanumeric();
        byte += 1;
    }
    set
};

/// Returns whether a character begins one of [`EAST_ASIAN`]. Most characters of a text do not.
fn may_begin_cue(first: char) -> bool {
    matches!(
        first,
        '选' | '選' | '答' | '正' | '解' | '回' | '정' | '답' | '所' | '因' | '剩' | 'よ' | '따' | '그'
    )
}

/// Maximum number of cues of one group, from the end of the answer. No meaningful answer has more.
const MAX_CUES: usize = 2_000;

/// The last announcements of a text, in order.
pub(crate) struct Announcements {
    /// Announcements of an answer.
    pub(crate) answers: VecDeque<Announcement>,
    /// Conclusions.
    pub(crate) conclusions: VecDeque<Announcement>,
    /// Nouns for an option.
    pub(crate) options: VecDeque<Announcement>,
}

impl Announcements {
    pub(crate) fn new(lower: &str) -> Announcements {
        let [mut answers, mut conclusions, mut options] = [const { VecDeque::new() }; 3];
        for found in announcements(lower) {
            let group = match found.cue {
                Cue::Noun | Cue::Verb | Cue::EastAsian | Cue::Praise => &mut answers,
                Cue::Conclusion => &mut conclusions,
                Cue::Option => &mut options,
            };
            if group.len() == MAX_CUES {
                group.pop_front();
            }
            group.push_back(found);
        }
        Announcements { answers, conclusions, options }
    }
}

impl Announcement {
    /// Returns whether the words before the cue leave its meaning as it is: not `the wrong answer`, `not select`, `if I
    /// choose`.
    pub(crate) fn holds(&self, lower: &str) -> bool {
        let (Some(before), Some(word)) = (lower.get(..self.start), lower.get(self.start..self.end)) else {
            return false;
        };
        if word.starts_with(is_east_asian) {
            return holds_in_east_asian(before, word, self.cue);
        }
        let near = before.trim_end_matches(is_blank);
        let previous = split_last_word(before.trim_end_matches(is_space)).1;
        let begins_clause = near.is_empty() || near.ends_with(|last: char| !is_word(last) && last != '\'');
        if DENIALS.contains(previous) && !begins_clause {
            return false;
        }
        match self.cue {
            Cue::Noun => !WRONG.contains(previous),
            Cue::Verb => is_chosen(word, previous, begins_clause) && !is_conditional_choice(previous, near),
            Cue::Praise => !LINKS.contains(previous),
            Cue::Conclusion => !is_conditional(near),
            Cue::EastAsian | Cue::Option => true,
        }
    }

    /// Returns whether the cue begins its line, as a heading does.
    pub(crate) fn begins_line(&self, lower: &str) -> bool {
        let before = lower.get(..self.start).unwrap_or_default();
        let near =
            before.trim_end_matches(|mark| is_blank(mark) || matches!(mark, '#' | '*' | '_' | '-' | '>'));
        near.is_empty() || near.ends_with('\n')
    }
}

/// Returns whether somebody chooses. Verbs of the other languages have the form of the first person.
fn is_chosen(verb: &str, previous: &str, begins_clause: bool) -> bool {
    match verb {
        "with" | "for" => matches!(previous, "go" | "going" | "opt" | "opting" | "settle" | "vote"),
        _ if ENGLISH_VERBS.contains(&verb) => begins_clause || ENGLISH_SUBJECTS.contains(previous),
        _ => true,
    }
}

/// Returns whether a choice depends on a condition. `If I had to choose I'd say B` names B.
fn is_conditional_choice(previous: &str, before: &str) -> bool {
    !matches!(previous, "i'd" | "would" | "i'll" | "will") && is_conditional(before)
}

/// Returns whether a clause so far is a condition: `if A is right`.
pub(crate) fn is_conditional(before: &str) -> bool {
    let from = before.floor_char_boundary(before.len().saturating_sub(MAX_CLAUSE_BYTES));
    let near = before.get(from..).unwrap_or_default();
    let ends_clause = |byte: u8| matches!(byte, b',' | b'.' | b';' | b':' | b'\n' | b'!' | b'?');
    let start = near.bytes().rposition(ends_clause).map_or(0, |end| end + 1);
    let clause = near.get(start..).unwrap_or_default();
    if clause.is_ascii() {
        let is_space = |byte: &u8| matches!(byte, b'\t'..=b'\r' | b'\x1c'..=b' ');
        let mut words = clause.as_bytes().split(is_space).filter_map(|word| str::from_utf8(word).ok());
        return words.any(|word| CONDITIONS.contains(word));
    }
    clause.split(is_space).any(|word| CONDITIONS.contains(word))
}

/// Returns the cue that begins a text.
fn east_asian(rest: &str) -> Option<(&'static str, Cue)> {
    EAST_ASIAN.iter().find(|(word, _)| rest.starts_with(word)).copied()
}

/// Returns whether the words before a cue leave its meaning as it is: not `不选`, `是正确`.
fn holds_in_east_asian(before: &str, word: &str, cue: Cue) -> bool {
    let is_refused = matches!(word, "选" | "選") && REFUSALS.iter().any(|refusal| before.ends_with(*refusal));
    let is_predicate = cue == Cue::Praise && before.ends_with(['不', '是']);
    !is_refused && !is_predicate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cues_that_hold() {
        for (lower, expected) in [
            ("the answer is", Some(Cue::Noun)),
            ("antwort:", Some(Cue::Noun)),
            ("правильный ответ", Some(Cue::Noun)),
            ("i choose", Some(Cue::Verb)),
            ("select", Some(Cue::Verb)),
            ("i would go with", Some(Cue::Verb)),
            ("if i had to choose, i'd say", Some(Cue::Verb)),
            ("je choisis", Some(Cue::Verb)),
            ("选", Some(Cue::EastAsian)),
            ("正解", Some(Cue::EastAsian)),
            ("정답은", Some(Cue::EastAsian)),
            ("correct:", Some(Cue::Praise)),
            ("hence", Some(Cue::Conclusion)),
            ("the wrong answer", None),
            ("those who choose", None),
            ("do not select", None),
            ("stay with", None),
            ("if you pick", None),
            ("it is correct", Some(Cue::Conclusion)),
            ("不选", None),
            ("answers", None),
        ] {
            let found = announcements(lower).filter(|found| found.holds(lower)).last();
            assert_eq!(found.map(|found| found.cue), expected, "{lower}");
        }
    }

    #[test]
    fn east_asian_cues_begin_as_they_may() {
        for (word, cue) in EAST_ASIAN {
            assert!(word.starts_with(may_begin_cue), "{word}");
            assert!(announcements(word).any(|found| found.start == 0 && found.cue == *cue), "{word}");
        }
    }

    #[test]
    fn headings_begin_their_line() {
        for (lower, expected) in [("### answer\nb", true), ("**answer**\nb", true), ("the answer\nb", false)]
        {
            let begins = announcements(lower).next().map(|found| found.begins_line(lower));
            assert_eq!(begins, Some(expected), "{lower}");
        }
    }
}
