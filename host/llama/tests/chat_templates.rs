//! Renders chat templates of model families here and with llama.cpp's own engine, which supports these families
//! natively.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use gage_core::{Message, Role};
use gage_plugin::{HostOptions, PluginHost, Registry};
use gage_recorded_messages::RecordedError as _;
use gage_template::{ChatTemplate, ContentForm, Conversation, TemplateSandbox};
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel};
use std::path::{Path, PathBuf};

/// Template of the Qwen 2.5 files: ChatML, with a default system message.
const QWEN: &str = r"{%- if messages[0]['role'] == 'system' -%}
    {{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' -}}
{%- else -%}
    {{- '<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n' -}}
{%- endif -%}
{%- for message in messages -%}
    {%- if message.role == 'user' or message.role == 'assistant' or (message.role == 'system' and not loop.first) -%}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|im_start|>assistant\n' -}}
{%- endif -%}";

/// Template of the Llama 3 files.
const LLAMA_3: &str = r"{% set turns = messages %}{% for message in turns %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>

' + message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>

' }}{% endif %}";

/// Template of the Gemma 2 files: no system message, and alternating turns.
const GEMMA: &str = r"{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}{{ '<start_of_turn>' + role + '
' + message['content'] | trim + '<end_of_turn>
' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model
' }}{% endif %}";

const CONVERSATION: [(Role, &str); 4] = [
    (Role::System, "Be brief."),
    (Role::User, "  What is 2 + 2?\n\"Quoted\" and {braces}"),
    (Role::Assistant, "4"),
    (Role::User, "Und das Doppelte? 两倍 <b>"),
];

fn compiled(template: &str, bos_token: &str) -> ChatTemplate {
    let cache_folder = Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("components"));
    let host = PluginHost::new(&HostOptions { cache_folder, ..HostOptions::default() }).expect("an engine");
    let registry = Registry::new(host, gage_plugin_bundle::COMPONENTS);
    let sandbox = TemplateSandbox::load(&registry).expect("the component");
    ChatTemplate::compile(&sandbox, "model.gguf", template, bos_token, "").expect("a template")
}

fn conversation(messages: &[Message]) -> Conversation {
    Conversation::new(messages, &[], ContentForm::Text)
}

#[test]
fn templates_of_families_give_what_llama_cpp_gives() {
    let mut backend = LlamaBackend::init().expect("llama.cpp");
    backend.void_logs();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/models/gage-tiny.gguf");
    let model = LlamaModel::load_from_file(&backend, file, &LlamaModelParams::default()).expect("the model");
    for (family, text, skipped) in [("Qwen", QWEN, 0), ("Llama 3", LLAMA_3, 0), ("Gemma", GEMMA, 1)] {
        // llama.cpp adds the BOS token during tokenization, not to the text.
        let template = compiled(text, "");
        let turns = &CONVERSATION[skipped..];
        for length in [1, 3] {
            let turns = &turns[..length.min(turns.len())];
            let chat: Vec<LlamaChatMessage> = turns
                .iter()
                .map(|(role, text)| {
                    LlamaChatMessage::new(role.name().to_owned(), (*text).to_owned()).expect("no NUL")
                })
                .collect();
            let native = LlamaChatTemplate::new(text).expect("no NUL");
            let expected = model.apply_chat_template(&native, &chat, true).expect("a known family");
            let messages: Vec<Message> =
                turns.iter().map(|(role, text)| Message::text(*role, *text)).collect();
            let rendered = template.render(&conversation(&messages)).expect("a conversation that it takes");
            assert_eq!(rendered, expected, "{family}, {length} messages");
        }
    }
}

#[test]
fn what_a_family_refuses_is_refused() {
    let template = compiled(GEMMA, "<bos>");
    let refused = |messages: &[Message]| {
        template.render(&conversation(messages)).expect_err("refused").recorded("model_files")
    };
    assert!(refused(&[Message::text(Role::System, "x")]).contains("System role not supported"));
    let twice = [Message::text(Role::User, "a"), Message::text(Role::User, "b")];
    assert!(refused(&twice).contains("must alternate"));
}
