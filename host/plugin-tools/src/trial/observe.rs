//! Results of a member for test cases, as JSON, for each plugin kind.

use super::native_run::NativeRun;
use super::samples::{converted, raw_row};
use crate::cases::Case;
use gage_core::{EvalContext, FieldError, Message, Object, ScoreCard};
use gage_plugin::{
    AdapterReply, Aggregator, AggregatorRow, AggregatorState, AnyComponent, BackendComponent,
    ConfiguredMember, DocHook, DocHookOutput, Extractor, FinishReason, GenerateRequest, Generation,
    ItemError, Judge, JudgeCase, JudgeReply, LoglikelihoodRequest, MediaKind, MediaSet, Metric, MetricItem,
    PluginKind, PreparedCall, Preprocessor, Prompt, RawRow, ResolvedInputs, Role, RoleAdapter, Verdict,
};
use serde_json::{Value, json};

/// A configured member of a plugin, ready for test cases.
pub(super) enum CaseRun {
    Metric(Metric),
    Preprocessor(Preprocessor),
    DocHook(DocHook),
    Aggregator(Aggregator),
    Judge(Judge),
    Extractor(Extractor),
    RoleAdapter(RoleAdapter),
    Backend(BackendComponent),
    Native(NativeRun),
}

impl CaseRun {
    pub(super) fn new(
        family: &AnyComponent,
        member: Option<&str>,
        params: Value,
    ) -> Result<CaseRun, Vec<FieldError>> {
        Ok(match family {
            AnyComponent::Metric(family) => CaseRun::Metric(family.configure(member, params)?),
            AnyComponent::Preprocessor(family) => CaseRun::Preprocessor(family.configure(member, params)?),
            AnyComponent::DocHook(family) => CaseRun::DocHook(family.configure(member, params)?),
            AnyComponent::Aggregator(family) => CaseRun::Aggregator(family.configure(member, params)?),
            AnyComponent::Judge(family) => CaseRun::Judge(family.configure(member, params)?),
            AnyComponent::Extractor(family) => CaseRun::Extractor(family.configure(member, params)?),
            AnyComponent::RoleAdapter(family) => CaseRun::RoleAdapter(family.configure(member, params)?),
            AnyComponent::Backend(family) => CaseRun::Backend(family.configure(member, params)?),
        })
    }

    /// Returns the result of each case when all are called together.
    pub(super) fn observe(&self, cases: &[&Case]) -> Vec<Value> {
        match self {
            CaseRun::Metric(metric) => {
                let items = cases.iter().map(|case| item(metric, case)).collect();
                let name = metric.description().values.first().map(|value| value.name.as_str());
                let show = |card: ScoreCard| card_to_json(card, name.unwrap_or("score"));
                metric.score(items).results.into_iter().map(|result| shown(result.map(show))).collect()
            }
            CaseRun::Extractor(extractor) => {
                let items = cases.iter().map(|case| item(extractor, case)).collect();
                let show = |answer| json!({"result": answer});
                extractor.extract(items).into_iter().map(|result| shown(result.map(show))).collect()
            }
            CaseRun::Preprocessor(preprocessor) => {
                let rows: Vec<RawRow> = cases.iter().map(|case| raw_row(case)).collect();
                let results = preprocessor.convert(&rows).into_iter().zip(cases);
                results.map(|(result, case)| shown(result.and_then(|given| converted(given, case)))).collect()
            }
            CaseRun::DocHook(hook) => {
                let samples: Vec<String> = cases.iter().map(|case| case.get("sample").to_string()).collect();
                hook.apply(&samples).into_iter().map(|result| shown(result.map(hooked_to_json))).collect()
            }
            CaseRun::Judge(judge) => observe_judge(judge, cases),
            CaseRun::RoleAdapter(adapter) => observe_adapter(adapter, cases),
            CaseRun::Backend(backend) => observe_backend(backend, cases),
            CaseRun::Native(run) => {
                let show = |card: ScoreCard| card_to_json(card, run.value_name());
                run.score(cases, roots).into_iter().map(|result| shown(result.map(show))).collect()
            }
            // Each case is a separate data set.
            CaseRun::Aggregator(aggregator) => {
                cases.iter().map(|case| aggregate(aggregator, &rows_of(case), usize::MAX)).collect()
            }
        }
    }

    /// Calls with the same cases together, in other orders and doubled, and lists the differences from the
    /// results of each case alone.
    pub(super) fn vary(&self, cases: &[&Case], alone: &[Value]) -> Vec<String> {
        let mut found = Vec::new();
        if let CaseRun::Aggregator(aggregator) = self {
            for (case, alone) in cases.iter().zip(alone) {
                let singly = aggregate(aggregator, &rows_of(case), 1);
                if singly != *alone {
                    found.push(format!(
                        "{}: row by row it gives {singly}, all rows at once {alone}",
                        case.name
                    ));
                }
            }
            return found;
        }
        // Each call would wait for its end, or start the interpreter again.
        let is_dead = |found: &Value| matches!(found["error"].as_str(), Some("budget" | "trap"));
        if matches!(self, CaseRun::Native(_)) && alone.iter().any(is_dead) {
            return found;
        }
        for (what, order) in orders(cases.len()) {
            let together: Vec<&Case> = order.iter().map(|place| cases[*place]).collect();
            for (place, given) in order.iter().zip(self.observe(&together)) {
                if given != alone[*place] {
                    let (case, alone) = (&cases[*place].name, &alone[*place]);
                    found.push(format!("{case}: {what} it gives {given}, alone {alone}"));
                }
            }
            if !found.is_empty() {
                break;
            }
        }
        found
    }
}

/// Returns the orders for joint calls: as given, reversed, doubled, and a few fixed pseudorandom orders.
fn orders(count: usize) -> Vec<(&'static str, Vec<usize>)> {
    let forwards: Vec<usize> = (0..count).collect();
    let mut orders = vec![
        ("in a batch", forwards.clone()),
        ("in a batch backwards", forwards.iter().rev().copied().collect()),
        ("in a batch twice over", forwards.iter().chain(&forwards).copied().collect()),
    ];
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    for _ in 0..4 {
        let mut order = forwards.clone();
        for place in (1..order.len()).rev() {
            // Marsaglia's xorshift; good enough to shuffle a list.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            order.swap(place, usize::try_from(state % (place as u64 + 1)).unwrap_or(0));
        }
        orders.push(("in a shuffled batch", order));
    }
    orders
}

fn shown(result: Result<Value, ItemError>) -> Value {
    result.unwrap_or_else(
        |error| json!({"error": error.kind, "message": error.message, "pointer": error.pointer}),
    )
}

fn roots(case: &Case) -> EvalContext<'_> {
    EvalContext {
        sample: case.get("sample").into(),
        model_output: case.get("model_output").into(),
        judge_output: case.get("judge_output"),
        support_output: case.get("support_output"),
    }
}

fn item<K: PluginKind + ResolvedInputs>(member: &ConfiguredMember<K>, case: &Case) -> MetricItem {
    match case.body.get("inputs").and_then(Value::as_object) {
        Some(inputs) => member.item("case", inputs),
        None => member.resolve("case", roots(case)),
    }
}

fn card_to_json(card: ScoreCard, name: &str) -> Value {
    let mut values = card.sub_scores.clone();
    values.insert(name.to_owned(), card.primary_score.into());
    json!({
        "primary_score": card.primary_score,
        "pass": card.pass,
        "sub_scores": card.sub_scores,
        "error_tags": card.error_tags,
        "explain": card.explain,
        "detail": if card.detail.is_empty() { json!({}) } else { card.detail.into_value() },
        "values": values,
    })
}

fn message_to_json(message: gage_plugin::Message) -> Value {
    let role = gage_core::Role::from(message.role).name();
    let extra: Value = serde_json::from_str(&message.extra).unwrap_or_default();
    json!({"role": role, "content": message.content, "extra": extra})
}

fn prompt_to_json(prompt: Prompt) -> Value {
    let messages: Vec<Value> = prompt.messages.into_iter().map(message_to_json).collect();
    json!({"messages": messages, "params": prompt.params})
}

fn hooked_to_json(hooked: DocHookOutput) -> Value {
    match hooked {
        DocHookOutput::Text(messages) => {
            json!({"result": messages.into_iter().map(message_to_json).collect::<Vec<_>>()})
        }
        DocHookOutput::Media(sources) => {
            let list = sources.into_iter().map(|media| {
                let kind = match media.kind {
                    MediaKind::Image => "image",
                    MediaKind::Audio => "audio",
                    MediaKind::Video => "video",
                    MediaKind::File => "file",
                };
                json!({"kind": kind, "source": media.source, "extra": media.extra})
            });
            json!({"result": list.collect::<Vec<_>>()})
        }
    }
}

/// Parses a model's reply: a text, or an object with `answer` and `extra`.
fn reply_of(value: &Value) -> Generation {
    let (answer, extra) = match value {
        Value::Object(object) => (object.get("answer"), object.get("extra")),
        other => (Some(other), None),
    };
    Generation {
        answer: answer.and_then(Value::as_str).unwrap_or_default().to_owned(),
        finish: FinishReason::Stop,
        usage: None,
        extra: extra.map_or_else(|| "{}".to_owned(), Value::to_string),
    }
}

fn observe_judge(judge: &Judge, cases: &[&Case]) -> Vec<Value> {
    let judged: Vec<JudgeCase> = cases
        .iter()
        .map(|case| JudgeCase {
            sample_id: "case".to_owned(),
            sample: case.get("sample").to_string(),
            model_output: case.get("model_output").to_string(),
        })
        .collect();
    let rendered = judge.render(&judged);
    let replies =
        |case: &&Case| case.get("replies").as_array().map(|list| list.iter().map(reply_of).collect());
    let replied: Vec<Option<Vec<Generation>>> = cases.iter().map(replies).collect();
    let asked: Vec<JudgeReply> = judged
        .into_iter()
        .zip(&replied)
        .filter_map(|(case, replies)| Some(JudgeReply { case, replies: replies.clone()? }))
        .collect();
    let mut verdicts = judge.parse(&asked).into_iter();
    rendered
        .into_iter()
        .zip(replied)
        .map(|(prompts, replies)| {
            let verdict = replies.and_then(|_| verdicts.next());
            shown(prompts.and_then(|prompts| {
                let prompts: Vec<Value> = prompts.into_iter().map(prompt_to_json).collect();
                Ok(match verdict.transpose()? {
                    None => json!({"prompts": prompts}),
                    Some(Verdict::Output(output)) => {
                        json!({"prompts": prompts, "output": output, "is_unparseable": false})
                    }
                    Some(Verdict::Unparseable(reason)) => {
                        json!({"prompts": prompts, "is_unparseable": true, "reason": reason})
                    }
                })
            }))
        })
        .collect()
}

fn observe_adapter(adapter: &RoleAdapter, cases: &[&Case]) -> Vec<Value> {
    let payloads: Vec<String> =
        cases.iter().map(|case| Value::Object(case.object("payload")).to_string()).collect();
    let prepared = adapter.prepare(&payloads);
    let replied: Vec<AdapterReply> = cases
        .iter()
        .zip(payloads)
        .filter(|(case, _)| case.body.contains_key("reply"))
        .map(|(case, payload)| AdapterReply { payload, reply: reply_of(case.get("reply")) })
        .collect();
    let mut parsed = adapter.parse(&replied).into_iter();
    cases
        .iter()
        .zip(prepared)
        .map(|(case, prepared)| {
            let parsed = if case.body.contains_key("reply") { parsed.next() } else { None };
            shown(prepared.and_then(|prepared| {
                let mut found = match prepared {
                    PreparedCall::Ask(prompt) => json!({"request": prompt_to_json(prompt)}),
                    PreparedCall::Output(output) => json!({"output": output}),
                };
                if let Some(output) = parsed.transpose()? {
                    found["parsed"] = Value::Object(output);
                }
                Ok(found)
            }))
        })
        .collect()
}

fn observe_backend(backend: &BackendComponent, cases: &[&Case]) -> Vec<Value> {
    let (mut generate, mut score) = (Vec::new(), Vec::new());
    for case in cases {
        let messages = messages_of(case.get("messages"));
        match case.get("continuations").as_array() {
            Some(texts) => score.push(LoglikelihoodRequest {
                id: "case".to_owned(),
                messages,
                continuations: texts.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect(),
            }),
            None => generate.push(GenerateRequest {
                id: "case".to_owned(),
                messages,
                params: Value::Object(case.object("sampling_params")).to_string(),
            }),
        }
    }
    let mut generated = backend.generate(&generate, MediaSet::default()).into_iter();
    let mut scored = backend.loglikelihood(&score).into_iter();
    let missing = || json!({"error": "internal", "message": "there is no result"});
    cases
        .iter()
        .map(|case| match case.body.contains_key("continuations") {
            true => scored.next().map_or_else(missing, |scores| {
                shown(scores.map(|scores| {
                    let list = scores.iter().map(|score| {
                        json!({"logprob": score.logprob, "token_count": score.token_count, "is_greedy": score.is_greedy})
                    });
                    json!({"scores": list.collect::<Vec<_>>()})
                }))
            }),
            false => generated.next().map_or_else(missing, |reply| shown(reply.map(generation_to_json))),
        })
        .collect()
}

fn generation_to_json(generation: Generation) -> Value {
    let finish = match generation.finish {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::ContentFilter => "content_filter",
        FinishReason::Other => "other",
    };
    let extra: Value = serde_json::from_str(&generation.extra).unwrap_or_default();
    json!({"answer": generation.answer, "finish": finish, "extra": extra})
}

fn messages_of(value: &Value) -> Vec<gage_plugin::Message> {
    let text = |message: &Value| {
        let read = Message::from_value(message.clone()).ok()?;
        let role = match read.role {
            gage_core::Role::System => Role::System,
            gage_core::Role::User => Role::User,
            gage_core::Role::Assistant => Role::Assistant,
            gage_core::Role::Tool => Role::Tool,
        };
        Some(gage_plugin::Message {
            role,
            content: gage_core::text_of(&read.content),
            extra: "{}".to_owned(),
        })
    };
    value.as_array().into_iter().flatten().filter_map(text).collect()
}

fn rows_of(case: &Case) -> Vec<AggregatorRow> {
    let rows = case.get("rows").as_array().into_iter().flatten();
    rows.map(|row| {
        let card = &row["card"];
        let object = |key: &str| card[key].as_object().cloned().unwrap_or_default();
        let texts = card["error_tags"].as_array().into_iter().flatten();
        AggregatorRow {
            sample_id: row["sample_id"].as_str().unwrap_or_default().to_owned(),
            weight: row["weight"].as_f64().unwrap_or(1.0),
            card: ScoreCard {
                primary_score: card["primary_score"].as_f64(),
                pass: card["pass"].as_bool(),
                sub_scores: object("sub_scores"),
                error_tags: texts.filter_map(|tag| tag.as_str().map(str::to_owned)).collect(),
                explain: card["explain"].as_str().map(str::to_owned),
                detail: Value::Object(object("detail")).into(),
            },
        }
    })
    .collect()
}

/// Returns the figures of some rows, which are passed in chunks of `at_once`.
fn aggregate(aggregator: &Aggregator, rows: &[AggregatorRow], at_once: usize) -> Value {
    let folded = rows
        .chunks(at_once.clamp(1, rows.len().max(1)))
        .try_fold(AggregatorState::default(), |state, rows| aggregator.fold(state, rows));
    shown(folded.and_then(|state| aggregator.finish(&state)).map(|figures| {
        let values: Object =
            figures.iter().map(|figure| (figure.name.clone(), figure.value.into())).collect();
        json!({"figures": values, "all": figures})
    }))
}
