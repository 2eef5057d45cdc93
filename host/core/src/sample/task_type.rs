//! Task types of Samples.

/// Task type of a sample.
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
    /// A custom type.
    #[strum(default, transparent)]
    Other(String),
}

impl TaskType {
    /// Returns the name used in a Sample.
    pub fn name(&self) -> &str {
        self.as_ref()
    }

    /// Returns the task type with this name.
    pub fn from_name(name: &str) -> TaskType {
        name.parse().unwrap_or_else(|_| TaskType::Other(name.to_owned()))
    }
}
