// Makes elements. Text of others only ever becomes text.

const byId = (id) => document.getElementById(id);

/** An element; attributes that are null, undefined or false are left out, functions listen. */
function make(name, attributes, ...children) {
  return dress(document.createElement(name), attributes, children);
}

/** The same of a drawing. */
function draw(name, attributes, ...children) {
  return dress(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function dress(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  const shown = children.flat().filter((child) => child !== null && child !== undefined && child !== false);
  element.append(...shown.flatMap((child) => (typeof child === "string" ? inPieces(child) : [child])));
  return element;
}

/** Letters without a blank, beyond which a text is handed over in pieces; and how long these are. */
const LONGEST_WORD = 1000;
const PIECE = /[^\s]{1,250}[\p{M}\u200d]{0,16}/gu;

/**
 * A text as nodes. To break a line within a word a browser lays the word out anew up to where letters neither join, kern
 * nor combine; where that is nowhere every line costs all the rest of the word, and 60,000 letters seconds.
 * Behind each of these pieces a line may end, so that a line costs no more than a piece.
 */
function inPieces(text) {
  if (text.length <= LONGEST_WORD) return [text];
  return text.split(/([^\s]{1000,100000})/u).flatMap((part, place) => {
    if (part === "") return [];
    if (place % 2 === 0) return [part];
    return part.match(PIECE).flatMap((piece) => [piece, document.createElement("wbr")]);
  });
}

/** Text with its control characters, marks of direction and invisible characters shown rather than obeyed. */
function visible(text) {
  return String(text)
    .replace(/[\u0000-\u0008\u000b-\u001f]/g, (character) => String.fromCharCode(0x2400 + character.charCodeAt(0)))
    .replace(/[\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]/gu, (character) =>
      `‹U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

const whole = new Intl.NumberFormat("en");
const count = (number) => whole.format(number);
/** A share, rounded down: only the whole is 100 %. */
const percent = (share) => (share === null || share === undefined ? "–" : `${(Math.floor(1000 * share + 1e-9) / 10).toFixed(1)} %`);

/** How many samples have a score, of how many; `+` where nobody knows how many there are. */
const ofSamples = (figure) => `${count(figure.n)} of ${count(figure.total)}${figure.total_is_least ? "+" : ""}`;
/** The share of them; where nobody knows how many there are it is at most that. */
const covered = (figure) => `${figure.total_is_least ? "≤ " : ""}${percent(figure.coverage)}`;

/** A score: four digits behind the point, fewer where it is large. */
function score(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.0001 || size >= 1e7)) return value.toExponential(3).replace("e+", "e").replaceAll("-", "−");
  return value.toFixed(size >= 1000 ? 1 : size >= 10 ? 2 : 4).replace("-", "−");
}

/** A score in a sentence: whole numbers without digits behind the point. */
const shortScore = (value) => (Number.isInteger(value) && Math.abs(value) < 1e7 ? String(value).replace("-", "−") : score(value).replace(/(\.\d*?)0+$/, "$1"));

const signed = (value) => (value > 0 ? `+${score(value)}` : score(value));
const range = (interval) => (interval ? `[${score(interval.low)}, ${score(interval.high)}]` : "–");

function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined || Number.isNaN(milliseconds)) return "–";
  if (milliseconds > 0 && milliseconds < 0.1) return `${(milliseconds * 1000).toFixed(1)} µs`;
  if (milliseconds < 1000) return `${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const pValue = (value) => (value < 0.0001 ? "< 0.0001" : value.toFixed(4));

/** So many of a thing: `1 sample`, `1,000 samples`. */
const counted = (number, thing) => `${count(number)} ${thing}${number === 1 ? "" : "s"}`;

/** Most columns that a phone has room for; a row of more becomes a card there. */
const MOST_NARROW = 4;
/** Cells beside each other in a card. */
const CARD_COLUMNS = 3;

/**
 * A table. A column is [heading, isNumber, place]; a cell is text, a node, or a list of them. A row may be
 * {cells, begins}: a rule is drawn above one that begins a group. A row {whole} has one cell as wide as the table. On a phone the columns before the first number are the
 * title of a card, those whose place is "decisive" come behind it, and those that are "wide" have room for two.
 */
function table(columns, rows, caption) {
  const isCards = columns.length > MOST_NARROW;
  const role = (name) => (isCards ? name : null);
  const titles = columns.findIndex(([, isNumber]) => isNumber);
  // The last part of a title has what the others leave.
  const room = CARD_COLUMNS - ((titles + CARD_COLUMNS - 1) % CARD_COLUMNS);
  const classOf = (position) => [
    columns[position][1] && "number", columns[position][2], position < titles && "title", isCards && position === titles - 1 && `room-${room}`,
  ].filter(Boolean).join(" ") || null;
  const heading = ([text], position) => make("th", { class: columns[position][1] && "number", scope: "col", role: role("columnheader") }, text);
  const cell = (content, position) => make(position === 0 ? "th" : "td", {
    class: classOf(position), scope: position === 0 ? "row" : null, role: role(position === 0 ? "rowheader" : "cell"), "data-heading": columns[position][0] || null,
  }, content ?? "");
  const whole = (content) => make("td", { class: "whole", colspan: columns.length, role: role("cell") }, content);
  const body = rows.map((row) => make("tr", { class: row.begins && "begins", role: role("row") }, row.whole === undefined ? (row.cells ?? row).map(cell) : whole(row.whole)));
  return make("div", { class: "scroll" }, make("table", { class: isCards && "cards", role: role("table") },
    caption ? make("caption", {}, caption) : null,
    make("thead", { role: role("rowgroup") }, make("tr", { role: role("row") }, columns.map(heading))),
    make("tbody", { role: role("rowgroup") }, body)));
}

/** What stands in the row above already: only cards, which stand alone, say it once more. */
const again = (content) => make("span", { class: "again" }, content);

function folded(label, ...content) {
  return make("details", {}, make("summary", {}, label), ...content);
}

function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== false && value !== "");
  return make("dl", { class: "facts" }, known.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

/** A name that a narrow table shortens; its whole is shown where the pointer rests on it. */
const ident = (name) => make("span", { class: "ident", title: visible(name) }, visible(name));

/** Says what went wrong, above everything else. */
function complain(text) {
  const notice = byId("notice");
  notice.textContent = text;
  notice.hidden = false;
}

/** Lets the page draw and listen before what follows. */
const breathe = () => new Promise((resolve) => setTimeout(resolve));
