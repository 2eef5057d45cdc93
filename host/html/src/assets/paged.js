// The samples of a run with many, which the server of the page sends in blocks: numbers first, texts when their rows are seen.

/** True if the page has no samples of its own. Known as soon as the head is. */
let isPaged = false;

/** Samples in a block of excerpts, as the server makes them. */
const EXCERPT_ROWS = 4096;
/** Blocks that are asked for before they are needed. Browsers open six connections. */
const MAX_PARALLEL_BLOCKS = 5;
/** Bytes of a block after it is unpacked: 16,384 samples with hundreds of metrics have fewer. */
const MAX_BLOCK_BYTES = 256 * 2 ** 20;
/** How long blocks may have arrived before a reader sees them, in milliseconds. */
const MAX_UNSEEN_BLOCKS_TIME = 1000;
/** How long to wait before the server is asked again for blocks that it is making, in milliseconds. */
const STATUS_PAUSE = 300;
/** In a packed block, a sample without a value of a key. */
const NO_VALUE = 255;

/** Ids of samples that were opened, whose excerpts may not be known. */
const openedIds = new Map();

/** The id of a sample; empty as long as it is not known. */
function idOf(row) {
  return rows.id[row] ?? openedIds.get(row) ?? knownExcerpts(row)?.id?.[placeOfExcerpt(row)] ?? "";
}

/** What the server answers, unless it refuses. */
async function askServer(what, options) {
  const response = await fetch(dataAddress(0, what), options);
  if (!response.ok) throw new Error(visible((await response.text()).trim()));
  return response;
}

/** A block of the server, as bytes. The browser has unpacked it. */
async function blockOf(what) {
  const reader = (await askServer(what)).body.getReader();
  const pieces = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > MAX_BLOCK_BYTES) {
      await reader.cancel();
      throw new Error("a block of the page is too large");
    }
    pieces.push(value);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** The columns of a packed block: its head, and numbers without a copy. Its format is in packed.rs. */
function unpackColumns(bytes) {
  const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  let at = 8 + length;
  const take = (Kind) => {
    const column = new Kind(bytes.buffer, at, head.rows);
    at += column.byteLength;
    return column;
  };
  const [index, latency, finished, tokens] = [0, 0, 0, 0].map(() => take(Float64Array));
  const scores = head.metrics.map(() => take(Float64Array));
  const [task, outcome] = [take(Uint16Array), take(Uint8Array)];
  const pass = head.metrics.map(() => take(Int8Array));
  const metadata = head.metadata.map(({ key, values, is_unlisted }) => [key, { values, is_unlisted, of: take(Uint8Array) }]);
  return { ...head, index, latency, finished, tokens, scores, task, outcome, pass, metadata };
}

/** Adds the columns of a packed block. Most of them are copied as a whole: a run may have a million samples. */
function readPacked(part, start) {
  const end = start + part.rows;
  const tasks = part.tasks.map((name) => placeIn(names.tasks, name));
  const outcomes = part.outcomes.map((name) => placeIn(names.outcomes, name));
  const tags = part.tags.map((name) => placeIn(names.tags, name));
  rows.run.fill(part.run, start, end);
  rows.part.fill(firstRows.length - 1, start, end);
  for (const name of ["index", "latency", "tokens"]) rows[name].set(part[name], start);
  const [task, outcome, finished] = [rows.task, rows.outcome, rows.finished];
  let moment = 0;
  for (let number = 0; number < part.rows; number += 1) {
    task[start + number] = tasks[part.task[number]];
    outcome[start + number] = outcomes[part.outcome[number]];
    const step = part.finished[number];
    if (step === step) moment += step;
    finished[start + number] = step === step ? moment : NaN;
  }
  part.metrics.forEach((name, metric) => {
    const [column, scores, known] = [columnOf(name), part.scores[metric], new Uint8Array(part.tasks.length)];
    rows.scores[column].set(scores, start);
    rows.pass[column].set(part.pass[metric], start);
    for (let number = 0; number < part.rows; number += 1) if (scores[number] === scores[number]) known[part.task[number]] = 1;
    tasks.forEach((place, own) => { if (known[own]) (metricsOfTasks[place] ??= new Set()).add(column); });
  });
  for (const [number, tag] of part.tagged) (rows.tags[start + number] ??= []).push(tags[tag]);
}

const pageStatus = async () => (await askServer("page")).json();

/** Reads the columns of all samples from the server, and calls `whenMore` now and then. */
async function readPagedSamples(whenMore) {
  const status = await pageStatus();
  if (!status.is_complete) return showHeadOfRun(status, whenMore);
  makeRoom(status.rows);
  const asked = [];
  let shown = -Infinity;
  for (let next = 0; next < status.columns || asked.length > 0;) {
    for (; next < status.columns && asked.length < MAX_PARALLEL_BLOCKS; next += 1) {
      asked.push(blockOf(`columns/${next}`));
      // An error is reported when it is the block's turn.
      asked.at(-1).catch(() => {});
    }
    addPart(unpackColumns(await asked.shift()));
    // The first block at once. To list a million samples takes a tenth of a second.
    if (performance.now() - shown < MAX_UNSEEN_BLOCKS_TIME) continue;
    whenMore();
    await breathe();
    shown = performance.now();
  }
}

/** Shows the first samples while the server makes the blocks of all, and then loads the page again. */
async function showHeadOfRun(first, whenMore) {
  for (let status = first; ; status = await pageStatus()) {
    if (status.problem) return readWholePage();
    if (status.is_complete) {
      location.reload();
      return new Promise(() => {});
    }
    if (rows.length === 0 && status.columns > 0) {
      addPart(unpackColumns(await blockOf("columns/0")));
      whenMore();
      byId("notice").textContent = "These are the first samples. All of them are being prepared…";
    }
    await new Promise((resolve) => setTimeout(resolve, STATUS_PAUSE));
  }
}

/** Loads the page with all samples, because the server cannot make blocks. The server logs the reason. */
function readWholePage() {
  location.replace(`${location.pathname}?whole=1${location.hash}`);
  return new Promise(() => {});
}

/** A block of excerpts of the server. */
async function askForExcerpts(block) {
  const known = JSON.parse(new TextDecoder().decode(await blockOf(`excerpts/${block}`)));
  if (!["id", "input", "target", "answer"].every((name) => Array.isArray(known?.[name]))) throw new Error("a block of excerpts is damaged");
  return known;
}

/** The search that goes on at the server. */
let serverSearch = null;

/** Ends the search at the server, if there is one. */
function endServerSearch() {
  serverSearch?.abort();
  serverSearch = null;
}

/** What limited a search, in words. */
const SEARCH_LIMITS = { time: "the search took too long", results: "the search found too many" };

/** Lists the samples that the server finds, while it finds them. */
async function searchServer(candidates, filters, search) {
  serverSearch = new AbortController();
  const response = await askServer(`search?${new URLSearchParams({ q: filters.query })}`, { signal: serverSearch.signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let [rest, state, shown, isNew] = ["", { searched: 0 }, performance.now(), false];
  for (;;) {
    const { done, value } = await reader.read();
    if (search !== searches) return;
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const found = JSON.parse(line);
      if (typeof found !== "number") state = found;
      else if (found < hits.length) [hits[found], isNew] = [1, true];
    }
    if (performance.now() - shown < MAX_UNSEEN_TIME) continue;
    if (isNew) list(candidates, filters, true);
    isNew = false;
    say(selected.length, rows.length, `; searching, ${Math.floor((100 * state.searched) / rows.length)} %`);
    shown = performance.now();
  }
  if (state.problem) throw new Error(visible(state.problem));
  list(candidates, filters, true);
  const limit = SEARCH_LIMITS[state.ended_by];
  const notes = limit ? [`${limit}: only the first ${counted(state.searched, "sample")} were searched`] : [];
  if (state.too_long > 0) notes.push(`${counted(state.too_long, "sample")} of more than 16 MiB ${state.too_long === 1 ? "was" : "were"} not searched`);
  if (notes.length > 0) say(selected.length, rows.length, `; ${notes.join("; ")}`);
}
