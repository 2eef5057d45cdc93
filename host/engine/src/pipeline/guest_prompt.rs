//! Prompts that components make for a model.

use crate::sample::failure::SampleFailure;
use gage_core::{Message, SamplingParams};
use gage_plugin::{Prompt, message_from_guest};

/// Returns the messages of a component's prompt, and its parameters layered over those of the role.
pub(crate) fn messages_and_params(
    prompt: Prompt,
    role_params: &SamplingParams,
) -> Result<(Vec<Message>, SamplingParams), SampleFailure> {
    let messages = prompt.messages.into_iter().map(message_from_guest).collect::<Result<Vec<_>, _>>();
    let params = SamplingParams::from_object(prompt.params)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
    let read = messages.and_then(|messages| Ok((messages, params?.over(role_params))));
    read.map_err(|message| SampleFailure::of_plugin("invalid_result", message))
}
