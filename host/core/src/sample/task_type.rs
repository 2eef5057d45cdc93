//! The kinds of task that a Sample can name.

/// What kind of task a sample is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, strum::AsRefStr, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum TaskType {
    /// `multiple-choice`
    MultipleChoice,
    /// `short-answer`
    ShortAnswer,
    /// `dialogue`
    Dialogue,
    /// `audio-translation`
    AudioTranslation,
    /// `image-qa`
    ImageQa,
    /// `video-qa`
    VideoQa,
    /// `doc-qa`
    DocQa,
    /// `text-to-image`
    TextToImage,
    /// `image-to-image`
    ImageToImage,
    /// `text-to-audio`
    TextToAudio,
    /// `text-to-video`
    TextToVideo,
    /// `code-generation`
    CodeGeneration,
    /// `agent`
    Agent,
    /// A type that a team uses for itself.
    #[strum(default, transparent)]
    Other(String),
}

impl TaskType {
    /// The name in a Sample.
    pub fn name(&self) -> &str {
        self.as_ref()
    }

    /// The task type with this name.
    pub fn from_name(name: &str) -> TaskType {
        name.parse().unwrap_or_else(|_| TaskType::Other(name.to_owned()))
    }
}
