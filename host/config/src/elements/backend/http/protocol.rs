//! What each protocol adds to what all HTTP backends take.

use crate::mapping_reader::MappingReader;
use crate::node::{Node, NodeValue};
use crate::problems::Problems;
use gage_core::SamplingParams;
use serde_json::Value;

/// The kinds of HTTP backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HttpKind {
    /// Chat completions and completions of the OpenAI API.
    OpenAi,
    /// The messages API of Anthropic.
    Anthropic,
    /// `generateContent` of the Gemini API.
    Gemini,
    /// The native API of text-generation-inference.
    Tgi,
    /// A dedicated endpoint of Hugging Face's.
    HfInferenceEndpoint,
}

impl HttpKind {
    /// The `type` in a configuration.
    pub const fn name(self) -> &'static str {
        match self {
            HttpKind::OpenAi => "openai_http",
            HttpKind::Anthropic => "anthropic_http",
            HttpKind::Gemini => "gemini_http",
            HttpKind::Tgi => "tgi",
            HttpKind::HfInferenceEndpoint => "hf_inference_endpoint",
        }
    }

    /// Where the API begins where nothing else is said.
    pub(super) fn default_base_url(self) -> Option<&'static str> {
        match self {
            HttpKind::OpenAi => Some("https://api.openai.com/v1"),
            HttpKind::Anthropic => Some("https://api.anthropic.com/v1"),
            HttpKind::Gemini => Some("https://generativelanguage.googleapis.com/v1beta"),
            HttpKind::Tgi | HttpKind::HfInferenceEndpoint => None,
        }
    }

    /// Whether one address serves several models.
    pub(super) fn needs_model(self) -> bool {
        matches!(self, HttpKind::OpenAi | HttpKind::Anthropic | HttpKind::Gemini)
    }
}

/// What a backend speaks.
#[derive(Clone, Debug)]
pub enum HttpProtocol {
    /// `openai_http`
    OpenAi(OpenAiOptions),
    /// `anthropic_http`
    Anthropic {
        /// The version of the API, as a date; default `2023-06-01`.
        version: String,
        /// Whether answers come in pieces, so that the first is timed; default false.
        stream: bool,
    },
    /// `gemini_http`
    Gemini {
        /// Whether answers come in pieces, so that the first is timed; default false.
        stream: bool,
    },
    /// `tgi`
    Tgi {
        /// Whether answers come in pieces, so that the first is timed; default false.
        stream: bool,
    },
    /// `hf_inference_endpoint`
    HfInferenceEndpoint,
}

/// What takes the log-likelihood of continuations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LikelihoodSource {
    /// Completions with `echo` and `logprobs`.
    Echo,
    /// Completions with `prompt_logprobs`, as vLLM has them.
    PromptLogprobs,
}

/// What a server calls the most tokens of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenLimitName {
    /// `max_tokens`
    MaxTokens,
    /// `max_completion_tokens`
    MaxCompletionTokens,
}

/// What only `openai_http` has.
#[derive(Clone, Debug)]
pub struct OpenAiOptions {
    /// Whether answers come in pieces, so that the first is timed; default false.
    pub stream: bool,
    /// How many alternatives of each token of the answer are asked for; default: no log-probabilities.
    pub logprobs: Option<u32>,
    /// The form of the answer, as the API takes it.
    pub response_format: Option<Value>,
    /// Sent as `OpenAI-Organization`.
    pub organization: Option<String>,
    /// Sent as `OpenAI-Project`.
    pub project: Option<String>,
    /// Whether a `<think>` block at the beginning of an answer is its reasoning; default false.
    pub think_tags: bool,
    /// What takes the log-likelihood of continuations; default: nothing does.
    pub loglikelihood: Option<LikelihoodSource>,
    /// What the server calls the most tokens of an answer to a conversation.
    pub token_limit: TokenLimitName,
    /// Sampling parameters that the server does not take, by their names in the body.
    pub omit_params: Vec<String>,
    /// The model that embeds texts; default: the model itself.
    pub embedding_model: Option<String>,
}

impl HttpProtocol {
    /// Which kind it belongs to.
    pub fn kind(&self) -> HttpKind {
        match self {
            HttpProtocol::OpenAi(_) => HttpKind::OpenAi,
            HttpProtocol::Anthropic { .. } => HttpKind::Anthropic,
            HttpProtocol::Gemini { .. } => HttpKind::Gemini,
            HttpProtocol::Tgi { .. } => HttpKind::Tgi,
            HttpProtocol::HfInferenceEndpoint => HttpKind::HfInferenceEndpoint,
        }
    }

    pub(super) fn read(
        kind: HttpKind,
        table: &mut MappingReader<'_>,
        problems: &mut Problems,
    ) -> HttpProtocol {
        if kind == HttpKind::HfInferenceEndpoint {
            return HttpProtocol::HfInferenceEndpoint;
        }
        let stream = table.boolean("stream", problems).unwrap_or(false);
        match kind {
            HttpKind::OpenAi => HttpProtocol::OpenAi(OpenAiOptions::read(stream, table, problems)),
            HttpKind::Anthropic => {
                let version = header_text(table, "anthropic_version", problems);
                HttpProtocol::Anthropic {
                    version: version.unwrap_or_else(|| "2023-06-01".to_owned()),
                    stream,
                }
            }
            HttpKind::Gemini => HttpProtocol::Gemini { stream },
            HttpKind::Tgi | HttpKind::HfInferenceEndpoint => HttpProtocol::Tgi { stream },
        }
    }
}

impl OpenAiOptions {
    /// Sampling parameters without those that are left out of bodies: of the limit either name leaves it out.
    pub(super) fn without_omitted(&self, mut params: SamplingParams) -> SamplingParams {
        let is_omitted = |name: &str| self.omit_params.iter().any(|omitted| omitted == name);
        OMITTABLE.iter().filter(|(name, _)| is_omitted(name)).for_each(|(_, omit)| omit(&mut params));
        params
    }

    fn read(stream: bool, table: &mut MappingReader<'_>, problems: &mut Problems) -> OpenAiOptions {
        const SOURCES: [(&str, LikelihoodSource); 2] =
            [("echo", LikelihoodSource::Echo), ("prompt_logprobs", LikelihoodSource::PromptLogprobs)];
        const NAMES: [(&str, TokenLimitName); 2] = [
            ("max_tokens", TokenLimitName::MaxTokens),
            ("max_completion_tokens", TokenLimitName::MaxCompletionTokens),
        ];
        OpenAiOptions {
            stream,
            logprobs: read_logprobs(table, problems),
            response_format: table.free_map("response_format", problems).map(Node::to_json),
            organization: header_text(table, "organization", problems),
            project: header_text(table, "project", problems),
            think_tags: table.boolean("think_tags", problems).unwrap_or(false),
            loglikelihood: table.choice("loglikelihood", &SOURCES, problems),
            token_limit: table
                .choice("max_tokens_name", &NAMES, problems)
                .unwrap_or(TokenLimitName::MaxTokens),
            omit_params: read_omitted(table, problems),
            embedding_model: table.text("embedding_model", problems),
        }
    }
}

/// What may be left out of a body, by the names that it has there.
const OMITTABLE: [(&str, fn(&mut SamplingParams)); 11] = [
    ("max_tokens", |params| params.max_new_tokens = None),
    ("max_completion_tokens", |params| params.max_new_tokens = None),
    ("temperature", |params| params.temperature = None),
    ("top_p", |params| params.top_p = None),
    ("top_k", |params| params.top_k = None),
    ("min_p", |params| params.min_p = None),
    ("seed", |params| params.seed = None),
    ("stop", |params| params.stop = None),
    ("presence_penalty", |params| params.presence_penalty = None),
    ("frequency_penalty", |params| params.frequency_penalty = None),
    ("repetition_penalty", |params| params.repetition_penalty = None),
];

fn read_omitted(table: &mut MappingReader<'_>, problems: &mut Problems) -> Vec<String> {
    const KEY: &str = "omit_params";
    let omitted = table.texts(KEY, problems).unwrap_or_default();
    let known = OMITTABLE.map(|(name, _)| name);
    for name in omitted.iter().filter(|name| !known.contains(&name.as_str())) {
        let message = format!("`{name}` is no sampling parameter that is sent");
        table.error(KEY, message, problems).known(name, known);
    }
    omitted
}

/// A text that becomes the value of a header.
fn header_text(table: &mut MappingReader<'_>, key: &'static str, problems: &mut Problems) -> Option<String> {
    let text = table.text(key, problems)?;
    if text.chars().any(char::is_control) || !text.is_ascii() {
        table.error(key, format!("`{key}` holds a character that no header may"), problems);
        return None;
    }
    Some(text)
}

/// `true`, or the number of alternatives of each token.
fn read_logprobs(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<u32> {
    match table.get("logprobs")?.value {
        NodeValue::Bool(is_wanted) => is_wanted.then_some(0),
        _ => table.number("logprobs", 0..=20, problems),
    }
}
