//! Keywords that a text must mention.

use gage_reasoning_kit::ids::{items, scalar};
use gage_reasoning_kit::{Normalizer, mentions};
use gage_sdk::serde_json::Value;

/// Maximum number of spellings of all keywords; the whole text is searched for each.
const MAX_SPELLINGS: usize = 64;

/// Keywords in comparable form, each with all its spellings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keywords(Vec<Vec<String>>);

impl Keywords {
    /// Reads keywords: a list whose items are texts or numbers, or lists of alternative spellings of one keyword. Blank
    /// ones are ignored. `None` if there are none.
    ///
    /// # Errors
    /// Says what is wrong if it is not such a list, or has more than 64 spellings.
    pub(crate) fn read(json: &Value, normalizer: Normalizer) -> Result<Option<Keywords>, String> {
        let list = match json {
            Value::Null => return Ok(None),
            Value::Array(list) => list,
            _ => return Err("'keywords' must be a list of texts, or of lists of texts".to_owned()),
        };
        let mut keywords = Vec::new();
        for keyword in list {
            let mut spellings = Vec::new();
            for spelling in items(keyword) {
                let is_scalar = !matches!(spelling, Value::Array(_) | Value::Object(_));
                if !is_scalar {
                    return Err(format!("'keywords' must hold texts or lists of texts, not {spelling:.60}"));
                }
                let spelling = scalar(spelling).map(|spelling| normalizer.apply(&spelling));
                spellings.extend(spelling.filter(|spelling| !spelling.is_empty()));
            }
            if !spellings.is_empty() {
                keywords.push(spellings);
            }
        }
        let count: usize = keywords.iter().map(Vec::len).sum();
        if count > MAX_SPELLINGS {
            return Err(format!("'keywords' has {count} spellings; at most {MAX_SPELLINGS} are allowed"));
        }
        Ok((!keywords.is_empty()).then_some(Keywords(keywords)))
    }

    /// Returns the first spelling of each keyword that a text in comparable form does not mention as whole words.
    pub(crate) fn missing_in(&self, text: &str) -> Vec<&str> {
        let is_missing =
            |spellings: &&Vec<String>| !spellings.iter().any(|spelling| mentions(text, spelling));
        self.0
            .iter()
            .filter(is_missing)
            .filter_map(|spellings| spellings.first().map(String::as_str))
            .collect()
    }

    /// Returns the number of keywords, at least one.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the first spelling of each keyword.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|spellings| spellings.first().map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_sdk::json;

    #[test]
    fn keywords_are_whole_words() {
        let keywords = json!([" AI ", ["Up", "increase"], "营收", 5, null, " ", []]);
        let Ok(Some(keywords)) = Keywords::read(&keywords, Normalizer::loose()) else { panic!("a list") };
        assert_eq!(keywords.len(), 4);
        assert_eq!(keywords.names().collect::<Vec<_>>(), ["ai", "up", "营收", "5"]);
        assert!(keywords.missing_in("ai营收 did increase by 5").is_empty());
        assert_eq!(keywords.missing_in("said supply of 1.5"), ["ai", "up", "营收", "5"]);
    }

    #[test]
    fn other_values_are_refused() {
        for json in
            [json!("a"), json!({ "a": 1 }), json!([{ "a": 1 }]), json!([["a", ["b"]]]), json!(vec!["a"; 65])]
        {
            assert!(Keywords::read(&json, Normalizer::loose()).is_err(), "{json}");
        }
        for json in [json!(null), json!([]), json!([null, ""])] {
            assert_eq!(Keywords::read(&json, Normalizer::loose()), Ok(None), "{json}");
        }
    }
}
