//! The id of a journal.

use serde::{Deserialize, Serialize};
use std::fmt;
use uuid::Uuid;

/// Number of hexadecimal digits of an id.
const ID_DIGITS: usize = 32;

/// The id of a journal: a random number (UUID, version 4), which is made when its folder is created. The manifest and each file of
/// the journal have it, so that files of another journal are not mistaken for those of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JournalId(u128);

impl JournalId {
    /// Returns an id that no other journal has.
    pub(crate) fn random() -> JournalId {
        JournalId(Uuid::new_v4().as_u128())
    }
}

impl fmt::Display for JournalId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

impl From<JournalId> for String {
    fn from(id: JournalId) -> String {
        id.to_string()
    }
}

impl TryFrom<String> for JournalId {
    type Error = String;

    fn try_from(text: String) -> Result<JournalId, String> {
        let is_hex = text.len() == ID_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = is_hex.then(|| u128::from_str_radix(&text, 16).ok()).flatten();
        let number =
            number.ok_or_else(|| format!("the id of a journal has {ID_DIGITS} hexadecimal digits"))?;
        Ok(JournalId(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_random_and_have_32_digits() {
        let id = JournalId::random();
        assert_ne!(id, JournalId::random());
        assert_eq!(serde_json::to_string(&id).unwrap().len(), ID_DIGITS + 2);
        let read: JournalId = serde_json::from_str(&format!("\"{id}\"")).unwrap();
        assert_eq!(read, id);
        assert_eq!(JournalId::default().to_string(), "0".repeat(ID_DIGITS));
        for text in
            ["", "0", &"g".repeat(ID_DIGITS), &"0".repeat(ID_DIGITS + 1), &format!("+{}", "1".repeat(31))]
        {
            let error = JournalId::try_from(text.to_owned()).unwrap_err();
            assert_eq!(error, "the id of a journal has 32 hexadecimal digits", "{text}");
        }
    }
}
