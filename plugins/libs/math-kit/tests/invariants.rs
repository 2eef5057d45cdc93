//! Properties of the comparison, on random expressions.

use gage_math_kit::{Budget, Outcome, compare};
use proptest::prelude::*;

/// A random expression, to be written in several ways.
#[derive(Clone, Debug)]
enum Tree {
    Number(i32),
    Letter(char),
    Sum(Box<Tree>, Box<Tree>),
    Difference(Box<Tree>, Box<Tree>),
    Product(Box<Tree>, Box<Tree>),
    Square(Box<Tree>),
    Root(i32),
    Sine(Box<Tree>),
}

/// Notation of an expression.
#[derive(Clone, Copy)]
enum Style {
    Plain,
    /// With the parts of sums and products in the opposite order.
    Commuted,
    /// With products and squares of sums multiplied out.
    Expanded,
}

impl Tree {
    fn written(&self, style: Style) -> String {
        let pair = |left: &Tree, right: &Tree| match style {
            Style::Commuted => (right.written(style), left.written(style)),
            Style::Plain | Style::Expanded => (left.written(style), right.written(style)),
        };
        match self {
            Tree::Number(number) => format!("({number})"),
            Tree::Letter(letter) => letter.to_string(),
            Tree::Sum(left, right) => {
                let (left, right) = pair(left, right);
                format!("({left}+{right})")
            }
            Tree::Difference(left, right) => {
                let (left, right) = (left.written(style), right.written(style));
                match style {
                    Style::Commuted => format!("(-({right})+{left})"),
                    Style::Plain | Style::Expanded => format!("({left}-{right})"),
                }
            }
            Tree::Product(left, right) => match (style, &**left) {
                (Style::Expanded, Tree::Sum(one, other)) => {
                    let right = right.written(style);
                    format!("({}{right}+{}{right})", one.written(style), other.written(style))
                }
                _ => {
                    let (left, right) = pair(left, right);
                    format!(r"{left}\cdot {right}")
                }
            },
            Tree::Square(of) => match (style, &**of) {
                (Style::Expanded, Tree::Sum(one, other)) => {
                    let (one, other) = (one.written(style), other.written(style));
                    format!("(({one})^2+2({one})({other})+({other})^2)")
                }
                _ => format!("({})^2", of.written(style)),
            },
            Tree::Root(of) => format!(r"\sqrt{{{of}}}"),
            Tree::Sine(of) => format!(r"\sin({})", of.written(style)),
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        (-9..10_i32).prop_map(Tree::Number),
        prop_oneof![Just('x'), Just('y')].prop_map(Tree::Letter),
        (2..20_i32).prop_map(Tree::Root),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        let pair = (inner.clone().prop_map(Box::new), inner.clone().prop_map(Box::new));
        prop_oneof![
            pair.clone().prop_map(|(left, right)| Tree::Sum(left, right)),
            pair.clone().prop_map(|(left, right)| Tree::Difference(left, right)),
            pair.prop_map(|(left, right)| Tree::Product(left, right)),
            inner.clone().prop_map(|of| Tree::Square(Box::new(of))),
            inner.prop_map(|of| Tree::Sine(Box::new(of))),
        ]
    })
}

fn outcome(left: &str, right: &str) -> Outcome {
    compare(left, right, &Budget::new()).outcome
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn an_expression_is_itself_in_any_writing(tree in tree()) {
        let plain = tree.written(Style::Plain);
        for other in [
            plain.clone(),
            tree.written(Style::Commuted),
            tree.written(Style::Expanded),
            format!("{plain}+0"),
            format!("1*({plain})"),
            format!(r"\frac{{2({plain})}}{{2}}"),
            format!(r"\boxed{{${plain}$}}."),
        ] {
            prop_assert_eq!(outcome(&plain, &other), Outcome::Equal, "{} and {}", plain, other);
            prop_assert_eq!(outcome(&other, &plain), Outcome::Equal, "{} and {}", other, plain);
        }
    }

    #[test]
    fn a_change_is_seen(tree in tree(), part in 1..1000_i64, letter in "[xyz]") {
        let plain = tree.written(Style::Plain);
        for other in [
            format!("{plain}+1/{part}"),
            format!("{plain}+10^{{-{}}}", part % 20),
            format!(r"{plain}+\frac{{{letter}}}{{{part}}}"),
            format!(r"{plain}+\sqrt{{{part}}}"),
        ] {
            prop_assert_eq!(outcome(&plain, &other), Outcome::Different, "{} and {}", plain, other);
            prop_assert_eq!(outcome(&other, &plain), Outcome::Different, "{} and {}", other, plain);
        }
    }

    #[test]
    fn the_order_of_the_sides_does_not_matter(left in "[-0-9xy+*/^(),=<{}\\\\. ]{0,20}", right in "[-0-9xy+/(),= ]{0,12}") {
        prop_assert_eq!(outcome(&left, &right) == Outcome::Equal, outcome(&right, &left) == Outcome::Equal);
    }

    #[test]
    fn any_text_can_be_compared(left in ".{0,60}", right in r"(\\[a-z]{1,6}|[{}()\[\]|^_!%°√½²,.0-9a-z$]){0,40}") {
        outcome(&left, &right);
        outcome(&right, &right);
    }

    #[test]
    fn rational_numbers_are_compared_exactly(above in -999..999_i64, below in 1..999_i64, other in 1..999_i64) {
        let fraction = format!(r"\frac{{{above}}}{{{below}}}");
        let scaled = format!("{}/{}", above * other, below * other);
        prop_assert_eq!(outcome(&fraction, &scaled), Outcome::Equal);
        let near = format!("{}/{}", above * other + 1, below * other);
        prop_assert_eq!(outcome(&fraction, &near), Outcome::Different);
    }
}
