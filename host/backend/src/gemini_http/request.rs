//! Bodies of requests.

use crate::api::GenerateRequest;
use crate::conversation::{ToolChoice, call_of, function_of, inline_media, merge, put_known};
use gage_config::HttpBackendConfig;
use gage_core::{ContentPart, Message, Object, Role};
use serde_json::{Value, json};

/// Builds the body of a request. Also returns the maximum number of tokens that it may generate.
pub(super) fn body_of(request: GenerateRequest, config: &HttpBackendConfig) -> (Object, Option<u32>) {
    let params = request.params.over(&config.default_params);
    let longest = params.max_new_tokens;
    let mut messages = request.messages.into_vec();
    if let Some(prompt) = request.prompt {
        messages = vec![Message::text(Role::User, prompt)];
    }
    let system: Vec<Value> = messages
        .iter()
        .filter(|message| message.role == Role::System)
        .map(|message| json!({"text": gage_core::text_of(&message.content)}))
        .collect();
    let mut body = Object::from_iter([("contents".to_owned(), conversation(messages))]);
    if !system.is_empty() {
        body.insert("systemInstruction".to_owned(), json!({"parts": system}));
    }
    let settings = [
        ("maxOutputTokens", longest.map(Value::from)),
        ("temperature", Some(params.temperature.unwrap_or(0.0).into())),
        ("topP", params.top_p.map(Value::from)),
        ("topK", params.top_k.map(Value::from)),
        ("seed", params.seed.map(Value::from)),
        ("stopSequences", params.stop.map(Value::from)),
        ("presencePenalty", params.presence_penalty.map(Value::from)),
        ("frequencyPenalty", params.frequency_penalty.map(Value::from)),
    ];
    let mut config_of_answer = Object::new();
    put_known(&mut config_of_answer, settings);
    body.insert("generationConfig".to_owned(), Value::Object(config_of_answer));
    if !request.tools.is_empty() {
        let declarations: Vec<Value> = request.tools.iter().map(declaration).collect();
        body.insert("tools".to_owned(), json!([{"functionDeclarations": declarations}]));
        if let Some(choice) = &request.tool_choice {
            let choice = match ToolChoice::of(choice) {
                ToolChoice::Auto => json!({"mode": "AUTO"}),
                ToolChoice::None => json!({"mode": "NONE"}),
                ToolChoice::Required => json!({"mode": "ANY"}),
                ToolChoice::Named(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
            };
            body.insert("toolConfig".to_owned(), json!({"functionCallingConfig": choice}));
        }
    }
    merge(&mut body, &config.extra_body);
    (body, longest)
}

fn declaration(tool: &Value) -> Value {
    let (name, description, parameters) = function_of(tool);
    let mut object = Object::from_iter([("name".to_owned(), name.into())]);
    put_known(&mut object, [("description", description.cloned()), ("parameters", parameters.cloned())]);
    Value::Object(object)
}

/// Converts all messages except system messages. A tool result must name its function, which is looked up in the call
/// that it answers.
fn conversation(messages: Vec<Message>) -> Value {
    let mut called: Vec<(String, String)> = Vec::new();
    let mut list: Vec<Value> = Vec::new();
    for message in messages {
        let role = match message.role {
            Role::System => continue,
            Role::Assistant => "model",
            Role::User | Role::Tool => "user",
        };
        let mut parts: Vec<Value> = Vec::new();
        if message.role == Role::Tool {
            let id = message.tool_call_id.unwrap_or_default();
            let name = called.iter().rev().find(|(known, _)| *known == id).map(|(_, name)| name.clone());
            let name = name.or(message.name).unwrap_or_default();
            let result = json!({"result": gage_core::text_of(&message.content)});
            parts.push(json!({"functionResponse": {"name": name, "response": result}}));
        } else {
            parts.extend(message.content.into_iter().map(part));
        }
        for call in &message.tool_calls {
            let (id, name, arguments) = call_of(call);
            called.push((id.to_owned(), name.to_owned()));
            parts.push(json!({"functionCall": {"name": name, "args": arguments}}));
        }
        list.push(json!({"role": role, "parts": parts}));
    }
    Value::Array(list)
}

fn part(part: ContentPart) -> Value {
    let url = match part {
        ContentPart::Text { text, .. } => return json!({"text": text}),
        ContentPart::Media { url, .. } => url,
    };
    match inline_media(&url) {
        Some((media_type, data)) => json!({"inlineData": {"mimeType": media_type, "data": data}}),
        None => json!({"fileData": {"fileUri": url}}),
    }
}
