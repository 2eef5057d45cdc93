//! Words of English that decide whether a period ends a sentence.

/// Abbreviations without their last period, in lower case. Left out are words that often end a sentence, such as `no`
/// and `fig`, and `e.g`, `i.e` and `etc`: NLTK ends a sentence after each of these.
const ABBREVIATIONS: [&str; 7] = [
    "mr mrs ms messrs dr prof rev hon st mt jr sr",
    "gov sen rep gen col maj capt lt sgt",
    "jan feb apr jun jul aug sept sep oct nov dec mon tue tues wed thu thur thurs fri",
    "a.m p.m b.c a.d ca vs ft",
    "u.s u.s.a u.k u.n e.u d.c l.a n.y",
    "ph.d m.d b.a m.a",
    "inc ltd co corp bros ave blvd rd",
];

/// Words that begin a sentence if they have a capital: those that are no part of a name. The months and names `may`,
/// `march`, `mark`, `will` and `bill` are left out.
const STARTERS: [&str; 20] = [
    "a an the this that these those such some any each every either neither both all many much most few",
    "several no none another other",
    "i you he she it we they one who whom whose which what when where why how whoever whatever whenever",
    "wherever",
    "my your his her its our their",
    "and or but nor so yet for if because although though unless until while whereas since once whether",
    "as than",
    "at by in of on to with from into about above after against along amid among around before behind",
    "below beneath beside besides between beyond despite during except inside like near off onto out",
    "outside over past per through throughout under up upon via within without toward towards",
    "is are was were be been am do does did has have had could would should might must shall not only",
    "also even just then there here now again always never often sometimes usually already still soon",
    "later",
    "today tomorrow yesterday however therefore moreover furthermore nevertheless nonetheless otherwise",
    "instead indeed meanwhile thus hence",
    "consequently similarly likewise additionally accordingly finally first second third next last",
    "afterwards",
    "perhaps maybe please yes let remember note",
    "everyone everybody everything someone somebody something anyone anybody anything nobody nothing",
    "nowhere",
];

/// Returns whether a word, in lower case and without its last period, is an abbreviation.
pub(super) fn is_abbreviation(word: &str) -> bool {
    is_listed(&ABBREVIATIONS, word)
}

/// Returns whether a word, in lower case, begins a sentence if it has a capital.
pub(super) fn is_starter(word: &str) -> bool {
    is_listed(&STARTERS, word)
}

fn is_listed(lines: &[&str], word: &str) -> bool {
    lines.iter().any(|line| line.split(' ').any(|listed| listed == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known() {
        for word in ["mr", "rd", "u.s.a", "sept"] {
            assert!(is_abbreviation(word), "{word}");
        }
        for word in ["a", "none", "wherever", "nowhere"] {
            assert!(is_starter(word), "{word}");
        }
        for word in ["", " ", "mr mrs", "river", "no.", "u.s."] {
            assert!(!is_abbreviation(word) && !is_starter(word), "{word}");
        }
    }

    #[test]
    fn words_are_listed_once() {
        for lines in [ABBREVIATIONS.as_slice(), &STARTERS] {
            let mut words: Vec<&str> = lines.iter().flat_map(|line| line.split(' ')).collect();
            let count = words.len();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words.len(), count);
            assert!(words.iter().all(|word| !word.is_empty() && !word.ends_with('.')), "{words:?}");
        }
    }
}
