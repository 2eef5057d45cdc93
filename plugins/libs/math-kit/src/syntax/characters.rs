//! Characters beyond ASCII that have a meaning in mathematics.

use crate::answer::{RelationSign, SetOperation};
use crate::expression::NamedNumber;
use crate::syntax::token::{Fence, Token};

const SUPERSCRIPTS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const SUBSCRIPTS: &str = "₀₁₂₃₄₅₆₇₈₉";
const GREEK: &[(char, &str)] = &[
    ('α', "alpha"),
    ('β', "beta"),
    ('γ', "gamma"),
    ('δ', "delta"),
    ('ε', "epsilon"),
    ('ζ', "zeta"),
    ('η', "eta"),
    ('θ', "theta"),
    ('λ', "lambda"),
    ('μ', "mu"),
    ('ν', "nu"),
    ('ξ', "xi"),
    ('ρ', "rho"),
    ('σ', "sigma"),
    ('τ', "tau"),
    ('φ', "phi"),
    ('ϕ', "phi"),
    ('χ', "chi"),
    ('ψ', "psi"),
    ('ω', "omega"),
    ('Γ', "Gamma"),
    ('Δ', "Delta"),
    ('Θ', "Theta"),
    ('Λ', "Lambda"),
    ('Σ', "Sigma"),
    ('Φ', "Phi"),
    ('Ψ', "Psi"),
    ('Ω', "Omega"),
];

/// Returns the digit that a superscript writes, or its sign.
pub fn superscript(character: char) -> Option<char> {
    match character {
        '⁻' => Some('-'),
        '⁺' => Some('+'),
        'ⁿ' => Some('n'),
        'ˣ' => Some('x'),
        _ => digit_at(SUPERSCRIPTS, character),
    }
}

/// Returns the digit that a subscript writes.
pub fn subscript(character: char) -> Option<char> {
    digit_at(SUBSCRIPTS, character)
}

fn digit_at(digits: &str, character: char) -> Option<char> {
    let at = digits.chars().position(|digit| digit == character)?;
    char::from_digit(u32::try_from(at).ok()?, 10)
}

/// Returns the numerator and the denominator of a fraction in one character.
pub fn vulgar_fraction(character: char) -> Option<(u8, u8)> {
    Some(match character {
        '½' => (1, 2),
        '⅓' => (1, 3),
        '⅔' => (2, 3),
        '¼' => (1, 4),
        '¾' => (3, 4),
        '⅕' => (1, 5),
        '⅖' => (2, 5),
        '⅗' => (3, 5),
        '⅘' => (4, 5),
        '⅙' => (1, 6),
        '⅚' => (5, 6),
        '⅛' => (1, 8),
        '⅜' => (3, 8),
        '⅝' => (5, 8),
        '⅞' => (7, 8),
        _ => return None,
    })
}

/// Returns the token of a single character. `None` if it has no meaning by itself.
pub fn character_token(character: char) -> Option<Token> {
    ascii(character).or_else(|| symbol(character)).or_else(|| {
        let (_, name) = GREEK.iter().find(|(found, _)| *found == character)?;
        Some(Token::Letter((*name).to_owned()))
    })
}

fn ascii(character: char) -> Option<Token> {
    Some(match character {
        '(' => Token::Open(Fence::Round),
        ')' => Token::Close(Fence::Round),
        '[' => Token::Open(Fence::Square),
        ']' => Token::Close(Fence::Square),
        '{' => Token::Open(Fence::Group),
        '}' => Token::Close(Fence::Group),
        '|' => Token::Bar,
        '+' => Token::Plus,
        '-' => Token::Minus,
        '*' => Token::Times,
        '/' => Token::Slash,
        '^' => Token::Caret,
        '_' => Token::Underscore,
        '!' => Token::Exclamation,
        '%' => Token::Percent,
        ',' => Token::Comma,
        ';' => Token::Semicolon,
        ':' => Token::Colon,
        '&' => Token::Ampersand,
        '=' => Token::Relation(RelationSign::Equal),
        '<' => Token::Relation(RelationSign::Less),
        '>' => Token::Relation(RelationSign::Greater),
        _ => return None,
    })
}

fn symbol(character: char) -> Option<Token> {
    Some(match character {
        '−' | '–' | '—' | '－' => Token::Minus,
        '＋' => Token::Plus,
        '×' | '·' | '⋅' | '∙' | '•' | '∗' => Token::Times,
        '÷' | '⁄' | '∕' => Token::Slash,
        '±' => Token::PlusMinus(true),
        '∓' => Token::PlusMinus(false),
        '√' => Token::RootSign(false),
        '∛' => Token::IndexedRoot(3),
        '∜' => Token::IndexedRoot(4),
        'π' | '𝜋' => Token::Named(NamedNumber::Pi),
        '∞' => Token::Named(NamedNumber::Infinity),
        '≤' | '⩽' => Token::Relation(RelationSign::LessEqual),
        '≥' | '⩾' => Token::Relation(RelationSign::GreaterEqual),
        '≠' => Token::Relation(RelationSign::Unequal),
        '≈' | '≃' => Token::Relation(RelationSign::Near),
        '＝' => Token::Relation(RelationSign::Equal),
        '∈' => Token::Relation(RelationSign::In),
        '∪' => Token::Operation(SetOperation::Union),
        '∩' => Token::Operation(SetOperation::Intersection),
        '∖' => Token::Operation(SetOperation::Difference),
        '∅' | '⌀' => Token::Empty,
        'ℝ' => Token::NamedSet('R'),
        'ℤ' => Token::NamedSet('Z'),
        'ℕ' => Token::NamedSet('N'),
        'ℚ' => Token::NamedSet('Q'),
        'ℂ' => Token::NamedSet('C'),
        '°' | '˚' | 'º' => Token::Degree,
        '％' => Token::Percent,
        '⟨' | '〈' => Token::Open(Fence::Angle),
        '⟩' | '〉' => Token::Close(Fence::Angle),
        '⌊' => Token::Open(Fence::Floor),
        '⌋' => Token::Close(Fence::Floor),
        '⌈' => Token::Open(Fence::Ceiling),
        '⌉' => Token::Close(Fence::Ceiling),
        '（' => Token::Open(Fence::Round),
        '）' => Token::Close(Fence::Round),
        '，' | '、' => Token::Comma,
        '：' | '∶' => Token::Colon,
        '∣' => Token::Mid,
        '∠' => Token::NameSign("∠"),
        '∧' => Token::Word("and".to_owned()),
        '∨' => Token::Word("or".to_owned()),
        '€' => Token::Currency("€"),
        '£' => Token::Currency("£"),
        _ => return None,
    })
}
