//! Text of a new suite.

use super::columns::{AnswerKind, Columns, default_kwargs};

/// Choices for a new suite.
pub(super) struct SuiteChoice<'c> {
    /// Path of the rows.
    pub(super) data: &'c str,
    pub(super) columns: &'c Columns,
    /// The field of the question. `None` if the rows are conversations.
    pub(super) question: Option<&'c str>,
    pub(super) answer: &'c str,
    pub(super) model: &'c str,
    /// The metrics; those for the kind of the answers if there is none.
    pub(super) metrics: &'c [String],
}

impl SuiteChoice<'_> {
    /// Returns the metrics.
    pub(super) fn metrics(&self) -> Vec<String> {
        if !self.metrics.is_empty() {
            return self.metrics.to_vec();
        }
        let names: &[&str] = match self.columns.kind_of(self.answer) {
            _ if self.columns.options().is_some() => &["multi_choice_accuracy"],
            AnswerKind::Number => &["numeric_match"],
            AnswerKind::Choice(_) | AnswerKind::Short => &["exact_match", "contains"],
            AnswerKind::Long => &["token_f1", "rouge_l"],
        };
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Returns the suite as YAML with comments.
    pub(super) fn text(&self) -> String {
        let mut text =
            format!("\n# The rows have: {}\n", gage_core::printable_line(&self.columns.names().join(", ")));
        text.push_str(&self.dataset());
        text.push_str(&format!(
            "\n# Also anthropic:MODEL, gemini:MODEL, openai:MODEL@http://HOST:PORT/v1, ./FILE.gguf, or a list to compare.\n\
             model: {}\n",
            scalar(self.model)
        ));
        text.push_str(&self.prompt());
        text.push_str(&format!(
            "\n# `gage-host list metrics` shows all metrics, and `gage-host metrics NAME` explains one.\nmetrics: [{}]\n",
            self.metrics().iter().map(|name| scalar(name)).collect::<Vec<_>>().join(", ")
        ));
        text
    }

    fn dataset(&self) -> String {
        let options = self.columns.options();
        let mut kwargs = match options {
            None => default_kwargs(self.columns, self.question, self.answer),
            Some(_) => {
                let fields = [
                    ("question_field", self.question.unwrap_or("question"), "question"),
                    ("answer_field", self.answer, "answer"),
                ];
                let fields = fields.into_iter().filter(|(_, name, known)| name != known);
                fields.map(|(key, name, _)| (key, name.to_owned())).collect()
            }
        };
        kwargs
            .extend(options.filter(|name| *name != "choices").map(|name| ("choices_field", name.to_owned())));
        let preprocess = options.map(|_| "      preprocess: multi_choice\n").unwrap_or_default();
        if kwargs.is_empty() && preprocess.is_empty() {
            return format!("datasets: [{}]\n", scalar(self.data));
        }
        let mut text = format!("datasets:\n  - params:\n      path: {}\n{preprocess}", scalar(self.data));
        if !kwargs.is_empty() {
            let kwargs: Vec<String> =
                kwargs.iter().map(|(key, name)| format!("{key}: {}", scalar(name))).collect();
            text.push_str(&format!("      preprocess_kwargs: {{{}}}\n", kwargs.join(", ")));
        }
        text
    }

    /// Returns the prompt. Rows that are conversations and questions with options have their own.
    fn prompt(&self) -> String {
        let Some(question) = self.question.filter(|_| self.columns.options().is_none()) else {
            return String::new();
        };
        let hint = match self.columns.kind_of(self.answer) {
            AnswerKind::Number => "Answer with the number only.".to_owned(),
            AnswerKind::Short => "Answer in as few words as possible.".to_owned(),
            AnswerKind::Choice(answers) => format!("Answer with one of: {}.", answers.join(", ")),
            AnswerKind::Long => return String::new(),
        };
        let hint =
            gage_core::printable_line(&hint).replace("{{", "{ {").replace("{%", "{ %").replace("{#", "{ #");
        format!(
            "\n# A template. Fields of the row are known by their names.\nprompt: |-\n  {}\n\n  {}\n",
            variable(question),
            hint.replace("${", "$${")
        )
    }
}

/// Returns the expression of a template for a field.
fn variable(field: &str) -> String {
    let is_name = field.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && field.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
    match is_name {
        true => format!("{{{{ {field} }}}}"),
        false => format!("{{{{ row[{}] }}}}", serde_json::Value::from(field)),
    }
}

/// Returns a text as YAML: plain if it may be, or else in quotes.
fn scalar(text: &str) -> String {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "_-./@:".contains(one);
    let starts_well = text.starts_with(|first: char| first.is_ascii_alphabetic() || "./".contains(first));
    let is_word = ["true", "false", "null", "yes", "no", "on", "off"].contains(&text.to_lowercase().as_str());
    match starts_well
        && text.chars().all(is_plain)
        && !text.ends_with(':')
        && !is_word
        && text.parse::<f64>().is_err()
    {
        true => text.to_owned(),
        // JSON is YAML.
        false => serde_json::Value::from(text.replace("${", "$${")).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn text(rows: &[Value], question: Option<&str>, answer: &str) -> String {
        let mut columns = Columns::default();
        rows.iter().for_each(|row| columns.add(row.as_object().cloned().expect("a row")));
        let model = "openai:gpt-x";
        SuiteChoice { data: "rows.csv", columns: &columns, question, answer, model, metrics: &[] }.text()
    }

    #[test]
    fn suite_fits_the_rows() {
        let rows = [
            json!({"question": "Capital of Peru?", "answer": "Lima"}),
            json!({"question": "2?", "answer": "b"}),
        ];
        insta::assert_snapshot!("short", text(&rows, Some("question"), "answer"));
        let rows = ["billing", "engineering", "billing", "engineering"]
            .map(|team| json!({"ticket text": "My card was charged.", "team": team}));
        insta::assert_snapshot!("classes", text(&rows, Some("ticket text"), "team"));
        let rows = [json!({"question": "Which?", "options": ["a", "b"], "gold": "A"})];
        insta::assert_snapshot!("options", text(&rows, Some("question"), "gold"));
        let rows = [json!({"messages": [{"role": "user", "content": "Hi"}], "answer": "1"})];
        insta::assert_snapshot!("messages", text(&rows, None, "answer"));
    }

    #[test]
    fn texts_of_rows_are_quoted() {
        for (written, expected) in [
            ("rows.csv", "rows.csv"),
            ("my rows.csv", "\"my rows.csv\""),
            ("${HOME}/x", "\"$${HOME}/x\""),
            ("yes", "\"yes\""),
            ("1e3", "\"1e3\""),
            ("numeric_match(tolerance=0.1)", "\"numeric_match(tolerance=0.1)\""),
        ] {
            assert_eq!(scalar(written), expected);
        }
        assert_eq!(variable("a b"), "{{ row[\"a b\"] }}");
    }
}
