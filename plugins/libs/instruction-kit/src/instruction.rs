//! Instructions, as the rows of IFEval state them.

use gage_python_regex::PythonRegex;
use gage_sdk::PluginError;
use gage_sdk::serde_json::{Map, Value};
use gage_text_kit::text::{lower, strip};

/// An instruction that a program can verify.
pub struct Instruction {
    /// The name in the row: `keywords:existence`.
    pub name: String,
    pub(crate) kind: Kind,
}

/// The demand of an instruction, with its arguments.
pub(crate) enum Kind {
    Keywords(Vec<PythonRegex>),
    KeywordFrequency(PythonRegex, Bound),
    ForbiddenWords(Vec<PythonRegex>),
    LetterFrequency(char, Bound),
    Language(String),
    Sentences(Bound),
    Paragraphs(f64),
    Words(Bound),
    FirstWord { paragraphs: f64, number: usize, word: String },
    Placeholders(f64),
    Postscript(PythonRegex),
    Bullets(f64),
    Options,
    Highlights(f64),
    Sections(PythonRegex, f64),
    Json,
    Title,
    TwoResponses,
    Prompt(String),
    End(String),
    CapitalWords(Bound),
    EnglishCapital,
    EnglishLowercase,
    NoComma,
    Quotation,
}

/// A limit on a count.
pub(crate) struct Bound {
    is_maximum: bool,
    limit: f64,
}

impl Bound {
    /// Returns whether a count is within the limit: below a maximum, or at least a minimum.
    pub(crate) fn holds(&self, count: usize) -> bool {
        if self.is_maximum { (count as f64) < self.limit } else { count as f64 >= self.limit }
    }
}

/// Reads the instructions of a row: their names, and an object of arguments for each.
///
/// # Errors
/// `invalid-input` for lists of different lengths, for a name that is unknown, and for an argument that is missing or
/// unusable. lm-evaluation-harness draws a random value for an argument that is missing or 0.
pub fn instructions(names: &Value, arguments: &Value) -> Result<Vec<Instruction>, PluginError> {
    let Value::Array(names) = names else {
        return Err(invalid("the names of the instructions must be a list"));
    };
    let none = vec![Value::Null; names.len()];
    let arguments = match arguments {
        Value::Array(arguments) => arguments,
        Value::Null => &none,
        _ => return Err(invalid("the arguments of the instructions must be a list of objects")),
    };
    if names.len() != arguments.len() {
        let message = format!("{} instructions have {} objects of arguments", names.len(), arguments.len());
        return Err(invalid(message));
    }
    names.iter().zip(arguments).map(|(name, arguments)| instruction(name, arguments)).collect()
}

fn instruction(name: &Value, arguments: &Value) -> Result<Instruction, PluginError> {
    let none = Map::new();
    let Some(name) = name.as_str() else { return Err(invalid("the name of an instruction must be a text")) };
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        Value::Null => &none,
        _ => return Err(invalid(format!("the arguments of '{name}' must be an object"))),
    };
    let kind = Arguments { name, arguments }.kind()?;
    Ok(Instruction { name: name.to_owned(), kind })
}

/// The arguments of one instruction.
struct Arguments<'row> {
    name: &'row str,
    arguments: &'row Map<String, Value>,
}

impl Arguments<'_> {
    fn kind(&self) -> Result<Kind, PluginError> {
        Ok(match self.name {
            "keywords:existence" => Kind::Keywords(self.patterns("keywords", |word| word.to_owned())?),
            "keywords:frequency" => {
                let pattern = self.pattern("keyword", strip(self.text("keyword")?), true)?;
                Kind::KeywordFrequency(pattern, self.bound("relation", "frequency")?)
            }
            "keywords:forbidden_words" => {
                Kind::ForbiddenWords(self.patterns("forbidden_words", |word| format!(r"\b{word}\b"))?)
            }
            "keywords:letter_frequency" => {
                Kind::LetterFrequency(self.letter()?, self.bound("let_relation", "let_frequency")?)
            }
            "language:response_language" => Kind::Language(self.text("language")?.to_owned()),
            "length_constraints:number_sentences" => {
                Kind::Sentences(self.bound("relation", "num_sentences")?)
            }
            "length_constraints:number_paragraphs" => Kind::Paragraphs(self.number("num_paragraphs")?),
            "length_constraints:number_words" => Kind::Words(self.bound("relation", "num_words")?),
            "length_constraints:nth_paragraph_first_word" => self.first_word()?,
            "detectable_content:number_placeholders" => Kind::Placeholders(self.number("num_placeholders")?),
            "detectable_content:postscript" => Kind::Postscript(self.postscript()?),
            "detectable_format:number_bullet_lists" => Kind::Bullets(self.number("num_bullets")?),
            "detectable_format:constrained_response" => Kind::Options,
            "detectable_format:number_highlighted_sections" => {
                Kind::Highlights(self.number("num_highlights")?)
            }
            "detectable_format:multiple_sections" => {
                let mark = strip(self.text("section_spliter")?);
                let pattern = self.pattern("section_spliter", &format!(r"\s?{mark}\s?\d+\s?"), false)?;
                Kind::Sections(pattern, self.number("num_sections")?)
            }
            "detectable_format:json_format" => Kind::Json,
            "detectable_format:title" => Kind::Title,
            "combination:two_responses" => Kind::TwoResponses,
            "combination:repeat_prompt" => Kind::Prompt(self.lowered("prompt_to_repeat")?),
            "startend:end_checker" => Kind::End(self.lowered("end_phrase")?),
            "startend:quotation" => Kind::Quotation,
            "change_case:capital_word_frequency" => {
                Kind::CapitalWords(self.bound("capital_relation", "capital_frequency")?)
            }
            "change_case:english_capital" => Kind::EnglishCapital,
            "change_case:english_lowercase" => Kind::EnglishLowercase,
            "punctuation:no_comma" => Kind::NoComma,
            name => return Err(invalid(format!("there is no instruction '{name}'"))),
        })
    }

    fn first_word(&self) -> Result<Kind, PluginError> {
        let paragraphs = self.number("num_paragraphs")?;
        let number = self.number("nth_paragraph")?;
        if number < 1.0 || number > paragraphs {
            return Err(self.wrong("nth_paragraph", "must be from 1 to 'num_paragraphs'"));
        }
        let number = number as usize;
        Ok(Kind::FirstWord { paragraphs, number, word: lower(self.text("first_word")?).into_owned() })
    }

    fn postscript(&self) -> Result<PythonRegex, PluginError> {
        let marker = strip(self.text("postscript_marker")?);
        let pattern = match marker {
            "P.P.S" => r"(?m)\s*p\.\s?p\.\s?s.*$".to_owned(),
            "P.S." => r"(?m)\s*p\.\s?s\..*$".to_owned(),
            other => format!(r"(?m)\s*{}.*$", lower(other)),
        };
        self.pattern("postscript_marker", &pattern, false)
    }

    fn letter(&self) -> Result<char, PluginError> {
        let letter = lower(strip(self.text("letter")?)).into_owned();
        let mut characters = letter.chars();
        match (characters.next(), characters.next()) {
            (Some(letter), None) => Ok(letter),
            _ => Err(self.wrong("letter", "must be one character")),
        }
    }

    fn bound(&self, relation: &str, limit: &str) -> Result<Bound, PluginError> {
        let is_maximum = match self.text(relation)? {
            "less than" => true,
            "at least" => false,
            _ => return Err(self.wrong(relation, "must be 'less than' or 'at least'")),
        };
        Ok(Bound { is_maximum, limit: self.number(limit)? })
    }

    fn number(&self, argument: &str) -> Result<f64, PluginError> {
        let number = self.arguments.get(argument).and_then(Value::as_f64);
        number.filter(|number| *number >= 0.0).ok_or_else(|| self.wrong(argument, "must be a number from 0"))
    }

    fn text(&self, argument: &str) -> Result<&str, PluginError> {
        let text = self.arguments.get(argument).and_then(Value::as_str);
        let text = text.filter(|text| !strip(text).is_empty());
        text.ok_or_else(|| self.wrong(argument, "must be a text that is not blank"))
    }

    fn lowered(&self, argument: &str) -> Result<String, PluginError> {
        Ok(lower(strip(self.text(argument)?)).into_owned())
    }

    fn patterns(
        &self,
        argument: &str,
        write: impl Fn(&str) -> String,
    ) -> Result<Vec<PythonRegex>, PluginError> {
        let words = self.arguments.get(argument).and_then(Value::as_array).filter(|words| !words.is_empty());
        let wrong = || self.wrong(argument, "must be a list of texts");
        let pattern = |word: &Value| self.pattern(argument, &write(word.as_str().ok_or_else(wrong)?), true);
        words.ok_or_else(wrong)?.iter().map(pattern).collect()
    }

    /// Compiles a keyword: the benchmark takes it for a pattern of Python's `re`.
    fn pattern(&self, argument: &str, pattern: &str, ignore_case: bool) -> Result<PythonRegex, PluginError> {
        PythonRegex::new(pattern, ignore_case)
            .map_err(|error| self.wrong(argument, &format!("must be a pattern of Python's re: {error}")))
    }

    fn wrong(&self, argument: &str, reason: &str) -> PluginError {
        invalid(format!("'{}': the argument '{argument}' {reason}", self.name))
    }
}

fn invalid(message: impl Into<String>) -> PluginError {
    PluginError::invalid_input(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn unusable_rows_are_refused() {
        for (names, arguments, message) in [
            (json!("a"), json!([]), "the names of the instructions must be a list"),
            (json!([]), json!({}), "the arguments of the instructions must be a list of objects"),
            (json!(["punctuation:no_comma"]), json!([]), "1 instructions have 0 objects of arguments"),
            (json!([1]), json!([{}]), "the name of an instruction must be a text"),
            (json!(["x"]), json!([1]), "the arguments of 'x' must be an object"),
            (json!(["x"]), json!([{}]), "there is no instruction 'x'"),
            (
                json!(["keywords:existence"]),
                json!([{ "keywords": null }]),
                "'keywords:existence': the argument 'keywords' must be a list of texts",
            ),
            (
                json!(["length_constraints:number_words"]),
                json!([{ "relation": "at most", "num_words": 5 }]),
                "'length_constraints:number_words': the argument 'relation' must be 'less than' or 'at least'",
            ),
            (
                json!(["length_constraints:number_words"]),
                json!([{ "relation": "at least" }]),
                "'length_constraints:number_words': the argument 'num_words' must be a number from 0",
            ),
            (
                json!(["keywords:letter_frequency"]),
                json!([{ "letter": "ab", "let_relation": "at least", "let_frequency": 1 }]),
                "'keywords:letter_frequency': the argument 'letter' must be one character",
            ),
            (
                json!(["length_constraints:nth_paragraph_first_word"]),
                json!([{ "num_paragraphs": 2, "nth_paragraph": 3, "first_word": "a" }]),
                "'length_constraints:nth_paragraph_first_word': the argument 'nth_paragraph' must be from 1 to \
                 'num_paragraphs'",
            ),
            (
                json!(["startend:end_checker"]),
                json!([{ "end_phrase": " " }]),
                "'startend:end_checker': the argument 'end_phrase' must be a text that is not blank",
            ),
        ] {
            let error = instructions(&names, &arguments).err().map(|error| error.message);
            assert_eq!(error.as_deref(), Some(message), "{names}");
        }
        let error = instructions(&json!(["keywords:existence"]), &json!([{ "keywords": ["("] }])).err();
        assert!(error.is_some_and(|error| error.message.contains("must be a pattern of Python's re")));
    }

    #[test]
    fn instructions_without_arguments_need_none() {
        let names = json!(["punctuation:no_comma", "detectable_format:title"]);
        for arguments in [json!(null), json!([null, {}]), json!([{ "num_words": null }, null])] {
            assert!(instructions(&names, &arguments).is_ok(), "{arguments}");
        }
    }
}
