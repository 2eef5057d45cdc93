// What was said in a sample: messages, calls of tools and their results, reasoning and answers.

/** Most characters that are shown of a text before somebody asks for the rest. */
const LONGEST = 20000;
/** Characters of a picture or a sound that is shown at once. */
const MAX_MEDIA_CHARS = 8e6;
const MEDIA = /^data:(image\/(?:png|jpeg|gif|webp|bmp|avif)|audio\/[\w.+-]+|video\/[\w.+-]+);base64,/;

/** Whether texts are shown as they are written rather than as Markdown. */
let isSource = false;

/** A text of others: shown as it is, its end on demand. */
function said(text, kind = null) {
  // No half of a character.
  const shown = make("pre", { class: kind, dir: "auto" }, visible(text.slice(0, LONGEST).replace(/[\ud800-\udbff]$/, "")));
  if (text.length <= LONGEST) return shown;
  const more = make("button", { type: "button", click: () => { shown.replaceChildren(...inPieces(visible(text))); more.remove(); } }, `Show all ${count(text.length)} characters`);
  return make("div", {}, shown, more);
}

/** A text of others, as Markdown where it is some. */
const written = (text) => (isSource || text.length > MAX_MARKDOWN_CHARS ? null : markdownOf(visible(text))) ?? said(text);

const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "");

/** JSON, one value below the other. */
const asJson = (value) => said(JSON.stringify(value, null, 2) ?? "", "json");

/** A text that is a list or a mapping in JSON, as its value; else null. */
function jsonIn(text) {
  if (typeof text !== "string" || text.length > LONGEST || !/^\s*[[{]/.test(text)) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The text of a message or an answer, as it is copied. */
const plainText = (content) => (Array.isArray(content) ? content.map((one) => (typeof one === "string" ? one : typeof one?.text === "string" ? one.text : "")).join("\n") : asText(content ?? ""));

/** Copies a text, or the text of a value. */
const copyButton = (value) => make("button", { type: "button", class: "link copy", click: (event) => copyText(asText(value), event.currentTarget) }, "Copy");

const emptyText = (what) => make("p", { class: "soft empty" }, `(${what})`);

/** A picture, a sound or a video that the page holds; a large one on demand. */
function mediaElement(url, kind) {
  const element = () => (kind.startsWith("image/") ? make("img", { src: url, alt: `image, ${kind}`, loading: "lazy", decoding: "async" })
    : make(kind.startsWith("audio/") ? "audio" : "video", { src: url, controls: true, preload: "none" }));
  if (url.length <= MAX_MEDIA_CHARS) return element();
  const button = make("button", { type: "button", click: () => button.replaceWith(element()) }, `Show ${kind} of ${(url.length * 0.75 / 1e6).toFixed(1)} MB`);
  return button;
}

/** A part of a message: text, or media that the page holds; other media by name. */
function part(content) {
  const text = typeof content === "string" ? content : content?.type === "text" && typeof content.text === "string" ? content.text : null;
  if (text !== null) return written(text);
  const media = content?.[content?.type];
  const url = typeof media === "string" ? media : media?.url;
  if (typeof url !== "string") return asJson(content);
  const kind = MEDIA.exec(url.slice(0, 200))?.[1];
  return kind ? mediaElement(url, kind) : said(`${content.type}: ${url.length > 300 ? `${url.slice(0, 300)}…` : url}`);
}

const parts = (content) => (Array.isArray(content) ? content : content === null || content === undefined || content === "" ? [] : [content]).map(part);

/** A call of a tool: its name, and its arguments one below the other. */
function toolCall(call) {
  const { name, arguments: given } = call?.function ?? call ?? {};
  if (typeof name !== "string") return said(asText(call));
  let read = given;
  if (typeof given === "string") try { read = JSON.parse(given); } catch { /* It stays a text. */ }
  const isPlain = read !== null && typeof read === "object" && !Array.isArray(read) && Object.keys(read).length <= 20;
  const content = isPlain ? facts(Object.entries(read).map(([key, value]) => [visible(key), make("code", {}, visible(asText(value).slice(0, 2000)))])) : said(asText(given ?? ""));
  return make("div", { class: "call" }, make("span", { class: "strong" }, visible(name)), content);
}

/** A message in the transcript, with reasoning folded. */
function message({ role, name, content, tool_calls: calls, reasoning, tool_call_id: id }, title) {
  const label = title ?? visible([role === "tool" ? "result of a tool" : role, name].filter(Boolean).join(" "));
  const kind = ["system", "developer", "user", "assistant", "tool"].includes(role) ? role : "other";
  const text = plainText(content);
  const json = role === "tool" && !isSource ? jsonIn(text) : null;
  return make("div", { class: `message ${kind}` }, make("span", { class: "role" }, label, id ? make("span", { class: "soft" }, ` ${visible(String(id))}`) : null, text ? copyButton(text) : null),
    reasoning ? folded("reasoning", written(asText(reasoning))) : null, json === null ? parts(content) : asJson(json), (calls ?? []).map(toolCall));
}

/** Messages one after another; the result of a call has the name of its tool. Those of the user may have another title. */
function conversation(messages, titleOfUser) {
  const called = new Map();
  return messages.map((one) => {
    for (const call of one.tool_calls ?? []) called.set(call?.id, call?.function?.name ?? call?.name);
    const tool = one.role === "tool" ? one.name ?? called.get(one.tool_call_id) : undefined;
    return message(one, typeof tool === "string" ? `result of ${visible(tool)}` : one.role === "user" ? titleOfUser : undefined);
  });
}

function labelled(label, ...content) {
  return content.flat().length ? make("div", { class: "message" }, make("span", { class: "role" }, label), ...content) : null;
}

/** A request: to the model, or to a judge. */
function requestOf({ messages = [], text, continuations = [], rendered }) {
  return [
    text === undefined ? null : labelled("text", said(text)),
    ...conversation(messages),
    continuations.length ? folded(counted(continuations.length, "continuation"), ...continuations.map((one) => said(asText(one)))) : null,
    rendered === undefined ? null : folded("with the chat template applied", said(rendered)),
  ].filter(Boolean);
}

/** The media of a reply. Those that the page does not hold are shown by name. */
function replyMedia(output, media = {}) {
  return (output.media ?? []).map((one) => {
    const url = one?.[one?.type]?.url;
    const held = Object.hasOwn(media, url) ? media[url] : undefined;
    return labelled("media of the answer", part(held ? { type: one.type, [one.type]: { url: held } } : one));
  });
}

/** The request to the model as it was rebuilt; undefined if there was none, or it is not known. */
const modelRequestOf = ({ requests }) => (requests ?? []).find((request) => request.judge_id === undefined && request.unrendered === undefined);

/** What was sent to the model: the request as it was rebuilt, else the messages of the Sample. They are its question if nothing was sent. */
function promptOf({ sample, row, requests }) {
  if (!sample) return [row === undefined ? make("p", { class: "soft" }, "There is no Sample.") : labelled("the invalid row", said(row))];
  const sent = modelRequestOf({ requests });
  const reason = requests?.[0]?.unrendered;
  const isUnasked = Array.isArray(requests) && !sent && !reason;
  const all = reason ? [make("p", { class: "soft" }, visible(reason))] : [];
  const shots = sample.few_shot_examples ?? [];
  // The request holds the examples.
  if (shots.length > 0 && !sent) {
    all.push(folded(counted(shots.length, "few-shot example"), ...shots.flatMap((shot) => [...(shot.messages ?? []).map((one) => message(one)), labelled("answer", shot.references?.length ? parts(shot.references[0].answer ?? shot.references[0]) : shot.label ? said(asText(shot.label)) : [])].filter(Boolean))));
  }
  const rendered = sample.chat_template_mode === "preprocess" && sample.inputs?.prompt;
  all.push(...(sent ? requestOf(sent) : rendered ? [labelled("as it was sent", said(asText(rendered)))] : conversation(sample.messages ?? [], isUnasked ? "question" : undefined)));
  if (sample.tools?.length) all.push(folded(`${counted(sample.tools.length, "tool")}: ${sample.tools.map((tool) => visible(String(tool?.function?.name ?? tool?.name ?? "?"))).slice(0, 8).join(", ")}`, asJson(sample.tools)));
  const optionText = (option) => labelled(visible(String(option.id ?? "option")), parts(option.content ?? option.text ?? asText(option)));
  if (sample.options?.length) all.push(make("h3", {}, "Options"), ...sample.options.map(optionText).filter(Boolean));
  return all;
}

/** The right answers of a sample, under their heading. */
function referencesOf(sample) {
  const references = (sample?.references ?? []).map((reference) => make("div", { class: "message reference" }, parts(reference?.answer ?? reference)));
  if (references.length > 0) return [make("h3", {}, references.length > 1 ? "Right answers" : "Right answer"), ...references];
  return sample?.label === undefined || sample.label === null ? [] : [make("h3", {}, "Right answer"), make("div", { class: "message reference" }, typeof sample.label === "string" ? written(sample.label) : asJson(sample.label))];
}

/** What the model said: the turns of a conversation with tools, else its answer. */
function answerOf(text) {
  const output = text.model_output;
  if (!output) return text.error ? [] : [make("p", { class: "soft" }, "There is no answer.")];
  const turns = output.trajectory ?? [];
  const answer = asText(output.written ?? output.answer ?? "");
  const last = turns[turns.length - 1];
  const isSaid = last?.role === "assistant" && plainText(last.content) === answer && answer !== "";
  const isEmpty = (one) => answer === "" && one === last && one.role === "assistant" && plainText(one.content) === "" && !one.tool_calls?.length && !one.reasoning;
  const all = conversation(turns.filter((one) => !isEmpty(one)));
  if (output.stopped_by) all.push(make("p", { class: "soft" }, `The conversation was stopped by ${visible(named(asText(output.stopped_by)))}.`));
  if (!isSaid) {
    const reasoning = turns.length === 0 && output.reasoning ? folded("reasoning", written(asText(output.reasoning))) : null;
    const calls = turns.length === 0 ? (output.tool_calls ?? []).map(toolCall) : [];
    all.push(make("div", { class: "message assistant answer" }, make("span", { class: "role" }, "answer", answer ? copyButton(answer) : null), reasoning,
      answer || calls.length > 0 ? written(answer) : emptyText("empty answer"), calls));
  }
  if (output.refusal) all.push(labelled("refusal", said(asText(output.refusal))));
  if (output.written !== undefined && output.written !== null) all.push(labelled("extracted", said(output.answer === null ? "(nothing was found)" : asText(output.answer))));
  all.push(...replyMedia(output, text.media));
  if (output.continuations?.length) {
    all.push(table([["Option"], ["Log-likelihood", true], ["Tokens", true], ["Greedy"]], output.continuations.map((one) => [visible(String(one.id)), score(one.logprob), count(one.token_count), one.is_greedy ? "yes" : "no"]), "Continuations"));
  }
  return all.filter(Boolean);
}

/** A judge: its verdict, and what was asked and replied. */
function judgeOf(judge, requests, name) {
  if (judge.judges) {
    const { judges, ...read } = judge;
    return [facts(factsOfVerdict(read)), ...Object.entries(judges).flatMap(([id, one]) => [make("h3", {}, visible(id)), ...judgeOf(one, requests, id)])];
  }
  const { replies = [], earlier_replies: earlier = [], explanation } = judge;
  const asked = requests.filter((request) => request.judge_id !== undefined && (name === undefined || request.judge_id === name));
  const title = (id) => (id === "judge" ? "the judge" : `the judge ${visible(String(id))}`);
  const exchange = asked.map((request, place) => [
    folded(`what ${title(request.judge_id)} was asked${asked.length > 1 ? `, ${place + 1}` : ""}`, ...requestOf(request)),
    replies[place] === undefined ? null : message({ role: "assistant", content: asText(replies[place]) }, "reply"),
  ]);
  return [
    facts(factsOfVerdict(judge)), explanation && !replies.some((reply) => asText(reply).includes(explanation)) ? labelled("explanation", written(asText(explanation))) : null,
    earlier.length > 0 ? folded(`${counted(earlier.length, "earlier attempt")}`, ...earlier.flat().map((reply) => labelled("reply", said(asText(reply))))) : null,
    ...exchange.flat(), ...replies.slice(asked.length).map((reply) => message({ role: "assistant", content: asText(reply) }, "reply")),
  ].filter(Boolean);
}

/** What was read from the replies of a judge. */
function factsOfVerdict(judge) {
  const shown = { score: "Score", raw_score: "On its scale", verdict: "Verdict", answer: "Read as", unparseable: "Unreadable", attempts: "Attempts", read: "Judges read", cost: "Cost" };
  const value = (key) => (typeof judge[key] === "number" && key !== "attempts" ? score(judge[key]) : visible(asText(judge[key]).slice(0, 300)));
  const known = Object.keys(shown).filter((key) => judge[key] !== undefined && judge[key] !== null && !(key === "raw_score" && judge.raw_score === judge.score));
  const { usage } = judge;
  return [...known.map((key) => [shown[key], value(key)]), ["Tokens", usage && `${count(usage.prompt_tokens ?? 0)} + ${count(usage.completion_tokens ?? 0)}`]];
}
