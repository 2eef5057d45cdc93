// Columns of the list: which are shown, how wide they are, and the order that their headings give.

/** Width of the column with ids, and of the space between columns, in pixels. */
const SAMPLE_WIDTH = 96;
const COLUMN_GAP = 14;
/** Most metrics with a column of their own. */
const MAX_METRIC_COLUMNS = 4;

/**
 * Columns besides the sample: heading, least width in pixels, and share of the width that is left. If there is too little
 * room, the columns with the lowest ranks are folded.
 */
const COLUMNS = new Map([
  ["input", { heading: "Input", least: 90, share: 3, rank: 8 }],
  ["target", { heading: "Target", least: 64, share: 1, rank: 6 }],
  ["base", { heading: "Base answer", least: 90, share: 2.2, rank: 7 }],
  ["answer", { heading: "Answer", least: 90, share: 2.2, rank: 11 }],
  ["scores", { heading: "Scores", least: 0, share: 0, rank: 12 }],
  ["change", { heading: "Change", least: 150, share: 1.6, rank: 9 }],
  ["outcome", { heading: "Outcome", least: 76, share: 0, rank: 5 }],
  ["tags", { heading: "Tags", least: 60, share: 1.2, rank: 2 }],
  ["error", { heading: "Error", least: 90, share: 2, rank: 4 }],
  ["note", { heading: "Note", least: 80, share: 1.6, rank: 3 }],
  ["latency", { heading: "Latency", least: 74, share: 0, rank: 1 }],
  ["tokens", { heading: "Tokens", least: 68, share: 0, rank: 0 }],
]);
const METADATA_COLUMN = { least: 70, share: 1, rank: 2 };
const TEXT_COLUMNS = ["input", "target", "answer", "base"];
const NUMBER_COLUMNS = ["latency", "tokens"];

/** The columns that are chosen; metadata is called metadata.KEY. */
let listColumns = [];
/** Those of them that there is room for. */
let shownColumns = [];
/**
 * The metrics that have a column. They are those of the listed tasks where these have the same ones; null where they do not,
 * and each sample names its own. The one by which the samples are ordered is first on a phone, where there is room for one.
 */
let shownMetrics = [];

const isPair = () => head.runs.length === 2;
const columnNamed = (name) => COLUMNS.get(name) ?? METADATA_COLUMN;
function headingOf(name) {
  if (name === "base") return `Answer of ${head.runs[0].run_id}`;
  if (name === "answer" && isPair() && byId("run").value === "1" && shownColumns.includes("base")) return `Answer of ${head.runs[1].run_id}`;
  return visible(COLUMNS.get(name)?.heading ?? name.replace("metadata.", ""));
}

const defaultColumns = () => ["input", "target", ...(isPair() ? ["base"] : []), "answer", "scores", ...(isSeveral() ? ["change"] : []), "outcome", "latency"];
const isDefaultColumns = () => listColumns.join() === defaultColumns().join();
function knownColumns() {
  const isKnown = (name) => (!["change", "base"].includes(name) || isSeveral()) && (name !== "note" || pageServer);
  const ofMetadata = [...metadata.keys()].filter((key) => !unlistedKeys.has(key));
  return [...[...COLUMNS.keys()].filter(isKnown), ...ofMetadata.map((key) => `metadata.${key}`)];
}

/** Shows the columns of a text such as input,scores; the usual ones without a text. */
function chooseColumns(text) {
  const known = knownColumns();
  listColumns = text ? text.split(",").filter((name) => known.includes(name)) : defaultColumns();
  for (const box of document.querySelectorAll("#columns input")) box.checked = listColumns.includes(box.value);
}

/** The boxes by which columns are chosen. */
function offerColumns() {
  const box = (name) => make("label", { class: "check" }, make("input", { type: "checkbox", value: name }), make("span", {}, headingOf(name)));
  const all = (text, columns) => make("button", { type: "button", class: "link", click: () => { chooseColumns(columns()); showColumns(); } }, text);
  byId("columns").replaceChildren(make("div", { class: "choices" }, all("Default", () => ""), all("All", () => knownColumns().join())), ...knownColumns().map(box));
  chooseColumns(listColumns.join());
}

function showColumns() {
  showList();
  writeAddress(true);
}

const columnMenu = () => byId("columns").closest("details");

/** Closes the menu of columns; true if it was open. */
function closeColumns() {
  const menu = columnMenu();
  if (!menu.open) return false;
  menu.open = false;
  return true;
}

function listenToColumns() {
  byId("columns").addEventListener("change", () => {
    const shown = [...byId("columns").querySelectorAll("input:checked")].map((one) => one.value);
    listColumns = knownColumns().filter((name) => shown.includes(name));
    showColumns();
  });
  document.addEventListener("click", (event) => { if (!columnMenu().contains(event.target)) closeColumns(); });
}

/** The metrics of the samples that are listed; of an empty list, of all samples. */
function chooseMetrics() {
  const tasks = new Set();
  if (selected.length === 0) names.tasks.forEach((_, task) => tasks.add(task));
  for (const row of selected) tasks.add(rows.task[row]);
  const sets = [...tasks].map((task) => [...(metricsOfTasks[task] ?? [])].sort((one, other) => one - other)).filter((set) => set.length > 0);
  const isSame = sets.every((set) => set.join() === sets[0].join());
  const order = /^(?:low|high) (\d+)$/.exec(byId("order").value);
  const first = order && isNarrow() ? +order[1] : -1;
  shownMetrics = !isSame ? null : sets.length === 0 ? [] : sets[0].sort((one, other) => (other === first) - (one === first)).slice(0, MAX_METRIC_COLUMNS);
}

/** Room that a text of 13 pixels takes at most. */
const textWidth = (text, least, most) => Math.min(most, Math.max(least, Math.ceil(7.4 * text.length) + 6));
/** Most room for the name of a metric, with and without enough room for all columns. */
const MAX_METRIC_WIDTH = 140;
const TIGHT_METRIC_WIDTH = 84;
let maxMetricWidth = MAX_METRIC_WIDTH;
const metricWidth = (metric) => textWidth(`${visible(names.metrics[metric])} ▲`, 64, maxMetricWidth);
/** The metrics of a row have tracks of their own, unless each row names its metrics. */
function leastWidth(name) {
  if (name === "outcome") return textWidth(names.outcomes.map((outcome) => outcomeLabel(outcome)).concat("Outcome ▲").reduce((one, other) => (other.length > one.length ? other : one)), 76, 150) + (isAllRuns() ? 60 : 0);
  if (name !== "scores") return columnNamed(name).least;
  if (shownMetrics === null) return 150;
  return Math.max(1, shownMetrics.length) * COLUMN_GAP - COLUMN_GAP + (shownMetrics.length ? shownMetrics.reduce((sum, metric) => sum + metricWidth(metric), 0) : 40);
}

/** Folds the least important columns until the others fit beside one another. On a phone, rows are cards. */
function foldColumns() {
  shownColumns = [...listColumns];
  maxMetricWidth = MAX_METRIC_WIDTH;
  if (isNarrow()) return;
  const room = byId("samples").clientWidth - 34;
  const needed = () => shownColumns.reduce((sum, name) => sum + leastWidth(name) + COLUMN_GAP, SAMPLE_WIDTH);
  if (needed() > room) maxMetricWidth = TIGHT_METRIC_WIDTH;
  while (needed() > room && shownColumns.length > 1) {
    const rank = (name) => columnNamed(name).rank;
    const least = shownColumns.reduce((one, other) => (rank(other) < rank(one) ? other : one));
    // Rather than the input, the last metrics are left out.
    if (rank(least) >= columnNamed("input").rank && shownMetrics?.length > 1) shownMetrics.pop();
    else shownColumns = shownColumns.filter((name) => name !== least);
  }
}

function trackOf(name) {
  if (name === "scores") return shownMetrics === null ? "minmax(150px, 3fr)" : shownMetrics.length === 0 ? "40px" : shownMetrics.map((metric) => `${metricWidth(metric)}px`).join(" ");
  const { share } = columnNamed(name);
  return share > 0 ? `minmax(${leastWidth(name)}px, ${share}fr)` : `${leastWidth(name)}px`;
}

/** Tracks of the grid and headings: one for each column, and several for scores. */
function layOut() {
  foldColumns();
  document.documentElement.style.setProperty("--tracks", [`minmax(${SAMPLE_WIDTH}px, 1.1fr)`, ...shownColumns.map(trackOf)].join(" "));
  const heading = (name) => {
    if (name !== "scores") return headingCell(name, headingOf(name), NUMBER_COLUMNS.includes(name) ? "number" : name.replace(/[^a-z]/g, "-"), ordersOf(name));
    if (shownMetrics === null || shownMetrics.length === 0) return headingCell("scores", shownMetrics === null ? "Scores" : "", shownMetrics === null ? "own-scores" : "number", null);
    return shownMetrics.map((metric) => headingCell("scores", visible(names.metrics[metric]), "number score", [`low ${metric}`, `high ${metric}`]));
  };
  byId("heading").replaceChildren(headingCell("sample", "Sample", "id", ordersOf("sample")), ...shownColumns.flatMap(heading));
  const folded = listColumns.filter((name) => !shownColumns.includes(name));
  const summary = columnMenu().querySelector("summary");
  summary.textContent = folded.length > 0 ? `Columns, ${folded.length} folded` : "Columns";
  summary.title = folded.length > 0 ? `There is no room for ${folded.map(headingOf).join(", ")}.` : "";
}

/** A heading. It orders the list, if there are two orders of its column: a first, and the other way round. */
function headingCell(name, text, style, orders) {
  const order = byId("order").value;
  const place = orders ? orders.indexOf(order) : -1;
  const isUp = place >= 0 && /^(?:low|up|change)/.test(order);
  const sorted = place < 0 ? "none" : isUp ? "ascending" : "descending";
  const arrow = make("span", { class: "arrow", "aria-hidden": "true" }, place < 0 ? "" : isUp ? " ▲" : " ▼");
  const content = orders ? make("button", { type: "button", class: "link", title: `${text}: order by it`, click: () => orderBy(orders) }, make("span", { class: "name" }, text), arrow) : text;
  return make("span", { class: style, role: "columnheader", "aria-sort": orders ? sorted : null, "data-column": name, title: lacksTexts(name) ? UNORDERED : null }, content);
}

/** Whether the page lacks the texts of a column, because it has those of many samples only where they are seen. */
const lacksTexts = (name) => (isPaged || firstRows.length > MAX_UNPACKED_EXCERPTS) && [...TEXT_COLUMNS, "sample", "note"].includes(name);
const UNORDERED = "The list of a run of this size has no order by this column: its texts are only loaded where they are seen.";

/** The first and the second order that the heading of a column gives; null where its values cannot be ordered. */
function ordersOf(name) {
  if (name === "change") return ["change", "gain"];
  if (lacksTexts(name)) return null;
  return NUMBER_COLUMNS.includes(name) ? [`down ${name}`, `up ${name}`] : [`up ${name}`, `down ${name}`];
}

/** Orders by a heading: in its first order, then in the second, then as the dataset. */
function orderBy([first, second]) {
  setOrder({ [first]: second, [second]: "" }[byId("order").value] ?? first);
  select();
  writeAddress(true);
  byId("heading").querySelector("[aria-sort=ascending] button, [aria-sort=descending] button")?.focus();
}

/** Chooses an order. The selection offers only the usual ones, so a further one is added to it. */
function setOrder(order) {
  const select = byId("order");
  const [, by, name] = /^(up|down) (.+)$/s.exec(order) ?? [];
  const isKnown = name === "sample" || knownColumns().includes(name);
  if (by && isKnown && ordersOf(name) && ![...select.options].some((option) => option.value === order)) {
    const ends = NUMBER_COLUMNS.includes(name) ? ["lowest first", "highest first"] : ["ascending", "descending"];
    select.append(make("option", { value: order }, `${name === "sample" ? "Sample" : headingOf(name)}, ${by === "up" ? ends[0] : ends[1]}`));
  }
  select.value = order;
  if (select.selectedIndex < 0) select.value = "";
}

/** What a column orders by: a number or a text of each sample. */
function keyOf(name) {
  if (NUMBER_COLUMNS.includes(name)) return (row) => rows[name][row];
  if (name === "sample") return idOf;
  if (name === "outcome") return (row) => named(names.outcomes[rows.outcome[row]]);
  if (name === "tags") return tagsOf;
  if (name === "error") return errorMessageOf;
  if (name === "note") return noteLine;
  if (TEXT_COLUMNS.includes(name)) return (row) => textOfCell(name, row) ?? "";
  const known = metadata.get(name.replace("metadata.", ""));
  return (row) => known?.values[known.of[row]] ?? "";
}

/** Whether the excerpts of all samples are there; else they are read, and the list is ordered then. */
let isReadingExcerpts = false;
function areExcerptsKnown() {
  if (firstRows.every((row) => knownExcerpts(row) !== undefined)) return true;
  if (isReadingExcerpts) return false;
  isReadingExcerpts = true;
  Promise.all(firstRows.map((_, block) => excerptsOf(block)))
    .then(() => { isReadingExcerpts = false; select(); }, (error) => complain(`The excerpts cannot be read: ${error.message}.`));
  return false;
}
