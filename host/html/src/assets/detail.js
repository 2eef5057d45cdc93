// One sample: its transcript, and what was measured of it.

/** The sample that is open, or was last. */
let openRow;

/** Stands for the texts of a sample that are not in the page. */
function absentTexts(row) {
  return make("div", { class: "side", tabindex: "0" }, make("p", { class: "soft" }, `The run has many samples, so this page has the texts of one in ${count(textsEvery[rows.run[row]])}, and of failed ones. The command gage-host view shows all of them.`));
}

function errorOf({ error }) {
  if (!error) return [];
  const title = errorTitle(error.stage, error.kind);
  return [make("div", { class: "notice bad" }, make("p", { class: "strong" }, title.replace("error", "Error")), make("p", {}, `${visible(error.message)}${error.pointer ? ` (${visible(error.pointer)})` : ""}`))];
}

/** Calls of the model that failed, of which the record has the number and the last error. */
const failedCalls = ({ error, timing, model_output: output }) => (error?.stage === "inference" && !output && timing?.attempts > 0 ? timing.attempts : 0);

/** How often the model was asked, where that is more than once for each turn. */
function attemptsOf(text) {
  const { attempts = 0, requests = 0 } = text.timing ?? {};
  const failed = failedCalls(text);
  if (failed > 0) return `${counted(failed, "attempt")}, all failed`;
  const retries = attempts - Math.max(1, requests);
  return retries > 0 ? `${counted(attempts, "attempt")}, ${count(retries)} failed` : count(attempts);
}

/** When what happened to a sample. Of calls that failed, the record has no times. */
function timingOf(text) {
  const failed = failedCalls(text);
  if (failed === 0) return waterfall(text.timing);
  return [make("h3", {}, "Timing"), make("p", { class: "soft" }, failed === 1 ? "The call failed; its time is not recorded." : `${counted(failed, "attempt")} failed. The error of the last one is shown; the others and their times are not recorded.`)];
}

/** A small amount of money, without a power of ten. */
const amount = (cost) => (cost > 0 && cost < 0.001 ? cost.toFixed(7).replace(/0+$/, "") : score(cost));

/** What a sample cost: its model and its judges, as far as they have prices. */
function costOfSample(row, { model_output: output, timing }) {
  const run = head.runs[rows.run[row]];
  const price = run.tasks.find((task) => task.task_id === names.tasks[rows.task[row]])?.price;
  const { prompt_tokens: asked = 0, completion_tokens: answered = 0 } = output?.usage ?? {};
  const ofModel = price && output?.usage && timing?.attempts > 0 ? (asked * price[0] + answered * price[1]) / 1e6 : null;
  const ofJudges = Number.isNaN(rows.judgeCost[row]) ? null : rows.judgeCost[row];
  if (ofModel === null && ofJudges === null) return null;
  const missing = run.missing_prices ? `, ${visible(run.missing_prices)}` : "";
  const parts = [ofModel === null ? "" : `model ${amount(ofModel)}`, ofJudges === null ? "" : `judges ${amount(ofJudges)}`].filter(Boolean);
  // The note on missing prices may already say that the cost is that of judges.
  if (parts.length === 1) return missing && ofModel === null ? `${amount(ofJudges)}${missing}` : parts[0] + missing;
  return `${amount(ofModel + ofJudges)} (${parts.join(", ")})${missing}`;
}

/** Texts of samples that the server answered quickly. They lack the requests, the calls and the times. */
const partialTexts = new WeakSet();

/** What is measured of an answer: scores, judges, tokens, times. */
function measuresOf(row, text) {
  const usage = text.model_output?.usage;
  const timing = partialTexts.has(text) ? [make("p", { class: "soft pending", role: "status" }, "The requests, calls and times of the sample are being read…")] : timingOf(text);
  return [
    ...(text.judge_output ? [make("h3", {}, "Judge"), ...judgeOf(text.judge_output, text.requests ?? [])] : unreadRequests(text)),
    ...noteFields(row),
    make("h3", {}, "Tokens and cost"),
    facts([["Prompt", usage && count(usage.prompt_tokens ?? 0)], ["Answer", usage && count(usage.completion_tokens ?? 0)], ["Turns", text.model_output?.turns && count(text.model_output.turns)],
      ["Calls", text.timing && attemptsOf(text)]]),
    facts([["Cost", costOfSample(row, text)]]),
    ...timing, ...metadataOf(text.sample), ...sentOf(row, text), folded("Everything, as JSON", copyButton(text), asJson(text)),
  ];
}

/** Completes an open sample. A note that somebody is writing stays. */
async function completeDetail(row, text, detail) {
  const dialog = byId("detail");
  const sides = dialog.querySelector(".sides");
  try {
    Object.assign(text, await textOf(row));
  } catch (error) {
    const pending = sides.querySelector(".pending");
    if (pending) pending.textContent = `The requests, calls and times of the sample cannot be read: ${error.message}.`;
    return;
  }
  partialTexts.delete(text);
  if (detail !== details || !dialog.open) return;
  const noteParts = [".note", "textarea"].map((name) => [name, sides.querySelector(name)]);
  const [focused, places] = [document.activeElement, [...sides.children].map((side) => side.scrollTop)];
  sides.replaceChildren(...sidesOfOne(row, text));
  for (const [name, part] of noteParts) if (part) sides.querySelector(name)?.replaceWith(part);
  markHits(sides);
  [...sides.children].forEach((side, number) => { side.scrollTop = places[number] ?? 0; });
  (focused?.isConnected ? focused : sides.querySelector(".side")).focus({ preventScroll: true });
}

/** How long texts may be read before a reader is told so, in milliseconds. */
const MAX_SILENT_READ_TIME = 300;

/** Waits for the texts of a sample, and says so if that takes long. */
async function awaited(reading) {
  const notice = "The sample is being read…";
  const timer = setTimeout(() => complain(notice), MAX_SILENT_READ_TIME);
  try {
    return await reading;
  } finally {
    clearTimeout(timer);
    if (byId("notice").textContent === notice) byId("notice").hidden = true;
  }
}

/** What was sent to the model, as JSON: the parameters of the task, and the request as it was rebuilt. */
function sentOf(row, { sample, requests }) {
  const sent = modelRequestOf({ requests });
  if (!sent) return [];
  const task = head.runs[rows.run[row]].summary?.tasks.find((one) => one.task_id === names.tasks[rows.task[row]]);
  const request = { ...task?.sampling_params, ...sent, ...(sample?.tools?.length ? { tools: sample.tools } : {}) };
  return [folded("Request", make("p", { class: "soft" }, "The parameters of the task, and the first request, rebuilt from the suite. ", copyButton(request)), asJson(request))];
}

/** Requests to judges whose replies are not there. */
const unreadRequests = (text) => (text.requests ?? []).filter((one) => one.judge_id !== undefined).map((one) => folded(`the request to ${visible(one.judge_id)}`, ...requestOf(one)));

/** The metadata of a sample; a value leads to the samples that have it too. */
function metadataOf(sample) {
  const entries = Object.entries(sample?.metadata ?? {}).slice(0, 40);
  if (entries.length === 0) return [];
  const value = (key, own) => {
    const text = visible(asText(own).slice(0, 500));
    if (!metadata.has(key) || unlistedKeys.has(key) || typeof own === "object") return text;
    return make("button", { type: "button", class: "link", title: "list the samples that have it too", click: () => { byId("detail").close(); choose({ where: conditionText(key, "=", String(own)) }); } }, text);
  };
  const isLarge = ([, own]) => own !== null && typeof own === "object";
  return [make("h3", {}, "Metadata"), facts(entries.filter((entry) => !isLarge(entry)).map(([key, own]) => [visible(key), value(key, own)])), ...entries.filter(isLarge).map(([key, own]) => labelled(visible(key), asJson(own)))];
}

/** Why an answer ended, in words. */
const ENDS = { stop: "ended by itself", length: "cut off at its token limit", tool_calls: "ended with a call of a tool", content_filter: "stopped by a content filter" };

/** What came of a sample in one line: outcome, end and time. */
function statusOf(row, output) {
  const { finish_reason: reason } = output ?? {};
  return [named(names.outcomes[rows.outcome[row]]), reason && (ENDS[reason] ?? `ended by ${named(visible(reason))}`), Number.isNaN(rows.latency[row]) ? null : duration(rows.latency[row])].filter(Boolean).join(" · ");
}

/** Whether a metric says that a sample failed, as lists count it. */
function isFailedBy(row, { metric_id: id }) {
  const metric = names.metrics.indexOf(id);
  return metric >= 0 && failsBy(row, metric);
}

/** The metrics of a sample, and then those that read a clock. */
const metricsOf = (text) => [...text.metrics, ...(text.timing_metrics ?? [])];

/** The first line of an open sample: its scores, and what came of it. */
function verdictLine(row, text) {
  const scores = text.metrics.flatMap((metric) => (metric.outcome === "scored" ? [make("span", { class: isFailedBy(row, metric) ? "not-passed" : "passed" }, `${visible(metric.metric_id)} ${shortScore(metric.card?.primary_score)}`), " · "] : []));
  return make("p", { class: "verdict-line" }, ...scores, statusOf(row, text.model_output));
}

/** Why a metric gave its score, or none. */
function whyOf({ card, error, outcome }) {
  const message = error && visible(error);
  // Its message may begin with its name.
  const plain = message && message.startsWith(`${outcome}: `) ? message.slice(outcome.length + 2) : message;
  return [card?.error_tags?.filter((tag) => tag !== outcome).map(visible).join(", "), card?.explain && visible(card.explain), plain].filter(Boolean).join(": ");
}

/** The result of a metric: passed, failed, or why it has no score. */
function resultOf(row, metric) {
  if (metric.outcome !== "scored") return make("span", { class: "unscored" }, named(metric.outcome));
  const isPassed = metric.card?.pass === true;
  return isPassed || isFailedBy(row, metric) ? make("span", { class: isPassed ? "passed" : "not-passed" }, isPassed ? "passed" : "failed") : "";
}

function scoresOf(metrics, row) {
  const outcome = names.outcomes[rows.outcome[row]];
  if (metrics.length === 0) return make("p", { class: "soft" }, UNFINISHED.includes(outcome) ? "The sample is not scored yet." : "No metric scored the sample.");
  const lines = metrics.flatMap((metric, place) => {
    const { card } = metric;
    const why = whyOf(metric);
    const subs = Object.entries(card?.sub_scores ?? {}).map(([name, value]) => [`… ${visible(name)}`, typeof value === "number" ? score(value) : visible(asText(value)), ""]);
    return [{ begins: place > 0, cells: [visible(metric.metric_id), make("span", { class: "strong" }, withUnit(card?.primary_score, figureOf(names.tasks[rows.task[row]], metric.metric_id))), resultOf(row, metric)] }, ...(why ? [{ whole: why }] : []), ...subs];
  });
  return make("div", { class: "scores" }, table([["Metric"], ["Score", true], ["Result"]], lines));
}

/** The scores of a sample in two runs, and their difference. */
function scoresOfTwo(answers) {
  const ids = [...new Set(answers.flatMap(([, text]) => metricsOf(text).map((metric) => metric.metric_id)))];
  if (ids.length === 0) return make("p", { class: "soft" }, "No metric scored the sample.");
  const lines = ids.flatMap((id, place) => {
    const both = answers.map(([row, text]) => ({ row, metric: metricsOf(text).find((one) => one.metric_id === id) }));
    const [before, after] = both.map(({ metric }) => metric?.card?.primary_score);
    const shown = ({ row, metric }) => {
      if (metric?.outcome !== "scored") return metric ? make("span", { class: "unscored" }, named(metric.outcome)) : "–";
      return make("span", { class: isFailedBy(row, metric) ? "strong not-passed" : "strong" }, withUnit(metric.card?.primary_score, figureOf(names.tasks[rows.task[row]], id)));
    };
    const change = typeof before === "number" && typeof after === "number" ? after - before : null;
    const gain = change && change * natureOf(rows.task[both[1].row], names.metrics.indexOf(id)).direction;
    const whys = both.map(({ metric }) => metric && whyOf(metric));
    // A reason that both runs give is shown once.
    const why = whys[0] === whys[1] ? [whys[0]] : both.map(({ row }, number) => whys[number] && `${head.runs[rows.run[row]].run_id}: ${whys[number]}`);
    return [{ begins: place > 0, cells: [visible(id), ...both.map(shown), change === null ? "–" : change === 0 ? "same" : make("span", { class: gain < 0 ? "worse" : "passed" }, signed(change))] }, ...why.filter(Boolean).map((whole) => ({ whole }))];
  });
  return make("div", { class: "scores" }, table([["Metric"], ...answers.map(([row]) => [head.runs[rows.run[row]].run_id, true]), ["Change", true]], lines));
}

/** The sides of a sample of one run: its transcript, and what was measured. */
function sidesOfOne(row, text) {
  if (!text) return [absentTexts(row)];
  return [
    make("div", { class: "side said", tabindex: "0" }, make("h3", {}, "Transcript"), ...promptOf(text), ...answerOf(text), ...errorOf(text)),
    make("div", { class: "side", tabindex: "0" }, scoresOf(metricsOf(text), row), ...referencesOf(text.sample), ...measuresOf(row, text)),
  ];
}

/** The sides of a sample of two runs: what was sent, and both answers. */
function sidesOfTwo(answers) {
  const [, first] = answers[0];
  const side = ([row, text]) => make("div", { class: "side", tabindex: "0" }, make("h3", {}, `Answer of ${head.runs[rows.run[row]].run_id}`), make("p", { class: "soft" }, statusOf(row, text.model_output)),
    make("div", { class: "said" }, ...answerOf(text), ...errorOf(text)), ...measuresOf(row, text));
  return [
    make("div", { class: "side said", tabindex: "0" }, scoresOfTwo(answers), ...referencesOf(first.sample), make("h3", {}, "Prompt"), ...promptOf(first)),
    ...answers.map(side), make("div", { class: "changes" }, ...differenceOfAnswers(answers)),
  ];
}

/** What differs between the answers of two runs. */
function differenceOfAnswers(answers) {
  const answerIn = ([, text]) => asText(text.model_output?.written ?? text.model_output?.answer ?? "");
  const [before, after] = answers.map(answerIn);
  const [base, fresh] = answers.map(([row]) => head.runs[rows.run[row]].run_id);
  const silent = answers.filter(([, text]) => !text.model_output).map(([row]) => head.runs[rows.run[row]].run_id);
  if (silent.length > 0) return [make("p", { class: "soft" }, `No answer from ${silent.join(" or ")}.`)];
  if (before === after) return [make("p", { class: "soft" }, "The answers are the same.")];
  const [old, now] = [before.slice(0, LONGEST), after.slice(0, LONGEST)];
  const { common, all, share } = commonWords(old, now);
  if (share < LEAST_COMMON) {
    const one = (name, text) => make("div", { class: "message" }, make("span", { class: "role" }, name), text === "" ? emptyText("empty answer") : written(text));
    return [folded(`The answers differ: ${count(common)} of ${counted(all, "word")} in common`, one(base, old), one(fresh, now))];
  }
  return [opened("Changes of the answer", make("p", { class: "soft" }, make("del", {}, base), " ", make("ins", {}, fresh)), drawDifference(old, now))];
}

let details = 0;

/** Opens the chosen sample, or shows it where one is open. */
function openDetail() {
  const row = selected[chosen];
  if (row === undefined) return Promise.resolve();
  return openRowDetail(row);
}

/** Opens a sample, whether or not it is listed. */
function openRowDetail(row) {
  const place = selected.indexOf(row);
  if (place >= 0) goTo(place);
  return showDetail(row).catch((error) => {
    byId("detail").close();
    complain(`The sample cannot be shown: ${error.message}.`);
  });
}

async function showDetail(row) {
  details += 1;
  const detail = details;
  const partner = rows.partner[row];
  const [text, other] = await awaited(Promise.all([textOf(row, isPaged), partner < 0 ? null : textOf(partner)]));
  if (isPaged && text) {
    openedIds.set(row, text.id);
    if (text.timing === undefined) partialTexts.add(text);
  }
  // Somebody may have gone on meanwhile.
  if (detail !== details) return;
  openRow = row;
  const dialog = byId("detail");
  const answers = [...(text ? [[row, text]] : []), ...(other ? [[partner, other]] : [])];
  answers.sort(([one], [another]) => rows.run[one] - rows.run[another]);
  const focused = document.activeElement?.closest?.("#detail") ? document.activeElement.dataset.name : null;
  const isNew = !dialog.open;
  const sides = answers.length === 2 ? sidesOfTwo(answers) : isSeveral() && answers.length === 1 ? sidesOfOne(answers[0][0], answers[0][1]) : sidesOfOne(row, text);
  dialog.replaceChildren(barOf(row, text), ...(answers.length === 1 ? [verdictLine(...answers[0])] : []), make("div", { class: ["sides", answers.length === 2 && "two", isSource && "source"].filter(Boolean).join(" "), role: "group", "aria-label": "Transcript and scores" }, sides));
  markHits(dialog.querySelector(".sides"));
  if (isNew) dialog.showModal();
  const again = [...dialog.querySelectorAll(".bar button:not(:disabled)")].find((button) => button.dataset.name === focused);
  (again ?? dialog.querySelector(".side")).focus();
  writeAddress(isNew);
  if (text && partialTexts.has(text)) completeDetail(row, text, detail);
}

/** The head of an open sample: where it stands, and what can be done with it. */
function barOf(row, text) {
  const place = selected.indexOf(row);
  const button = (name, listen, isPossible = true) => make("button", { type: "button", "data-name": name, disabled: !isPossible, click: listen }, name);
  const change = changeOf(row);
  const changed = change ? ` · ${[visible(names.metrics[changedMetric(row)] ?? ""), change < 0 ? "worse by" : "better by", score(Math.abs(change))].join(" ")}` : "";
  const where = `${visible(names.tasks[rows.task[row]])} · ${place < 0 ? "not in the list" : `${count(place + 1)} of ${count(selected.length)}`}${changed}`;
  const copy = (event) => copyText(JSON.stringify(exported(row, text)), event.currentTarget);
  return make("div", { class: "bar" }, make("h2", { id: "detail-title" }, visible(idOf(row)), " ", make("span", {}, where)),
    make("button", { type: "button", class: "unfold", "aria-expanded": "false", click: (event) => event.currentTarget.setAttribute("aria-expanded", String(event.currentTarget.parentElement.classList.toggle("unfolded"))) }, "More"),
    button(isSource ? "Rendered" : "Source", toggleSource), button(marked.has(row) ? "Unmark" : "Mark", () => { mark(row); showDetail(row); }), button("Copy", copy), button("Copy link", (event) => copyText(location.href, event.currentTarget)),
    button("Previous", () => stepBy(-1), place > 0), button("Next", () => stepBy(1), place + 1 < selected.length), button("Close", () => byId("detail").close()));
}

/** Shows texts as they are written, or as Markdown. */
function toggleSource() {
  isSource = !isSource;
  showDetail(openRow);
}

function stepBy(by) {
  goTo(chosen + by);
  openDetail();
}

/** Opens the sample of a run that has an id. */
function openById(run, task, id) {
  for (let row = 0; row < rows.length; row += 1) {
    if (rows.run[row] !== run || idOf(row) !== id || names.tasks[rows.task[row]] !== task) continue;
    resetFilters();
    byId("run").value = run;
    select();
    openRowDetail(row);
    return;
  }
}
