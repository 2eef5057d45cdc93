//! The LaTeX commands that have a meaning.

use crate::answer::{RelationSign, SetOperation};
use crate::expression::{FunctionName, NamedNumber};
use crate::syntax::token::{Fence, Token};

/// Commands that only change how something looks.
const IGNORED: &[&str] = &[
    "displaystyle",
    "textstyle",
    "scriptstyle",
    "limits",
    "quad",
    "qquad",
    "left",
    "right",
    "middle",
    "big",
    "Big",
    "bigg",
    "Bigg",
    "bigl",
    "bigr",
    "Bigl",
    "Bigr",
    "biggl",
    "biggr",
    "Biggl",
    "Biggr",
    "bigm",
    "hline",
    "nolimits",
    "mathord",
    "mathrel",
    "boldsymbol",
    "bm",
    "small",
    "large",
    "Large",
    "normalsize",
    "centering",
    "thinspace",
    "enspace",
    "hfill",
    "mathstrut",
    "strut",
    "boxed",
    "fbox",
    "mathopen",
    "mathclose",
    "underline",
];

/// Commands whose argument is words.
const TEXT: &[&str] =
    &["text", "textbf", "textit", "textrm", "textsf", "texttt", "mbox", "hbox", "textnormal", "emph"];

/// Commands whose argument is a name if it has several letters, and mathematics otherwise.
const STYLES: &[&str] =
    &["mathrm", "mathbf", "mathit", "mathsf", "mathtt", "operatorname", "mathcal", "mathscr", "mathfrak"];

/// Greek letters.
const GREEK: &[&str] = &[
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "varepsilon",
    "zeta",
    "eta",
    "theta",
    "vartheta",
    "iota",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "xi",
    "rho",
    "varrho",
    "sigma",
    "tau",
    "upsilon",
    "phi",
    "varphi",
    "chi",
    "psi",
    "omega",
    "Gamma",
    "Delta",
    "Theta",
    "Lambda",
    "Xi",
    "Sigma",
    "Upsilon",
    "Phi",
    "Psi",
    "Omega",
    "ell",
    "hbar",
];

const FUNCTIONS: &[(&str, FunctionName)] = &[
    ("sin", FunctionName::Sine),
    ("cos", FunctionName::Cosine),
    ("tan", FunctionName::Tangent),
    ("tg", FunctionName::Tangent),
    ("cot", FunctionName::Cotangent),
    ("sec", FunctionName::Secant),
    ("csc", FunctionName::Cosecant),
    ("cosec", FunctionName::Cosecant),
    ("arcsin", FunctionName::Arcsine),
    ("arccos", FunctionName::Arccosine),
    ("arctan", FunctionName::Arctangent),
    ("asin", FunctionName::Arcsine),
    ("acos", FunctionName::Arccosine),
    ("atan", FunctionName::Arctangent),
    ("sinh", FunctionName::HyperbolicSine),
    ("cosh", FunctionName::HyperbolicCosine),
    ("tanh", FunctionName::HyperbolicTangent),
    ("ln", FunctionName::Logarithm),
    ("exp", FunctionName::Exponential),
    ("max", FunctionName::Maximum),
    ("min", FunctionName::Minimum),
    ("gcd", FunctionName::Divisor),
    ("lcm", FunctionName::Multiple),
];

/// Reading of the argument of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Words.
    Text,
    /// A name; mathematics if it has one letter or none.
    Style,
}

/// Meaning of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandMeaning {
    /// No meaning: the command only changes how something looks.
    Ignored,
    /// A token.
    Token(Token),
    /// A command for the group after it.
    Argument(ArgumentKind),
}

/// Returns the meaning of a command, named without its backslash. `None` if it is unknown.
pub fn meaning(name: &str) -> Option<CommandMeaning> {
    if IGNORED.contains(&name) {
        return Some(CommandMeaning::Ignored);
    }
    if TEXT.contains(&name) {
        return Some(CommandMeaning::Argument(ArgumentKind::Text));
    }
    if STYLES.contains(&name) {
        return Some(CommandMeaning::Argument(ArgumentKind::Style));
    }
    if GREEK.contains(&name) {
        return Some(CommandMeaning::Token(greek(name)));
    }
    let token = function(name).or_else(|| sign(name)).or_else(|| relation(name))?;
    Some(CommandMeaning::Token(token))
}

/// Returns the function with a name.
pub fn function(name: &str) -> Option<Token> {
    if matches!(name, "log" | "lg") {
        return Some(Token::Log);
    }
    FUNCTIONS.iter().find(|(found, _)| *found == name).map(|(_, function)| Token::Function(*function))
}

/// Returns the meaning of a name in plain text, such as `pi` or `sqrt`.
pub fn plain_name(name: &str) -> Option<Token> {
    let token = match name {
        "pi" | "Pi" => Token::Named(NamedNumber::Pi),
        "inf" | "infty" | "infinity" | "oo" | "Infinity" => Token::Named(NamedNumber::Infinity),
        "sqrt" => Token::RootSign(false),
        "cbrt" => Token::IndexedRoot(3),
        "abs" => Token::Function(FunctionName::Absolute),
        "floor" => Token::Function(FunctionName::Floor),
        "ceil" => Token::Function(FunctionName::Ceiling),
        "deg" => Token::Degree,
        _ if GREEK.contains(&name) && name.len() > 3 => greek(name),
        _ => return function(name),
    };
    Some(token)
}

/// Returns a Greek letter. Both forms of a letter are the same.
fn greek(name: &str) -> Token {
    let name = name.strip_prefix("var").unwrap_or(name);
    Token::Letter(name.to_owned())
}

fn relation(name: &str) -> Option<Token> {
    Some(Token::Relation(match name {
        "le" | "leq" | "leqslant" => RelationSign::LessEqual,
        "ge" | "geq" | "geqslant" => RelationSign::GreaterEqual,
        "lt" => RelationSign::Less,
        "gt" => RelationSign::Greater,
        "ne" | "neq" => RelationSign::Unequal,
        "approx" | "simeq" | "approxeq" | "thickapprox" => RelationSign::Near,
        "in" => RelationSign::In,
        _ => return None,
    }))
}

fn sign(name: &str) -> Option<Token> {
    Some(match name {
        "frac" | "dfrac" | "tfrac" | "cfrac" => Token::Fraction,
        "binom" | "dbinom" | "tbinom" => Token::BinomialSign,
        "choose" => Token::Choose,
        "over" => Token::Over,
        "sqrt" => Token::RootSign(true),
        "pi" => Token::Named(NamedNumber::Pi),
        "infty" => Token::Named(NamedNumber::Infinity),
        "cdot" | "times" | "ast" | "cdotp" => Token::Times,
        "div" => Token::Slash,
        "pm" => Token::PlusMinus(true),
        "mp" => Token::PlusMinus(false),
        "cup" | "bigcup" => Token::Operation(SetOperation::Union),
        "cap" | "bigcap" => Token::Operation(SetOperation::Intersection),
        "setminus" | "backslash" | "smallsetminus" => Token::Operation(SetOperation::Difference),
        "emptyset" | "varnothing" => Token::Empty,
        "lbrace" => Token::Open(Fence::Curly),
        "rbrace" => Token::Close(Fence::Curly),
        "langle" => Token::Open(Fence::Angle),
        "rangle" => Token::Close(Fence::Angle),
        "lvert" => Token::Open(Fence::Bar),
        "rvert" => Token::Close(Fence::Bar),
        "lfloor" => Token::Open(Fence::Floor),
        "rfloor" => Token::Close(Fence::Floor),
        "lceil" => Token::Open(Fence::Ceiling),
        "rceil" => Token::Close(Fence::Ceiling),
        "lparen" => Token::Open(Fence::Round),
        "rparen" => Token::Close(Fence::Round),
        "lbrack" => Token::Open(Fence::Square),
        "rbrack" => Token::Close(Fence::Square),
        "vert" => Token::Bar,
        "mid" => Token::Mid,
        "colon" => Token::Colon,
        "degree" | "circ" | "textdegree" => Token::Degree,
        "angle" | "measuredangle" => Token::NameSign("∠"),
        "triangle" => Token::NameSign("△"),
        "land" | "wedge" => Token::Word("and".to_owned()),
        "lor" | "vee" => Token::Word("or".to_owned()),
        "pounds" => Token::Currency("£"),
        "euro" => Token::Currency("€"),
        _ => return None,
    })
}
