// Reads the page, shows it, and listens.

function showSections() {
  const shown = [...document.querySelectorAll("main > section[aria-labelledby]")].filter((section) => !section.hidden);
  byId("sections").replaceChildren(...shown.map((section) => make("a", { href: `#${section.id}` }, section.querySelector("h2").textContent)));
}

const isFilterText = (element) => element === byId("query") || element === byId("where");
const isTyping = (element) => element.matches("input:not([type=checkbox]), select, textarea");

function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isOpen = byId("detail").open;
    if (event.key === "Escape" && !isOpen && closeColumns()) {
      columnMenu().querySelector("summary").focus();
      return;
    }
    if (event.key === "Escape" && isFilterText(event.target)) {
      byId("list").focus();
      return;
    }
    if (event.key === "Enter" && isFilterText(event.target)) {
      event.preventDefault();
      byId("list").focus();
      return;
    }
    if (isTyping(event.target)) return;
    const inList = event.target === byId("list");
    const page = Math.max(1, Math.floor(byId("list").clientHeight / rowHeight()) - 1);
    const steps = { j: 1, k: -1, ...(inList ? { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity } : {}) };
    if (event.key in steps) {
      event.preventDefault();
      if (isOpen) stepBy(steps[event.key]);
      else {
        byId("list").focus();
        goTo(chosen + steps[event.key]);
      }
    } else if (event.key === "Enter" && inList) {
      event.preventDefault();
      openDetail();
    } else if (event.key === "x" && (isOpen || inList)) {
      const row = isOpen ? openRow : selected[chosen];
      if (row !== undefined) mark(row);
      if (isOpen) showDetail(row);
    } else if (event.key === "s" && !isOpen) {
      byId("samples").scrollIntoView();
      byId("list").focus({ preventScroll: true });
    } else if (event.key === "m" && isOpen) {
      toggleSource();
    } else if (event.key === "/" && !isOpen) {
      event.preventDefault();
      byId("query").focus();
      byId("query").select();
    }
  });
  byId("detail").addEventListener("close", () => {
    byId("list").focus({ preventScroll: isFollowing });
    writeAddress(true);
  });
}

function listenToFilters() {
  const form = byId("filters");
  let waiting = 0;
  const begin = (isStep) => { chosen = 0; select(); writeAddress(isStep); };
  const typed = ["query", "where"];
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", (event) => { if (!typed.includes(event.target.id)) begin(true); });
  byId("where").addEventListener("input", offerConditions);
  byId("no-match").querySelector("button").addEventListener("click", () => form.reset());
  byId("fold").addEventListener("click", () => byId("fold").setAttribute("aria-expanded", String(form.classList.toggle("unfolded"))));
  for (const id of typed) {
    byId(id).addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => begin(false), 150);
    });
  }
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    resetFilters();
    begin(true);
  });
}

/** Shows the samples that have arrived so far. */
function showArrived() {
  byId("samples").hidden = rows.length === 0;
  prepareFilters();
  select(true);
  say(selected.length, rows.length, "; further ones are being read");
}

/** Shows what the address asks for, or all samples in place of those that had arrived. */
async function showAll() {
  byId("samples").hidden = rows.length === 0;
  prepareFilters();
  if (location.hash.includes("=")) await followAddress();
  else {
    isFollowing = false;
    select(true);
  }
}

async function start() {
  chooseTheme();
  await readHead();
  for (const listen of [listenToList, listenToColumns, listenToKeys, listenToFilters, listenToExport, listenToAddress]) listen();
  // What is known of whole runs need not wait for their samples.
  if (head.runs.every((run) => run.summary)) showOverview();
  showComparisons();
  showFigures();
  showSections();
  await (isPaged ? readPagedSamples : readSamples)(showArrived);
  const problem = await readNotes().then(() => null, (error) => `The notes cannot be read: ${error.message}`);
  for (const show of [showOverview, showErrors, showOutcomes]) show();
  byId("notice").hidden = true;
  await showAll();
  showSections();
  for (const show of [showDistributions, showTiming, showPlugins]) {
    await breathe();
    await show();
  }
  showSections();
  if (problem) complain(problem);
  if (blocks("end").length === 0) complain("The report is incomplete: its end is missing. Load or write it again.");
  document.documentElement.dataset.ready = "";
}

start().catch((error) => {
  complain(`This report cannot be shown: ${error.message}. It needs a browser of 2024 or later.`);
});
