// The address of what is shown: filters, order, columns and the open sample are behind its #, so that a link can be sent.

/** True while the page is made to show what its address says, and before. */
let isFollowing = true;

/** What is shown, by the keys of the address. Names stand for numbers, which another report may give to something else. */
function shownState() {
  const { query, where, run, task, outcome, tag, error, change, order, isFailed } = wanted();
  const withMetric = (text) => text.replace(/ (\d+)$/, (_, metric) => ` ${names.metrics[metric]}`);
  const row = byId("detail").open ? openRow : undefined;
  return {
    q: query, where, run: run === defaultRun() ? "" : run === "" ? "all" : head.runs[run].run_id, task: names.tasks[task] ?? "", outcome: names.outcomes[outcome] ?? "",
    tag: names.tags[tag] ?? "", error: errorGroups[error]?.key ?? "", change: withMetric(change), order: withMetric(order), failed: isFailed ? "1" : "",
    columns: isDefaultColumns() ? "" : listColumns.join(","), ...(row === undefined ? {} : keysOfSample(row)), text: isSource ? "source" : "",
  };
}

/**
 * What an address says of a sample: its id, and its task, run and index if several samples have this id. Of many samples, the
 * page does not know the ids, so their address has the index.
 */
function keysOfSample(row) {
  const keys = { sample: idOf(row) };
  const further = { sample_task: names.tasks[rows.task[row]], sample_run: head.runs[rows.run[row]].run_id, sample_index: String(rows.index[row]) };
  if (isPaged) return { ...keys, sample_task: names.tasks.length > 1 ? further.sample_task : "", sample_index: further.sample_index };
  for (const [key, value] of Object.entries(further)) {
    if (sampleOf(keys) === row) break;
    keys[key] = value;
  }
  return keys;
}

/** The first sample that has these keys, and of several runs that of the listed one; -1 without one. */
function sampleOf({ sample, sample_task: task, sample_run: run, sample_index: index }) {
  let found = -1;
  for (let row = 0; row < rows.length; row += 1) {
    if (index !== undefined && rows.index[row] !== +index) continue;
    if (isPaged ? index === undefined : rows.id[row] !== sample) continue;
    if (task !== undefined && names.tasks[rows.task[row]] !== task) continue;
    if (run !== undefined && head.runs[rows.run[row]].run_id !== run) continue;
    if (found < 0 || (rows.run[found] !== +defaultRun() && rows.run[row] === +defaultRun())) found = row;
  }
  return found;
}

function addressOf(state) {
  const parts = Object.entries(state).filter(([, value]) => value !== "");
  return parts.length > 0 ? `#${new URLSearchParams(parts)}` : location.href.split("#")[0];
}

/** Writes what is shown into the address; as a step that the browser can go back from where `isStep`. */
function writeAddress(isStep) {
  if (isFollowing) return;
  const address = addressOf(shownState());
  if (address === (location.hash || location.href.split("#")[0])) return;
  try {
    history[isStep ? "pushState" : "replaceState"](null, "", address);
  } catch {
    // Some browsers limit how often, or refuse it for a file. The page works without.
  }
}

const placeOrNone = (known, name) => (known.indexOf(name) < 0 ? "" : String(known.indexOf(name)));

/** Shows what the address says. */
async function followAddress() {
  const given = location.hash.slice(1);
  // An anchor of a section.
  if (given !== "" && !given.includes("=")) return;
  const state = new URLSearchParams(given);
  const of = (key) => state.get(key) ?? "";
  const withMetric = (text) => text.replace(/^(low|high|worse|better) (.+)$/, (_, by, name) => `${by} ${placeOrNone(names.metrics, name)}`);
  isFollowing = true;
  try {
    resetFilters();
    const run = head.runs.findIndex((one) => one.run_id === of("run"));
    if (of("run") === "all") byId("run").value = "";
    else if (run >= 0) byId("run").value = run;
    byId("query").value = of("q");
    byId("where").value = of("where");
    byId("task").value = placeOrNone(names.tasks, of("task"));
    byId("outcome").value = placeOrNone(names.outcomes, of("outcome"));
    byId("tag").value = placeOrNone(names.tags, of("tag"));
    byId("error").value = placeOrNone(errorGroups.map((group) => group.key), of("error"));
    byId("change").value = withMetric(of("change"));
    setOrder(withMetric(of("order")));
    byId("failed").checked = of("failed") === "1";
    isSource = of("text") === "source";
    chooseColumns(of("columns"));
    chosen = 0;
    select();
    await followSample(Object.fromEntries([...state].filter(([key]) => key.startsWith("sample"))));
  } finally {
    isFollowing = false;
  }
}

/** What was said of an address whose sample is missing. */
let missingSample = null;

/** Opens the sample of an address, or closes the open one. */
async function followSample(keys) {
  if (missingSample !== null && byId("notice").textContent === missingSample) byId("notice").hidden = true;
  if (keys.sample === undefined) {
    if (byId("detail").open) byId("detail").close();
    return;
  }
  const found = sampleOf(keys);
  if (found >= 0) {
    await openRowDetail(found);
    return;
  }
  if (byId("detail").open) byId("detail").close();
  const further = isPaged && keys.sample_index === undefined ? " The address of a sample of this run needs its sample_index as well." : " Search for a part of its id.";
  missingSample = `This report has no sample “${visible(keys.sample).slice(0, 200)}”${keys.sample_task === undefined ? "" : ` of the task “${visible(keys.sample_task).slice(0, 200)}”`}.${further}`;
  complain(missingSample);
}

function listenToAddress() {
  // An address that somebody types or opens has no state, nor has a step back.
  window.addEventListener("popstate", () => followAddress().catch((error) => complain(error.message)));
  // Links to sections leave the address as it is.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link) return;
    event.preventDefault();
    const section = byId(link.getAttribute("href").slice(1));
    section?.scrollIntoView();
    if (section?.tabIndex === -1) section.focus({ preventScroll: true });
  });
}
