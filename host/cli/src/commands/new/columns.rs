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
const LIKELY_QUESTIONS: [&str; 9] =
    ["query", "input", "problem", "instruction", "task", "goal", "body", "content", "message"];

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

    /// Returns the column that is the question: by its name, or else the one with the longest texts.
    pub(super) fn question(&self) -> Option<&str> {
        let named = self.named(KNOWN_QUESTIONS.iter().chain(&LIKELY_QUESTIONS));
        named.or_else(|| {
            let texts = self.columns.iter().filter(|column| column.words() > 0.0);
            texts.max_by(|one, two| one.words().total_cmp(&two.words())).map(|column| column.name.as_str())
        })
    }

    /// Returns the column that is the answer: by its name, or else the only one besides the question and ids.
    pub(super) fn answer(&self, question: Option<&str>) -> Option<&str> {
        let named = self.named(KNOWN_ANSWERS.iter().chain(&LIKELY_ANSWERS));
        named.filter(|name| Some(*name) != question).or_else(|| {
            let mut others = self
                .columns
                .iter()
                .filter(|column| Some(column.name.as_str()) != question && !column.is_id());
            others.next().filter(|_| others.next().is_none()).map(|column| column.name.as_str())
        })
    }

    /// Returns the column whose name is usual for an answer, and unknown to the preprocessor `default`.
    pub(super) fn likely_answer(&self) -> Option<&str> {
        self.named(LIKELY_ANSWERS.iter())
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
        self.named(known.chain(&OPTIONS)).is_none() && self.names().into_iter().any(is_value)
    }

    fn named<'n>(&self, names: impl Iterator<Item = &'n &'static str>) -> Option<&str> {
        let lower = |column: &Column| column.name.to_lowercase();
        names
            .into_iter()
            .find_map(|name| self.columns.iter().find(|column| lower(column) == **name))
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
            assert_eq!(columns.question(), Some(question), "{row}");
            assert_eq!(columns.answer(columns.question()).unwrap_or_default(), answer, "{row}");
        }
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
