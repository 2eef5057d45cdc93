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
    columns: isDefaultColumns() ? "" : listColumns.join(","), sample: row === undefined ? "" : `${rows.index[row]}.${rows.run[row]}.${names.tasks[rows.task[row]]}`,
    text: isSource ? "source" : "",
  };
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
    byId("order").value = withMetric(of("order"));
    byId("failed").checked = of("failed") === "1";
    isSource = of("text") === "source";
    chooseColumns(of("columns"));
    chosen = 0;
    select();
    await followSample(of("sample"));
  } finally {
    isFollowing = false;
  }
}

/** Opens the sample of an address, INDEX.RUN.TASK, or closes the open one. */
async function followSample(text) {
  const [, index, run, task] = /^(\d+)\.(\d+)\.(.*)$/s.exec(text) ?? [];
  if (index === undefined) {
    if (byId("detail").open) byId("detail").close();
    return;
  }
  let found = -1;
  for (let row = 0; row < rows.length && found < 0; row += 1) {
    if (rows.index[row] === +index && rows.run[row] === +run && names.tasks[rows.task[row]] === task) found = row;
  }
  if (found < 0) complain("The sample of this address is not in the report.");
  else await openRowDetail(found);
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
