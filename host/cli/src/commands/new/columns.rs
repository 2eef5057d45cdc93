//! The columns of a file of rows, and guesses at their meaning.

use serde_json::{Map, Value};

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    values: Vec<Value>,
}

/// The columns of the first rows, in the order in which they occur.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) columns: Vec<Column>,
    /// Number of rows.
    pub(super) rows: usize,
}

/// Fields that the preprocessor `default` takes as the question, in its order.
const KNOWN_QUESTIONS: [&str; 3] = ["question", "prompt", "text"];

/// Fields that the preprocessor `default` takes as the answer, in its order.
const KNOWN_ANSWERS: [&str; 4] = ["references", "answer", "answers", "label"];

/// Further names of questions, from the most to the least likely.
const LIKELY_QUESTIONS: [&str; 10] =
    ["query", "q", "input", "problem", "instruction", "task", "goal", "body", "content", "message"];

/// Further names of answers, from the most to the least likely.
const LIKELY_ANSWERS: [&str; 16] = [
    "target",
    "gold",
    "expected",
    "expected_output",
    "expected_answer",
    "correct_answer",
    "reference",
    "ground_truth",
    "ideal",
    "solution",
    "output",
    "response",
    "completion",
    "class",
    "category",
    "result",
];

/// Fields with the options of a question, as `multi_choice` knows them.
const OPTIONS: [&str; 2] = ["choices", "options"];

/// Maximum number of words in the name of a column.
const MAX_NAME_WORDS: usize = 6;

/// Number of words from which on a text that ends as a sentence is one.
const MIN_SENTENCE_WORDS: usize = 3;

/// Maximum number of different answers that a prompt lists.
const MAX_LISTED_ANSWERS: usize = 8;

/// Maximum number of words of an answer that a model can be expected to give exactly.
const MAX_EXACT_WORDS: f64 = 8.0;

/// Format of the answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AnswerKind {
    /// One of a few texts.
    Choice(Vec<String>),
    /// Numbers.
    Number,
    /// A few words.
    Short,
    /// Sentences.
    Long,
}

impl Columns {
    /// Adds a row.
    pub(super) fn add(&mut self, row: Map<String, Value>) {
        self.rows += 1;
        for (name, value) in row {
            match self.columns.iter_mut().find(|column| column.name == name) {
                Some(column) => column.values.push(value),
                None => self.columns.push(Column { name, values: vec![value] }),
            }
        }
    }

    /// Returns the names of all columns.
    pub(super) fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// Returns whether there is a column of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }

    /// Returns whether rows are conversations already.
    pub(super) fn has_messages(&self) -> bool {
        self.columns
            .iter()
            .any(|column| column.name == "messages" && column.values.iter().all(Value::is_array))
    }

    /// Returns the column with the options of each question.
    pub(super) fn options(&self) -> Option<&str> {
        let is_list = |name: &&&str| {
            self.columns.iter().any(|one| one.name == **name && one.values.iter().all(Value::is_array))
        };
        OPTIONS.iter().find(is_list).copied()
    }

    /// Returns the column that is the question: by its name, or else the one with the longest texts that is not the answer.
    /// `answer` is the column of the answer, if the user named it.
    pub(super) fn question(&self, answer: Option<&str>) -> Option<&str> {
        let named = self.named(KNOWN_QUESTIONS.iter().chain(&LIKELY_QUESTIONS), answer);
        named.or_else(|| {
            let answer = answer.or_else(|| self.named_answer(None));
            let is_text = |column: &&Column| {
                Some(column.name.as_str()) != answer && !column.is_id() && column.words() > 0.0
            };
            let texts = self.columns.iter().filter(is_text);
            let rank = |column: &Column| (column.has_sentences(), column.words());
            // Of equal columns, the last one of the reversed order is the first column.
            let longest = texts.rev().max_by(|one, two| {
                let ((one_text, one_words), (two_text, two_words)) = (rank(one), rank(two));
                one_text.cmp(&two_text).then(one_words.total_cmp(&two_words))
            });
            longest.map(|column| column.name.as_str())
        })
    }

    /// Returns the column that is the answer: by its name, or else the only one besides the question and ids.
    pub(super) fn answer(&self, question: Option<&str>) -> Option<&str> {
        self.named_answer(question).or_else(|| {
            let mut others = self
                .columns
                .iter()
                .filter(|column| Some(column.name.as_str()) != question && !column.is_id());
            others.next().filter(|_| others.next().is_none()).map(|column| column.name.as_str())
        })
    }

    /// Returns the column with the name of an answer, which is not the question.
    fn named_answer(&self, question: Option<&str>) -> Option<&str> {
        self.named(KNOWN_ANSWERS.iter().chain(&LIKELY_ANSWERS), question)
    }

    /// Returns the column whose name is usual for an answer, and unknown to the preprocessor `default`.
    pub(super) fn likely_answer(&self) -> Option<&str> {
        self.named(LIKELY_ANSWERS.iter(), None)
    }

    /// Returns whether the names of the columns look like values: none is known, and one is a number or a sentence.
    pub(super) fn has_values_as_names(&self) -> bool {
        let known =
            KNOWN_QUESTIONS.iter().chain(&LIKELY_QUESTIONS).chain(&KNOWN_ANSWERS).chain(&LIKELY_ANSWERS);
        let is_value = |name: &str| {
            let words = name.split_whitespace().count();
            let is_number =
                name.contains(|one: char| one.is_ascii_digit()) && name.trim().parse::<f64>().is_ok();
            let is_sentence = words >= MIN_SENTENCE_WORDS && name.trim().ends_with(['?', '.', '!']);
            is_number || is_sentence || words > MAX_NAME_WORDS
        };
        self.named(known.chain(&OPTIONS), None).is_none() && self.names().into_iter().any(is_value)
    }

    /// Returns the column with the first of the names that occurs, apart from the column `other`.
    fn named<'n>(&self, names: impl Iterator<Item = &'n &'static str>, other: Option<&str>) -> Option<&str> {
        let is_named = |column: &Column, name: &str| {
            Some(column.name.as_str()) != other && column.name.to_lowercase() == name
        };
        names
            .into_iter()
            .find_map(|name| self.columns.iter().find(|column| is_named(column, name)))
            .map(|column| column.name.as_str())
    }

    /// Returns the format of the answers in a column.
    pub(super) fn kind_of(&self, name: &str) -> AnswerKind {
        let Some(column) = self.columns.iter().find(|column| column.name == name) else {
            return AnswerKind::Short;
        };
        let texts: Vec<String> = column.texts().collect();
        let is_number = |text: &String| text.trim().replace(',', "").parse::<f64>().is_ok();
        if !texts.is_empty() && texts.iter().all(is_number) {
            return AnswerKind::Number;
        }
        if column.words() > MAX_EXACT_WORDS {
            return AnswerKind::Long;
        }
        let mut different = texts.clone();
        different.sort_unstable();
        different.dedup();
        // Few answers that repeat are the classes of the rows.
        match different.len() <= MAX_LISTED_ANSWERS && different.len() * 2 <= texts.len() {
            true => AnswerKind::Choice(different),
            false => AnswerKind::Short,
        }
    }
}

impl Column {
    /// Returns whether the column only identifies rows: by its name, or by whole numbers that count them.
    fn is_id(&self) -> bool {
        let name = self.name.to_lowercase();
        let numbers: Option<Vec<i64>> = self.texts().map(|text| text.trim().parse().ok()).collect();
        let counts = |numbers: Vec<i64>| {
            numbers.len() > 1 && numbers.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]))
        };
        ["id", "index", "idx"].contains(&name.as_str())
            || name.ends_with("_id")
            || numbers.is_some_and(counts)
    }

    /// Returns whether the column may hold questions: not only numbers, and true or false.
    fn has_sentences(&self) -> bool {
        let is_value =
            |text: &str| text.parse::<f64>().is_ok() || text.to_lowercase().parse::<bool>().is_ok();
        self.texts().any(|text| !is_value(text.trim()))
    }

    /// Returns the texts and numbers of the column, also those in lists.
    fn texts(&self) -> impl Iterator<Item = String> {
        let items = self.values.iter().flat_map(|value| match value {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        });
        items.filter_map(|value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(is_true) => Some(is_true.to_string()),
            _ => None,
        })
    }

    /// Returns the mean number of words of the texts.
    fn words(&self) -> f64 {
        let counts: Vec<usize> = self.texts().map(|text| text.split_whitespace().count()).collect();
        if counts.is_empty() { 0.0 } else { counts.iter().sum::<usize>() as f64 / counts.len() as f64 }
    }
}

/// Returns the parameters of the preprocessor `default` for fields with names that it does not know.
pub(super) fn default_kwargs(
    columns: &Columns,
    question: Option<&str>,
    answer: &str,
) -> Vec<(&'static str, String)> {
    let is_found = |known: &[&str], name: &str| {
        known.iter().find(|known| columns.has(known)).is_some_and(|first| *first == name)
    };
    let mut kwargs = Vec::new();
    if let Some(question) = question.filter(|name| !is_found(&KNOWN_QUESTIONS, name)) {
        kwargs.push(("question_field", question.to_owned()));
    }
    if !is_found(&KNOWN_ANSWERS, answer) {
        kwargs.push(("answer_field", answer.to_owned()));
    }
    kwargs
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn columns(rows: &[Value]) -> Columns {
        let mut columns = Columns::default();
        rows.iter().for_each(|row| columns.add(row.as_object().cloned().expect("a row")));
        columns
    }

    #[test]
    fn fields_are_guessed_from_names_and_values() {
        for (row, question, answer) in [
            (json!({"id": 1, "question": "q", "answer": "a"}), "question", "answer"),
            (json!({"ticket": 17, "text": "My card was charged twice.", "team": "billing"}), "text", ""),
            (json!({"input": "q", "gold": "a", "notes": "n"}), "input", "gold"),
            (json!({"Frage": "Was ist die Hauptstadt von Peru?", "Stadt": "Lima"}), "Frage", "Stadt"),
            (json!({"text": "a text", "label": "spam"}), "text", "label"),
        ] {
            let columns = columns(std::slice::from_ref(&row));
            assert_eq!(columns.question(None), Some(question), "{row}");
            assert_eq!(columns.answer(columns.question(None)).unwrap_or_default(), answer, "{row}");
        }
    }

    #[test]
    fn a_known_name_counts_more_than_the_length() {
        let long = "Hypertext Transfer Protocol";
        for (row, question, answer) in [
            (json!({"term": "HTTP", "answer": long}), "term", "answer"),
            (json!({"answer": long, "term": "HTTP"}), "term", "answer"),
            (json!({"english": "dog", "target": "el perro"}), "english", "target"),
            (json!({"country": "Peru", "label": "South America"}), "country", "label"),
            (json!({"acronym": "HTTP", "Solution": long}), "acronym", "Solution"),
            (json!({"word": "dog", "references": ["el perro", "la perra"]}), "word", "references"),
            (json!({"q": "Fire?", "gold": true}), "q", "gold"),
            (json!({"q": "HTTP", "meaning": long}), "q", "meaning"),
            (json!({"prompt": "HTTP", "meaning": long}), "prompt", "meaning"),
            (json!({"claim": "Water.", "is_true": true}), "claim", "is_true"),
            (json!({"is_true": "False", "claim": "Water."}), "claim", "is_true"),
            (json!({"word": "dog", "wort": "Hund"}), "word", "wort"),
            (json!({"word": "HTTP", "meaning": long}), "meaning", "word"),
        ] {
            let columns = columns(std::slice::from_ref(&row));
            assert_eq!(columns.question(None), Some(question), "{row}");
            assert_eq!(columns.answer(Some(question)), Some(answer), "{row}");
        }
        assert_eq!(columns(&[json!({"id": 1, "label": "x"})]).question(None), None, "the user is asked");
        let named = columns(&[json!({"text": long, "word": "HTTP"})]);
        assert_eq!(named.question(Some("text")), Some("word"), "the user named the answer");
    }

    #[test]
    fn first_row_of_a_file_without_a_header_is_noticed() {
        for (names, is_row) in [
            (["What is 2+2?", "4"], true),
            (["What is the capital of Peru?", "Lima"], true),
            (["The capital of Peru is", "7"], true),
            (["question", "4"], false),
            (["ticket text", "team"], false),
            (["tweet", "toxic?"], false),
            (["Frage", "Antwort 1"], false),
        ] {
            let row = names.iter().map(|name| ((*name).to_owned(), json!("a"))).collect();
            assert_eq!(columns(&[Value::Object(row)]).has_values_as_names(), is_row, "{names:?}");
        }
    }

    #[test]
    fn numbers_that_count_the_rows_are_no_answer() {
        let rows = [(17, "billing"), (18, "engineering")]
            .map(|(ticket, team)| json!({"ticket": ticket, "text": "My card was charged.", "team": team}));
        assert_eq!(columns(&rows).answer(Some("text")), Some("team"));
    }

    #[test]
    fn only_unknown_names_need_parameters() {
        let columns = columns(&[json!({"text": "a", "question": "b", "answer": "c", "gold": "d"})]);
        assert!(default_kwargs(&columns, Some("question"), "answer").is_empty());
        let expected = [("question_field", "text".to_owned()), ("answer_field", "gold".to_owned())];
        assert_eq!(default_kwargs(&columns, Some("text"), "gold"), expected);
    }

    #[test]
    fn answers_have_a_kind() {
        let of = |values: &[Value]| {
            let rows: Vec<Value> = values.iter().map(|value| json!({"a": value})).collect();
            columns(&rows).kind_of("a")
        };
        assert_eq!(of(&[json!(4), json!("1,200.5")]), AnswerKind::Number);
        assert_eq!(of(&[json!("Lima"), json!(["Paris", "paris"])]), AnswerKind::Short);
        let classes = ["spam", "ham", "spam", "ham"].map(|one| json!(one));
        assert_eq!(of(&classes), AnswerKind::Choice(vec!["ham".to_owned(), "spam".to_owned()]));
        assert_eq!(of(&[json!("one two three four five six seven eight nine ten")]), AnswerKind::Long);
    }
}
