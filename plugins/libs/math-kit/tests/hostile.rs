//! Answers that are made to take long.

use gage_math_kit::{Budget, MAX_ANSWER_BYTES, MAX_STEPS, Outcome, compare};
use std::time::Instant;

fn repeated(part: &str) -> String {
    part.repeat(MAX_ANSWER_BYTES / part.len() - 2)
}

/// Returns pairs that need much work, each with a name.
fn pairs() -> Vec<(&'static str, String, String)> {
    let deep = |open: &str, inside: &str, close: &str, count: usize| {
        format!("{}{inside}{}", open.repeat(count), close.repeat(count))
    };
    let sum = |count: usize| -> String {
        (2..count).map(|at| format!(r"\frac{{1}}{{{at}}}")).collect::<Vec<_>>().join("+")
    };
    let letters = |part: &str, count: usize| -> String {
        (0..count).map(|at| format!("{part}_{{{at}}}")).collect::<Vec<_>>().join("+")
    };
    let row = |cell: &str, count: usize| vec![cell; count].join("&");
    let matrix = |cell: &str, size: usize| {
        format!(r"\begin{{pmatrix}}{}\end{{pmatrix}}", vec![row(cell, size); size].join(r"\\"))
    };
    let list = |count: usize, shift: usize| -> String {
        (0..count).map(|at| format!(r"\sqrt{{{}}}", at + shift)).collect::<Vec<_>>().join(", ")
    };
    let pair = |name, left: &str, right: &str| (name, left.to_owned(), right.to_owned());
    vec![
        pair("brackets", &deep("(", "1", ")", 4000), "1"),
        pair("groups", &deep("{", "1", "}", 4000), "1"),
        pair("fractions", &deep(r"\frac{1}{", "2", "}", 900), "2"),
        pair("roots", &deep(r"\sqrt{", "2", "}", 40), "2"),
        pair("roots with letters", &deep(r"\sqrt{x+", "2", "}", 40), &deep(r"\sqrt{x+", "3", "}", 40)),
        pair("absolute values", &deep("|", "x", "|", 4000), "x"),
        pair("signs", &format!("{}1", repeated("-")), "1"),
        pair("powers", "9^9^9^9", "9^{9^9}"),
        pair("many powers", &repeated("9^"), "1"),
        pair("negative powers", &format!("{}1", repeated("-2^")), "1"),
        pair("factorials", "999!", &repeated("999!+")),
        pair("factorials of factorials", "9!!!!", "((9!)!)!"),
        pair("products of factorials", &format!("{}1", repeated(r"999!\cdot ")), "1"),
        pair("binomials", &format!("{}1", repeated(r"\binom{1000}{500}+")), "1"),
        pair("binomials with letters", &format!("{}1", repeated(r"\binom{x}{200}+")), "x"),
        pair("polynomial power", "(x+1)^{1000000}", "(x+1)^{1000001}"),
        pair("powers of sums", &deep("(", "x", "+1)^{999}", 45), "x"),
        pair("ten thousand factors", &format!("{}1", repeated("99*")), "1"),
        pair("factors with letters", &format!("{}1", repeated("(x+1)")), &format!("{}1", repeated("(x+2)"))),
        pair("fractions in a sum", &sum(600), &sum(601)),
        pair("sines", &format!("{}1", repeated(r"\sin x+")), &format!("{}2", repeated(r"\sin x+"))),
        pair("logarithms", &format!("{}1", repeated(r"\ln x+")), &format!("{}x", repeated(r"\ln x+"))),
        pair("towers", &deep("e^{", "x", "}", 40), &deep("e^{", "y", "}", 40)),
        pair("sines of sines", &deep(r"\sin(", "x", ")", 40), &deep(r"\sin(", "x+1", ")", 40)),
        pair("letters", &letters("x", 500), &letters("y", 500)),
        pair("few letters", &letters("x", 20), &letters("x", 21)),
        pair("matrix", &matrix(r"\sqrt2", 30), &matrix(r"\frac{2}{\sqrt2}", 20)),
        pair("scaled matrix", &format!("{}{}", "x".repeat(3000), matrix("1", 50)), "1"),
        pair("determinant", &matrix("x", 40).replace("pmatrix", "vmatrix"), "1"),
        pair("list of roots", &list(150, 2), &list(150, 3)),
        pair("same roots", &list(150, 2), &format!("{{{}}}", list(150, 2))),
        pair("members", &repeated("1,"), "1"),
        pair("union", &format!("(0,1){}", r"\cup(0,1)".repeat(47)), "(0,1)"),
        pair("union of roots", &format!("[0,1]{}", r"\cup[\sqrt2,\sqrt3]".repeat(40)), "(0,1)"),
        pair("plus and minus", &format!("{}1", repeated(r"\pm")), "1"),
        pair("large exponent", "1e1000", "1e999"),
        pair("larger exponent", "1e100000", "1e999"),
        pair("digits", &repeated("9"), &repeated("8")),
        pair("large angle", r"\sin(10^{1000})", r"\sin(10^{1001})"),
        pair("root of zero", &deep(r"\sqrt{", r"\sqrt2\sqrt2-2", "}", 40), "0"),
        pair("megabytes", &"(1+".repeat(1_000_000), "1"),
        pair("megabytes of boxes", &r"\boxed{".repeat(1_000_000), "1"),
        pair("units", &format!("1 {}", repeated(r"\text{m}\cdot")), "1"),
        pair("words", &repeated("word "), "word"),
        pair("texts", &repeated(r"\text{a}"), "a"),
        pair("base", &format!("{}_2", "1".repeat(9000)), "1"),
        pair("gcd", &format!(r"\gcd({})", vec!["2^{5000}"; 18].join(",")), "1"),
        pair("lcm", &format!(r"\operatorname{{lcm}}({})", "2^{4000}+1,3^{2000}+1,5^{1700}+1"), "1"),
        pair("ratio", &vec!["x"; 200].join(":"), &vec!["y"; 200].join(":")),
        pair("inequalities", &format!("x{}", "<1".repeat(40)), "x<1"),
    ]
}

#[test]
fn work_is_bounded() {
    for (name, left, right) in pairs() {
        for (answer, reference) in [(&left, &right), (&right, &left)] {
            let start = Instant::now();
            let found = compare(answer, reference, &Budget::new());
            println!("{name}: {:?}, {} steps, {:?}", found.outcome, found.steps, start.elapsed());
            assert!(found.steps <= MAX_STEPS, "{name}");
            let may_be_equal = ["same roots", "union", "members", "root of zero"].contains(&name);
            assert!(found.outcome != Outcome::Equal || may_be_equal, "{name}");
        }
    }
}

#[test]
fn identical_texts_are_equal_at_any_length() {
    let text = "(1+".repeat(1_000_000);
    assert_eq!(compare(&text, &text, &Budget::new()).outcome, Outcome::Equal);
    assert_eq!(compare("2^{1000000}", "2^{1000000}", &Budget::new()).outcome, Outcome::Equal);
}
