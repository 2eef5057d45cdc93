// The data of the page: columns of all samples, and their texts on demand.

/** Everything that lists and plots need, a place for each sample. */
const rows = {
  length: 0, run: null, task: null, outcome: null, index: null, latency: null, finished: null, tokens: null,
  text: null, line: null, change: null, partner: null, id: [], content: [], tags: [], scores: [], pass: [], gains: [],
};
const names = { tasks: [], outcomes: [], metrics: [], tags: [] };
let head = { runs: [], comparisons: [] };
let textBlocks = [];
/** Stands for the block of a sample whose texts are not in the page. */
const NO_TEXT = 0xffffffff;
/** For each run, of every how many samples the first has its texts in the page. */
const textsEvery = [];

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

async function readPage() {
  head = JSON.parse(await unpack(blocks("head")[0]));
  // They stand in sentences, tables and labels.
  for (const run of head.runs) run.run_id = visible(run.label ?? run.run_id);
  head.comparisons.forEach((comparison, place) => {
    comparison.base.run_id = head.runs[0].run_id;
    comparison.new.run_id = head.runs[place + 1].run_id;
  });
  textBlocks = blocks("texts");
  const parts = [];
  for (const block of blocks("columns")) {
    parts.push(JSON.parse(await unpack(block)));
    await breathe();
  }
  await readColumns(parts);
  await pairRuns();
}

const placeIn = (known, name) => {
  const place = known.indexOf(name);
  return place < 0 ? known.push(name) - 1 : place;
};

async function readColumns(parts) {
  const length = parts.reduce((sum, part) => sum + part.index.length, 0);
  Object.assign(rows, {
    length, run: new Uint16Array(length), task: new Uint16Array(length), outcome: new Uint8Array(length),
    index: new Float64Array(length), latency: new Float64Array(length), finished: new Float64Array(length),
    tokens: new Float64Array(length), text: new Uint32Array(length), line: new Uint16Array(length),
    change: new Float64Array(length).fill(NaN), partner: new Int32Array(length).fill(-1),
  });
  let start = 0;
  let text = 0;
  // The number of samples of each run so far.
  const before = [];
  for (const part of parts) {
    readPart(part, start);
    before[part.run] ??= 0;
    textsEvery[part.run] = part.texts_every;
    let [block, line] = [0, 0];
    const further = new Set(part.further_texts);
    for (let place = start; place < start + part.index.length; place += 1, before[part.run] += 1) {
      if (before[part.run] % part.texts_every && !further.has(place - start)) {
        rows.text[place] = NO_TEXT;
        continue;
      }
      while (line >= part.texts[block]) [block, line] = [block + 1, 0];
      rows.text[place] = text + block;
      rows.line[place] = line;
      line += 1;
    }
    text += part.texts.length;
    start += part.index.length;
    await breathe();
  }
}

function readPart(part, start) {
  const tasks = part.tasks.map((name) => placeIn(names.tasks, name));
  const outcomes = part.outcomes.map((name) => placeIn(names.outcomes, name));
  const tags = part.tags.map((name) => placeIn(names.tags, name));
  let finished = 0;
  for (let number = 0; number < part.index.length; number += 1) {
    const place = start + number;
    rows.run[place] = part.run;
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
    const column = placeIn(names.metrics, name);
    rows.scores[column] ??= new Float64Array(rows.length).fill(NaN);
    rows.pass[column] ??= new Int8Array(rows.length).fill(-1);
    part.scores[metric].forEach((value, number) => { rows.scores[column][start + number] = value ?? NaN; });
    part.pass[metric].forEach((value, number) => { rows.pass[column][start + number] = value ?? -1; });
  });
  for (const [number, tag] of part.tagged) (rows.tags[start + number] ??= []).push(tags[tag]);
}

/** How a metric of a task is described, by the first run that has figures of it. */
function figureOf(task, metric) {
  for (const run of head.runs) {
    const found = run.summary?.tasks.find((one) => one.task_id === task)?.metrics.find((one) => one.metric_id === metric);
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

/** Not scored, or by some metric not passed; of a metric that draws no line, the score 0 where more is better. */
function isFailed(row) {
  const outcome = names.outcomes[rows.outcome[row]];
  if (UNFINISHED.includes(outcome)) return false;
  if (outcome !== "scored") return true;
  for (let metric = 0; metric < names.metrics.length; metric += 1) {
    const pass = rows.pass[metric][row];
    if (pass === 0) return true;
    if (pass < 0 && rows.scores[metric][row] === 0 && natureOf(rows.task[row], metric).direction > 0) return true;
  }
  return false;
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

/** The lines of a block of texts; the last few blocks stay unpacked. */
const unpacked = new Map();
async function linesOf(block) {
  if (!unpacked.has(block)) {
    const lines = unpack(textBlocks[block]).then((text) => text.split("\n"));
    // What failed is tried once more when it is asked for again.
    lines.catch(() => unpacked.delete(block));
    unpacked.set(block, lines);
    if (unpacked.size > 6) unpacked.delete(unpacked.keys().next().value);
  }
  return unpacked.get(block);
}

/** Everything that is known of a sample; null where the page has no texts of it. */
async function textOf(row) {
  if (rows.text[row] === NO_TEXT) return null;
  const lines = await linesOf(rows.text[row]);
  return JSON.parse(lines[rows.line[row]]);
}
