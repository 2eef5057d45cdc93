//! Chat templates of models, and the configurations of tokenizers that hold them.

use crate::fuzz_input::FuzzInput;
use crate::template_sandbox::template_sandbox;
use crate::{Target, Verdict, mutation};
use gage_config::Permissions;
use gage_core::{ContentPart, Message, Role};
use gage_template::{ChatTemplate, ContentForm, Conversation, TokenizerConfig};
use proptest::strategy::BoxedStrategy;
use serde_json::{Value, json};
use std::path::Path;

/// Chat templates.
pub const TEMPLATES: Target = Target {
    name: "chat_templates",
    cases: 150,
    seeds: template_seeds,
    inputs: || mutation::inputs(template_seeds(), JINJA_TOKENS),
    check: check_template,
};

/// Configurations of tokenizers.
pub const TOKENIZERS: Target = Target {
    name: "tokenizer_configs",
    cases: 150,
    seeds: tokenizer_seeds,
    inputs: tokenizer_inputs,
    check: check_tokenizer,
};

/// Maximum size of a rendered conversation, in bytes.
const MAX_RENDERED_BYTES: usize = 24 << 20;

/// Parts of templates: those that need much work, memory or stack, too.
pub const JINJA_TOKENS: &[&str] = &[
    "{{",
    "}}",
    "{%",
    "%}",
    "{%-",
    "-%}",
    "{#",
    "#}",
    "{% for a in range(9000) %}",
    "{% endfor %}",
    "{% if a %}",
    "{% endif %}",
    "{% set a = 'aaaaaaaa' %}",
    "{% set ns = namespace(s='a') %}",
    "{% set ns.s = ns.s ~ ns.s %}",
    "{% set ns.s = [ns.s] %}",
    "{% macro m(a) %}",
    "{{ m(a) }}",
    "{% endmacro %}",
    "{% break %}",
    "{% raw %}",
    "{% endraw %}",
    "{% generation %}",
    "{% endgeneration %}",
    "{% block b %}",
    "{% include 'a' %}",
    " * 100000000",
    "|indent(100000000000)",
    "|replace('a', a)",
    "|join(a)",
    "|slice(1000000000)",
    "'%100000000000d'|format(1)",
    ".format(1)",
    "'{:>100000000000}'",
    "|tojson",
    "|upper",
    "messages[0].content",
    "raise_exception('no')",
    "strftime_now('%Y')",
    "(",
    ")",
    "[",
    "]",
    "'",
    "\"",
    "~",
    "+",
    "|",
    ".",
    ",",
    "9223372036854775807",
    "é",
    "\u{0}",
    "sample.id",
    "payload.model_output.answer",
    "row.q",
    "params.tone",
    "history",
];

const CHATML: &str = "{{ bos_token }}{%- for message in messages %}\n\
    {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] | trim + '<|im_end|>\\n' }}\n\
    {%- endfor %}\n{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}\n";

const WITH_TOOLS: &str = "{%- set ns = namespace(n=0) -%}{% macro shown(one) %}{{ one.function.arguments | tojson }}{% endmacro %}\
    {% if tools %}{{ tools | tojson(indent=2) }}{% endif %}{% for m in messages if m.role != 'system' %}{% set ns.n = ns.n + 1 %}\
    {{ m.get('name', 'nobody') }}: {{ m.content.split(' ')[-1].upper() }}{% for c in m.tool_calls or [] %}{{ shown(c) }}{% endfor %}\
    {% generation %}{{ loop.index }}{% endgeneration %}{% endfor %}{{ strftime_now('%d %b %Y') }}{{ ns.n }}{{ eos_token }}";

fn template_seeds() -> Vec<Vec<u8>> {
    let parts = "{% for part in messages[0].content %}[{{ part.type }}:{{ part.text }}]{% endfor %}";
    [CHATML, WITH_TOOLS, parts].iter().map(|template| template.as_bytes().to_vec()).collect()
}

fn tokenizer_seeds() -> Vec<Vec<u8>> {
    let named =
        json!([{"name": "default", "template": CHATML}, {"name": "tool_use", "template": WITH_TOOLS}]);
    let configs = [
        json!({"chat_template": CHATML, "bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}}),
        json!({"chat_template": named, "added_tokens_decoder": {"0": {"content": "<unk>"}}, "model_max_length": 1e30}),
    ];
    configs.iter().map(|config| config.to_string().into_bytes()).collect()
}

fn tokenizer_inputs() -> BoxedStrategy<FuzzInput> {
    const NAMES: &[&str] =
        &["chat_template", "name", "template", "bos_token", "eos_token", "content", "default", "tool_use"];
    mutation::json_inputs(tokenizer_seeds(), NAMES)
}

/// Returns a conversation with a tool call and an image.
fn conversation() -> Vec<Message> {
    let mut call = Message::text(Role::Assistant, "let me look");
    call.tool_calls = vec![
        json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"b\": 1, \"a\": [2]}"}}),
    ];
    let mut question = Message::text(Role::User, "What is\nthis?");
    question.content.push(ContentPart::text(" é"));
    vec![Message::text(Role::System, "Be brief."), question, call]
}

fn tools() -> Vec<Value> {
    vec![json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}})]
}

/// Checks the text that a template gives, or its error.
fn check_rendered(rendered: Result<String, String>) -> Result<Verdict, String> {
    match &rendered {
        Ok(text) if text.len() > MAX_RENDERED_BYTES => Err(format!("{} bytes are rendered", text.len())),
        Err(message) if !message.contains("chat template") => {
            Err(format!("the error does not name the chat template: {message}"))
        }
        _ => Ok(Verdict::of(&rendered)),
    }
}

fn check_template(input: &[u8]) -> Result<Verdict, String> {
    let Ok(text) = std::str::from_utf8(input) else { return Ok(Verdict::Refused) };
    let template = match ChatTemplate::compile(template_sandbox()?, "model.gguf", text, "<s>", "</s>") {
        Ok(template) => template,
        Err(error) => return check_rendered(Err(error.to_string())),
    };
    let (messages, tools) = (conversation(), tools());
    let conversations = [
        Conversation::new(&messages, &[], ContentForm::Text),
        Conversation::new(&messages, &tools, ContentForm::Parts),
    ];
    let mut verdict = Verdict::Refused;
    for rendered in template.render_batch(&conversations) {
        verdict = verdict.or(check_rendered(rendered.map_err(|error| error.to_string()))?);
    }
    Ok(verdict)
}

fn check_tokenizer(input: &[u8]) -> Result<Verdict, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("tokenizer_config.json");
    std::fs::write(&path, input).map_err(|error| error.to_string())?;
    check_config(&path)
}

fn check_config(path: &Path) -> Result<Verdict, String> {
    let config = match TokenizerConfig::read(path, &Permissions::default()) {
        Ok(config) => config,
        Err(error) if error.to_string().is_empty() => return Err("an error without a message".to_owned()),
        Err(_) => return Ok(Verdict::Refused),
    };
    let template = match config.compile(template_sandbox()?) {
        Ok(template) => template,
        Err(error) => return check_rendered(Err(error.to_string())),
    };
    let (no_tools, tools): ([Value; 0], Vec<Value>) = ([], tools());
    let conversations = [(conversation(), no_tools.as_slice()), (conversation(), tools.as_slice())];
    let mut verdict = Verdict::Refused;
    for rendered in template.render_batch(&conversations) {
        verdict = verdict.or(check_rendered(rendered.map_err(|error| error.to_string()))?);
    }
    Ok(verdict)
}
