// Reads the page, shows it, and listens.

function showSections() {
  const shown = [...document.querySelectorAll("main > section[aria-labelledby]")].filter((section) => !section.hidden);
  byId("sections").replaceChildren(...shown.map((section) => make("a", { href: `#${section.id}` }, section.querySelector("h2").textContent)));
}

const isTyping = (element) => element.matches("input:not([type=checkbox]), select, textarea");

function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isOpen = byId("detail").open;
    if (event.key === "Escape" && event.target === byId("query")) {
      byId("list").focus();
      return;
    }
    if (event.key === "Enter" && event.target === byId("query")) {
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
    } else if (event.key === "/" && !isOpen) {
      event.preventDefault();
      byId("query").focus();
      byId("query").select();
    }
  });
  byId("detail").addEventListener("close", () => byId("list").focus());
}

function listenToFilters() {
  const form = byId("filters");
  let waiting = 0;
  const begin = () => { chosen = 0; select(); };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", (event) => { if (event.target.id !== "query") begin(); });
  byId("query").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(begin, 150);
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    resetFilters();
    begin();
  });
}

async function start() {
  chooseTheme();
  await readPage();
  byId("samples").hidden = rows.length === 0;
  for (const show of [showOverview, showComparisons, showFigures, showOutcomes, showDistributions, showTiming, showPlugins]) {
    await show();
    await breathe();
  }
  prepareFilters();
  listenToList();
  listenToKeys();
  listenToFilters();
  select();
  showSections();
  byId("notice").hidden = true;
  document.documentElement.dataset.ready = "";
}

start().catch((error) => {
  complain(`This report cannot be shown: ${error.message}. It needs a browser of 2024 or later.`);
});
