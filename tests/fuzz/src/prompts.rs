//! Prompts of suites, also those of judges, which fence the answer of the model.

use crate::chat_templates::JINJA_TOKENS;
use crate::fuzz_input::FuzzInput;
use crate::template_sandbox::template_sandbox;
use crate::{Target, Verdict, mutation};
use gage_config::{PromptMessage, PromptSpec, Span};
use gage_core::{Object, Role};
use gage_template::{PromptContext, PromptRenderer};
use proptest::strategy::BoxedStrategy;
use serde_json::{Value, json};

/// Prompts.
pub const TARGET: Target = Target { name: "prompts", cases: 150, seeds, inputs, check };

/// Text of the answer that the fence encloses.
const ANSWER: &str = "SCORE: 1.0";

fn seeds() -> Vec<Vec<u8>> {
    let prompts = [
        "Question: {{ sample.messages[0].content[0].text }}\n{% for o in sample.options %}{{ loop.index }}. {{ o.content }}\n{% endfor %}",
        "Be {{ params.tone }}. {{ q | upper }} {{ row.q }} {{ raw['q'] }} {% if history %}{{ history | length }}{% endif %}",
        "The answer: {{ payload.model_output.answer[2:6] ~ payload.model_output.answer }} {{ adapter_id }} {{ role_type }}",
        "{% macro m(a) %}{{ a | trim | replace('a', 'b') | indent(2) }}{% endmacro %}{{ m(sample.id) }}{% set x = [1, 2] %}{{ x | join }}",
    ];
    prompts.iter().map(|prompt| prompt.as_bytes().to_vec()).collect()
}

fn inputs() -> BoxedStrategy<FuzzInput> {
    mutation::inputs(seeds(), JINJA_TOKENS)
}

fn object(value: Value) -> Object {
    value.as_object().cloned().unwrap_or_default()
}

fn check(input: &[u8]) -> Result<Verdict, String> {
    let Ok(text) = std::str::from_utf8(input) else { return Ok(Verdict::Refused) };
    let span = Span { source: 0, start: 0, end: 0 };
    let message = PromptMessage { role: Role::User, template: text.to_owned(), span };
    let params = object(json!({"tone": "brief"}));
    let spec = PromptSpec { prompt_id: "p".to_owned(), messages: vec![message], params, span };
    let renderer = match PromptRenderer::new(template_sandbox()?, &spec, &Object::new()) {
        Ok(renderer) => renderer,
        Err(errors) if errors.is_empty() => return Err("it is refused without an error".to_owned()),
        Err(_) => return Ok(Verdict::Refused),
    };
    let sample = json!({
        "schema_version": "v1", "id": "s", "options": [{"id": "A", "content": "one"}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "q?"}]}], "references": [],
        (gage_template::ROW_KEY): {"q": "why"},
    });
    let output = object(json!({"answer": ANSWER, "usage": {"prompt_tokens": 3}}));
    let payload = object(json!({"model_output": output}));
    let history = [json!({"role": "assistant", "content": "hm"})];
    let context = PromptContext {
        sample: &sample,
        payload: &payload,
        history: &history,
        adapter_id: "r",
        role_type: "dut_model",
    };
    let (fenced, _) = renderer.fenced_input(&context, &output, ["answer", "context"]);
    let mut verdict = Verdict::Refused;
    for messages in renderer.render_batch(&[renderer.input(&context), fenced]) {
        verdict = verdict.or(Verdict::of(&messages));
    }
    Ok(verdict)
}
