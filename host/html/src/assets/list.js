// The list of samples: only the rows that are seen are there.

/** Place of the chosen sample in the list. */
let chosen = 0;
/** Browsers cannot lay out more pixels than some millions; beyond it the bar moves faster than the rows. */
const TALLEST = 8e6;

const rowHeight = () => parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row"));

/** The metrics that have a column: at most three, of the task that is chosen where one is. On a phone, where there is room for one, it is that by which the samples are ordered. */
let shownMetrics = [];
function chooseMetrics() {
  const task = byId("task").value;
  const has = (metric) => task === "" || selected.some((row) => !Number.isNaN(rows.scores[metric][row]));
  const order = /^(?:low|high) (\d+)$/.exec(byId("order").value);
  const first = order && matchMedia("(max-width: 760px)").matches ? +order[1] : -1;
  shownMetrics = names.metrics.map((_, metric) => metric).filter(has).sort((one, other) => (other === first) - (one === first)).slice(0, 3);
}

/** Shows the list as it is now: from the chosen sample on, or scrolled to a place in pixels. */
function showList(top = null) {
  chooseMetrics();
  chosen = Math.min(chosen, Math.max(0, selected.length - 1));
  const root = document.documentElement.style;
  root.setProperty("--metrics", Math.max(1, shownMetrics.length));
  root.setProperty("--changed", isSeveral() ? "104px" : "0px");
  const cell = (name, content) => make("span", { class: name }, content);
  byId("heading").replaceChildren(cell("id", "Sample"), cell("outcome", "Outcome"),
    ...(shownMetrics.length ? shownMetrics.map((metric) => make("span", { class: "number", title: visible(names.metrics[metric]) }, visible(names.metrics[metric]))) : [cell("number", "")]),
    cell("number", isSeveral() ? "Change" : ""), cell("tags", "Tags"), cell("number", "Latency"));
  byId("spacer").style.height = `${Math.min(TALLEST, selected.length * rowHeight())}px`;
  // No higher than all samples are, and as high for some of them.
  byId("list").style.maxHeight = `${rows.length * rowHeight() + 2}px`;
  // As far as the bar of the list takes room.
  byId("heading").style.paddingRight = `${byId("list").offsetWidth - byId("list").clientWidth + 8}px`;
  byId("list").scrollTop = top === null ? topOf(chosen) : top * scale();
  showRows();
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
  const outcome = names.outcomes[rows.outcome[row]];
  const change = changeOf(row);
  const mark = change < 0 ? "▼ " : change > 0 ? "▲ " : "";
  const metrics = shownMetrics.length ? shownMetrics : [-1];
  const tags = (rows.tags[row] ?? []).map((tag) => visible(names.tags[tag])).join(", ");
  return make("div", { class: "row", role: "option", id: `row-${place}`, "aria-selected": String(place === chosen), "aria-setsize": selected.length, "aria-posinset": place + 1, "data-place": place },
    make("span", { class: "id", dir: "auto" }, visible(rows.id[row])),
    make("span", { class: outcome === "scored" ? "outcome" : "outcome unscored" }, (isSeveral() && byId("run").value === "" ? `${head.runs[rows.run[row]].run_id}: ` : "") + named(outcome)),
    metrics.map((metric) => make("span", { class: "score number" }, metric < 0 ? "" : score(rows.scores[metric][row]))),
    make("span", { class: "change number" }, change ? `${mark}${score(Math.abs(change))}` : ""),
    make("span", { class: "tags", title: tags }, tags),
    make("span", { class: "time number" }, Number.isNaN(rows.latency[row]) ? "" : duration(rows.latency[row])));
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
