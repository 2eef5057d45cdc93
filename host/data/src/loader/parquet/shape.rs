//! Structure of nested rows, for assembling them from columns.

use super::super::LoaderError;
use ::parquet::basic::{ConvertedType, LogicalType, Repetition};
use ::parquet::schema::types::Type;

/// Maximum nesting depth of a schema.
const MAX_DEPTH: usize = 64;

/// A node of the schema. `first` is the first column below it, whose levels decide on it.
pub(crate) struct Shape {
    pub first: usize,
    /// Lowest definition level at which it is not null.
    pub present: i16,
    pub node: Node,
}

pub(crate) enum Node {
    /// A column.
    Leaf,
    /// Named values, each name written as a JSON key with its colon.
    Struct(Vec<(String, Shape)>),
    List(Levels, Box<Shape>),
    Map(Levels, Box<Shape>, Box<Shape>),
}

impl Shape {
    /// Returns the shape of a row.
    pub(crate) fn of(root: &Type) -> Result<Shape, LoaderError> {
        Builder { columns: 0 }.group(root, Levels { definition: 0, repetition: 0, depth: 0 })
    }
}

struct Builder {
    columns: usize,
}

/// Levels at a node.
#[derive(Clone, Copy)]
pub(crate) struct Levels {
    /// Lowest definition level at which there is a value, or an item if repeated.
    pub definition: i16,
    /// Repetition level of a further item.
    pub repetition: i16,
    depth: usize,
}

impl Levels {
    fn optional(self) -> Levels {
        Levels { definition: self.definition + 1, ..self }
    }

    fn repeated(self) -> Levels {
        Levels { definition: self.definition + 1, repetition: self.repetition + 1, depth: self.depth + 1 }
    }
}

impl Builder {
    /// Builds a node according to its repetition.
    fn node(&mut self, kind: &Type, above: Levels) -> Result<Shape, LoaderError> {
        match repetition(kind) {
            Repetition::REQUIRED => self.inner(kind, above),
            Repetition::OPTIONAL => self.inner(kind, above.optional()),
            // Without an annotation: a list that is always present.
            Repetition::REPEATED => {
                let below = above.repeated();
                let item = self.inner(kind, below)?;
                Ok(Shape {
                    first: item.first,
                    present: above.definition,
                    node: Node::List(below, Box::new(item)),
                })
            }
        }
    }

    /// Builds a node, regardless of its repetition.
    fn inner(&mut self, kind: &Type, levels: Levels) -> Result<Shape, LoaderError> {
        if levels.depth > MAX_DEPTH {
            return Err(LoaderError::Unsuited(format!("the columns are nested more than {MAX_DEPTH} deep")));
        }
        if kind.is_primitive() {
            let first = self.columns;
            self.columns += 1;
            return Ok(Shape { first, present: levels.definition, node: Node::Leaf });
        }
        match (annotation(kind), kind.get_fields()) {
            (Annotation::List, [repeated]) if repetition(repeated) == Repetition::REPEATED => {
                self.list(kind, repeated, levels)
            }
            (Annotation::Map, [entry]) if is_entry(entry) => self.map(entry, levels),
            _ => self.group(kind, levels),
        }
    }

    fn list(&mut self, list: &Type, repeated: &Type, levels: Levels) -> Result<Shape, LoaderError> {
        let below = levels.repeated();
        let item = match single_child(repeated) {
            Some(item) if !is_item(list, repeated, item) => self.node(item, below)?,
            _ => self.inner(repeated, below)?,
        };
        Ok(Shape { first: item.first, present: levels.definition, node: Node::List(below, Box::new(item)) })
    }

    /// Builds a map, or the list of its keys if it has no values.
    fn map(&mut self, entry: &Type, levels: Levels) -> Result<Shape, LoaderError> {
        let below = levels.repeated();
        let mut parts = entry.get_fields().iter().map(|part| self.node(part, below));
        let no_key = || LoaderError::Unsuited("a map has no key".to_owned());
        let key = Box::new(parts.next().ok_or_else(no_key)??);
        let (first, present) = (key.first, levels.definition);
        let node = match parts.next() {
            Some(value) => Node::Map(below, key, Box::new(value?)),
            None => Node::List(below, key),
        };
        Ok(Shape { first, present, node })
    }

    fn group(&mut self, kind: &Type, levels: Levels) -> Result<Shape, LoaderError> {
        let below = Levels { depth: levels.depth + 1, ..levels };
        let mut fields: Vec<(String, Shape)> = Vec::new();
        for field in kind.get_fields() {
            let key = format!("{}:", serde_json::Value::from(field.name()));
            if fields.iter().any(|(other, _)| *other == key) {
                let message = format!("'{}' holds two columns named '{}'", kind.name(), field.name());
                return Err(LoaderError::Unsuited(message));
            }
            fields.push((key, self.node(field, below)?));
        }
        match fields.first() {
            Some((_, shape)) => {
                Ok(Shape { first: shape.first, present: levels.definition, node: Node::Struct(fields) })
            }
            None => Err(LoaderError::Unsuited(format!("'{}' has no columns", kind.name()))),
        }
    }
}

enum Annotation {
    List,
    Map,
    None,
}

fn annotation(kind: &Type) -> Annotation {
    let info = kind.get_basic_info();
    match (info.logical_type_ref(), info.converted_type()) {
        (Some(LogicalType::List), _) | (None, ConvertedType::LIST) => Annotation::List,
        (Some(LogicalType::Map), _) | (None, ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE) => {
            Annotation::Map
        }
        _ => Annotation::None,
    }
}

fn repetition(kind: &Type) -> Repetition {
    let info = kind.get_basic_info();
    if info.has_repetition() { info.repetition() } else { Repetition::REQUIRED }
}

fn single_child(kind: &Type) -> Option<&Type> {
    if kind.is_primitive() {
        return None;
    }
    match kind.get_fields() {
        [child] => Some(child),
        _ => None,
    }
}

/// Returns whether the repeated group of a single-child list is the item itself, as in files of old writers, rather
/// than a layer around it.
///
/// See the backward-compatibility rules for lists in LogicalTypes.md of the format.
/// See the backward-compatibility rules for lists in LogicalTypes.md of the format.
fn is_item(list: &Type, repeated: &Type, child: &Type) -> bool {
    repetition(child) == Repetition::REPEATED
        || repeated.name() == "array"
        || repeated.name().strip_suffix("_tuple") == Some(list.name())
}

fn is_entry(entry: &Type) -> bool {
    !entry.is_primitive()
        && repetition(entry) == Repetition::REPEATED
        && matches!(entry.get_fields().len(), 1 | 2)
}
