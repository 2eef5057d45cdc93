// The list of samples: only the rows that are seen are there.

/** Place of the chosen sample in the list. */
let chosen = 0;
/** Browsers cannot lay out more pixels than some millions; beyond it the bar moves faster than the rows. */
const TALLEST = 8e6;

const rowHeight = () => parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row"));
const isNarrow = () => matchMedia("(max-width: 760px)").matches;

/** Shows the list as it is now: from the chosen sample on, or scrolled to a place in pixels. */
function showList(top = null) {
  chooseMetrics();
  chosen = Math.min(chosen, Math.max(0, selected.length - 1));
  layOut();
  showNoMatch();
  byId("spacer").style.height = `${Math.min(TALLEST, selected.length * rowHeight())}px`;
  // No higher than the listed samples, and room for one without any.
  byId("list").style.maxHeight = `${Math.max(1, selected.length) * rowHeight() + 2}px`;
  // As far as the bar of the list takes room.
  byId("heading").style.paddingRight = `${byId("list").offsetWidth - byId("list").clientWidth + 8}px`;
  byId("list").scrollTop = top === null ? topOf(chosen) : top * scale();
  showRows();
  showMarks();
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
  // Of many samples, the excerpts have the ids.
  if (isPaged) excerptOf(row, showRowsSoon);
  return make("div", {
    class: marked.has(row) ? "row marked" : "row", role: "option", id: `row-${place}`, "aria-selected": String(place === chosen), "aria-setsize": selected.length, "aria-posinset": place + 1, "data-place": place,
  }, markHits(make("span", { class: "id", dir: "auto", title: visible(idOf(row)) }, visible(idOf(row)))), shownColumns.flatMap((name) => cellOf(name, row)));
}

/** Draws the rows again when excerpts have been unpacked, several blocks at once. */
let isDrawingSoon = false;
function showRowsSoon() {
  if (isDrawingSoon) return;
  isDrawingSoon = true;
  requestAnimationFrame(() => { isDrawingSoon = false; showRows(); });
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

/** Says so if no sample fits, unless texts are still being searched. */
function showNoMatch() {
  const isEmpty = selected.length === 0 && rows.length > 0 && !isSearching;
  byId("no-match").hidden = !isEmpty;
  byId("list").hidden = isEmpty;
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
  // Rows are higher on a phone, which may be turned, and a narrow window has room for fewer columns.
  let [height, width] = [rowHeight(), 0];
  new ResizeObserver(() => {
    const [isSameHeight, isSameWidth] = [rowHeight() === height, listed.clientWidth === width];
    [height, width] = [rowHeight(), listed.clientWidth];
    if (isSameHeight && isSameWidth) showRows();
    else showList(isSameHeight ? listed.scrollTop / scale() : null);
  }).observe(listed);
}
