//! Cost of a text from a template in the sandbox: a conversation with a model's chat template, and a prompt of a suite.

use crate::lab::Lab;
use crate::table::{Table, median};
use anyhow::{Context as _, anyhow};
use gage_config::{PromptMessage, PromptSpec, Span};
use gage_core::{Message, Object, Role};
use gage_plugin::{HostOptions, PluginHost, Registry};
use gage_template::{
    ChatTemplate, ContentForm, Conversation, PromptContext, PromptRenderer, TemplateSandbox,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A chat template of about 4 KB.
const CHATML: &str = include_str!("../chatml.jinja");

/// A prompt in the size of those in suites.
const PROMPT: &str = "You are asked a question about {{ params.subject }}. Answer with one letter.\n\n\
    {{ sample.messages[0].content }}\n{% for option in sample.options %}{{ option.id }}. {{ option.content }}\n{% endfor %}\
    {% if sample.metadata.hint is defined %}Hint: {{ sample.metadata.hint }}\n{% endif %}Answer:";

/// Numbers of texts in a call.
const BATCHES: [usize; 3] = [1, 8, 64];

pub(crate) fn measure(lab: &Lab) -> anyhow::Result<()> {
    let host = PluginHost::new(&HostOptions::default()).map_err(anyhow::Error::msg)?;
    let sandbox = TemplateSandbox::load(&Registry::new(host, gage_plugin_bundle::COMPONENTS))?;
    let template = ChatTemplate::compile(&sandbox, "the benchmark", CHATML, "<s>", "</s>")?;
    let prompt = prompt(&sandbox)?;
    let (sample, payload) = (sample(), Object::new());
    let input = prompt.input(&PromptContext {
        sample: &sample,
        payload: &payload,
        history: &[],
        adapter_id: "model",
        role_type: "dut_model",
    });
    let conversation = conversation();
    let time = Duration::from_millis(if lab.is_quick { 100 } else { 1_000 });
    let mut table = Table::new(["texts in a call", "chat template, µs a text", "prompt, µs a text"]);
    for size in BATCHES {
        let conversations = vec![conversation.clone(); size];
        let chat = seconds_of(time, || {
            let texts = template.render_batch(&conversations);
            texts.into_iter().collect::<Result<Vec<_>, _>>().map(drop).map_err(anyhow::Error::from)
        })?;
        let inputs = vec![input.clone(); size];
        let of_prompt = seconds_of(time, || {
            let texts = prompt.render_batch(&inputs);
            texts.into_iter().collect::<Result<Vec<_>, _>>().map(drop).map_err(anyhow::Error::from)
        })?;
        // Batches are far smaller than 2^53.
        let figure = |seconds: f64| format!("{:.1}", seconds * 1e6 / size as f64);
        table.row([size.to_string(), figure(chat), figure(of_prompt)]);
    }
    table.print("Templates");
    println!(
        "Medians of calls on one thread. The chat template has {} bytes and the conversation three messages; the prompt has {} \
         bytes and shows a question with four options. A call copies the template and the values into a new instance, compiles \
         the template, and checks the results. Values are made into JSON before.\n",
        CHATML.len(),
        PROMPT.len()
    );
    Ok(())
}

fn conversation() -> Conversation {
    let messages = [
        Message::text(Role::System, "You are a careful assistant. Answer briefly."),
        Message::text(Role::User, QUESTION),
        Message::text(Role::Assistant, "Think of the animals that breathe air."),
    ];
    Conversation::new(&messages, &[], ContentForm::Text)
}

const QUESTION: &str = "Which of these animals breathes air with lungs and lives in the sea? Explain your answer in one \
    sentence, and name another animal of which the same is true. If there is none, say so.";

fn prompt(sandbox: &TemplateSandbox) -> anyhow::Result<PromptRenderer> {
    let span = Span { source: 0, start: 0, end: 0 };
    let spec = PromptSpec {
        prompt_id: "ask".to_owned(),
        messages: vec![PromptMessage { role: Role::User, template: PROMPT.to_owned(), span }],
        params: Object::from_iter([("subject".to_owned(), json!("biology"))]),
        span,
    };
    PromptRenderer::new(sandbox, &spec, &Object::new()).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        anyhow!("the prompt is invalid: {}", errors.join("; "))
    })
}

fn sample() -> Value {
    let option = |(id, content): (&str, &str)| json!({"id": id, "content": content});
    let options = [("A", "Shark"), ("B", "Dolphin"), ("C", "Trout"), ("D", "Octopus")].map(option);
    json!({
        "id": "q1", "messages": [{"role": "user", "content": QUESTION}], "options": options, "label": "B",
        "metadata": {"subject": "biology", "source": "a collection of questions"}, "schema_version": "1",
    })
}

/// Repeats an operation for about the given time. Returns the seconds of the median repetition.
fn seconds_of(time: Duration, work: impl Fn() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    work().context("the template cannot be rendered")?;
    let mut rounds = Vec::new();
    let began = Instant::now();
    while rounds.len() < 5 || began.elapsed() < time {
        let round = Instant::now();
        work()?;
        rounds.push(round.elapsed().as_secs_f64());
    }
    Ok(median(rounds))
}
