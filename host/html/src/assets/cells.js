// Cells of the list. Texts are rendered in one line, and what was searched for is marked.

/** Most places that are marked in an element. */
const MAX_MARKS = 500;
/** Outcomes whose names are long, as the list calls them. */
const OUTCOME_LABELS = {
  backend_error: "error", judge_unparseable: "judge unread", missing_reference: "no reference", invalid_sample: "invalid", empty_output: "empty",
  not_scored_yet: "unscored", not_judged_yet: "unjudged",
};
const outcomeLabel = (outcome) => OUTCOME_LABELS[outcome] ?? named(outcome);

const isAllRuns = () => isSeveral() && byId("run").value === "";
const tagsOf = (row) => (rows.tags[row] ?? []).map((tag) => visible(names.tags[tag])).join(", ");
/** The messages of all errors of a sample. */
const errorText = (row) => errorsOf(row).map((place) => messageOf(errorGroups[place])).join("; ");
const withoutAddress = (message) => message.replace(/^https?:\/\/\S+?:?\s+(?:status (?=\d))?/, "");
/** The messages of all errors of a sample without the addresses that were asked. */
const errorMessageOf = (row) => errorsOf(row).map((place) => messageOf({ ...errorGroups[place], message: withoutAddress(errorGroups[place].message) })).join("; ");

/** A text of a sample as its column shows it; null as long as it is not unpacked. */
function textOfCell(name, row) {
  const from = name !== "base" ? row : rows.run[row] > 0 ? rows.partner[row] : -1;
  if (from < 0) return "";
  const texts = excerptOf(from, showRowsSoon);
  return texts && visible(texts[name === "base" ? "answer" : name]);
}

/** A cell of a row: of scores one for each metric. */
function cellOf(name, row) {
  if (TEXT_COLUMNS.includes(name)) return textCell(name, row);
  const outcome = names.outcomes[rows.outcome[row]];
  switch (name) {
    case "scores": return scoreCells(row);
    case "change": return changeCell(row);
    case "outcome": return make("span", { class: outcome === "scored" ? "outcome" : "outcome unscored", title: named(outcome) }, (isAllRuns() ? `${head.runs[rows.run[row]].run_id}: ` : "") + outcomeLabel(outcome));
    case "tags": return markHits(make("span", { class: "tags", title: tagsOf(row) }, tagsOf(row)));
    case "error": return markHits(make("span", { class: "text error", title: errorText(row) }, errorMessageOf(row)));
    case "note": return make("span", { class: "text", dir: "auto", title: noteLine(row) }, noteLine(row));
    case "latency": return make("span", { class: "time number" }, Number.isNaN(rows.latency[row]) ? "" : duration(rows.latency[row]));
    case "tokens": return make("span", { class: "tokens number" }, Number.isNaN(rows.tokens[row]) ? "" : count(rows.tokens[row]));
    default: return make("span", { class: "text", dir: "auto" }, visible(keyOf(name)(row)));
  }
}

function textCell(name, row) {
  const text = textOfCell(name, row) ?? "";
  const of = name === "base" ? rows.partner[row] : row;
  // Why there is no answer.
  const isMissing = ["answer", "base"].includes(name) && text === "" && of >= 0 && rows.error[of] >= 0 && (name !== "base" || rows.run[row] > 0);
  if (isMissing) return markHits(make("span", { class: `text ${name} not-passed`, title: errorText(of) }, errorMessageOf(of)));
  return markHits(make("span", { class: `text ${name}`, dir: "auto", title: text }, inlineOf(text)));
}

/** A line of text with its emphasis, code and formulas. */
function inlineOf(text) {
  if (!hasMarkdown(text)) return [text];
  try {
    return new MarkdownReader(true).inline(text, 0).map((node) => (node instanceof Element ? lowered(node) : node));
  } catch {
    return [text];
  }
}

/** Makes formulas fit into a line: limits are beside their signs, and a matrix stays source. */
function lowered(element) {
  if (element.querySelector("mtable")) return element.title;
  for (const [name, beside] of [["munderover", "msubsup"], ["munder", "msub"]]) {
    for (const sign of element.querySelectorAll(name)) sign.replaceWith(mathElement(beside, {}, [...sign.childNodes]));
  }
  return element;
}

/** Marks what was searched for in the texts of an element. */
function markHits(element) {
  if (hitQuery === "") return element;
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walker.nextNode(); node && found.length < MAX_MARKS; node = walker.nextNode()) {
    const lower = node.data.toLowerCase();
    if (lower.length === node.data.length && lower.includes(hitQuery) && !node.parentNode.closest("math, svg")) found.push([node, lower]);
  }
  let left = MAX_MARKS;
  for (const [node, lower] of found) {
    const pieces = [];
    let done = 0;
    for (let at = lower.indexOf(hitQuery); at >= 0 && left > 0; at = lower.indexOf(hitQuery, done)) {
      pieces.push(node.data.slice(done, at), make("mark", {}, node.data.slice(at, at + hitQuery.length)));
      done = at + hitQuery.length;
      left -= 1;
    }
    node.replaceWith(...pieces, node.data.slice(done));
  }
  return element;
}

/** For each metric whether all its scores are 0 or 1, as far as samples have arrived. */
let pureMetrics = { length: -1, known: [] };
function isPure(metric) {
  if (pureMetrics.length !== rows.length) pureMetrics = { length: rows.length, known: [] };
  if (pureMetrics.known[metric] === undefined) {
    const scores = rows.scores[metric];
    let isOne = true;
    for (let row = 0; row < rows.length && isOne; row += 1) isOne = Number.isNaN(scores[row]) || scores[row] === 0 || scores[row] === 1;
    pureMetrics.known[metric] = isOne;
  }
  return pureMetrics.known[metric];
}

/** Whether a metric says that a sample is good; null where it draws no line. */
function verdictOf(metric, row) {
  if (failsBy(row, metric)) return false;
  if (rows.pass[metric][row] === 1) return true;
  return isPure(metric) ? (rows.scores[metric][row] === 1) === natureOf(rows.task[row], metric).direction > 0 : null;
}

/** A score: a sign where the metric only has 0 and 1, else a number. */
function scoreOf(metric, row) {
  const value = rows.scores[metric][row];
  if (Number.isNaN(value)) {
    const why = rows.unscored[metric]?.get(row);
    return why ? make("span", { class: "unscored", title: named(why) }, outcomeLabel(why)) : make("span", { class: "soft" }, "–");
  }
  const isGood = verdictOf(metric, row);
  if (!isPure(metric)) return make("span", { class: isGood === false ? "not-passed" : null }, score(value));
  const text = `${isGood ? "passed" : "failed"}, ${value}`;
  return make("span", { class: isGood ? "sign passed" : "sign not-passed", role: "img", "aria-label": text, title: text }, isGood ? "✓" : "✗");
}

/** The scores of a sample: in columns, or with their names where the listed tasks have different metrics. */
function scoreCells(row) {
  if (shownMetrics !== null) return shownMetrics.length ? shownMetrics.map((metric) => make("span", { class: "score number" }, scoreOf(metric, row))) : [make("span", { class: "score number" })];
  const own = [...(metricsOfTasks[rows.task[row]] ?? [])].filter((metric) => rows.unscored[metric]?.has(row) || !Number.isNaN(rows.scores[metric][row]));
  return [make("span", { class: "score own-scores" }, own.slice(0, isNarrow() ? 1 : MAX_METRIC_COLUMNS).map((metric) => make("span", { class: "own-score" }, make("span", { class: "soft" }, `${visible(names.metrics[metric])} `), scoreOf(metric, row))))];
}

/** The change of a sample: its metric, and the scores before and after. With repeats, the difference of their means. */
function changeCell(row) {
  const change = changeOf(row);
  if (!change) return make("span", { class: "change" });
  const metric = changedMetric(row);
  const { direction, countsPasses } = natureOf(rows.task[row], metric);
  const of = (one) => (countsPasses ? rows.pass[metric][one] : rows.scores[metric][one]);
  const [before, after] = [row, rows.partner[row]].sort((one, other) => rows.run[one] - rows.run[other]).map(of);
  const isWhole = Math.abs(direction * (after - before) - change) < 1e-9;
  const name = `${change < 0 ? "▼" : "▲"} ${visible(names.metrics[metric])}`;
  const scores = isWhole ? `${shortScore(before)} → ${shortScore(after)}` : signed(direction * change);
  return make("span", { class: change < 0 ? "change worse" : "change passed", title: `${name} ${scores}` }, make("span", { class: "name" }, `${name} `), make("span", {}, scores));
}
