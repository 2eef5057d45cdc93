//! `multi_choice_struct_only`: as `multi_choice`, without any prompt. The suite's `prompts` write it from
//! the fields that are made here.

use crate::conversation::Conversation;
use crate::options::Places;
use crate::param_schema::Properties;
use crate::question::QuestionFields;
use crate::roles::Conversion;
use gage_row_kit::fields::Fields;
use gage_sdk::PluginError;
use gage_sdk::serde_json::Value;
use gage_text_kit::Params;

/// Turns a row with a question, options and an answer into a Sample without messages. A row that is a Sample keeps its
/// own.
pub struct StructOnly(QuestionFields);

impl Conversion for StructOnly {
    const NAME: &'static str = "multi_choice_struct_only";
    const VERSION: &'static str = "4";
    const DESCRIPTION: &'static str = "Multiple-choice questions without a prompt";
    fn properties() -> Properties {
        QuestionFields::schema().into()
    }

    fn new(params: &Params) -> Result<Self, PluginError> {
        QuestionFields::from_params(params, Places::stated(params)?).map(StructOnly)
    }

    fn sample(&self, row: Fields, _removed: Vec<Value>) -> Result<Value, PluginError> {
        let question = self.0.read(&row)?;
        let messages = question.conversation.as_ref().map(Conversation::messages).unwrap_or_default();
        Ok(self.0.sample(question, row, messages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::convert;
    use gage_sdk::json;

    #[test]
    fn nothing_is_said() {
        let params = json!({ "question_field": "goal", "answer_field": "label", "answer_index_base": 1 });
        let row = json!({ "goal": "g", "choices": { "A": "x", "B": "y" }, "label": 2 });
        let sample = convert::<StructOnly>(params, row).unwrap_or_default();
        assert_eq!(sample["messages"], json!([]));
        assert_eq!(sample["options"][1], json!({ "id": "B", "content": "y" }));
        assert_eq!(sample["label"], "B");
        assert_eq!(
            sample["metadata"],
            json!({
                "question_text": "g",
                "question_field": "goal", "choices_field": "choices", "answer_field": "label",
            })
        );
    }

    #[test]
    fn a_prompt_is_no_parameter() {
        for name in ["instruction", "system_prompt", "style", "few_shot"] {
            assert!(convert::<StructOnly>(json!({ name: "x" }), json!({})).is_err(), "{name}");
        }
    }
}
