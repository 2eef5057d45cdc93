//! The kinds of task that a Sample can name.

/// What kind of task a sample is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    Other(String),
}

impl TaskType {
    const NAMED: [(TaskType, &'static str); 13] = [
        (TaskType::MultipleChoice, "multiple-choice"),
        (TaskType::ShortAnswer, "short-answer"),
        (TaskType::Dialogue, "dialogue"),
        (TaskType::AudioTranslation, "audio-translation"),
        (TaskType::ImageQa, "image-qa"),
        (TaskType::VideoQa, "video-qa"),
        (TaskType::DocQa, "doc-qa"),
        (TaskType::TextToImage, "text-to-image"),
        (TaskType::ImageToImage, "image-to-image"),
        (TaskType::TextToAudio, "text-to-audio"),
        (TaskType::TextToVideo, "text-to-video"),
        (TaskType::CodeGeneration, "code-generation"),
        (TaskType::Agent, "agent"),
    ];

    /// The name in a Sample.
    pub fn name(&self) -> &str {
        match self {
            TaskType::Other(name) => name,
            known => TaskType::NAMED.iter().find(|(kind, _)| kind == known).map_or("", |(_, name)| name),
        }
    }

    /// The task type with this name.
    pub fn from_name(name: &str) -> TaskType {
        TaskType::NAMED
            .iter()
            .find(|(_, known)| *known == name)
            .map_or_else(|| TaskType::Other(name.to_owned()), |(kind, _)| kind.clone())
    }
}
