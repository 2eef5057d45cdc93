// One sample: its transcript, and what was measured of it.

/** The sample that is open, or was last. */
let openRow;

/** Stands for the texts of a sample that are not in the page. */
function absentTexts(row) {
  return make("div", { class: "side" }, make("p", { class: "soft" }, `The run has many samples, so this page has the texts of one in ${count(textsEvery[rows.run[row]])}, and of failed ones. The command gage-host view shows all of them.`));
}

function errorOf({ error }) {
  return error ? [make("p", { class: "notice" }, `${error.stage}, ${visible(error.kind)}: ${visible(error.message)}${error.pointer ? ` (${visible(error.pointer)})` : ""}`)] : [];
}

/** What is measured of an answer: scores, judges, tokens, times. */
function measuresOf(row, text) {
  const usage = text.model_output?.usage;
  const { timing } = text;
  const judged = rows.judgeCost[row];
  return [
    make("p", { class: "soft" }, statusOf(row, text.model_output)), ...noteFields(row),
    make("h3", {}, "Scores"), scoresOf(text.metrics, names.outcomes[rows.outcome[row]]),
    ...(text.judge_output ? [make("h3", {}, "Judge"), ...judgeOf(text.judge_output, text.requests ?? [])] : unreadRequests(text)),
    make("h3", {}, "Tokens"),
    facts([["Prompt", usage && count(usage.prompt_tokens ?? 0)], ["Answer", usage && count(usage.completion_tokens ?? 0)], ["Turns", text.model_output?.turns && count(text.model_output.turns)],
      ["Calls", timing && count(timing.attempts)], ["Cost of its judges", Number.isNaN(judged) ? null : score(judged)]]),
    ...waterfall(timing), ...metadataOf(text.sample), folded("everything, as JSON", said(asText(text))),
  ];
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
  return [make("h3", {}, "Metadata"), facts(entries.map(([key, own]) => [visible(key), value(key, own)]))];
}

function statusOf(row, output) {
  const { finish_reason: reason } = output ?? {};
  return [named(names.outcomes[rows.outcome[row]]), reason && `finished by ${named(reason)}`, Number.isNaN(rows.latency[row]) ? null : duration(rows.latency[row])].filter(Boolean).join(" · ");
}

function scoresOf(metrics, outcome) {
  if (metrics.length === 0) return make("p", { class: "soft" }, UNFINISHED.includes(outcome) ? "The sample is not scored yet." : "No metric scored the sample.");
  const passed = (card) => (card?.pass === undefined ? "" : make("span", { class: card.pass ? "passed" : "not-passed" }, card.pass ? "passed" : "failed"));
  const lines = metrics.flatMap((metric, place) => {
    const { card } = metric;
    const why = [card?.error_tags?.map(visible).join(", "), card?.explain && visible(card.explain), metric.error && visible(metric.error)].filter(Boolean).join(": ");
    const subs = Object.entries(card?.sub_scores ?? {}).map(([name, value]) => [`… ${visible(name)}`, typeof value === "number" ? score(value) : visible(asText(value)), "", ""]);
    return [{ begins: place > 0, cells: [visible(metric.metric_id), make("span", { class: "strong" }, score(card?.primary_score)), metric.outcome === "scored" ? passed(card) : named(metric.outcome), why] }, ...subs];
  });
  return table([["Metric"], ["Score", true], ["Result"], ["Why"]], lines);
}

/** The sides of a sample of one run: its transcript, and what was measured. */
function sidesOfOne(row, text) {
  if (!text) return [absentTexts(row)];
  return [
    make("div", { class: "side said" }, make("h3", {}, "Transcript"), ...promptOf(text), ...answerOf(text), ...errorOf(text)),
    make("div", { class: "side" }, ...referencesOf(text.sample), ...measuresOf(row, text)),
  ];
}

/** The sides of a sample of two runs: what was sent, and both answers. */
function sidesOfTwo(answers) {
  const [, first] = answers[0];
  const side = ([row, text]) => make("div", { class: "side" }, make("h3", {}, `Answer of ${head.runs[rows.run[row]].run_id}`), make("div", { class: "said" }, ...answerOf(text), ...errorOf(text)), ...measuresOf(row, text));
  return [make("div", { class: "side said" }, make("h3", {}, "Prompt"), ...promptOf(first), ...referencesOf(first.sample), ...differenceOfAnswers(answers)), ...answers.map(side)];
}

/** What differs between the answers of two runs, word by word. */
function differenceOfAnswers(answers) {
  const said = ([, text]) => asText(text.model_output?.written ?? text.model_output?.answer ?? "");
  const [before, after] = answers.map(said);
  const [base, fresh] = answers.map(([row]) => head.runs[rows.run[row]].run_id);
  if (before === after) return [make("h3", {}, "Changed words"), make("p", { class: "soft" }, "The answers are the same.")];
  return [make("h3", {}, "Changed words"), make("p", { class: "soft" }, make("del", {}, base), " ", make("ins", {}, fresh)), drawDifference(before.slice(0, LONGEST), after.slice(0, LONGEST))];
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
  const [text, other] = await Promise.all([textOf(row), partner < 0 ? null : textOf(partner)]);
  if (isPaged && text) openedIds.set(row, text.id);
  // Somebody may have gone on meanwhile.
  if (detail !== details) return;
  openRow = row;
  const dialog = byId("detail");
  const answers = [...(text ? [[row, text]] : []), ...(other ? [[partner, other]] : [])];
  answers.sort(([one], [another]) => rows.run[one] - rows.run[another]);
  const focused = document.activeElement?.closest?.("#detail") ? document.activeElement.dataset.name : null;
  const isNew = !dialog.open;
  const sides = answers.length === 2 ? sidesOfTwo(answers) : isSeveral() && answers.length === 1 ? sidesOfOne(answers[0][0], answers[0][1]) : sidesOfOne(row, text);
  dialog.replaceChildren(barOf(row, text), make("div", { class: answers.length === 2 ? "sides two" : "sides", tabindex: "0", role: "group", "aria-label": "Transcript and scores" }, sides));
  if (isNew) dialog.showModal();
  const again = [...dialog.querySelectorAll(".bar button:not(:disabled)")].find((button) => button.dataset.name === focused);
  (again ?? dialog.querySelector(".sides")).focus();
  writeAddress(isNew);
}

/** The head of an open sample: where it stands, and what can be done with it. */
function barOf(row, text) {
  const place = selected.indexOf(row);
  const button = (name, listen, isPossible = true) => make("button", { type: "button", "data-name": name, disabled: !isPossible, click: listen }, name);
  const change = changeOf(row);
  const changed = change < 0 ? ` · worse by ${score(-change)}` : change > 0 ? ` · better by ${score(change)}` : "";
  const where = `${visible(names.tasks[rows.task[row]])} · ${place < 0 ? "not in the list" : `${count(place + 1)} of ${count(selected.length)}`}${changed}`;
  const copy = (event) => copyText(JSON.stringify(exported(row, text)), event.currentTarget);
  return make("div", { class: "bar" }, make("h2", { id: "detail-title" }, visible(idOf(row)), " ", make("span", {}, where)),
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
