//! Notes about what a conversion changed.

/// Severity of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteSeverity {
    /// The new suite spells it in another way.
    Changed,
    /// The new suite does without it.
    Dropped,
    /// The new suite needs the work of a person.
    NeedsWork,
}

impl NoteSeverity {
    /// Returns the name in messages.
    pub fn name(self) -> &'static str {
        match self {
            NoteSeverity::Changed => "changed",
            NoteSeverity::Dropped => "dropped",
            NoteSeverity::NeedsWork => "needs work",
        }
    }
}

/// A note about one key of the old suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The severity.
    pub severity: NoteSeverity,
    /// The key of the old suite, as a path: `datasets[0].hub`.
    pub key: String,
    /// The change, in one line.
    pub message: String,
    /// The next step, if there is one.
    pub help: Option<String>,
}

/// Collects notes, and the comments of the new suite that say the same.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    list: Vec<Note>,
}

impl Notes {
    /// Adds a note that the new suite spells a key in another way.
    pub(crate) fn changed(&mut self, key: String, message: String, comments: &mut Vec<String>) -> &mut Note {
        self.add(NoteSeverity::Changed, key, message, comments)
    }

    /// Adds a note that the new suite does without a key.
    pub(crate) fn dropped(&mut self, key: String, message: String, comments: &mut Vec<String>) -> &mut Note {
        self.add(NoteSeverity::Dropped, key, message, comments)
    }

    /// Adds a note that a person has to do something.
    pub(crate) fn needs_work(
        &mut self,
        key: String,
        message: String,
        comments: &mut Vec<String>,
    ) -> &mut Note {
        let note = self.add(NoteSeverity::NeedsWork, key, message, comments);
        if let Some(comment) = comments.last_mut() {
            comment.insert_str(0, "TODO: ");
        }
        note
    }

    fn add(
        &mut self,
        severity: NoteSeverity,
        key: String,
        message: String,
        comments: &mut Vec<String>,
    ) -> &mut Note {
        comments.push(message.clone());
        self.list.push(Note { severity, key, message, help: None });
        let last = self.list.len() - 1;
        &mut self.list[last]
    }

    /// Returns the notes.
    pub(crate) fn into_list(self) -> Vec<Note> {
        self.list
    }

    /// Returns the notes, each once.
    pub(crate) fn into_distinct(self) -> Vec<Note> {
        let mut distinct: Vec<Note> = Vec::with_capacity(self.list.len());
        for note in self.list {
            if !distinct.contains(&note) {
                distinct.push(note);
            }
        }
        distinct
    }
}

impl Note {
    /// Adds the next step.
    pub(crate) fn help(&mut self, help: impl Into<String>) {
        self.help = Some(help.into());
    }
}
