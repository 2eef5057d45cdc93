// Which samples are listed, and in which order.

let selected = new Uint32Array();
/** For each sample whether its texts hold what is searched for; null where nothing is. */
let hits = null;
let hitQuery = "";
let searches = 0;
/** True while texts are searched, so that further samples may be found. */
let isSearching = false;

/** The metric whose change is asked about; null for the largest of all. */
let changeMetric = null;
const changeOf = (row) => (changeMetric === null ? rows.change[row] : rows.gains[changeMetric][row]);

/** The metric of the change of a sample. */
const changedMetric = (row) => changeMetric ?? rows.gains.findIndex((gains) => gains[row] === rows.change[row]);

const wanted = () => ({
  query: byId("query").value.trim().toLowerCase(), where: byId("where").value.trim(), run: byId("run").value, task: byId("task").value, outcome: byId("outcome").value,
  tag: byId("tag").value, error: byId("error").value, change: byId("change").value, order: byId("order").value, isFailed: byId("failed").checked,
});

/** The run whose samples are listed first: of a comparison the new one. */
const defaultRun = () => (isSeveral() ? "1" : "");

function offer(id, options, any) {
  const select = byId(id);
  select.replaceChildren(...(any ? [make("option", { value: "" }, any)] : []), ...options.map(([value, label]) => make("option", { value }, label)));
  select.closest("label").hidden = options.length < (any ? 2 : 1);
}

/** Offers what the samples so far have; what is chosen stays. */
function prepareFilters() {
  const kept = ["run", "task", "outcome", "tag", "error", "change", "order"].map((id) => [id, byId(id).options.length > 0 ? byId(id).value : id === "run" ? defaultRun() : ""]);
  offer("run", head.runs.map((run, number) => [number, run.run_id]), "all");
  offer("task", names.tasks.map((name, number) => [number, visible(name)]), "all");
  offer("outcome", names.outcomes.map((name, number) => [number, named(name)]), "all");
  offer("tag", names.tags.map((name, number) => [number, visible(name)]).sort(([, one], [, other]) => (one < other ? -1 : 1)), "all");
  // One tag is worth a filter as well.
  byId("tag").closest("label").hidden = names.tags.length === 0;
  offer("error", errorGroups.map((group, number) => [number, `${count(group.count)} × ${messageOf(group).slice(0, 80)}`]), "all");
  byId("error").closest("label").hidden = errorGroups.length === 0;
  offerConditions();
  const ofMetric = names.metrics.length > 1 ? names.metrics.flatMap((name, metric) => [[`worse ${metric}`, `worse by ${visible(name)}`], [`better ${metric}`, `better by ${visible(name)}`]]) : [];
  offer("change", [["worse", "worse"], ["better", "better"], ["changed", "changed"], ...ofMetric], "any");
  byId("change").closest("label").hidden = !isSeveral();
  offer("order", [
    ["", "of the dataset"],
    ...(isSeveral() ? [["change", "largest loss first"], ["gain", "largest gain first"]] : []),
    ...names.metrics.flatMap((name, metric) => [[`low ${metric}`, `${visible(name)}, lowest first`], [`high ${metric}`, `${visible(name)}, highest first`]]),
    ["down latency", "slowest first"],
  ]);
  offerColumns();
  for (const [id, value] of kept) {
    if (id === "order") setOrder(value);
    else byId(id).value = value;
  }
}

/** Most conditions that are offered at a time. */
const MAX_CONDITIONS = 200;

/** Offers conditions that may follow those that are typed: all values of a key once its name is there. */
function offerConditions() {
  const [, before, name] = /^((?:.*,)?)\s*(.*?)\s*(?:[<>=!].*)?$/s.exec(byId("where").value);
  const keys = [...metadata.keys()].filter((key) => !unlistedKeys.has(key));
  const ofKey = (key) => metadata.get(key).values.slice(0, key === unquoted(name) ? MAX_CONDITIONS : 12).map((value) => conditionText(key, "=", value));
  const offered = [
    ...keys.filter((key) => key === unquoted(name)).flatMap(ofKey), ...names.metrics.flatMap((metric) => ["<", ">="].map((sign) => conditionText(metric, sign, "0.5"))),
    ...(names.outcomes.length > 1 ? names.outcomes.map((outcome) => conditionText("outcome", "=", named(outcome))) : []), ...keys.flatMap(ofKey), "latency > 1000", "tokens > 500",
  ];
  byId("conditions").replaceChildren(...[...new Set(offered)].slice(0, MAX_CONDITIONS).map((value) => make("option", { value: before ? `${before} ${value}` : value })));
}

/** Active filters: the words of each, and what takes it away. */
function activeFilters() {
  const empty = (id, value = "") => () => { byId(id).value = value; };
  const chosenText = (id) => byId(id).selectedOptions[0]?.textContent ?? "";
  const ofSelect = (id, label, unset = "") => (byId(id).value === unset ? [] : [[`${label}: ${chosenText(id)}`, empty(id, unset)]]);
  const ofText = (id, label) => (byId(id).value.trim() === "" ? [] : [[`${label}: ${visible(byId(id).value.trim())}`, empty(id)]]);
  return [
    ...ofText("query", "Search"), ...ofText("where", "Where"), ...ofSelect("run", "Run", defaultRun()), ...ofSelect("task", "Task"), ...ofSelect("outcome", "Outcome"),
    ...ofSelect("tag", "Tag"), ...ofSelect("error", "Error"), ...ofSelect("change", "Change"),
    ...(byId("failed").checked ? [["failed only", () => { byId("failed").checked = false; }]] : []),
  ];
}

/** Shows each active filter with a button that removes it. */
function showActiveFilters() {
  const active = activeFilters();
  const remove = (take) => () => { take(); chosen = 0; select(); writeAddress(true); byId("query").focus({ preventScroll: true }); };
  const chip = ([text, take]) => make("span", { class: "chip" }, make("span", { title: text }, text), make("button", { type: "button", "aria-label": `Remove the filter ${text}`, click: remove(take) }, "×"));
  byId("active").replaceChildren(...active.map(chip));
  byId("clear").hidden = active.length === 0;
  byId("fold").textContent = active.length > 0 ? `Filters (${active.length})` : "Filters";
}

function resetFilters() {
  for (const id of ["query", "where", "task", "outcome", "tag", "error", "change", "order"]) byId(id).value = "";
  byId("run").value = defaultRun();
  byId("failed").checked = false;
}

/** Lists some samples and goes there. */
function choose({ run, task, outcome, tag, error, where, change, metric, isFailed: onlyFailed }) {
  resetFilters();
  chosen = 0;
  if (run !== undefined) byId("run").value = run;
  if (task !== undefined) byId("task").value = task;
  if (outcome !== undefined) byId("outcome").value = outcome;
  if (tag !== undefined) { byId("run").value = ""; byId("tag").value = names.tags.indexOf(tag); }
  if (error !== undefined) { byId("run").value = run ?? ""; byId("error").value = error; }
  if (where !== undefined) byId("where").value = where;
  if (onlyFailed) byId("failed").checked = true;
  if (change !== undefined) { byId("change").value = names.metrics.length > 1 ? `${change} ${metric}` : change; byId("order").value = change === "worse" ? "change" : "gain"; }
  select();
  writeAddress(true);
  byId("samples").scrollIntoView();
  byId("list").focus({ preventScroll: true });
}

function passes(row, { run, task, outcome, tag, error, change, isFailed: onlyFailed }) {
  if (run !== "" && rows.run[row] !== +run) return false;
  if (task !== "" && rows.task[row] !== +task) return false;
  if (outcome !== "" && rows.outcome[row] !== +outcome) return false;
  if (tag !== "" && !rows.tags[row]?.includes(+tag)) return false;
  if (error !== "" && rows.error[row] !== +error && !rows.furtherErrors[row]?.includes(+error)) return false;
  if (change.startsWith("worse") && !(changeOf(row) < 0)) return false;
  if (change.startsWith("better") && !(changeOf(row) > 0)) return false;
  if (change === "changed" && !(Math.abs(changeOf(row)) > 0)) return false;
  return !onlyFailed || isFailed(row);
}

/** Makes the list anew; texts are searched behind it. Samples that arrived since leave what is seen as it is. */
function select(isMore = false) {
  const filters = wanted();
  const [, metric] = filters.change.split(" ");
  changeMetric = metric === undefined ? null : +metric;
  searches += 1;
  if (filters.query !== hitQuery || (hits && hits.length < rows.length)) {
    hitQuery = filters.query;
    hits = filters.query ? new Uint8Array(rows.length) : null;
  }
  endServerSearch();
  isSearching = hits !== null;
  showActiveFilters();
  const fulfils = readConditions(filters.where);
  const fitting = new Uint32Array(rows.length);
  let number = 0;
  for (let row = 0; row < rows.length; row += 1) if (passes(row, filters) && fulfils(row)) { fitting[number] = row; number += 1; }
  const candidates = fitting.subarray(0, number);
  list(candidates, filters, isMore);
  if (!hits) return;
  const searching = (isPaged ? searchServer : searchTexts)(candidates, filters, searches);
  const search = searches;
  searching.catch((error) => { if (error.name !== "AbortError") complain(`The texts cannot be searched: ${error.message}.`); }).then(() => {
    if (search !== searches) return;
    isSearching = false;
    showNoMatch();
  });
}

/** The conditions of the reader; what cannot be read is said below them, and then all samples are listed. */
function readConditions(text) {
  const problem = byId("where-problem");
  let conditions = () => true;
  problem.textContent = "";
  try {
    conditions = conditionsOf(text);
  } catch (error) {
    problem.textContent = visible(error.message);
  }
  byId("where").toggleAttribute("aria-invalid", problem.textContent !== "");
  return conditions;
}

/** Lists the candidates, those that are found where something is searched for. What a search adds leaves the chosen sample and what is seen as they are. */
function list(candidates, filters, isMore = false) {
  // The server searches ids as well.
  const isHit = (row) => hits[row] || (!isPaged && rows.id[row].toLowerCase().includes(filters.query));
  const [before, row] = [chosen, selected[chosen]];
  const top = byId("list").scrollTop / scale();
  selected = hits ? candidates.filter(isHit) : candidates.slice();
  sortSelected(filters.order);
  const place = isMore && row !== undefined ? selected.indexOf(row) : -1;
  if (place >= 0) chosen = place;
  showList(isMore ? top + (chosen - before) * rowHeight() : null);
  say(selected.length, rows.length);
}

/** Says how many samples are listed, of how many that the run has. */
function say(found, all, more = "") {
  const run = byId("run").value;
  const isOfRun = isSeveral() && run !== "";
  const total = isOfRun ? rowsOfRun(+run).length : all;
  byId("count").textContent = `${count(found)} of ${counted(total, "sample")}${isOfRun ? ` of ${head.runs[run].run_id}` : ""}${more}`;
}

/** Compares texts as a reader does: `q-9` precedes `q-10`. */
const collator = new Intl.Collator("en", { numeric: true });

function sortSelected(order) {
  const [, by, name] = /^(\S*) ?(.*)$/s.exec(order);
  const isByText = (by === "up" || by === "down") && !NUMBER_COLUMNS.includes(name);
  // What has no number comes last.
  const key = isByText ? rankOfText(name, by === "down") : {
    change: changeOf, gain: (row) => -changeOf(row), up: (row) => rows[name][row], down: (row) => -rows[name][row],
    low: (row) => rows.scores[name][row], high: (row) => -rows.scores[name][row],
  }[by];
  if (!key) return;
  const keys = new Float64Array(rows.length);
  for (const row of selected) { const value = key(row); keys[row] = Number.isNaN(value) ? Infinity : value; }
  selected.sort((one, other) => (keys[one] === keys[other] ? one - other : keys[one] < keys[other] ? -1 : 1));
}

/** The rank of each sample's text in a column. What has no text comes last. Null as long as the texts are not there. */
function rankOfText(name, isDown) {
  if (TEXT_COLUMNS.includes(name) && !areExcerptsKnown()) return null;
  const key = keyOf(name);
  const ranks = new Map();
  for (const row of selected) ranks.set(key(row), NaN);
  const texts = [...ranks.keys()].filter((text) => text !== "").sort(collator.compare);
  texts.forEach((text, rank) => ranks.set(text, isDown ? -rank : rank));
  return (row) => ranks.get(key(row));
}

/** Whether a value of JSON holds a text. Keys do not count. */
function holds(value, query) {
  if (typeof value === "string") return value.toLowerCase().includes(query);
  return value !== null && typeof value === "object" && Object.values(value).some((part) => holds(part, query));
}

/** Searches the texts of the candidates, block by block, until there is a newer search. */
async function searchTexts(candidates, filters, search) {
  const open = new Map();
  for (const row of candidates) {
    if (rows.text[row] === NO_TEXT) continue;
    if (!open.has(rows.text[row])) open.set(rows.text[row], []);
    open.get(rows.text[row]).push(row);
  }
  // As it stands within JSON.
  const raw = JSON.stringify(filters.query).slice(1, -1).toLowerCase();
  let [done, shown, breathed, found] = [0, performance.now(), performance.now(), false];
  for (const [block, own] of open) {
    const text = await unpackAt("texts", block);
    if (search !== searches) return;
    const lower = text.toLowerCase();
    if (lower.includes(raw)) {
      const [plain, folded] = [text.split("\n"), lower.split("\n")];
      for (const row of own) {
        const line = rows.line[row];
        if (folded[line].includes(raw) && holds(JSON.parse(plain[line]), filters.query)) { hits[row] = 1; found = true; }
      }
    }
    done += 1;
    if (performance.now() - shown > 250) {
      if (found) list(candidates, filters, true);
      found = false;
      say(selected.length, rows.length, `; searching, ${Math.floor((100 * done) / open.size)} %`);
      shown = performance.now();
    }
    if (performance.now() - breathed > 30) {
      await breathe();
      breathed = performance.now();
      if (search !== searches) return;
    }
  }
  await searchExcerpts(candidates, filters.query, search);
  if (search === searches) list(candidates, filters, true);
}

/** Searches the excerpts of candidates whose texts are not in the page. */
async function searchExcerpts(candidates, query, search) {
  for (const row of candidates) {
    if (rows.text[row] !== NO_TEXT) continue;
    const known = await excerptsOf(rows.part[row]);
    if (search !== searches) return;
    const place = row - firstRows[rows.part[row]];
    if ([known.input, known.target, known.answer].some((texts) => texts[place].toLowerCase().includes(query))) hits[row] = 1;
  }
}
