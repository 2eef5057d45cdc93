// Plots, drawn by hand: a frame of 320 by 150 with its axes, and marks in it.

const FRAME = { width: 320, height: 150, left: 44, right: 8, top: 8, bottom: 24 };
const across = FRAME.width - FRAME.left - FRAME.right;
const up = FRAME.height - FRAME.top - FRAME.bottom;

/** Text along an axis: short, with few digits. */
function tick(value) {
  const size = Math.abs(value);
  const text = size >= 1e9 ? value.toExponential(1).replace("e+", "e") : size >= 1e6 ? `${+(value / 1e6).toPrecision(3)}M` : size >= 1e4 ? `${+(value / 1e3).toPrecision(3)}k` : String(+value.toPrecision(3));
  return text.replace("-", "−");
}

/** Where a value lies between two bounds, from 0 to 1; their difference alone may be out of range. */
const between = (value, low, high) => (high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5);

function plot({ title, note, low, high, lowText, highText, top, topText, marks, label }) {
  const at = { x: (value) => FRAME.left + across * between(value, low, high), y: (value) => FRAME.top + up * (1 - (top > 0 ? value / top : 0)) };
  const text = (x, y, anchor, content) => draw("text", { x, y, "text-anchor": anchor }, content);
  const base = FRAME.top + up;
  return make("figure", {},
    make("figcaption", {}, make("b", {}, title), note ? ` ${note}` : ""),
    draw("svg", { viewBox: `0 0 ${FRAME.width} ${FRAME.height}`, role: "img", "aria-label": label },
      draw("path", { class: "axis", d: `M${FRAME.left} ${FRAME.top}H${FRAME.width - FRAME.right}M${FRAME.left} ${base}H${FRAME.width - FRAME.right}` }),
      text(FRAME.left - 6, FRAME.top + 8, "end", topText ?? tick(top)),
      text(FRAME.left - 6, base, "end", "0"),
      text(FRAME.left, base + 15, "start", lowText ?? tick(low)),
      text(FRAME.width - FRAME.right, base + 15, "end", highText ?? tick(high)),
      marks(at)));
}

/** How many values fall into each of some bins of equal width. */
function binned(values, low, high, bins) {
  const counts = new Array(bins).fill(0);
  for (const value of values) {
    counts[Math.min(bins - 1, Math.max(0, Math.floor(between(value, low, high) * bins)))] += 1;
  }
  return counts;
}

/** The first of 1, 2, 5, 10, 20, … that is larger than a positive number, or that number if none is. */
function roundedAbove(number) {
  const power = 10 ** Math.floor(Math.log10(number));
  const rounded = [1, 2, 5, 10].map((step) => step * power).find((step) => step > number);
  return Number.isFinite(rounded) ? rounded : number;
}

/** Where figures are drawn: the unit interval where all that are known lie in it, else round numbers beyond them. */
function boundsAround(numbers) {
  const [low, high] = extent(numbers.filter((number) => number !== null && number !== undefined && !Number.isNaN(number)));
  if (low >= 0 && high <= 1 || low > high) return [0, 1];
  return [low < 0 ? -roundedAbove(-low) : low, high > 0 ? roundedAbove(high) : high];
}

/** Smallest and largest without spreading a long list over arguments. */
function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

/** A histogram of one list of values for each run; the first of several is an outline, the others are filled. */
function histogram(title, lists, { unit = "", bins = 20, note } = {}) {
  const filled = lists.filter((list) => list.length > 0);
  let [low, high] = extent(filled.flatMap((list) => extent(list)));
  if (low >= 0 && high <= 1 && !unit) [low, high] = [0, 1];
  if (high === low) high = low + 1;
  const shares = lists.map((list) => binned(list, low, high, bins).map((bin) => (list.length ? bin / list.length : 0)));
  const top = Math.max(...shares.flat());
  const sizes = lists.map((list) => count(list.length)).join(" and ");
  const marks = (at) => shares.map((share, run) => {
    const isBase = lists.length > 1 && run === 0;
    const bar = (part, bin) => part > 0 && draw("rect", { x: FRAME.left + (across * bin) / bins + 0.5, y: at.y(part), width: Math.max(1, across / bins - 1), height: at.y(0) - at.y(part), class: isBase ? "mark base" : "mark" });
    return share.map(bar);
  }).reverse().flat();
  return plot({
    title, note, low, high, lowText: `${tick(low)}${unit}`, highText: `${tick(high)}${unit}`, top, topText: `${Math.round(top * 100)} %`, marks,
    label: `Histogram of ${title}: ${sizes} values from ${tick(low)} to ${tick(high)}; the largest bin holds ${Math.round(top * 100)} per cent`,
  });
}

/**
 * How many bins over time show something: wide enough that calls which were made together do not look like saw teeth, and
 * that there are some in most of them.
 */
function timeBins(moments, first, span, usual) {
  let bins = Math.min(80, Math.floor(moments.length / 8), usual > 0 ? Math.floor(span / (2 * usual)) : 80);
  const isSparse = () => new Set(moments.map((moment) => Math.floor(between(moment, first, first + span) * bins))).size < 0.75 * bins;
  while (bins > 4 && isSparse()) bins = Math.floor(bins / 2);
  return Math.max(4, bins);
}

/** Lines over time; each is a list of numbers, NaN where there is nothing. A value without a neighbour is a dot. */
function lines(title, { series, span, unit, note }) {
  const [, top] = extent(series.flatMap(({ values }) => values.filter((value) => !Number.isNaN(value))));
  const marks = (at) => series.flatMap(({ values, high }) => {
    const x = (place) => at.x(((place + 0.5) / values.length) * span).toFixed(1);
    const isThere = (place) => place >= 0 && place < values.length && !Number.isNaN(values[place]);
    const steps = values.map((value, place) => (isThere(place) ? `${isThere(place - 1) ? "L" : "M"}${x(place)} ${at.y(value).toFixed(1)}` : ""));
    const alone = values.map((value, place) => isThere(place) && !isThere(place - 1) && !isThere(place + 1) && draw("circle", { class: high ? "dot high" : "dot", cx: x(place), cy: at.y(value).toFixed(1), r: 2.5 }));
    return [draw("path", { class: high ? "line high" : "line", d: steps.join("") }), ...alone];
  });
  return plot({ title, note, low: 0, high: span, lowText: "0", highText: duration(span), top, topText: tick(top), marks, label: `${title} over ${duration(span)}, at most ${tick(top)} ${unit}` });
}

/** A dot with its interval between two bounds. */
function whisker(value, interval, low, high) {
  const at = (number) => 3 + 124 * Math.min(1, Math.max(0, between(number, low, high)));
  return draw("svg", { viewBox: "0 0 130 16", "aria-hidden": "true" },
    draw("path", { class: "axis", d: "M3 8H127" }),
    interval ? draw("path", { class: "whisker", d: `M${at(interval.low)} 8H${at(interval.high)}M${at(interval.low)} 5V11M${at(interval.high)} 5V11` }) : null,
    draw("circle", { class: "mark", cx: at(value), cy: 8, r: 3 }));
}

/** A bar of shares: the one of this place is in the accent colour, the others are lighter and lighter. */
function shares(counts, total, marked) {
  let x = 0;
  const part = (number, place) => {
    const width = total > 0 ? (130 * number) / total : 0;
    const rect = draw("rect", { x, y: 3, width: Math.max(number > 0 ? 1 : 0, width - 0.5), height: 10, class: place === marked ? "mark" : null, "fill-opacity": place === marked ? null : Math.max(0.25, 1 - place * 0.18) });
    x += width;
    return rect;
  };
  // What the counts leave is still to be seen.
  const hasMore = counts.reduce((sum, number) => sum + number, 0) < total;
  return draw("svg", { viewBox: "0 0 130 16", "aria-hidden": "true" }, hasMore && draw("rect", { class: "trough", x: 0, y: 3, width: 130, height: 10 }), counts.map(part));
}
