// The runs of the folder: what came of them, and which to compare.

let listed = { runs: [], left_out: [], baselines_gone: [], baselines_problem: null };
/** Names of the runs that are chosen, the baseline first. */
let picked = [];
let most = 100;
/** Figures of one run in the list. */
const MOST_FIGURES = 3;
/** The order of the runs: {key, isDown}. Null for the newest first, as the server sends them. */
let order = null;

const statuses = { live: "running now", killed: "killed", interrupted: "interrupted", complete: "complete", incomplete: "incomplete", unreadable: "unreadable", running: "running", sharded: "not merged" };
/** What has no figures to compare. */
const isComparable = (run) => run.status !== "unreadable" && !run.shards;

function offerNames(id, values, name = visible) {
  const select = byId(id);
  const before = select.value;
  select.replaceChildren(make("option", { value: "" }, "all"), ...values.map((value) => make("option", { value }, name(value))));
  select.value = values.includes(before) ? before : "";
  select.closest("label").hidden = values.length < 2;
}

function showRuns(answer) {
  listed = answer;
  picked = picked.filter((name) => listed.runs.some((run) => run.name === name && isComparable(run)));
  const of = (key) => [...new Set(listed.runs.map((run) => run[key]).filter(Boolean))].sort();
  offerNames("suite", of("suite"));
  offerNames("status", of("status"), (status) => statuses[status] ?? visible(status));
  drawRuns();
}

function wantedRuns() {
  const [query, suite, status] = ["query", "suite", "status"].map((id) => byId(id).value);
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return listed.runs.filter((run) => {
    if (suite && run.suite !== suite) return false;
    if (status && run.status !== status) return false;
    const text = [run.run_id, run.name, run.suite, run.model, run.status, run.baseline ? "baseline" : ""].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** What a heading orders by. A run without a value comes last. */
const ORDER_KEYS = {
  Run: (run) => run.label, Model: (run) => run.model, Status: (run) => statuses[run.status] ?? run.status, "Started (UTC)": (run) => run.created_at,
  Time: (run) => tookMs(run), Value: (run) => run.figures[0]?.value, Coverage: (run) => run.figures[0]?.coverage,
};
const collator = new Intl.Collator("en", { numeric: true });

function inOrder(runs) {
  if (order === null) return runs;
  const [key, sign] = [ORDER_KEYS[order.key], order.isDown ? -1 : 1];
  const isMissing = (value) => value === null || value === undefined || value === "";
  return runs.toSorted((one, other) => {
    const [first, second] = [key(one), key(other)];
    if (isMissing(first) || isMissing(second)) return isMissing(first) - isMissing(second);
    return sign * (typeof first === "number" ? first - second : collator.compare(first, second));
  });
}

/** A heading that orders the runs: up, then down, then the newest first. */
function orderButton(text) {
  const isOwn = order?.key === text;
  const listen = () => {
    order = !isOwn ? { key: text, isDown: false } : order.isDown ? null : { key: text, isDown: true };
    drawRuns();
    [...document.querySelectorAll("#runs thead button")].find((button) => button.dataset.key === text)?.focus();
  };
  const title = ["Value", "Coverage"].includes(text) ? `order by the ${text.toLowerCase()} of the first metric` : "order by it";
  const arrow = make("span", { "aria-hidden": "true" }, isOwn ? (order.isDown ? " ▼" : " ▲") : "");
  return make("button", { type: "button", class: "link", "data-key": text, title, click: listen }, text, arrow);
}

const sortOf = (text) => (order?.key !== text ? "none" : order.isDown ? "descending" : "ascending");
/** The order of a column with several headings. */
const sortOfAny = (texts) => texts.map(sortOf).find((sort) => sort !== "none") ?? "none";

function drawRuns() {
  const runs = inOrder(wantedRuns());
  const place = byId("runs");
  const focused = document.activeElement?.closest?.("#runs tr")?.dataset.name;
  const wasBox = document.activeElement?.matches?.("input[type=checkbox]");
  byId("count").textContent = listed.runs.length === 0 ? "" : runs.length === listed.runs.length ? counted(runs.length, "run") : `${count(runs.length)} of ${counted(listed.runs.length, "run")}`;
  const shown = runs.slice(0, most);
  const parts = [];
  if (listed.runs.length === 0) parts.push(make("p", { class: "notice" }, "There are no runs in this folder yet. A run appears here when it starts."));
  else if (runs.length === 0) parts.push(make("p", { class: "notice" }, "No run matches the filters."));
  else parts.push(runTable(shown));
  if (runs.length > most) parts.push(make("button", { type: "button", click: () => { most += 200; drawRuns(); } }, `Show ${count(Math.min(200, runs.length - most))} more`));
  if (listed.left_out.length > 0) parts.push(make("p", { class: "soft" }, `Not shown, because of an invalid name or a link out of the folder: ${listed.left_out.map(visible).join(", ")}.`));
  for (const [suite, run] of listed.baselines_gone) parts.push(make("p", { class: "soft" }, `The baseline of the suite ${visible(suite)}, ${visible(run)}, no longer exists.`));
  if (listed.baselines_problem) parts.push(make("p", { class: "notice" }, visible(listed.baselines_problem)));
  place.replaceChildren(...parts);
  if (focused) [...place.querySelectorAll("tr")].find((row) => row.dataset.name === focused)?.querySelector(wasBox ? "input" : "a")?.focus();
  drawPicked();
}

function runTable(runs) {
  const sortable = (text) => make("th", { scope: "col", "aria-sort": sortOf(text) }, orderButton(text));
  const ofFigures = make("div", { class: "figures" }, make("span", {}, "Metric"), make("span", { class: "number" }, orderButton("Value")), make("span", { class: "number interval" }, "95 % interval"), make("span", { class: "drawn" }, "On its scale"), make("span", { class: "number covered" }, orderButton("Coverage")));
  const headings = [
    make("th", { scope: "col" }, make("span", { class: "unseen" }, "Choose")), ...["Run", "Model"].map(sortable),
    make("th", { scope: "col", "aria-sort": sortOfAny(["Status", "Time"]) }, make("span", {}, orderButton("Status"), " · ", orderButton("Time"))), sortable("Started (UTC)"),
    make("th", { scope: "col", "aria-sort": sortOfAny(["Value", "Coverage"]) }, ofFigures),
  ];
  const figures = runs.flatMap((run) => run.figures);
  return make("div", { class: "scroll" }, make("table", { class: "runs" },
    make("thead", {}, make("tr", {}, headings)),
    make("tbody", {}, runs.map((run) => runRow(run, figures)))));
}

function runRow(run, figures) {
  const box = make("input", { type: "checkbox", "aria-label": `Compare ${visible(run.label)}`, disabled: !isComparable(run), change: () => pick(run.name) });
  box.checked = picked.includes(run.name);
  const shown = run.figures.slice(0, MOST_FIGURES);
  const hasTasks = run.further > 0 || new Set(run.figures.map((figure) => figure.task_id)).size > 1;
  const further = run.figures.length - shown.length + run.further;
  const more = further > 0 ? make("span", { class: "soft" }, `and ${count(further)} more`) : null;
  const drawn = run.problem ? [make("span", { class: "notice" }, visible(run.problem))]
    : run.figures.length ? [make("div", { class: "figures" }, shown.flatMap((figure) => figureCells(figure, figures, hasTasks))), more]
      : [make("span", { class: "soft" }, run.status === "live" || run.shards ? "see its page" : "none")];
  return make("tr", { "data-name": run.name },
    make("td", { class: "pick" }, box, make("span", { class: "role" })),
    make("th", { scope: "row" }, run.status === "unreadable" ? inWords(run.label) : make("a", { href: runAddress(run.name) }, inWords(run.label)), baselineMark(run), run.edited ? make("span", { class: "notice under" }, visible(run.edited)) : null, make("span", { class: "under" }, inWords(run.suite ?? ""), run.parent_run ? ` scored the answers of ${visible(run.parent_run)}` : "")),
    make("td", { class: "model" }, inWords(run.model ?? "")),
    make("td", { class: `status ${run.status}` }, statuses[run.status] ?? visible(run.status), run.ended_by ? make("span", { class: "under reason", title: visible(run.ended_by) }, visible(run.ended_by)) : whyIncomplete(run), shardsOf(run), tookOf(run)),
    make("td", { class: "when" }, time(run.created_at)),
    make("td", {}, drawn));
}

/** Why a run is incomplete: its samples, or the metric with the least coverage. */
function whyIncomplete({ status, figures, samples, not_reached: missing, total_is_least: isLeast }) {
  if (!["incomplete", "interrupted"].includes(status)) return null;
  if (isLeast) return make("span", { class: "under why" }, `${count(samples ?? 0)} samples of an unknown number`);
  if (missing > 0) return make("span", { class: "under why" }, `${count(samples - missing)} of ${counted(samples, "sample")}`);
  const least = figures.toSorted((one, other) => (one.coverage ?? 0) - (other.coverage ?? 0))[0];
  return least && least.coverage !== 1 ? make("span", { class: "under why" }, `${visible(least.metric_id)}: coverage ${covered(least)}`) : null;
}

/** How far the shards of a run are, or where they are shown. */
function shardsOf(run) {
  if (!run.has_shards) return null;
  return make("span", { class: "under" }, run.shards ? visible(run.shards) : make("a", { href: `${runAddress(run.name)}/shards` }, "shards"));
}

/** How long a run took, in milliseconds; null if that is unknown. */
function tookMs({ created_at: begin, finished_at: end }) {
  const took = end ? Date.parse(end) - Date.parse(begin) : NaN;
  return took >= 0 ? took : null;
}

/** How many samples a run has, how long it took and what it cost, below its status. */
function tookOf(run) {
  const { cost, samples, missing_prices: missing } = run;
  const took = tookMs(run);
  const time = took !== null ? (took < 120000 ? `${Math.max(1, Math.round(took / 1000))} s` : duration(took)) : null;
  const parts = [typeof samples === "number" && counted(samples, "sample"), time, typeof cost === "number" && `cost ${score(cost)}${missing ? `, ${visible(missing)}` : ""}`].filter(Boolean);
  return parts.length > 0 ? make("span", { class: "under" }, parts.join(" · ")) : null;
}

/** Says that a run is what the others of its suite are compared with. */
function baselineMark({ baseline }) {
  if (!baseline) return null;
  const [title, text] = {
    changed: ["Its samples changed after it became the baseline.", "baseline, changed since"],
    edited: ["Its manifest or its figures were edited. Do not trust them.", "baseline, edited"],
  }[baseline] ?? ["Other runs of the suite are compared with this one.", "baseline"];
  return make("span", { class: "baseline-mark", title }, text);
}

/** The cells of a figure, with its task if the run has several. */
function figureCells(figure, alike, hasTask) {
  const name = `${hasTask ? `${visible(figure.task_id)} ` : ""}${visible(figure.metric_id)}${figure.higher_is_better ? "" : " ↓"}`;
  const interval = intervalOf(figure);
  const [low, high] = boundsOfFigure(figure, alike);
  return [
    make("span", { class: "name", title: name }, name),
    make("span", { class: "number strong" }, score(figure.value)),
    make("span", { class: "number soft interval" }, interval ? range(interval) : figure.value === null ? "" : make("span", { title: "The metric has no confidence interval." }, "no interval")),
    make("span", { class: "drawn" }, figure.value === null ? "" : make("span", { title: `from ${tick(low)} to ${tick(high)}` }, whisker(figure.value, interval, low, high))),
    make("span", { class: "number soft covered", title: `${ofSamples(figure)} samples` }, covered(figure)),
  ];
}

function pick(name) {
  picked = picked.includes(name) ? picked.filter((other) => other !== name) : [...picked, name];
  drawPicked();
}

function drawPicked() {
  for (const row of document.querySelectorAll("#runs tr[data-name]")) {
    const place = picked.indexOf(row.dataset.name);
    row.querySelector("input").checked = place >= 0;
    row.querySelector(".role").textContent = place < 0 ? "" : place === 0 ? "base" : "new";
  }
  byId("swap").hidden = picked.length !== 2;
  const button = byId("compare");
  const names = picked.map((name) => visible(listed.runs.find((run) => run.name === name)?.label ?? name));
  button.disabled = picked.length < 2 || picked.length > 8;
  button.textContent = picked.length < 2 ? "Compare: choose two runs, the baseline first" : picked.length > 8 ? "Compare: at most 8 runs" : `Compare ${names.slice(1).join(", ")} with ${names[0]}`;
}

function compareRuns() {
  if (byId("compare").disabled) return;
  location.assign(`/compare?${picked.map((name) => `run=${encodeURIComponent(name)}`).join("&")}`);
}

function listenToKeysOfList() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input:not([type=checkbox]), select")) {
      if (event.target.id === "query" && (event.key === "Escape" || event.key === "Enter")) {
        event.preventDefault();
        document.querySelector("#runs tbody a")?.focus();
      }
      return;
    }
    // What cannot be read cannot be opened or compared.
    const rows = [...document.querySelectorAll("#runs tr[data-name]")].filter((row) => row.querySelector("a"));
    const at = rows.indexOf(event.target.closest("tr"));
    const step = { j: 1, k: -1 }[event.key];
    if (step && rows.length > 0) {
      event.preventDefault();
      rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + step))].querySelector("a, input:not(:disabled)")?.focus();
    } else if (event.key === "x" && at >= 0 && !rows[at].querySelector("input").disabled) pick(rows[at].dataset.name);
    else if (event.key === "c") compareRuns();
    else if (event.key === "/") {
      event.preventDefault();
      byId("query").focus();
    }
  });
}

chooseTheme();
for (const id of ["query", "suite", "status"]) byId(id).addEventListener("input", drawRuns);
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("compare").addEventListener("click", compareRuns);
byId("swap").addEventListener("click", () => { picked.reverse(); drawPicked(); });
listenToKeysOfList();
// Boxes that a browser remembers are not those that are chosen.
follow("/data/runs", showRuns, 3000);
