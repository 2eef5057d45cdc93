//! Settings that each protocol adds to those of all HTTP backends.

use crate::mapping_reader::MappingReader;
use crate::node::{Node, NodeValue};
use crate::problems::Problems;
use gage_core::SamplingParams;
use serde_json::Value;
use strum::{IntoStaticStr, VariantArray};

/// The kinds of HTTP backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum HttpKind {
    /// Chat completions and completions of the OpenAI API.
    #[strum(serialize = "openai_http")]
    OpenAi,
    /// The messages API of Anthropic.
    #[strum(serialize = "anthropic_http")]
    Anthropic,
    /// `generateContent` of the Gemini API.
    #[strum(serialize = "gemini_http")]
    Gemini,
    /// The native API of text-generation-inference.
    Tgi,
    /// A dedicated Hugging Face inference endpoint.
    HfInferenceEndpoint,
}

impl HttpKind {
    /// Returns the `type` in a configuration.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the default base URL of the API.
    pub(super) fn default_base_url(self) -> Option<&'static str> {
        match self {
            HttpKind::OpenAi => Some("https://api.openai.com/v1"),
            HttpKind::Anthropic => Some("https://api.anthropic.com/v1"),
            HttpKind::Gemini => Some("https://generativelanguage.googleapis.com/v1beta"),
            HttpKind::Tgi | HttpKind::HfInferenceEndpoint => None,
        }
    }

    /// Returns true if one address serves several models.
    pub(super) fn needs_model(self) -> bool {
        matches!(self, HttpKind::OpenAi | HttpKind::Anthropic | HttpKind::Gemini)
    }
}

/// Method that computes log-likelihoods of continuations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum LikelihoodSource {
    /// Completions with `echo` and `logprobs`.
    Echo,
    /// Completions with `prompt_logprobs`, as in vLLM.
    PromptLogprobs,
}

/// Chat template of the conversations of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum ServerTemplate {
    /// The template of the server.
    #[default]
    Model,
    /// No template: the text of the messages as it is, for base models.
    None,
}

/// Name of the token limit in request bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum TokenLimitName {
    /// `max_tokens`
    #[default]
    MaxTokens,
    /// `max_completion_tokens`
    MaxCompletionTokens,
}

/// Settings of `openai_http` only.
#[derive(Clone, Debug, Default)]
pub struct OpenAiOptions {
    /// Number of alternatives requested for each token of the answer; default: no log-probabilities.
    pub logprobs: Option<u32>,
    /// The response format, as the API takes it.
    pub response_format: Option<Value>,
    /// True if a `<think>` block at the beginning of an answer is its reasoning; default false.
    pub think_tags: bool,
    /// Method that computes log-likelihoods of continuations; default none.
    pub loglikelihood: Option<LikelihoodSource>,
    /// Text of the token before a whole text whose likelihood is measured; default empty.
    pub text_start: Option<String>,
    /// Chat template of conversations; default the server's own.
    pub chat_template: ServerTemplate,
    /// Name of the token limit for conversations.
    pub token_limit: TokenLimitName,
    /// Sampling parameters that the server does not accept, by their names in the body.
    pub omit_params: Vec<String>,
}

impl OpenAiOptions {
    /// Removes the sampling parameters that are omitted from bodies. Either name of the token limit removes it.
    pub(super) fn without_omitted(&self, mut params: SamplingParams) -> SamplingParams {
        let is_omitted = |name: &str| self.omit_params.iter().any(|omitted| omitted == name);
        OMITTABLE.iter().filter(|(name, _)| is_omitted(name)).for_each(|(_, omit)| omit(&mut params));
        params
    }

    /// Returns true if `omit_params` can remove a parameter with this name in bodies.
    pub fn can_omit(name: &str) -> bool {
        OMITTABLE.iter().any(|(known, _)| *known == name)
    }

    pub(super) fn read(table: &mut MappingReader<'_>, problems: &mut Problems) -> OpenAiOptions {
        OpenAiOptions {
            logprobs: read_logprobs(table, problems),
            response_format: table.free_map("response_format", problems).map(Node::to_json),
            think_tags: table.boolean("think_tags", problems).unwrap_or(false),
            loglikelihood: table.variant("loglikelihood", problems),
            text_start: table.text("text_start", problems),
            chat_template: table.variant("chat_template", problems).unwrap_or_default(),
            token_limit: table.variant("max_tokens_name", problems).unwrap_or_default(),
            omit_params: read_omitted(table, problems),
        }
    }
}

/// Parameters that may be omitted from a body, by their names there.
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
        let message = format!("`{name}` is not a sampling parameter that is sent");
        table.error(KEY, message, problems).known(name, known);
    }
    omitted
}

/// Reads `true`, or the number of alternatives of each token.
fn read_logprobs(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<u32> {
    match table.get("logprobs")?.value {
        NodeValue::Bool(is_wanted) => is_wanted.then_some(0),
        _ => table.number("logprobs", 0..=20, problems),
    }
}
