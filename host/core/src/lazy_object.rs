//! Objects that are usually empty.

use crate::Object;
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt::{Debug, Formatter, Result as FormatResult};
use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

static EMPTY: LazyLock<Object> = LazyLock::new(Object::new);

/// An [`Object`] that is usually empty and then takes only the size of a pointer. A Sample has nine of them
/// and more in its parts. As full objects, they would be most of its size and pass through the caches of
/// every core that uses it.
#[derive(Clone, Default)]
pub struct LazyObject(Option<Box<Object>>);

impl LazyObject {
    /// Takes the object out.
    pub fn into_object(self) -> Object {
        self.0.map(|object| *object).unwrap_or_default()
    }
}

impl Deref for LazyObject {
    type Target = Object;

    fn deref(&self) -> &Object {
        self.0.as_deref().unwrap_or(&EMPTY)
    }
}

impl DerefMut for LazyObject {
    fn deref_mut(&mut self) -> &mut Object {
        self.0.get_or_insert_default()
    }
}

impl From<Object> for LazyObject {
    fn from(object: Object) -> LazyObject {
        LazyObject((!object.is_empty()).then(|| Box::new(object)))
    }
}

impl FromIterator<(String, Value)> for LazyObject {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> LazyObject {
        Object::from_iter(members).into()
    }
}

impl From<LazyObject> for Value {
    fn from(object: LazyObject) -> Value {
        Value::Object(object.into_object())
    }
}

impl<'o> IntoIterator for &'o LazyObject {
    type Item = (&'o String, &'o Value);
    type IntoIter = serde_json::map::Iter<'o>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for LazyObject {
    fn eq(&self, other: &LazyObject) -> bool {
        **self == **other
    }
}

impl Debug for LazyObject {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> FormatResult {
        (**self).fmt(formatter)
    }
}

impl Serialize for LazyObject {
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
        assert_eq!(size_of::<LazyObject>(), size_of::<usize>());
        let mut rare = LazyObject::default();
        assert!(rare.is_empty() && rare == LazyObject::from(Object::new()));
        rare.insert("a".to_owned(), json!(1));
        assert_eq!(rare.get("a"), Some(&json!(1)));
        assert_eq!(
            (json!(rare), format!("{rare:?}")),
            (json!({"a": 1}), format!("{:?}", rare.clone().into_object()))
        );
        rare.remove("a");
        assert_eq!(rare, LazyObject::default(), "emptied, it is as one that was always empty");
    }
}
