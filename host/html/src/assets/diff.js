// The difference of two texts, line by line and then word by word, within bounds.

/** Words of a text that are compared one by one; longer texts are compared only at their ends. */
const MAX_DIFF_WORDS = 4000;
/** Words that differ before the rest counts as replaced. Time and memory grow with its square. */
const MAX_DIFF_EDITS = 400;

/** Words and the blanks between them. */
const wordsOf = (text) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];

/** Share of words that two texts have in common, below which they are not compared word by word. */
const LEAST_COMMON = 0.4;

/** How many words two texts have in common, of how many of the longer one; and the share of both. */
function commonWords(before, after) {
  const [old, fresh] = [before, after].map((text) => wordsOf(text).filter((word) => /[\p{L}\p{N}_]/u.test(word)));
  const left = new Map();
  for (const word of old) left.set(word, (left.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of fresh) {
    const number = left.get(word) ?? 0;
    if (number === 0) continue;
    left.set(word, number - 1);
    common += 1;
  }
  return { common, all: Math.max(old.length, fresh.length), share: old.length + fresh.length === 0 ? 1 : (2 * common) / (old.length + fresh.length) };
}

/** The difference as parts: {kind, text}, a kind being same, gone or added. Words are compared only within changed lines. */
function differenceOf(before, after) {
  const lines = (text) => text.match(/[^\n]*\n|[^\n]+/g) ?? [];
  const parts = [];
  let [gone, added] = ["", ""];
  const flush = () => {
    const isAlike = gone !== "" && added !== "" && commonWords(gone, added).share >= LEAST_COMMON;
    parts.push(...(isAlike ? differenceOfTokens(wordsOf(gone), wordsOf(added)) : [["gone", gone], ["added", added]]));
    [gone, added] = ["", ""];
  };
  for (const [kind, text] of differenceOfTokens(lines(before), lines(after))) {
    if (kind === "gone") gone += text;
    else if (kind === "added") added += text;
    else if (text !== "") {
      flush();
      parts.push([kind, text]);
    }
  }
  flush();
  return joined(parts);
}

/** The difference of two lists of words or lines, as pairs of a kind and a text. */
function differenceOfTokens(old, fresh) {
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < fresh.length - start && old[old.length - 1 - end] === fresh[fresh.length - 1 - end]) end += 1;
  const middle = editsBetween(old.slice(start, old.length - end), fresh.slice(start, fresh.length - end));
  return [["same", old.slice(0, start).join("")], ...middle, ["same", end > 0 ? old.slice(-end).join("") : ""]];
}

/** Fewest edits by the algorithm of Myers. */
function editsBetween(old, fresh) {
  const replaced = [["gone", old.join("")], ["added", fresh.join("")]];
  if (old.length === 0 || fresh.length === 0 || old.length > MAX_DIFF_WORDS || fresh.length > MAX_DIFF_WORDS) return replaced;
  const traces = [];
  let furthest = new Map([[1, 0]]);
  for (let edits = 0; edits <= Math.min(MAX_DIFF_EDITS, old.length + fresh.length); edits += 1) {
    const next = new Map();
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const isDown = diagonal === -edits || (diagonal !== edits && (furthest.get(diagonal - 1) ?? -1) < (furthest.get(diagonal + 1) ?? -1));
      let x = isDown ? furthest.get(diagonal + 1) ?? 0 : (furthest.get(diagonal - 1) ?? 0) + 1;
      while (x < old.length && x - diagonal < fresh.length && old[x] === fresh[x - diagonal]) x += 1;
      next.set(diagonal, x);
      if (x >= old.length && x - diagonal >= fresh.length) return retraced([...traces, furthest], old, fresh);
    }
    traces.push(furthest);
    furthest = next;
  }
  return replaced;
}

/** Goes back from the end of both texts along the edits. */
function retraced(traces, old, fresh) {
  const parts = [];
  let [x, y] = [old.length, fresh.length];
  for (let edits = traces.length - 1; edits >= 0; edits -= 1) {
    const furthest = traces[edits];
    const diagonal = x - y;
    const isDown = diagonal === -edits || (diagonal !== edits && (furthest.get(diagonal - 1) ?? -1) < (furthest.get(diagonal + 1) ?? -1));
    const from = isDown ? diagonal + 1 : diagonal - 1;
    const [beforeX, beforeY] = [furthest.get(from) ?? 0, (furthest.get(from) ?? 0) - from];
    while (x > Math.max(0, beforeX) && y > Math.max(0, beforeY) && old[x - 1] === fresh[y - 1]) {
      parts.push(["same", old[x - 1]]);
      [x, y] = [x - 1, y - 1];
    }
    if (edits === 0) break;
    if (isDown) parts.push(["added", fresh[--y]]);
    else parts.push(["gone", old[--x]]);
  }
  return parts.reverse();
}

/** Neighbours of one kind as one part. */
function joined(parts) {
  const all = [];
  for (const [kind, text] of parts) {
    const last = all[all.length - 1];
    if (text === "") continue;
    if (last?.kind === kind) last.text += text;
    else all.push({ kind, text });
  }
  return all;
}

/** Characters that are shown on each side of a change. */
const MAX_DIFF_CONTEXT = 120;

/** A stretch that is the same in both texts, as far as it is next to a change. */
function contextOf(text, isFirst, isLast) {
  const [start, end] = [isFirst ? "" : text.slice(0, MAX_DIFF_CONTEXT), isLast ? "" : text.slice(-MAX_DIFF_CONTEXT)];
  return text.length <= 3 * MAX_DIFF_CONTEXT ? text : `${start} … ${end}`;
}

/** The difference as text with what is gone and what is added. */
function drawDifference(before, after) {
  const tags = { gone: "del", added: "ins" };
  const draw = ({ kind, text }, place, all) => {
    if (kind === "same") return [visible(contextOf(text, place === 0, place === all.length - 1))];
    const previous = all[place - 1];
    // Neither runs into the other.
    const isJoined = previous && previous.kind !== "same" && !/\s$/.test(previous.text) && !/^\s/.test(text);
    return [isJoined ? (/\n/.test(previous.text + text) ? "\n" : " ") : "", make(tags[kind], {}, visible(text))];
  };
  const isCode = [before, after].some((text) => text.includes("```"));
  return make("pre", { class: isCode ? "difference json" : "difference", dir: "auto" }, differenceOf(before, after).flatMap(draw));
}
