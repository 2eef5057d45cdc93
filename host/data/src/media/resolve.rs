//! Settling of a Sample: its media are found, checked, and listed.

use super::allowed_roots::PathOrder;
use super::error::{MediaError, MediaErrorKind};
use super::reference_table::{KINDS, ReferenceTable};
use super::store::{MediaStore, Purpose};
use gage_core::{ContentPart, LazyObject, MediaKind, Message, Object, Role, Sample};
use serde_json::Value;

const MULTI_MODAL: &str = "multi_modal_data";
const MULTI_MODAL_POINTER: &str = "/inputs/multi_modal_data";

/// A medium from a doc hook.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaSource {
    /// Kind of the medium.
    pub kind: MediaKind,
    /// A path below the content root, a URL, or the digest of a settled file.
    pub source: String,
    /// Further fields of the part.
    pub extra: Object,
}

impl MediaStore {
    /// Checks the media of a Sample and lists them.
    ///
    /// Media are those of `messages` and of `few_shot_examples`, with the first answer of each example. Their order
    /// is that of [`Sample::conversation`]. Media of a hook are prepended to the content of the last user message (a
    /// new one, if there is none). They are ignored if the Sample has `inputs.multi_modal_data` or that message
    /// already contains them. In the former case, its entries of a kind that no message refers to are prepended
    /// likewise.
    ///
    /// Afterwards, every local path is below the shown root, or replaced by a `data:` URL if the options say so.
    /// `inputs.multi_modal_data` contains exactly the distinct URLs that are referred to. `_media_meta` contains the
    /// known properties of each, and the number of `unreferenced` entries.
    ///
    /// # Errors
    /// The first invalid medium, with its place. The Sample is then only partly settled, and should not be used.
    pub fn settle(&self, sample: &mut Sample, hooked: Vec<MediaSource>) -> Result<(), MediaError> {
        let purpose = match self.options.embed_local_media {
            true => Purpose::Embed(PathOrder::OfRow, false),
            false => Purpose::Check(PathOrder::OfRow),
        };
        let mut ledger = ReferenceTable::new(self, purpose);
        let brought = ResolvedMedia::take(sample)?;
        settle_parts(sample, &mut ledger)?;
        let mut unreferenced = 0;
        let added = match &brought {
            None => add_hooked(sample, hooked, &mut ledger)?,
            Some(brought) => {
                let mut added = Vec::new();
                for (kind, key, entries) in &brought.entries {
                    match ledger.has(*kind) {
                        true => unreferenced += self.count_unreferenced(*kind, entries, &ledger),
                        false => add_brought(*kind, key, entries, &mut ledger, &mut added)?,
                    }
                }
                added
            }
        };
        put_in_front(sample, added);
        write_lists(sample, brought.map(|brought| brought.rest), unreferenced, &ledger);
        Ok(())
    }

    fn count_unreferenced(
        &self,
        kind: MediaKind,
        entries: &[MediaEntry],
        ledger: &ReferenceTable<'_>,
    ) -> u64 {
        let is_referenced = |entry: &&MediaEntry| {
            // A file that cannot be found is not read either.
            ledger.refers_to(kind, &entry.url)
                || self.file_at(&entry.url).is_some_and(|path| ledger.refers_to_file(kind, &path))
        };
        entries.iter().filter(|entry| !is_referenced(entry)).count() as u64
    }
}

/// `inputs.multi_modal_data` as given by a row.
struct ResolvedMedia {
    entries: Vec<(MediaKind, &'static str, Vec<MediaEntry>)>,
    /// Unknown keys.
    rest: Object,
}

struct MediaEntry {
    url: String,
    options: Object,
}

impl ResolvedMedia {
    /// Takes it out of the Sample. `None` if absent.
    fn take(sample: &mut Sample) -> Result<Option<ResolvedMedia>, MediaError> {
        let mut rest = match sample.inputs.shift_remove(MULTI_MODAL) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Object(object)) => object,
            Some(_) => {
                let message = "expected an object with lists of URLs and paths";
                return Err(MediaError::new(MediaErrorKind::Url, message).at(MULTI_MODAL_POINTER));
            }
        };
        let mut entries = Vec::new();
        for (kind, key, _) in KINDS {
            let values = match rest.shift_remove(key) {
                None | Some(Value::Null) => continue,
                Some(Value::Array(values)) => values,
                Some(single) => vec![single],
            };
            let read = values.into_iter().enumerate().map(|(index, value)| {
                MediaEntry::read(value).ok_or_else(|| {
                    let message = "expected a URL or a path, or an object with a 'url'";
                    let pointer = format!("{MULTI_MODAL_POINTER}/{key}/{index}");
                    MediaError::new(MediaErrorKind::Url, message).at(pointer)
                })
            });
            entries.push((kind, key, read.collect::<Result<_, _>>()?));
        }
        Ok(Some(ResolvedMedia { entries, rest }))
    }
}

impl MediaEntry {
    fn read(value: Value) -> Option<MediaEntry> {
        match value {
            Value::String(url) => Some(MediaEntry { url, options: Object::new() }),
            Value::Object(mut options) => match options.shift_remove("url") {
                Some(Value::String(url)) => Some(MediaEntry { url, options }),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Settles the media parts of the messages, in the order of the conversation.
fn settle_parts(sample: &mut Sample, ledger: &mut ReferenceTable<'_>) -> Result<(), MediaError> {
    let leading = sample.messages.iter().take_while(|message| message.role == Role::System).count();
    let (system, others) = sample.messages.split_at_mut(leading);
    settle_messages(system, "/messages", 0, ledger)?;
    for (index, example) in sample.few_shot_examples.iter_mut().enumerate() {
        let pointer = format!("/few_shot_examples/{index}");
        settle_messages(&mut example.messages, &format!("{pointer}/messages"), 0, ledger)?;
        if let Some(reference) = example.references.first_mut() {
            let before = reference.text();
            settle_content(&mut reference.answer, &format!("{pointer}/references/0/answer"), ledger)?;
            // The label is the text of the reference.
            if example.label.as_ref() == Some(&before) {
                example.label = Some(reference.text());
            }
        }
    }
    settle_messages(others, "/messages", leading, ledger)
}

fn settle_messages(
    messages: &mut [Message],
    pointer: &str,
    first: usize,
    ledger: &mut ReferenceTable<'_>,
) -> Result<(), MediaError> {
    for (index, message) in messages.iter_mut().enumerate() {
        settle_content(&mut message.content, &format!("{pointer}/{}/content", first + index), ledger)?;
    }
    Ok(())
}

/// Settles the media parts of one content.
pub(super) fn settle_content(
    content: &mut [ContentPart],
    pointer: &str,
    ledger: &mut ReferenceTable<'_>,
) -> Result<(), MediaError> {
    for (index, part) in content.iter_mut().enumerate() {
        if let ContentPart::Media { kind, url, .. } = part {
            let entry = ledger
                .resolve(*kind, url, true)
                .map_err(|error| error.at(format!("{pointer}/{index}/{}/url", kind.type_name())))?;
            entry.url.clone_into(url);
        }
    }
    Ok(())
}

/// Returns the parts from a hook that the last user message does not already contain.
fn add_hooked(
    sample: &Sample,
    hooked: Vec<MediaSource>,
    ledger: &mut ReferenceTable<'_>,
) -> Result<Vec<ContentPart>, MediaError> {
    let standing: &[ContentPart] = last_of_user(&sample.messages)
        .and_then(|index| sample.messages.get(index))
        .map_or(&[], |message| &message.content);
    let mut added = Vec::new();
    for MediaSource { kind, source, extra } in hooked {
        if let Some(key) = ["type", kind.type_name()].into_iter().find(|key| extra.contains_key(*key)) {
            let message = format!("`extra` of media that a hook gives may not hold '{key}'");
            return Err(MediaError::new(MediaErrorKind::Url, message).of(&source));
        }
        let shown = ledger.resolve(kind, &source, false)?.url.clone();
        let stands = standing.iter().any(|part| match part {
            ContentPart::Media { kind: there, url, .. } => *there == kind && *url == shown,
            ContentPart::Text { .. } => false,
        });
        if !stands {
            let url = ledger.resolve(kind, &source, true)?.url.clone();
            added.push(ContentPart::Media { kind, url, options: LazyObject::default(), extra: extra.into() });
        }
    }
    Ok(added)
}

/// Returns the parts for media that a row lists but no message refers to.
fn add_brought(
    kind: MediaKind,
    key: &str,
    entries: &[MediaEntry],
    ledger: &mut ReferenceTable<'_>,
    added: &mut Vec<ContentPart>,
) -> Result<(), MediaError> {
    for (index, entry) in entries.iter().enumerate() {
        let found = ledger
            .resolve(kind, &entry.url, true)
            .map_err(|error| error.at(format!("{MULTI_MODAL_POINTER}/{key}/{index}")))?;
        let url = found.url.clone();
        let (options, extra) = (entry.options.clone().into(), LazyObject::default());
        added.push(ContentPart::Media { kind, url, options, extra });
    }
    Ok(())
}

/// Prepends parts to the content of the last user message.
fn put_in_front(sample: &mut Sample, added: Vec<ContentPart>) {
    if added.is_empty() {
        return;
    }
    match last_of_user(&sample.messages).and_then(|index| sample.messages.get_mut(index)) {
        Some(message) => {
            message.content.splice(..0, added);
        }
        None => {
            let message = Message { content: added, ..Message::text(Role::User, "") };
            sample.messages.push(message);
        }
    }
}

fn last_of_user(messages: &[Message]) -> Option<usize> {
    messages.iter().rposition(|message| message.role == Role::User)
}

/// Writes `inputs.multi_modal_data` and `_media_meta`; omits empty lists.
fn write_lists(sample: &mut Sample, rest: Option<Object>, unreferenced: u64, ledger: &ReferenceTable<'_>) {
    let mut multi_modal = Object::new();
    for (kind, key, meta_key) in KINDS {
        sample.media_meta.shift_remove(meta_key);
        if ledger.has(kind) {
            multi_modal.insert(key.to_owned(), ledger.urls(kind).into());
            sample.media_meta.insert(meta_key.to_owned(), ledger.records(kind).into());
        }
    }
    multi_modal.extend(rest.unwrap_or_default());
    if !multi_modal.is_empty() {
        sample.inputs.insert(MULTI_MODAL.to_owned(), multi_modal.into());
    }
    sample.media_meta.shift_remove("unreferenced");
    if unreferenced > 0 {
        sample.media_meta.insert("unreferenced".to_owned(), unreferenced.into());
    }
}
