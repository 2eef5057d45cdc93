// The data of the page: columns of all samples, and their texts on demand.

/** Everything that lists and plots need, a place for each sample. */
const rows = {
  length: 0, run: null, task: null, outcome: null, index: null, latency: null, finished: null, tokens: null,
  text: null, line: null, change: null, partner: null, part: null, error: null, judgeCost: null,
  id: [], content: [], tags: [], scores: [], pass: [], gains: [],
  /** Errors of a sample beside its first one. */
  furtherErrors: [],
  /** For each metric, the outcomes of samples that it did not score. */
  unscored: [],
};
const names = { tasks: [], outcomes: [], metrics: [], tags: [] };
/** Groups of errors: {key, stage, kind, message, metric, count}. Messages that differ only in numbers are one group. */
const errorGroups = [];
/** Metadata for filters, by key: {values, of}, the second with a place for each sample. */
const metadata = new Map();
/** Keys of metadata whose values are too many or too long for filters. */
const unlistedKeys = new Set();
let head = { runs: [], comparisons: [] };
/** First sample of each block of columns, and so of its excerpts. */
const firstRows = [];
/** Stands for the block of a sample whose texts are not in the page. */
const NO_TEXT = 0xffffffff;
/** For each run, of every how many samples the first has its texts in the page. */
const textsEvery = [];
/** For each run, the tokens of the prompts and of the replies of its judges. */
const judgeTokens = [];

function blocks(kind) {
  return [...document.querySelectorAll(`script[data-block="${kind}"]`)];
}

/** The bytes of base64; newer browsers do it themselves. */
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let place = 0; place < binary.length; place += 1) bytes[place] = binary.charCodeAt(place);
  return bytes;
}

/** What a block holds, as text. */
async function unpack(block) {
  return new Response(new Blob([bytesOf(block.textContent)]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

/** The blocks of a kind in their order, as they arrive. One is whole when something follows it. */
async function* arriving(kind) {
  for (let place = 0; ;) {
    const isWhole = document.readyState !== "loading";
    const found = blocks(kind);
    for (; place < found.length && (isWhole || found[place].nextElementSibling); place += 1) yield found[place];
    if (isWhole) return;
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

const knownBlocks = new Map();

/** The block of a kind with a number, unpacked once it has arrived. */
async function unpackAt(kind, place) {
  for (;;) {
    const isWhole = document.readyState !== "loading";
    if (!(knownBlocks.get(kind)?.length > place)) knownBlocks.set(kind, blocks(kind));
    const block = knownBlocks.get(kind)[place];
    if (block && (isWhole || block.nextElementSibling)) return unpack(block);
    if (isWhole) throw new Error("a part of the page is missing");
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

/** Reads what is known of the runs as a whole, as soon as that is there. */
async function readHead() {
  for await (const block of arriving("head")) {
    head = JSON.parse(await unpack(block));
    // Its block precedes the head.
    isPaged = blocks("paged").length > 0;
    break;
  }
  // They stand in sentences, tables and labels.
  for (const run of head.runs) run.run_id = visible(run.label ?? run.run_id);
  head.comparisons.forEach((comparison, place) => {
    comparison.base.run_id = head.runs[0].run_id;
    comparison.new.run_id = head.runs[place + 1].run_id;
  });
}

/** How long samples may have arrived before a reader sees them, in milliseconds. */
const MAX_UNSEEN_TIME = 250;

/** Reads the samples while they arrive, and calls `whenMore` now and then. */
async function readSamples(whenMore) {
  let shown = performance.now();
  for await (const block of arriving("columns")) {
    addPart(JSON.parse(await unpack(block)));
    // Its columns are known now, so its text can go.
    block.textContent = "";
    if (performance.now() - shown < MAX_UNSEEN_TIME) continue;
    whenMore();
    await breathe();
    shown = performance.now();
  }
  await pairRuns();
}

const placeIn = (known, name) => {
  const place = known.indexOf(name);
  return place < 0 ? known.push(name) - 1 : place;
};

const KINDS = {
  run: Uint16Array, task: Uint16Array, outcome: Uint8Array, index: Float64Array, latency: Float64Array, finished: Float64Array, tokens: Float64Array,
  text: Uint32Array, line: Uint16Array, change: Float64Array, partner: Int32Array, part: Uint16Array, error: Int32Array, judgeCost: Float64Array,
};
/** What stands in a column for a sample that has nothing there, if that is not 0. */
const EMPTY = { change: NaN, partner: -1, error: -1, judgeCost: NaN };

/** Makes room for so many samples in all columns. */
function makeRoom(length) {
  const before = rows.run?.length ?? 0;
  if (length <= before) return;
  const room = Math.max(length, 2 * before);
  const larger = (Kind, old, empty = 0) => {
    const column = new Kind(room);
    if (empty !== 0) column.fill(empty, before);
    if (old) column.set(old);
    return column;
  };
  for (const [name, Kind] of Object.entries(KINDS)) rows[name] = larger(Kind, rows[name], EMPTY[name]);
  rows.scores = rows.scores.map((column) => larger(Float64Array, column, NaN));
  rows.pass = rows.pass.map((column) => larger(Int8Array, column, -1));
  for (const known of metadata.values()) known.of = larger(Int32Array, known.of, -1);
}

/** Number of blocks of texts so far, and of samples of each run. */
let textCount = 0;
const before = [];

/** Adds a block of columns. */
function addPart(part) {
  const start = rows.length;
  const length = start + part.index.length;
  makeRoom(length);
  firstRows.push(start);
  if (isPaged) readPacked(part, start);
  else readPart(part, start);
  readDetails(part, start);
  before[part.run] ??= 0;
  textsEvery[part.run] = part.texts_every;
  judgeTokens[part.run] = part.judge_tokens.map((tokens, place) => tokens + (judgeTokens[part.run]?.[place] ?? 0));
  rows.length = length;
  // The server has the texts of all samples.
  if (isPaged) {
    rows.text.fill(NO_TEXT, start, length);
    return;
  }
  let [block, line] = [0, 0];
  const further = new Set(part.further_texts);
  for (let place = start; place < length; place += 1, before[part.run] += 1) {
    if (before[part.run] % part.texts_every && !further.has(place - start)) {
      rows.text[place] = NO_TEXT;
      continue;
    }
    while (line >= part.texts[block]) [block, line] = [block + 1, 0];
    rows.text[place] = textCount + block;
    rows.line[place] = line;
    line += 1;
  }
  textCount += part.texts.length;
}

/** Metrics of each task, which alone a sample of it has. */
const metricsOfTasks = [];

/** The place of a metric, which gets columns if it has none. */
function columnOf(metric) {
  const column = placeIn(names.metrics, metric);
  rows.scores[column] ??= new Float64Array(rows.run.length).fill(NaN);
  rows.pass[column] ??= new Int8Array(rows.run.length).fill(-1);
  return column;
}

function readPart(part, start) {
  const tasks = part.tasks.map((name) => placeIn(names.tasks, name));
  const outcomes = part.outcomes.map((name) => placeIn(names.outcomes, name));
  const tags = part.tags.map((name) => placeIn(names.tags, name));
  let finished = 0;
  for (let number = 0; number < part.index.length; number += 1) {
    const place = start + number;
    rows.run[place] = part.run;
    rows.part[place] = firstRows.length - 1;
    rows.task[place] = tasks[part.task[number]];
    rows.outcome[place] = outcomes[part.outcome[number]];
    rows.index[place] = part.index[number];
    rows.id[place] = part.id[number];
    rows.content[place] = part.content[number];
    rows.latency[place] = part.latency[number] ?? NaN;
    rows.tokens[place] = part.tokens[number] ?? NaN;
    finished += part.finished[number] ?? 0;
    rows.finished[place] = part.finished[number] === null ? NaN : finished;
  }
  part.metrics.forEach((name, metric) => {
    const column = columnOf(name);
    part.scores[metric].forEach((value, number) => {
      if (value === null) return;
      rows.scores[column][start + number] = value;
      (metricsOfTasks[rows.task[start + number]] ??= new Set()).add(column);
    });
    part.pass[metric].forEach((value, number) => { rows.pass[column][start + number] = value ?? -1; });
  });
  for (const [number, tag] of part.tagged) (rows.tags[start + number] ??= []).push(tags[tag]);
}

/** Errors, prices and metadata, which few samples or few suites have. */
function readDetails(part, start) {
  const groups = part.errors.map(groupOf);
  for (const [number, error] of part.failed) {
    const [row, group] = [start + number, groups[error]];
    if (rows.error[row] < 0) rows.error[row] = group;
    else (rows.furtherErrors[row] ??= []).push(group);
    errorGroups[group].count += 1;
  }
  for (const { metric, outcome, samples } of part.unscored) {
    const column = columnOf(part.metrics[metric]);
    rows.unscored[column] ??= new Map();
    for (const number of samples) {
      rows.unscored[column].set(start + number, outcome);
      (metricsOfTasks[rows.task[start + number]] ??= new Set()).add(column);
    }
  }
  for (const [number, cost] of part.judge_cost) rows.judgeCost[start + number] = cost;
  for (const [key, column] of Array.isArray(part.metadata) ? part.metadata : Object.entries(part.metadata)) {
    if (column.is_unlisted) unlistedKeys.add(key);
    if (!metadata.has(key)) metadata.set(key, { values: [], of: new Int32Array(rows.run.length).fill(-1) });
    const known = metadata.get(key);
    const places = column.values.map((value) => placeIn(known.values, value));
    if (column.of instanceof Uint8Array) {
      const [packed, unpacked] = [column.of, known.of];
      for (let number = 0; number < packed.length; number += 1) if (packed[number] !== NO_VALUE) unpacked[start + number] = places[packed[number]] ?? -1;
    } else {
      for (const [number, value] of column.of) known.of[start + number] = places[value];
    }
  }
}

/** The groups of the errors of a sample. */
const errorsOf = (row) => (rows.error[row] < 0 ? [] : [rows.error[row], ...(rows.furtherErrors[row] ?? [])]);

/** The message of a group of errors, with the metric that failed. */
const messageOf = ({ metric, message }) => visible([metric, message].filter(Boolean).join(": "));

/** The group of an error. */
function groupOf({ stage, kind, message, metric = "" }) {
  const key = `${stage}, ${kind}: ${metric && `${metric}: `}${message.replace(/\b(?=[0-9a-f-]*\d)[0-9a-f-]{2,}\b|\d+(?:\.\d+)?/gi, "…")}`;
  const known = errorGroups.findIndex((group) => group.key === key);
  return known < 0 ? errorGroups.push({ key, stage, kind, message, metric, count: 0 }) - 1 : known;
}

/** How a metric of a task is described, by the first run that has figures of it. */
function figureOf(task, metric) {
  for (const run of head.runs) {
    const isIt = (one) => one.task_id === task && one.metric_id === metric;
    const found = run.summary?.tasks.find((one) => one.task_id === task)?.metrics.find(isIt) ?? run.timings?.timing_metrics.find(isIt);
    if (found) return found;
  }
  return null;
}

/** Of each metric of a task: 1 where more is better, else -1; and whether it counts what passes rather than scores. */
const natures = new Map();
function natureOf(task, metric) {
  const key = task * 65536 + metric;
  if (!natures.has(key)) {
    const figure = figureOf(names.tasks[task], names.metrics[metric]);
    natures.set(key, { direction: figure?.higher_is_better === false ? -1 : 1, countsPasses: figure?.aggregation === "pass_rate" });
  }
  return natures.get(key);
}

/** What samples await that have not ended. */
const UNFINISHED = ["not_scored_yet", "not_judged_yet"];

/** Whether a metric says that a sample failed: it did not pass; of a metric that draws no line, its score is 0 where more is better. */
function failsBy(row, metric) {
  const pass = rows.pass[metric][row];
  return pass === 0 || (pass < 0 && rows.scores[metric][row] === 0 && natureOf(rows.task[row], metric).direction > 0);
}

/** Not scored, or failed by some metric. */
function isFailed(row) {
  const outcome = names.outcomes[rows.outcome[row]];
  if (UNFINISHED.includes(outcome)) return false;
  if (outcome !== "scored") return true;
  return names.metrics.some((_, metric) => failsBy(row, metric));
}

/** How many samples are gone through before the page draws and listens. */
const STRIDE = 8192;

/** Samples of a run by task and id, repeats together. One whose id occurs twice has no partner. */
async function samplesOf(run) {
  const repeats = new Map(head.runs[run].tasks.map((task) => [names.tasks.indexOf(task.task_id), task.repeat]));
  const found = new Map();
  for (let row = 0; row < rows.length; row += 1) {
    if (row % STRIDE === 0) await breathe();
    if (rows.run[row] !== run) continue;
    const number = Math.floor(rows.index[row] / (repeats.get(rows.task[row]) ?? 1));
    const key = `${rows.task[row]} ${rows.id[row]}`;
    const sample = found.get(key);
    if (!sample) found.set(key, { number, rows: [row], isDouble: false });
    else if (sample.number === number) sample.rows.push(row);
    else sample.isDouble = true;
  }
  return found;
}

/** Scores beyond it are too large to compare. */
const LARGEST_COMPARED = 1e100;

/** The mean over the repeats of a sample: of its scores, or, where the metric counts what passes, of that. */
function meanOf(sample, metric, countsPasses) {
  const counted = (row) => (!countsPasses ? rows.scores[metric][row] : rows.pass[metric][row] < 0 ? NaN : rows.pass[metric][row]);
  const values = sample.rows.map(counted).filter((value) => Math.abs(value) <= LARGEST_COMPARED);
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : NaN;
}

/** By how much a sample is better than its partner, for each metric. */
function gainsOf(sample, partner) {
  return names.metrics.map((_, metric) => {
    const { direction, countsPasses } = natureOf(rows.task[sample.rows[0]], metric);
    return direction * (meanOf(sample, metric, countsPasses) - meanOf(partner, metric, countsPasses));
  });
}

/** Finds the partner of each sample in the first run, and how its score changed: the largest loss, else the largest gain. */
async function pairRuns() {
  if (head.runs.length < 2) return;
  rows.gains = names.metrics.map(() => new Float64Array(rows.length).fill(NaN));
  const base = await samplesOf(0);
  let done = 0;
  for (let run = 1; run < head.runs.length; run += 1) {
    for (const [key, sample] of await samplesOf(run)) {
      done += 1;
      if (done % STRIDE === 0) await breathe();
      const partner = base.get(key);
      if (!partner || partner.isDouble || sample.isDouble || rows.content[partner.rows[0]] !== rows.content[sample.rows[0]]) continue;
      const gains = gainsOf(sample, partner);
      const known = gains.filter((gain) => !Number.isNaN(gain));
      const worst = Math.min(...known);
      const change = known.length === 0 ? NaN : worst < 0 ? worst : Math.max(...known);
      const note = (row, other) => {
        rows.partner[row] = other;
        rows.change[row] = change;
        gains.forEach((gain, metric) => { rows.gains[metric][row] = gain; });
      };
      sample.rows.forEach((row, repeat) => note(row, partner.rows[repeat] ?? partner.rows[0]));
      if (run === 1) partner.rows.forEach((row, repeat) => note(row, sample.rows[repeat] ?? sample.rows[0]));
    }
  }
}

/** Blocks of excerpts that are unpacked: all of a page of 250,000 samples. */
const MAX_UNPACKED_EXCERPTS = 64;
const unpackedExcerpts = new Map();

/** The excerpts of a block. */
async function excerptsOf(block) {
  if (!unpackedExcerpts.has(block)) {
    const read = (isPaged ? askForExcerpts(block) : unpackAt("excerpts", block).then(JSON.parse)).then((known) => {
      if (unpackedExcerpts.has(block)) unpackedExcerpts.set(block, known);
      return known;
    });
    read.catch(() => unpackedExcerpts.delete(block));
    unpackedExcerpts.set(block, read);
    if (unpackedExcerpts.size > MAX_UNPACKED_EXCERPTS) unpackedExcerpts.delete(unpackedExcerpts.keys().next().value);
  }
  return unpackedExcerpts.get(block);
}

/** The block of a sample's excerpts, and its place there. */
const excerptBlockOf = (row) => (isPaged ? Math.floor(row / EXCERPT_ROWS) : rows.part[row]);
const placeOfExcerpt = (row) => (isPaged ? row % EXCERPT_ROWS : row - firstRows[rows.part[row]]);

/** The excerpts of the block of a sample, if they are unpacked. */
function knownExcerpts(row) {
  const known = unpackedExcerpts.get(excerptBlockOf(row));
  return known instanceof Promise ? undefined : known;
}

/** What a list shows of the texts of a sample: {input, target, answer}. Null as long as they are not unpacked; then `whenKnown` is called. */
function excerptOf(row, whenKnown) {
  const known = knownExcerpts(row);
  if (known === undefined) {
    excerptsOf(excerptBlockOf(row)).then(whenKnown, (error) => complain(`The excerpts cannot be read: ${error.message}.`));
    return null;
  }
  const place = placeOfExcerpt(row);
  return { input: known.input[place], target: known.target[place], answer: known.answer[place] };
}

/** The lines of a block of texts; the last few blocks stay unpacked. */
const unpacked = new Map();
async function linesOf(block) {
  if (!unpacked.has(block)) {
    const lines = unpackAt("texts", block).then((text) => text.split("\n"));
    // What failed is tried once more when it is asked for again.
    lines.catch(() => unpacked.delete(block));
    unpacked.set(block, lines);
    if (unpacked.size > 6) unpacked.delete(unpacked.keys().next().value);
  }
  return unpacked.get(block);
}

/** Everything that is known of a sample; null where a file has no texts of it. A quick answer of a server may lack requests and times. */
async function textOf(row, isQuick = false) {
  if (rows.text[row] === NO_TEXT) return (await findServer()) ? askForText(row, isQuick) : null;
  const lines = await linesOf(rows.text[row]);
  return JSON.parse(lines[rows.line[row]]);
}
