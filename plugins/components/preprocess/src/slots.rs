//! Fields of a row with a special meaning, taken in one pass over it. There are millions of rows, and looking each name
//! up would cost more than the conversion itself.

use crate::media::{MediaField, kind_of, may_be_media};
use crate::openai_choices::is_openai;
use crate::options::{self, Choice, Labels};
use gage_row_kit::fields::{Fields, unusable};
use gage_sdk::PluginError;
use gage_sdk::serde_json::Value;

macro_rules! slots {
    ($($field:ident),+ $(,)?) => {
        /// A row, split into fields. Null counts as absent.
        pub(crate) struct Slots<N = String, V = Value> {
            $(pub(crate) $field: Option<V>,)+
            pub(crate) media: Vec<MediaField>,
            /// Everything else, in order.
            pub(crate) rest: Vec<(N, V)>,
        }

        impl<N, V> Default for Slots<N, V> {
            fn default() -> Self {
                Slots { $($field: None,)+ media: Vec::new(), rest: Vec::new() }
            }
        }

        impl<N, V> Slots<N, V> {
            /// Returns the slot of a field with a special meaning.
            pub(crate) fn slot(&mut self, name: &str) -> Option<&mut Option<V>> {
                match name {
                    $(stringify!($field) => Some(&mut self.$field),)+
                    _ => None,
                }
            }
        }
    };
}

slots!(
    schema_version,
    id,
    task_type,
    question_type,
    messages,
    question,
    prompt,
    text,
    options,
    choices,
    answer,
    answers,
    references,
    label,
    metadata,
);

impl Slots {
    /// Splits a row into fields; media only on request.
    pub(crate) fn of(row: Fields, with_media: bool) -> Slots {
        let mut slots = Slots::default();
        slots.rest.reserve(row.len());
        for (name, value) in row {
            if let Some(slot) = slots.slot(&name) {
                *slot = Some(value).filter(|value| !value.is_null());
                continue;
            }
            match kind_of(&name).filter(|kind| with_media && may_be_media(*kind, &value)) {
                Some(kind) => slots.media.push(MediaField { name, kind, value }),
                None => slots.rest.push((name, value)),
            }
        }
        slots
    }

    fn leave(&mut self, name: &str, value: Option<Value>) {
        self.rest.extend(value.map(|value| (name.to_owned(), value)));
    }

    /// Puts unused fields, and an unused answer, back with the others.
    pub(crate) fn leave_unused(&mut self, unused_answer: Option<Value>) {
        let unused = self.take_unused(unused_answer);
        self.rest.extend(unused.map(|(name, value)| (name.to_owned(), value)));
    }

    /// Takes the options, under either name. `choices` that are not options are returned if they have the format of an
    /// OpenAI API response; others stay in the row.
    ///
    /// # Errors
    /// If `options` are unreadable. Also if `choices` of a row that is not a Sample are, unless they are empty.
    pub(crate) fn take_options(
        &mut self,
        is_sample: bool,
    ) -> Result<(Option<Options>, Option<Value>), PluginError> {
        let choices = self.choices.take();
        let is_openai = choices.as_ref().is_some_and(is_openai);
        let is_empty = |options: &Value| is_sample && options.as_array().is_some_and(Vec::is_empty);
        if let Some(options) = self.options.take().filter(|options| !is_empty(options)) {
            let read = options::read(&options, Labels::Own).map_err(|why| unusable("options", &why))?;
            let standard = if is_standard(&options) { options } else { options::sample_options(&read) };
            if !is_openai {
                self.leave("choices", choices);
                return Ok((Some(Options { read, standard }), None));
            }
            return Ok((Some(Options { read, standard }), choices));
        }
        if is_openai {
            return Ok((None, choices));
        }
        let listed = choices
            .as_ref()
            .filter(|choices| choices.is_array() || choices.is_object() || is_list_text(choices));
        let is_empty = |choices: &Value| match choices {
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        let read = match listed.filter(|choices| !is_empty(choices)) {
            Some(choices) => match options::read(choices, Labels::Letters) {
                Err(why) if !is_sample => return Err(unusable("choices", &why)),
                read => read.ok(),
            },
            None => None,
        };
        if read.is_none() {
            self.leave("choices", choices);
        }
        let options = read.map(|read| Options { standard: options::sample_options(&read), read });
        Ok((options, None))
    }
}

impl<N, V> Slots<N, V> {
    /// Takes the unused fields, and an unused answer.
    pub(crate) fn take_unused(
        &mut self,
        unused_answer: Option<V>,
    ) -> impl Iterator<Item = (&'static str, V)> + use<N, V> {
        let slots = [
            ("question", self.question.take()),
            ("prompt", self.prompt.take()),
            ("text", self.text.take()),
            ("question_type", self.question_type.take()),
            ("answer", self.answer.take()),
            ("answers", self.answers.take()),
            ("answer", unused_answer),
        ];
        slots.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}

/// Options as read, and as in the Sample.
pub(crate) struct Options {
    pub(crate) read: Vec<Choice>,
    pub(crate) standard: Value,
}

/// Returns whether options already have the Sample's format; then they keep all other members.
pub(crate) fn is_standard(options: &Value) -> bool {
    let is_text = |option: &Value, name: &str| option.get(name).is_some_and(Value::is_string);
    options.as_array().is_some_and(|options| {
        options.iter().all(|option| is_text(option, "id") && is_text(option, "content"))
    })
}

fn is_list_text(choices: &Value) -> bool {
    choices.as_str().is_some_and(|text| text.trim_start().starts_with('['))
}
