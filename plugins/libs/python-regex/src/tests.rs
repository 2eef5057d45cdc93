//! Results of Python's `re`, as tables: patterns, texts that match, texts that do not.

use super::{Group, Occurrence, PythonRegex};

fn check(ignore_case: bool, table: &[(&str, &[&str], &[&str])]) {
    for (pattern, matches, misses) in table {
        let regex = match PythonRegex::new(pattern, ignore_case) {
            Ok(regex) => regex,
            Err(error) => panic!("{pattern}: {error}"),
        };
        for (texts, expected) in [(matches, true), (misses, false)] {
            for text in *texts {
                assert_eq!(regex.is_match(text).ok(), Some(expected), "{pattern} {text:?}");
            }
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn without_case() {
    let table: &[(&str, &[&str], &[&str])] = &[
        (r"\d+", &["abc 123", "١٢٣"], &["abc"]),
        ("^abc$", &["abc\n", "abc"], &["abc\n\n", "xabc"]),
        (r"abc\Z", &["abc"], &["abc\n"]),
        ("(?m)^b$", &["a\nb\nc"], &["ab"]),
        ("a$|^b", &["xa\n", "b"], &["cb"]),
        ("(a$)", &["xa\n"], &["a\nb"]),
        ("a.b", &["axb"], &["a\nb"]),
        ("(?s)a.b", &["a\nb"], &[]),
        ("[A-Z]", &["b"], &[]),
        ("(?-i:a)B", &["ab"], &["Ab"]),
        (r"\bB\b", &["a B.", "B\u{301}"], &["选B", "B项", "B²", "_B"]),
        (r"\B", &["ab"], &["", "a", "é"]),
        (r"^\w+$", &["x²", "ab_1", "中文", "½"], &["e\u{301}", "नमस्ते"]),
        (r"^\W$", &["\u{301}", "!"], &["a", "²"]),
        (r"^[\w-]+$", &["x-²"], &["a b"]),
        (r"^[^\w]$", &["\u{301}"], &["é"]),
        (r"^\s$", &["\u{1c}", "\u{85}", "\u{3000}", "\t"], &["\u{200b}"]),
        (r"^\S$", &["a", "\u{200b}"], &["\u{1c}"]),
        (r"^[\s]$", &["\u{1f}"], &[]),
        (r"^[\S]$", &["a"], &["\u{1f}"]),
        ("istanbul", &["\u{130}STANBUL", "\u{131}stanbul", "ISTANBUL"], &[]),
        ("^[a-k]$", &["\u{130}", "\u{131}"], &[]),
        ("^[^i]$", &["x"], &["\u{130}"]),
        ("ı", &["I", "i"], &[]),
        ("s", &["\u{17f}"], &[]),
        ("k", &["\u{212a}"], &[]),
        ("ß", &["ẞ"], &[]),
        ("σ", &["ς"], &[]),
        (r"(\w+) \1", &["hello hello"], &["hello world"]),
        (r#"(?P<q>['"]).*?(?P=q)"#, &["say 'hi'"], &["say \"hi'"]),
        ("(a)?b(?(1)c|d)", &["abc", "bd", "abd"], &["bc"]),
        ("^(a)?(?(1)|b)$", &["a", "b"], &[""]),
        ("^(a)?(?(1)b)$", &["ab", ""], &["a"]),
        ("(?>a+)ab", &[], &["aaab"]),
        ("a++ab", &[], &["aaab"]),
        ("(?>a+)b", &["aaab"], &[]),
        ("foo(?!bar)", &["foobaz"], &["foobar"]),
        ("(?<=答案)B", &["答案B"], &["B"]),
        ("(?<!不)选A", &["选A"], &["不选A"]),
        ("(?:(?=a))*b", &["b", "ab"], &[]),
        ("(?=a)+a", &["a"], &["b"]),
        ("(?!a)?b", &["b"], &[]),
        ("(?:)*x", &["x"], &[]),
        ("(?:(?:)*)*x", &["x"], &[]),
        ("(?:^)*x", &["ax"], &[]),
        ("(?:^|$)*x", &["ax"], &[]),
        (r"\<answer\>", &["<answer>"], &[]),
        (r"\x41\u0042\U00000043\104", &["abcd"], &[]),
        (r"\0", &["\u{0}"], &[]),
        (r"[\b]", &["\u{8}"], &[]),
        (r"\-\ \#\&\~", &["- #&~"], &[]),
        ("[[:alpha:]]", &["a]"], &["b]", "a"]),
        ("[a&&b]", &["&", "a"], &[]),
        ("[]a]", &["]"], &[]),
        ("[^]a]", &["b"], &["]"]),
        ("[a-]", &["-"], &[]),
        (r"[\]\-^]", &["^", "-"], &[]),
        ("[+--]", &[","], &["/"]),
        ("a{,2}b", &["aab", "b"], &[]),
        ("^a{2}$", &["aa"], &["a"]),
        ("a{x", &["a{x"], &[]),
        ("a{}", &["a{}"], &[]),
        ("^a{2,3}?$", &["aaa"], &[]),
        ("x{2}", &["xx"], &[]),
        ("x{,}y", &["xxy"], &[]),
        ("(?x) a b # comment", &["ab"], &[]),
        ("(?x)a\\ b[ ]c # d\n d", &["a b cd"], &[]),
        ("(?x: a b ) c", &["ab c"], &[]),
        ("a(?#comment)b", &["ab"], &[]),
        ("a(?#c)*b", &["aab"], &[]),
        (r"(?a)^\w$", &["a"], &["é", "\u{17f}"]),
        ("(?a)s", &["S"], &["\u{17f}"]),
        ("(?a)[^a-z]", &["é"], &["A"]),
        (r"(?a:\d)", &["1"], &["١"]),
        ("(?a)é", &["é"], &["É"]),
        (r"(?a)\bé", &["aé"], &["é"]),
        (r"答案[:：]\s*([A-D])", &["答案： C"], &[]),
        ("^[一-龥]+$", &["中文"], &[]),
        ("", &["x"], &[]),
        ("a||b", &["c"], &[]),
        ("()(a|b)?", &["q"], &[]),
        ("(a|b)*c|(a|ab)*c", &["abc", "xac"], &[]),
        ("(?:a|ab)(?:c|bcd)(?:d*)$", &["abcd"], &[]),
        (r"\.\*\+\?\(\)\[\]\{\}\|\^\$\\", &[".*+?()[]{}|^$\\"], &[]),
        ("a\tb", &["a\tb"], &[]),
        (r"\a\f\v\r\t\n", &["\u{7}\u{c}\u{b}\r\t\n"], &[]),
        ("^.$", &["é", "😀", "é\n"], &[]),
    ];
    check(true, table);
}

#[test]
fn with_case() {
    let table: &[(&str, &[&str], &[&str])] = &[
        ("paris", &[], &["PARIS"]),
        ("i", &[], &["\u{130}"]),
        ("(?i)A", &["a"], &[]),
        ("(?ims)a.$", &["A\n\nb"], &[]),
        ("(?i:a)b", &["Ab"], &["AB"]),
    ];
    check(false, table);
}

#[test]
fn errors_say_what_and_where() {
    for (pattern, expected) in [
        ("(", "missing ), unterminated subpattern at position 0"),
        ("(a", "missing ), unterminated subpattern at position 0"),
        ("a)", "unbalanced parenthesis at position 1"),
        ("*a", "nothing to repeat at position 0"),
        ("a**", "multiple repeat at position 2"),
        ("^*", "nothing to repeat at position 1"),
        ("a{3,2}", "min repeat greater than max repeat at position 2"),
        ("[a", "unterminated character set at position 0"),
        ("[z-a]", "bad character range z-a at position 1"),
        (r"[\d-z]", "bad character range \\d-z at position 1"),
        (r"\q", "bad escape \\q at position 0"),
        (r"\x1", "incomplete escape \\x1 at position 0"),
        (r"\u12", "incomplete escape \\u12 at position 0"),
        ("(?P<1>a)", "bad character in group name '1' at position 4"),
        ("(?P<a>b)(?P<a>c)", "redefinition of group name 'a' as group 2; was group 1 at position 12"),
        ("(?P=x)", "unknown group name 'x' at position 4"),
        ("(?<n>a)", "unknown extension ?<n at position 1"),
        ("(?Px)", "unknown extension ?Px at position 1"),
        (r"\2(a)", "invalid group reference 2 at position 1"),
        (r"(a\1)", "cannot refer to an open group at position 2"),
        ("(?<=a+)b", "look-behind requires fixed-width pattern at position 0"),
        ("(?<=a|bc)d", "look-behind requires fixed-width pattern at position 0"),
        ("a(?i)b", "global flags not at the start of the expression at position 1"),
        ("(?i", "missing -, : or ) at position 3"),
        ("(?z)", "unknown extension ?z at position 1"),
        ("(?(2)a)", "invalid group reference 2 at position 3"),
        ("(?(x)a)", "unknown group name 'x' at position 3"),
        ("(a)(?(1)a|b|c)", "conditional backref with more than two branches at position 11"),
        (r"\400", "octal escape value \\400 outside of range 0-0o377 at position 0"),
        ("(?#", "missing ), unterminated comment at position 0"),
        ("(?", "unexpected end of pattern at position 2"),
        ("(?P<a", "missing >, unterminated name at position 4"),
        ("a\\", "bad escape (end of pattern) at position 1"),
        ("(?au:x)", "bad inline flags: flags 'a', 'u' and 'L' are incompatible at position 4"),
        ("(?-a:x)", "bad inline flags: cannot turn off flags 'a', 'u' and 'L' at position 4"),
        ("(?i-i:x)", "bad inline flags: flag turned on and off at position 5"),
        ("x{99999999999}", "the repetition number is too large at position 1"),
        (r"(?<=(a)\1)b", "cannot refer to group defined in the same lookbehind subpattern at position 7"),
        (r"[\8]", "bad escape \\8 at position 1"),
        (r"\N{BULLET}", r"\N{…} is not supported, write \uXXXX at position 0"),
        (r"\ud800", r"\ud800 is no character at position 0"),
    ] {
        let error = PythonRegex::new(pattern, true).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some(expected), "{pattern}");
    }
    assert!(PythonRegex::new(&"(".repeat(1000), true).is_err());
}

#[test]
fn a_pattern_that_becomes_too_large_says_where() {
    for (pattern, position) in [
        ("x(a{1000}){1000}", Some(10)),
        ("a{60000}b{60000}", Some(9)),
        ("a{60000}|b{60000}", Some(9)),
        (r"^\w{1,300}$", Some(3)),
        (".{10000}", Some(1)),
        (r"(?:(?:\w{9}){9}){9}", Some(16)),
        (r"(?a)^\w{1,300}$", None),
        (r"\w+\s{1,300}", None),
        ("(a|b){1000}", None),
        // Patterns that backtrack make no copies.
        ("(?:(?!b)a){60000}", None),
    ] {
        let error = PythonRegex::new(pattern, true).err().map(|error| error.to_string());
        let expected = position.map(|position| format!("are small) at position {position}"));
        match (error, expected) {
            (Some(error), Some(expected)) => {
                assert!(
                    error.starts_with("the pattern is too large, repeat less of it"),
                    "{pattern}: {error}"
                );
                assert!(error.ends_with(&expected), "{pattern}: {error}");
            }
            (error, expected) => assert_eq!(error, expected, "{pattern}"),
        }
    }
}

#[test]
fn long_texts_without_what_is_required_are_not_searched() {
    // For each pattern, the search alone would need more steps than the limit.
    let filler = "a".repeat(100_000);
    for (pattern, ignore_case, found_with_it) in [
        (r"(a|aa)+\1(?=b)needle", false, None),
        (r"(?<=NEEDLE)(a|aa)+\1b", true, Some(true)),
        (r"(a|aa)+\1(?:bc|needle)", false, Some(true)),
    ] {
        let Ok(regex) = PythonRegex::new(pattern, ignore_case) else { panic!("{pattern} is a pattern") };
        assert_eq!(regex.is_match(&filler).ok(), Some(false), "{pattern}");
        assert_eq!(regex.find(&filler, Group::WHOLE, Occurrence::Last).ok(), Some(None), "{pattern}");
        assert_eq!(regex.is_match(&format!("{filler}needle{filler}b")).ok(), found_with_it, "{pattern}");
    }
    // Text that occurs is found, in either case and in either alphabet.
    for filler in [&filler, &"é".repeat(100_000)] {
        let text = format!("{filler} the an\u{17f}wer: 42");
        let Ok(regex) = PythonRegex::new("(?<=ANSWER: )4", true) else { panic!("it is a pattern") };
        assert_eq!(regex.is_match(&text).ok(), Some(true));
    }
}

#[test]
fn groups_are_found_by_number_and_by_name() {
    let table = [
        (r"answer: (\w+)", "1", "answer: a, answer: b", Some("a"), Some("b")),
        (r"answer: (\w+)", "0", "answer: a, answer: b", Some("answer: a"), Some("answer: b")),
        ("(?P<key>[a-z])=(?P<value>.)", "value", "a=1 b=2", Some("1"), Some("2")),
        ("(a$)|(b)", "2", "ba", Some("b"), Some("b")),
        (r"(?>x+)\b(y)?(?=(z)|$)(z)", "3", "x xz", None, None),
        (r"(?:(\bx)|y)\W*(z$)", "2", "y z\n", Some("z"), Some("z")),
        (r"答案(?:是|：)(\w)", "1", "答案是甲，答案：乙", Some("甲"), Some("乙")),
        ("x*", "0", "ab", Some(""), Some("")),
        ("x", "0", "", None, None),
    ];
    for (pattern, group, text, first, last) in table {
        let Ok(regex) = PythonRegex::new(pattern, false) else { panic!("{pattern} is a pattern") };
        let Ok(group) = regex.group(group) else { panic!("{pattern} has the group {group}") };
        assert_eq!(regex.find(text, group, Occurrence::First).ok(), Some(first), "{pattern} {text}");
        assert_eq!(regex.find(text, group, Occurrence::Last).ok(), Some(last), "{pattern} {text}");
    }
    let Ok(regex) = PythonRegex::new("(a)(?P<b>b)", false) else { panic!("it is a pattern") };
    assert_eq!(regex.group_count(), 2);
    assert!(regex.group("3").is_err() && regex.group("c").is_err() && regex.group("-1").is_err());
    assert_eq!(regex.group("0"), Ok(Group::WHOLE));
}

#[test]
fn all_matches() {
    for (pattern, text, most, expected) in [
        (r"g=(\w)", "g=a, g=b, g=a", 9, vec!["a", "b", "a"]),
        (r"g=(\w)", "g=a, g=b, g=a", 2, vec!["a", "b"]),
        (r"g=(\w)?", "g= g=b", 9, vec!["b"]),
        (r"g=(\w)", "", 9, vec![]),
    ] {
        let Ok(regex) = PythonRegex::new(pattern, true) else { panic!("{pattern}") };
        let Ok(group) = regex.group("1") else { panic!("{pattern}") };
        assert_eq!(regex.find_all(text, group, most).ok(), Some(expected), "{pattern} {text}");
    }
}

#[test]
fn the_first_group_that_is_not_empty_counts() {
    for (pattern, text, first, last) in [
        ("(-?[$0-9.,]{2,})|(-?[0-9]+)", "a 7 of 12.", Some("7"), Some("12.")),
        (r"#### (\-?[0-9\.\,]+)", "#### 1,2\n#### 3", Some("1,2"), Some("3")),
        ("(?<=is )(.*)(?=.)", "it is so. is no", Some("so. is n"), Some("so. is n")),
        ("a.", "ab ac", Some("ab"), Some("ac")),
        ("a(b)?", "ab a", Some("b"), Some("")),
        ("a(b)?(c)?", "a", None, None),
        ("a", "b", None, None),
    ] {
        let Ok(regex) = PythonRegex::new(pattern, false) else { panic!("{pattern}") };
        assert_eq!(regex.find_any_group(text, Occurrence::First).ok(), Some(first), "{pattern} {text}");
        assert_eq!(regex.find_any_group(text, Occurrence::Last).ok(), Some(last), "{pattern} {text}");
    }
}

#[test]
fn matches_are_replaced_like_re_sub() {
    for (pattern, replacement, text, expected) in [
        (",", "", "1,234,567", "1234567"),
        ("(?s).*#### ", "", "a\n#### b #### 7", "7"),
        (r"\.$", "", "7.\n", "7\n"),
        (r"\b(?:The |the )", "", "the end of the breathe x", "end of breathe x"),
        (r"\[.*?\]", "", "a [b] [c\n] [d", "a  [c\n] [d"),
        (r"\(\s*([^\)]*?)\s*\)", r"(\1)", "( a b ) (c )", "(a b) (c)"),
        ("(?P<k>a)(b)?", r"\g<k>\\\2\n", "ab a", "a\\b\n a\\\n"),
        ("é", "e", "éaé", "eae"),
        ("q", "-", "a", "a"),
        ("a", "-", "", ""),
    ] {
        let Ok(regex) = PythonRegex::new(pattern, false) else { panic!("{pattern}") };
        let Ok(replacement) = regex.replacement(replacement) else { panic!("{replacement}") };
        assert_eq!(regex.replace_all(text, &replacement).ok().as_deref(), Some(expected), "{pattern} {text}");
    }
    let Ok(regex) = PythonRegex::new("(a)", false) else { panic!("it is a pattern") };
    for replacement in [r"\2", r"\g<b>", r"\q", r"\g<1", "\\"] {
        assert!(regex.replacement(replacement).is_err(), "{replacement}");
    }
}
