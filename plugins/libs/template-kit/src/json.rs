//! JSON in chat templates, written like Python's `json.dumps`.

use gage_sdk::serde_json;
use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io;

/// The filter `tojson` as in Hugging Face: `json.dumps(value, ensure_ascii=False)`, with the keyword arguments
/// `indent`, `separators` and `ensure_ascii`, which has no effect.
pub(crate) fn tojson(value: &Value, arguments: Kwargs) -> Result<Value, Error> {
    let indent: Option<Value> = arguments.get("indent")?;
    let separators: Option<Value> = arguments.get("separators")?;
    let _: Option<Value> = arguments.get("ensure_ascii")?;
    arguments.assert_all_used()?;
    let json = to_json(value)?;
    let mut bytes = Vec::new();
    let written = match indent.filter(|indent| !indent.is_none()) {
        Some(indent) => {
            let spaces = " ".repeat(usize::try_from(indent)?.min(16));
            let formatter = PrettyFormatter::with_indent(spaces.as_bytes());
            json.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))
        }
        None => {
            let formatter = Separators::read(separators.filter(|separators| !separators.is_none()))?;
            json.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))
        }
    };
    written.map_err(|error| invalid(error.to_string()))?;
    String::from_utf8(bytes).map(Value::from).map_err(|error| invalid(error.to_string()))
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// Converts a value to JSON.
///
/// # Errors
/// If it has no form in JSON, such as a function.
pub(crate) fn to_json(value: &Value) -> Result<serde_json::Value, Error> {
    Ok(match value.kind() {
        ValueKind::None | ValueKind::Undefined => serde_json::Value::Null,
        ValueKind::Bool => value.is_true().into(),
        ValueKind::Number if value.is_integer() => match i64::try_from(value.clone()) {
            Ok(number) => number.into(),
            Err(_) => u64::try_from(value.clone())?.into(),
        },
        ValueKind::Number => f64::try_from(value.clone())?.into(),
        ValueKind::String => value.as_str().unwrap_or_default().into(),
        ValueKind::Seq | ValueKind::Iterable => {
            value.try_iter()?.map(|item| to_json(&item)).collect::<Result<Vec<_>, Error>>()?.into()
        }
        ValueKind::Map => {
            let mut fields = serde_json::Map::new();
            for key in value.try_iter()? {
                let name = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
                fields.insert(name, to_json(&value.get_item(&key)?)?);
            }
            fields.into()
        }
        other => return Err(invalid(format!("a value of the kind '{other}' cannot be written as JSON"))),
    })
}

/// Separators between items, and after keys.
struct Separators {
    item: String,
    key: String,
}

impl Separators {
    fn read(separators: Option<Value>) -> Result<Separators, Error> {
        let Some(pair) = separators else {
            return Ok(Separators { item: ", ".to_owned(), key: ": ".to_owned() });
        };
        let part = |index| {
            let part = pair.get_item_by_index(index)?;
            part.as_str().map(str::to_owned).ok_or_else(|| invalid("separators must be strings".to_owned()))
        };
        Ok(Separators { item: part(0)?, key: part(1)? })
    }
}

impl Formatter for Separators {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(self.item.as_bytes()) }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(self.item.as_bytes()) }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(self.key.as_bytes())
    }
}
