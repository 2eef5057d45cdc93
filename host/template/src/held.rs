//! Rendering in bounded memory. Steps alone bound nothing: a text that is put behind itself twenty times takes
//! gigabytes in as many steps.
//!
//! Whatever a template makes is weighed, and nothing is made whose weight is not known before. For that a compiled
//! template gets further instructions: behind each that may make something large, a filter that weighs it.

use minijinja::machinery::{Instruction, Instructions, eval, get_compiled_template, make_string_output};
use minijinja::value::{Kwargs, Rest, StringInput, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, Value};
use minijinja_contrib::pycompat::unknown_method_callback;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The largest value that a template may make, in bytes.
const MOST_BYTES: usize = 16 << 20;

/// All that one rendering may make together.
const MOST_TOGETHER: usize = 128 << 20;

/// What a value takes beside its text.
const VALUE_BYTES: usize = 24;

/// Values within one another that are looked at; nothing deeper is shown by any filter.
const MOST_DEPTH: usize = 100;

/// Constant texts of more bytes are counted each time that they are written.
const LONG_TEXT: usize = 16;

/// Filters of the engine's own name; templates cannot name them.
const WEIGHED: &str = "(weighed)";
const JOINED: &str = "(joined)";

/// Says that no local place keeps a filter.
const NO_LOCAL: u8 = u8::MAX;

thread_local! {
    /// What the rendering on this thread may make still.
    static LEFT: Cell<usize> = const { Cell::new(0) };
}

/// Prepares an environment for [`render`].
pub(crate) fn guard(environment: &mut Environment<'_>) {
    environment.add_filter(WEIGHED, weighed);
    environment.add_filter(JOINED, concatenated);
    environment.add_filter("join", join);
    environment.add_filter("replace", replace);
    environment.add_filter("format", format);
    environment.add_filter("indent", indent);
    environment.add_filter("string", string);
    environment.set_formatter(emit);
    environment.set_unknown_method_callback(method);
}

/// Renders a template of an environment that [`guard`] prepared.
///
/// # Errors
/// Where the template fails, or makes more than it may.
pub(crate) fn render(environment: &Environment<'_>, name: &str, root: Value) -> Result<String, Error> {
    let template = environment.get_template(name)?;
    let compiled = get_compiled_template(&template);
    let instructions = guarded(&compiled.instructions);
    let blocks: BTreeMap<_, _> =
        compiled.blocks.iter().map(|(name, block)| (*name, guarded(block))).collect();
    LEFT.set(MOST_TOGETHER);
    let mut text = String::new();
    {
        let mut output = make_string_output(&mut text);
        eval(environment, &instructions, root, &blocks, &mut output, AutoEscape::None)?;
    }
    Ok(text)
}

/// The filter `indent` with a width that cannot exhaust the memory.
pub(crate) fn indent(
    value: StringInput<'_>,
    width: Option<usize>,
    first: Option<bool>,
    blank: Option<bool>,
    further: Kwargs,
) -> Result<Value, Error> {
    let named: Option<usize> = further.peek("width")?;
    if width.or(named).is_some_and(|width| width > 1_000) {
        return Err(Error::new(ErrorKind::InvalidOperation, "`indent` takes a width of at most 1000"));
    }
    minijinja::filters::indent(value, width, first, blank, further)
}

/// The value that a filter or a function makes JSON of, unless it is too large.
pub(crate) fn check_weight(value: &Value) -> Result<(), Error> {
    weight(value).map(drop)
}

/// The same instructions, and those that weigh.
fn guarded<'s>(plain: &Instructions<'s>) -> Instructions<'s> {
    let all: Vec<&Instruction<'s>> = (0..).map_while(|place| plain.get(place)).collect();
    // Where each begins now; jumps lead there.
    let mut places: Vec<u32> = Vec::with_capacity(all.len() + 1);
    let mut next = 0;
    for instruction in &all {
        places.push(next);
        next += if is_weighed(instruction) || is_long_text(instruction) { 2 } else { 1 };
    }
    places.push(next);
    let moved = |target: u32| places.get(target as usize).copied().unwrap_or(next);
    let mut guarded = Instructions::new(plain.name(), plain.source());
    for (place, instruction) in (0_u32..).zip(all) {
        let line = plain.get_line(place).and_then(|line| u16::try_from(line).ok());
        let mut add = |instruction: Instruction<'s>| match line {
            Some(line) => guarded.add_with_line(instruction, line),
            None => guarded.add(instruction),
        };
        match instruction {
            Instruction::EmitRaw(text) if is_long_text(instruction) => {
                add(Instruction::LoadConst(Value::from(*text)));
                add(Instruction::Emit);
            }
            Instruction::StringConcat => {
                add(Instruction::ApplyFilter(JOINED, Some(2), NO_LOCAL));
            }
            Instruction::Iterate(target) => {
                add(Instruction::Iterate(moved(*target)));
            }
            Instruction::Jump(target) => {
                add(Instruction::Jump(moved(*target)));
            }
            Instruction::JumpIfFalse(target) => {
                add(Instruction::JumpIfFalse(moved(*target)));
            }
            Instruction::JumpIfFalseOrPop(target) => {
                add(Instruction::JumpIfFalseOrPop(moved(*target)));
            }
            Instruction::JumpIfTrueOrPop(target) => {
                add(Instruction::JumpIfTrueOrPop(moved(*target)));
            }
            Instruction::BuildMacro(name, target, flags) => {
                add(Instruction::BuildMacro(name, moved(*target), *flags));
            }
            other => {
                add(other.clone());
            }
        }
        if is_weighed(instruction) {
            add(Instruction::ApplyFilter(WEIGHED, Some(1), NO_LOCAL));
        }
    }
    guarded
}

/// Whether it may make something large; it leaves that on the stack.
fn is_weighed(instruction: &Instruction<'_>) -> bool {
    matches!(
        instruction,
        Instruction::Add
            | Instruction::Mul
            | Instruction::BuildList(_)
            | Instruction::BuildTuple(_)
            | Instruction::BuildMap(_)
            | Instruction::EndCapture
            | Instruction::ApplyFilter(..)
            | Instruction::CallFunction(..)
            | Instruction::CallMethod(..)
            | Instruction::CallObject(_)
    )
}

fn is_long_text(instruction: &Instruction<'_>) -> bool {
    matches!(instruction, Instruction::EmitRaw(text) if text.len() > LONG_TEXT)
}

fn too_much(what: &str, most: usize) -> Error {
    let message = format!("the template makes {what} of more than {} MiB", most >> 20);
    Error::new(ErrorKind::InvalidOperation, message)
}

/// Counts what was made, or will be.
fn spend(bytes: usize) -> Result<(), Error> {
    if bytes > MOST_BYTES {
        return Err(too_much("a value", MOST_BYTES));
    }
    let left = LEFT.get().checked_sub(bytes).ok_or_else(|| too_much("values", MOST_TOGETHER))?;
    LEFT.set(left);
    Ok(())
}

/// How much a value is with all that it holds, as far as that can be told without using it up.
fn weight(value: &Value) -> Result<usize, Error> {
    let mut left = MOST_BYTES;
    weigh(value, &mut left, MOST_DEPTH)?;
    Ok(MOST_BYTES - left)
}

fn weigh(value: &Value, left: &mut usize, depth: usize) -> Result<(), Error> {
    let mut take = |bytes: usize| {
        *left = left.checked_sub(bytes).ok_or_else(|| too_much("a value", MOST_BYTES))?;
        Ok::<(), Error>(())
    };
    take(VALUE_BYTES + value.as_str().map_or(0, str::len))?;
    match value.kind() {
        ValueKind::Seq if depth > 0 => {
            for item in value.try_iter()? {
                weigh(&item, left, depth - 1)?;
            }
        }
        ValueKind::Map if depth > 0 => {
            for key in value.try_iter()? {
                weigh(&value.get_item(&key)?, left, depth - 1)?;
                weigh(&key, left, depth - 1)?;
            }
        }
        // What can be gone through once only is not gone through here.
        ValueKind::Iterable => take(value.len().unwrap_or(0).saturating_mul(VALUE_BYTES))?,
        _ => {}
    }
    Ok(())
}

fn weighed(value: &Value) -> Result<Value, Error> {
    spend(weight(value)?)?;
    Ok(value.clone())
}

/// What values look like behind one another.
fn shown(values: &[&Value]) -> Result<String, Error> {
    struct Bounded(String);
    impl Write for Bounded {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            if self.0.len() + text.len() > MOST_BYTES {
                return Err(std::fmt::Error);
            }
            self.0.push_str(text);
            Ok(())
        }
    }
    let mut bounded = Bounded(String::new());
    for value in values {
        write!(bounded, "{value}").map_err(|_| too_much("a value", MOST_BYTES))?;
    }
    spend(bounded.0.len())?;
    Ok(bounded.0)
}

fn string(value: &Value) -> Result<Value, Error> {
    if value.as_str().is_some() { Ok(value.clone()) } else { shown(&[value]).map(Value::from) }
}

/// `left ~ right`.
fn concatenated(left: &Value, right: &Value) -> Result<Value, Error> {
    shown(&[left, right]).map(Value::from)
}

/// Writes what stands in `{{ }}`, and long texts.
fn emit(output: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::Iterable | ValueKind::Plain) {
        let text = shown(&[value])?;
        return output.write_str(&text).map_err(|_| Error::from(ErrorKind::WriteFailure));
    }
    spend(value.as_str().map_or(VALUE_BYTES, str::len))?;
    minijinja::escape_formatter(output, state, value)
}

/// The items that are to be joined, once it is known that what comes of it is not too large.
fn joinable(items: &Value, joiner: &str) -> Result<Value, Error> {
    let mut left = MOST_BYTES;
    let mut list = Vec::new();
    for item in items.try_iter()? {
        weigh(&item, &mut left, MOST_DEPTH)?;
        left = left.checked_sub(joiner.len()).ok_or_else(|| too_much("a value", MOST_BYTES))?;
        list.push(item);
    }
    Ok(Value::from(list))
}

fn join(
    state: &mut State<'_, '_>,
    value: &Value,
    joiner: Option<StringInput<'_>>,
    attribute: Option<&str>,
    further: Kwargs,
) -> Result<Value, Error> {
    let named: Option<String> = further.peek("d")?;
    let between = joiner.as_ref().map(|joiner| joiner.as_str().to_owned()).or(named).unwrap_or_default();
    match value.as_str() {
        Some(text) => {
            spend(text.len().saturating_mul(between.len().saturating_add(1)))?;
            minijinja::filters::join(state, value, joiner, attribute, further)
        }
        None if value.is_undefined() || value.is_none() => {
            minijinja::filters::join(state, value, joiner, attribute, further)
        }
        None => {
            let items = joinable(value, &between)?;
            minijinja::filters::join(state, &items, joiner, attribute, further)
        }
    }
}

/// Makes sure that a text does not grow too large where parts of it are replaced.
fn check_replaced(text: &str, from: &str, to: &str) -> Result<(), Error> {
    let places = if from.is_empty() { text.chars().count() + 1 } else { text.matches(from).count() };
    spend(text.len().saturating_add(places.saturating_mul(to.len())))
}

fn replace(
    state: &mut State<'_, '_>,
    value: StringInput<'_>,
    from: StringInput<'_>,
    to: StringInput<'_>,
) -> Result<Value, Error> {
    check_replaced(value.as_str(), from.as_str(), to.as_str())?;
    minijinja::filters::replace(state, value, from, to)
}

/// Refuses widths and precisions that no prompt needs.
fn check_format(text: &str) -> Result<(), Error> {
    const MOST_DIGITS: usize = 4;
    let mut digits = text.split(|character: char| !character.is_ascii_digit());
    match digits.any(|digits| digits.len() > MOST_DIGITS) || text.contains('*') && text.contains('%') {
        true => Err(Error::new(ErrorKind::InvalidOperation, "`format` takes widths of at most four digits")),
        false => Ok(()),
    }
}

fn format(text: &str, values: Rest<Value>) -> Result<Value, Error> {
    use minijinja::formatting::FormatStyle;
    check_format(text)?;
    minijinja::formatting::format(FormatStyle::Printf, text, &values.0).map(Value::from)
}

/// Python's methods, of which some may make much of little.
fn method(state: &mut State<'_, '_>, value: &Value, name: &str, arguments: &[Value]) -> Result<Value, Error> {
    let Some(text) = value.as_str() else { return unknown_method_callback(state, value, name, arguments) };
    match (name, arguments) {
        ("replace", [from, to, ..]) => {
            check_replaced(text, from.as_str().unwrap_or_default(), to.as_str().unwrap_or_default())?;
        }
        ("join", [items]) if items.as_str().is_none() => {
            let items = joinable(items, text)?;
            return unknown_method_callback(state, value, name, &[items]);
        }
        ("join", [items]) => {
            let count = items.as_str().map_or(0, str::len);
            spend(count.saturating_mul(text.len().saturating_add(1)))?;
        }
        ("format", _) => check_format(text)?,
        _ => {}
    }
    unknown_method_callback(state, value, name, arguments)
}

#[cfg(test)]
mod tests;
