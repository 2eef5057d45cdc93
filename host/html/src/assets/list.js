// The list of samples: only the rows that are seen are there.

/** Place of the chosen sample in the list. */
let chosen = 0;
/** Browsers cannot lay out more pixels than some millions; beyond it the bar moves faster than the rows. */
const TALLEST = 8e6;

const rowHeight = () => parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row"));
const isNarrow = () => matchMedia("(max-width: 760px)").matches;

/** Columns that a list can have besides the sample: what a reader calls them, and how much room they take. */
const COLUMNS = new Map([
  ["input", ["Input", "minmax(80px, 3fr)"]], ["target", ["Target", "minmax(56px, 1fr)"]], ["answer", ["Answer", "minmax(80px, 2.2fr)"]], ["scores", ["Scores", ""]],
  ["change", ["Change", "96px"]], ["outcome", ["Outcome", "minmax(76px, 0.9fr)"]], ["tags", ["Tags", "minmax(60px, 1.2fr)"]], ["error", ["Error", "minmax(80px, 2fr)"]],
  ["note", ["Note", "minmax(80px, 1.6fr)"]], ["latency", ["Latency", "74px"]], ["tokens", ["Tokens", "68px"]],
]);
/** The columns that are shown; metadata is called metadata.KEY. */
let listColumns = [];

const defaultColumns = () => ["input", "target", "answer", "scores", ...(isSeveral() ? ["change"] : []), "outcome", "latency"];
const isDefaultColumns = () => listColumns.join() === defaultColumns().join();
const knownColumns = () => [...[...COLUMNS.keys()].filter((name) => (name !== "change" || isSeveral()) && (name !== "note" || pageServer)), ...[...metadata.keys()].filter((key) => !unlistedKeys.has(key)).map((key) => `metadata.${key}`)];

/** Shows the columns of a text such as input,scores; the usual ones without a text. */
function chooseColumns(text) {
  const known = knownColumns();
  listColumns = text ? text.split(",").filter((name) => known.includes(name)) : defaultColumns();
  for (const box of document.querySelectorAll("#columns input")) box.checked = listColumns.includes(box.value);
}

/** The boxes by which columns are chosen. */
function offerColumns() {
  const box = (name) => make("label", { class: "check" }, make("input", { type: "checkbox", value: name }), visible(COLUMNS.get(name)?.[0] ?? name.replace("metadata.", "")));
  byId("columns").replaceChildren(...knownColumns().map(box));
  chooseColumns(listColumns.join());
}

function listenToColumns() {
  byId("columns").addEventListener("change", () => {
    const shown = [...byId("columns").querySelectorAll("input:checked")].map((one) => one.value);
    listColumns = knownColumns().filter((name) => shown.includes(name));
    showList();
    writeAddress(true);
  });
}

/** Most metrics with a column of their own. */
const MAX_METRIC_COLUMNS = 4;
/**
 * The metrics that have a column. They are those of the listed tasks where these have the same ones; null where they do not,
 * and each sample names its own. The one by which the samples are ordered is first on a phone, where there is room for one.
 */
let shownMetrics = [];
function chooseMetrics() {
  const tasks = new Set();
  for (const row of selected) tasks.add(rows.task[row]);
  const sets = [...tasks].map((task) => [...(metricsOfTasks[task] ?? [])]).filter((set) => set.length > 0);
  const isSame = sets.every((set) => set.join() === sets[0].join());
  const order = /^(?:low|high) (\d+)$/.exec(byId("order").value);
  const first = order && isNarrow() ? +order[1] : -1;
  shownMetrics = !isSame ? null : sets.length === 0 ? [] : sets[0].sort((one, other) => (other === first) - (one === first)).slice(0, MAX_METRIC_COLUMNS);
}

/** Tracks of the grid and headings: one for each column, and several for scores. */
function layOut() {
  const metrics = shownMetrics;
  const track = (name) => (name !== "scores" ? COLUMNS.get(name)?.[1] ?? "minmax(60px, 1fr)" : metrics === null ? "minmax(150px, 3fr)" : `repeat(${Math.max(1, metrics.length)}, 88px)`);
  document.documentElement.style.setProperty("--tracks", ["minmax(80px, 1.1fr)", ...listColumns.map(track)].join(" "));
  const ofMetric = (metric) => make("button", { type: "button", class: "link number score", tabindex: "-1", title: `${visible(names.metrics[metric])}: order by it`, click: () => orderBy(metric) }, visible(names.metrics[metric]));
  const heading = (name) => {
    if (name !== "scores") return make("span", { class: ["change", "latency", "tokens"].includes(name) ? "number" : name.replace(/[^a-z]/g, "-") }, visible(COLUMNS.get(name)?.[0] ?? name.replace("metadata.", "")));
    return metrics === null || metrics.length === 0 ? make("span", { class: metrics === null ? "own-scores" : "number" }, metrics === null ? "Scores" : "") : metrics.map(ofMetric);
  };
  byId("heading").replaceChildren(make("span", { class: "id" }, "Sample"), ...listColumns.flatMap(heading));
}

/** Orders by a metric: lowest first, then highest first, then as the dataset. */
function orderBy(metric) {
  const next = { [`low ${metric}`]: `high ${metric}`, [`high ${metric}`]: "" };
  byId("order").value = next[byId("order").value] ?? `low ${metric}`;
  select();
  writeAddress(true);
}

/** Shows the list as it is now: from the chosen sample on, or scrolled to a place in pixels. */
function showList(top = null) {
  chooseMetrics();
  chosen = Math.min(chosen, Math.max(0, selected.length - 1));
  layOut();
  byId("spacer").style.height = `${Math.min(TALLEST, selected.length * rowHeight())}px`;
  // No higher than all samples are, and as high for some of them.
  byId("list").style.maxHeight = `${rows.length * rowHeight() + 2}px`;
  // As far as the bar of the list takes room.
  byId("heading").style.paddingRight = `${byId("list").offsetWidth - byId("list").clientWidth + 8}px`;
  byId("list").scrollTop = top === null ? topOf(chosen) : top * scale();
  showRows();
  showMarks();
}

/** Where the list is scrolled to when a row is the first of it, and the other way round. */
function scale() {
  const seen = byId("list").clientHeight;
  const all = selected.length * rowHeight();
  return all > TALLEST ? (TALLEST - seen) / (all - seen) : 1;
}
const topOf = (place) => Math.max(0, place - 2) * rowHeight() * scale();

function showRows() {
  const [listed, height] = [byId("list"), rowHeight()];
  const offset = listed.scrollTop / scale();
  const first = Math.max(0, Math.floor(offset / height) - 4);
  const last = Math.min(selected.length, first + Math.ceil(listed.clientHeight / height) + 10);
  byId("rows").style.transform = `translateY(${listed.scrollTop - (offset - first * height)}px)`;
  byId("rows").replaceChildren(...Array.from({ length: last - first }, (_, place) => rowOf(first + place)));
  listed.setAttribute("aria-activedescendant", chosen >= first && chosen < last ? `row-${chosen}` : "");
}

function rowOf(place) {
  const row = selected[place];
  const texts = isPaged || listColumns.some((name) => ["input", "target", "answer"].includes(name)) ? excerptOf(row, showRowsSoon) : null;
  return make("div", {
    class: marked.has(row) ? "row marked" : "row", role: "option", id: `row-${place}`, "aria-selected": String(place === chosen), "aria-setsize": selected.length, "aria-posinset": place + 1, "data-place": place,
  }, make("span", { class: "id", dir: "auto", title: visible(idOf(row)) }, visible(idOf(row))), listColumns.flatMap((name) => cellOf(name, row, texts)));
}

/** A cell of a row: of scores one for each metric. */
function cellOf(name, row, texts) {
  if (["input", "target", "answer"].includes(name)) {
    const text = texts ? visible(texts[name]) : "";
    // Why there is no answer.
    const isMissing = name === "answer" && text === "" && rows.error[row] >= 0;
    const shown = isMissing ? visible(errorGroups[rows.error[row]].message) : text;
    return make("span", { class: isMissing ? "text answer not-passed" : `text ${name}`, dir: "auto", title: shown }, shown);
  }
  const outcome = names.outcomes[rows.outcome[row]];
  const change = changeOf(row);
  const tags = () => (rows.tags[row] ?? []).map((tag) => visible(names.tags[tag])).join(", ");
  const error = () => visible(errorGroups[rows.error[row]]?.message ?? "");
  switch (name) {
    case "scores": return scoreCells(row);
    case "change": return make("span", { class: change < 0 ? "change number worse" : "change number" }, change ? `${change < 0 ? "▼" : "▲"} ${score(Math.abs(change))}` : "");
    case "outcome": return make("span", { class: outcome === "scored" ? "outcome" : "outcome unscored" }, (isSeveral() && byId("run").value === "" ? `${head.runs[rows.run[row]].run_id}: ` : "") + named(outcome));
    case "tags": return make("span", { class: "tags", title: tags() }, tags());
    case "error": return make("span", { class: "text error", title: error() }, error());
    case "note": return make("span", { class: "text", dir: "auto", title: noteLine(row) }, noteLine(row));
    case "latency": return make("span", { class: "time number" }, Number.isNaN(rows.latency[row]) ? "" : duration(rows.latency[row]));
    case "tokens": return make("span", { class: "tokens number" }, Number.isNaN(rows.tokens[row]) ? "" : count(rows.tokens[row]));
    default: {
      const known = metadata.get(name.replace("metadata.", ""));
      return make("span", { class: "text", dir: "auto" }, visible(known.values[known.of[row]] ?? ""));
    }
  }
}

/** The scores of a sample: in columns, or with their names where the listed tasks have different metrics. */
function scoreCells(row) {
  const cell = (metric) => make("span", { class: rows.pass[metric][row] === 0 ? "score number not-passed" : "score number" }, score(rows.scores[metric][row]));
  if (shownMetrics !== null) return shownMetrics.length ? shownMetrics.map(cell) : [make("span", { class: "score number" })];
  const own = [...(metricsOfTasks[rows.task[row]] ?? [])].filter((metric) => !Number.isNaN(rows.scores[metric][row]));
  return [make("span", { class: "score own-scores" }, own.slice(0, isNarrow() ? 1 : MAX_METRIC_COLUMNS).map((metric) => make("span", { class: "own-score" }, make("span", { class: "soft" }, `${visible(names.metrics[metric])} `), make("span", { class: rows.pass[metric][row] === 0 ? "not-passed" : null }, score(rows.scores[metric][row])))))];
}

/** Draws the rows again when excerpts have been unpacked, several blocks at once. */
let isDrawingSoon = false;
function showRowsSoon() {
  if (isDrawingSoon) return;
  isDrawingSoon = true;
  requestAnimationFrame(() => { isDrawingSoon = false; showRows(); });
}

/** Chooses a place of the list, and brings it into view. */
function goTo(place) {
  if (selected.length === 0) return;
  chosen = Math.max(0, Math.min(selected.length - 1, place));
  const [listed, height] = [byId("list"), rowHeight()];
  const offset = listed.scrollTop / scale();
  if (chosen * height < offset) listed.scrollTop = chosen * height * scale();
  else if ((chosen + 1) * height > offset + listed.clientHeight) listed.scrollTop = ((chosen + 1) * height - listed.clientHeight) * scale();
  showRows();
}

function listenToList() {
  const listed = byId("list");
  let isWaiting = false;
  listed.addEventListener("scroll", () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => { isWaiting = false; showRows(); });
  }, { passive: true });
  listed.addEventListener("click", (event) => {
    const row = event.target.closest("[data-place]");
    if (!row) return;
    goTo(+row.dataset.place);
    openDetail();
  });
  // Rows are higher on a phone, which may be turned.
  let height = rowHeight();
  new ResizeObserver(() => {
    if (rowHeight() === height) showRows();
    else showList();
    height = rowHeight();
  }).observe(listed);
}
