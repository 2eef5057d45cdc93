//! Objects that mostly have nothing in them.

use crate::Object;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt::{Debug, Formatter, Result as FormatResult};
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

static EMPTY: LazyLock<Object> = LazyLock::new(Object::new);

/// An [`Object`] that most of its kind have nothing in: until something is, it takes the room of a pointer. A Sample has nine
/// of its own and more in its parts, which would be most of its size, and go through the caches of every core that it comes
/// to.
#[derive(Clone, Default)]
pub struct RareObject(Option<Box<Object>>);

impl RareObject {
    /// Takes out what is in it.
    pub fn into_object(self) -> Object {
        self.0.map(|object| *object).unwrap_or_default()
    }
}

impl Deref for RareObject {
    type Target = Object;

    fn deref(&self) -> &Object {
        self.0.as_deref().unwrap_or(&EMPTY)
    }
}

impl DerefMut for RareObject {
    fn deref_mut(&mut self) -> &mut Object {
        self.0.get_or_insert_default()
    }
}

impl From<Object> for RareObject {
    fn from(object: Object) -> RareObject {
        RareObject((!object.is_empty()).then(|| Box::new(object)))
    }
}

impl FromIterator<(String, Value)> for RareObject {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> RareObject {
        Object::from_iter(members).into()
    }
}

impl From<RareObject> for Value {
    fn from(object: RareObject) -> Value {
        Value::Object(object.into_object())
    }
}

impl<'o> IntoIterator for &'o RareObject {
    type Item = (&'o String, &'o Value);
    type IntoIter = serde_json::map::Iter<'o>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for RareObject {
    fn eq(&self, other: &RareObject) -> bool {
        **self == **other
    }
}

impl Debug for RareObject {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> FormatResult {
        (**self).fmt(formatter)
    }
}

impl Serialize for RareObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_in_it_is_an_object() {
        assert_eq!(size_of::<RareObject>(), size_of::<usize>());
        let mut rare = RareObject::default();
        assert!(rare.is_empty() && rare == RareObject::from(Object::new()));
        rare.insert("a".to_owned(), json!(1));
        assert_eq!(rare.get("a"), Some(&json!(1)));
        assert_eq!(
            (json!(rare), format!("{rare:?}")),
            (json!({"a": 1}), format!("{:?}", rare.clone().into_object()))
        );
        rare.remove("a");
        assert_eq!(rare, RareObject::default(), "emptied, it is as one that was always empty");
    }
}
