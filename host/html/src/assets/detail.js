// One sample: prompt, answer, judge and scores side by side.

/** Most characters that are shown of a text before somebody asks for the rest. */
const LONGEST = 20000;
const MEDIA = /^data:(image\/(?:png|jpeg|gif|webp|bmp|avif)|audio\/[\w.+-]+|video\/[\w.+-]+);base64,/;

/** A text of others: shown as it is, its end on demand. */
function said(text) {
  // No half of a character.
  const shown = make("pre", { dir: "auto" }, visible(text.slice(0, LONGEST).replace(/[\ud800-\udbff]$/, "")));
  if (text.length <= LONGEST) return shown;
  const more = make("button", { type: "button", click: () => { shown.replaceChildren(...inPieces(visible(text))); more.remove(); } }, `Show all ${count(text.length)} characters`);
  return make("div", {}, shown, more);
}

const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "");

/** A part of a message: text, or media that the page holds; other media by name. */
function part(content) {
  if (typeof content === "string") return said(content);
  if (content?.type === "text" && typeof content.text === "string") return said(content.text);
  const media = content?.[content?.type];
  const url = typeof media === "string" ? media : media?.url;
  if (typeof url !== "string") return said(asText(content));
  const kind = MEDIA.exec(url)?.[1];
  if (kind?.startsWith("image/")) return make("img", { src: url, alt: `image of the prompt, ${kind}`, loading: "lazy" });
  if (kind?.startsWith("audio/")) return make("audio", { src: url, controls: true, preload: "none" });
  if (kind?.startsWith("video/")) return make("video", { src: url, controls: true, preload: "none" });
  return said(`${content.type}: ${url.length > 300 ? `${url.slice(0, 300)}…` : url}`);
}

const parts = (content) => (Array.isArray(content) ? content : content === null || content === undefined ? [] : [content]).map(part);

function message({ role, name, content, tool_calls: calls }) {
  return make("div", { class: "message" }, make("span", {}, visible([role, name].filter(Boolean).join(" "))), parts(content), calls?.length ? said(asText(calls)) : null);
}

function labelled(label, ...content) {
  return content.flat().length ? make("div", { class: "message" }, make("span", {}, label), ...content) : null;
}

/** A request: to the model, or to a judge. */
function requestOf({ messages = [], text, continuations = [], rendered }) {
  return [
    text === undefined ? null : labelled("text", said(text)),
    ...messages.map(message),
    continuations.length ? folded(counted(continuations.length, "continuation"), ...continuations.map((one) => said(asText(one)))) : null,
    rendered === undefined ? null : folded("with the chat template applied", said(rendered)),
  ].filter(Boolean);
}

/** The media of a reply. Those that the page does not hold are shown by name. */
function replyMedia(output, media = {}) {
  return (output.media ?? []).map((one) => {
    const url = one?.[one?.type]?.url;
    const held = media[url];
    return labelled("media of the answer", part(held ? { type: one.type, [one.type]: { url: held } } : one));
  });
}

/** Stands for the texts of a sample that are not in the page. */
function absentTexts(row) {
  return make("div", { class: "side" }, make("p", { class: "soft" }, `The run has many samples, so this page has the texts of one in ${count(textsEvery[rows.run[row]])}, and of failed ones. The command gage-host view shows all of them.`));
}

function promptSide({ sample, row, requests }) {
  const side = make("div", { class: "side said" }, make("h3", {}, "Prompt"));
  if (!sample) {
    side.append(row === undefined ? make("p", { class: "soft" }, "There is no Sample.") : labelled("the invalid row", said(row)));
    return side;
  }
  const sent = (requests ?? []).find((request) => request.judge_id === undefined && request.unrendered === undefined);
  const reason = requests?.[0]?.unrendered;
  if (reason) side.append(make("p", { class: "soft" }, visible(reason)));
  const shots = sample.few_shot_examples ?? [];
  // The request holds the examples.
  if (shots.length > 0 && !sent) {
    side.append(folded(counted(shots.length, "few-shot example"), ...shots.flatMap((shot) => [...(shot.messages ?? []).map(message), labelled("answer", shot.references?.length ? parts(shot.references[0].answer ?? shot.references[0]) : shot.label ? said(asText(shot.label)) : [])].filter(Boolean))));
  }
  const rendered = sample.chat_template_mode === "preprocess" && sample.inputs?.prompt;
  const own = () => (rendered ? [labelled("as it was sent", said(asText(rendered)))] : (sample.messages ?? []).map(message));
  side.append(...(sent ? requestOf(sent) : own()));
  const optionText = (option) => labelled(visible(option.id ?? "option"), parts(option.content ?? option.text ?? asText(option)));
  if (sample.options?.length) side.append(make("h3", {}, "Options"), ...sample.options.map(optionText).filter(Boolean));
  const references = (sample.references ?? []).map((reference) => make("div", { class: "message" }, parts(reference?.answer ?? reference)));
  if (references.length > 0) side.append(make("h3", {}, references.length > 1 ? "Right answers" : "Right answer"), ...references);
  else if (sample.label !== undefined) side.append(make("h3", {}, "Right answer"), said(asText(sample.label)));
  return side;
}

function answerSide(row, text, title) {
  const output = text.model_output;
  const side = make("div", { class: "side" }, make("h3", {}, title), make("p", { class: "soft" }, statusOf(row, output)));
  if (text.error) side.append(make("p", { class: "notice" }, `${text.error.stage}, ${visible(text.error.kind)}: ${visible(text.error.message)}${text.error.pointer ? ` (${visible(text.error.pointer)})` : ""}`));
  if (output) {
    const words = make("div", { class: "said" });
    if (output.reasoning) words.append(folded("reasoning", said(asText(output.reasoning))));
    if (output.written !== undefined && output.written !== null) words.append(labelled("written", said(asText(output.written))), labelled("extracted", said(output.answer === null ? "(nothing was found)" : asText(output.answer))));
    else words.append(said(asText(output.answer ?? "")));
    words.append(...replyMedia(output, text.media));
    if (output.tool_calls?.length) words.append(labelled("tool calls", said(asText(output.tool_calls))));
    side.append(words);
    if (output.continuations?.length) {
      side.append(table([["Option"], ["Log-likelihood", true], ["Tokens", true], ["Greedy"]], output.continuations.map((one) => [visible(one.id), score(one.logprob), count(one.token_count), one.is_greedy ? "yes" : "no"]), "Continuations"));
    }
  } else if (!text.error) side.append(make("p", { class: "soft" }, "There is no answer."));
  side.append(make("h3", {}, "Scores"), scoresOf(text.metrics, names.outcomes[rows.outcome[row]]));
  if (text.judge_output) side.append(make("h3", {}, "Judge"), ...judgeOf(text.judge_output));
  for (const request of (text.requests ?? []).filter((one) => one.judge_id !== undefined)) {
    side.append(folded(`the request to ${visible(request.judge_id)}`, ...requestOf(request)));
  }
  side.append(folded("everything, as JSON", said(asText(text))));
  return side;
}

function statusOf(row, output) {
  const { finish_reason: reason, usage } = output ?? {};
  return [named(names.outcomes[rows.outcome[row]]), reason && `finished by ${named(reason)}`, usage && `${count(usage.prompt_tokens ?? 0)} + ${count(usage.completion_tokens ?? 0)} tokens`,
    Number.isNaN(rows.latency[row]) ? null : duration(rows.latency[row])].filter(Boolean).join(" · ");
}

function scoresOf(metrics, outcome) {
  if (metrics.length === 0) return make("p", { class: "soft" }, UNFINISHED.includes(outcome) ? "The sample is not scored yet." : "No metric scored the sample.");
  const passed = (card) => (card?.pass === undefined ? "" : card.pass ? "passed" : "failed");
  const lines = metrics.flatMap((metric, place) => {
    const { card } = metric;
    const why = [card?.error_tags?.map(visible).join(", "), card?.explain && visible(card.explain), metric.error && visible(metric.error)].filter(Boolean).join(": ");
    const subs = Object.entries(card?.sub_scores ?? {}).map(([name, value]) => [`… ${visible(name)}`, typeof value === "number" ? score(value) : visible(asText(value)), "", ""]);
    return [{ begins: place > 0, cells: [visible(metric.metric_id), make("span", { class: "strong" }, score(card?.primary_score)), metric.outcome === "scored" ? passed(card) : named(metric.outcome), why] }, ...subs];
  });
  return table([["Metric"], ["Score", true], ["Result"], ["Why"]], lines);
}

function judgeOf(judge) {
  if (judge.judges) {
    return [said(asText({ score: judge.score, answer: judge.answer, read: judge.read })),
      ...Object.entries(judge.judges).flatMap(([name, one]) => [make("h3", {}, visible(name)), ...judgeOf(one)])];
  }
  const { replies, ...read } = judge;
  return [labelled("read", said(asText(read))), ...(replies ?? []).map((reply) => labelled("reply", said(asText(reply))))];
}

let details = 0;

/** Opens the chosen sample, or shows it where one is open. */
function openDetail() {
  showDetail().catch((error) => {
    byId("detail").close();
    complain(`The sample cannot be shown: ${error.message}.`);
  });
}

async function showDetail() {
  const row = selected[chosen];
  if (row === undefined) return;
  details += 1;
  const detail = details;
  const partner = rows.partner[row];
  const [text, other] = await Promise.all([textOf(row), partner < 0 ? null : textOf(partner)]);
  // Somebody may have gone on meanwhile.
  if (detail !== details) return;
  const dialog = byId("detail");
  const step = (label, by, isPossible) => make("button", { type: "button", disabled: !isPossible, click: () => stepBy(by) }, label);
  const answers = text ? [[row, text]] : [];
  if (other) answers.push([partner, other]);
  answers.sort(([one], [another]) => rows.run[one] - rows.run[another]);
  const change = changeOf(row);
  const changed = change < 0 ? ` · worse by ${score(-change)}` : change > 0 ? ` · better by ${score(change)}` : "";
  const where = `${visible(names.tasks[rows.task[row]])} · ${count(chosen + 1)} of ${count(selected.length)}${changed}`;
  const focused = document.activeElement?.closest?.("#detail") ? document.activeElement.textContent : null;
  dialog.replaceChildren(
    make("div", { class: "bar" }, make("h2", { id: "detail-title" }, visible(rows.id[row]), " ", make("span", {}, where)),
      step("Previous", -1, chosen > 0), step("Next", 1, chosen + 1 < selected.length), make("button", { type: "button", click: () => dialog.close() }, "Close")),
    make("div", { class: other ? "sides two" : "sides", tabindex: "0", role: "group", "aria-label": "Prompt and answer" }, answers.length > 0 ? promptSide(text ?? other) : absentTexts(row),
      answers.map(([place, one]) => answerSide(place, one, isSeveral() ? `Answer of ${head.runs[rows.run[place]].run_id}` : "Answer"))));
  if (!dialog.open) dialog.showModal();
  const again = [...dialog.querySelectorAll(".bar button:not(:disabled)")].find((button) => button.textContent === focused);
  (again ?? dialog.querySelector(".sides")).focus();
}

function stepBy(by) {
  goTo(chosen + by);
  openDetail();
}

/** Opens the sample of a run that has an id. */
function openById(run, task, id) {
  for (let row = 0; row < rows.length; row += 1) {
    if (rows.run[row] !== run || rows.id[row] !== id || names.tasks[rows.task[row]] !== task) continue;
    resetFilters();
    byId("run").value = run;
    select();
    goTo(selected.indexOf(row));
    openDetail();
    return;
  }
}
