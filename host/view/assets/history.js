// The figures of a suite over time.

let known = null;

function showHistory(answer) {
  known = answer;
  const names = answer.suites.map((suite) => suite.name);
  const select = byId("suite");
  select.replaceChildren(...answer.suites.map((suite) => make("option", { value: suite.name }, `${visible(suite.name)} (${counted(suite.runs, "run")})`)));
  if (answer.suite !== null) select.value = answer.suite;
  byId("filters").hidden = names.length === 0;
  if (answer.suite === null) {
    byId("overview").replaceChildren(make("p", { class: "notice" }, "There is no suite here yet. A run belongs to a suite if its configuration has a name (metadata.name)."));
    return;
  }
  const models = [...new Set(answer.trends.flatMap((trend) => trend.points.map((point) => point.model)).filter(Boolean))].sort();
  const before = byId("model").value;
  byId("model").replaceChildren(make("option", { value: "" }, "all"), ...models.map((model) => make("option", { value: model }, visible(model))));
  byId("model").value = models.includes(before) ? before : "";
  byId("model").closest("label").hidden = models.length < 2;
  const suite = answer.suites.find((one) => one.name === answer.suite);
  const states = { there: "", gone: " (gone)", changed: " (changed since)", edited: " (edited)" };
  byId("overview").replaceChildren(facts([
    ["Suite", visible(answer.suite)], ["Runs", count(suite?.runs ?? 0)], ["First (UTC)", time(suite?.first)], ["Last (UTC)", time(suite?.last)],
    ["Baseline", answer.baseline ? `${visible(answer.baseline.label)}${states[answer.baseline.state] ?? ""}` : "none was chosen"],
  ]));
  drawTrends();
  showFlips();
}

function drawTrends() {
  const model = byId("model").value;
  const within = (point) => ({ ...point, figure: { ...point.figure, ...(intervalOf(point.figure) ?? { low: null, high: null }) } });
  const shown = (point) => point.figure.value !== null && (!model || point.model === model);
  const trends = known.trends.map((trend) => ({ ...trend, points: trend.points.filter(shown).map(within) })).filter((trend) => trend.points.length > 0);
  const section = byId("trends");
  section.hidden = trends.length === 0;
  section.querySelector(".plots").replaceChildren(...trends.map(trendFigure));
}

/** A line through the figures of each model's runs, each with its interval; a point leads to its run. */
function trendFigure(trend) {
  // As wide as it is shown, so that its text is as large as that around it.
  const frame = { width: matchMedia("(max-width: 760px)").matches ? 350 : 540, height: 190, left: 46, right: 12, top: 12, bottom: 28 };
  const { points } = trend;
  const title = `${visible(trend.task_id)}, ${visible(trend.metric_id)}`;
  const base = known.baseline?.state === "gone" ? undefined : points.find((point) => point.folder === known.baseline?.folder);
  const [lowest, highest] = extent(points.flatMap(({ figure }) => [figure.value, figure.low ?? figure.value, figure.high ?? figure.value]));
  // A little room, and never an axis of no height, within the scale of the metric.
  const room = (highest / 2 - lowest / 2) * 0.16 || Math.abs(highest) * 0.05 || 0.5;
  const scale = points.findLast(({ figure }) => figure.scale)?.figure.scale ?? (lowest >= 0 && highest <= 1 ? [0, 1] : lowest >= 0 ? [0, Number.MAX_VALUE] : [-Number.MAX_VALUE, Number.MAX_VALUE]);
  const low = Math.max(scale[0], lowest - room);
  const high = Math.min(scale[1], highest + room);
  const [right, bottom] = [frame.width - frame.right, frame.height - frame.bottom];
  const x = (place) => frame.left + (right - frame.left) * (points.length > 1 ? 0.02 + 0.96 * (place / (points.length - 1)) : 0.5);
  const y = (value) => bottom - (bottom - frame.top) * between(value, low, high);
  const text = (at, down, anchor, content) => draw("text", { x: at, y: down, "text-anchor": anchor }, content);
  const path = points.map(({ figure }, place) => `${place && points[place - 1].model === points[place].model ? "L" : "M"}${x(place).toFixed(1)} ${y(figure.value).toFixed(1)}`).join("");
  const mark = (point, place) => {
    const { figure } = point;
    const told = `${visible(point.label)}, ${time(point.created_at)}: ${score(figure.value)} ${range(figure.low === null ? null : figure)}, ${ofSamples(figure)} samples${point.model ? `, ${visible(point.model)}` : ""}`;
    return draw("a", { href: runAddress(point.folder), "aria-label": told },
      draw("title", {}, told),
      figure.low === null ? null : draw("path", { class: "whisker", d: `M${x(place)} ${y(figure.low)}V${y(figure.high)}` }),
      draw("circle", { class: "mark", cx: x(place), cy: y(figure.value), r: point === base ? 6 : 4 }),
      // Room for fingers.
      draw("circle", { cx: x(place), cy: y(figure.value), r: 11, "fill-opacity": 0 }));
  };
  const changes = points.map((point, place) => point.is_redefined && draw("path", { class: "redefined", d: `M${x(place - 0.5)} ${frame.top}V${bottom}` }));
  const first = points[0].figure.value;
  const last = points[points.length - 1].figure.value;
  const rows = points.toReversed().map((point) => [
    make("a", { href: runAddress(point.folder) }, visible(point.label)), time(point.created_at), visible(point.model ?? ""), make("span", { class: "strong" }, score(point.figure.value)),
    point.figure.low === null ? "–" : range(point.figure), ofSamples(point.figure), covered(point.figure),
    [point === base && "baseline", point.is_redefined && "suite changed", point.status !== "complete" && point.status].filter(Boolean).join(", "),
  ]);
  return make("figure", {},
    make("figcaption", {}, make("b", {}, title), ` ${trend.higher_is_better ? "" : "(less is better) "}${points.length > 1 ? `from ${score(first)} to ${score(last)} over ${count(points.length)} runs` : "one run"}`),
    draw("svg", { class: "trend", viewBox: `0 0 ${frame.width} ${frame.height}`, role: "group", "aria-label": `${title} over ${points.length} runs` },
      draw("path", { class: "axis", d: `M${frame.left} ${frame.top}H${right}M${frame.left} ${bottom}H${right}` }),
      text(frame.left - 6, frame.top + 4, "end", tick(high)), text(frame.left - 6, bottom + 4, "end", tick(low)),
      text(frame.left, frame.height - 8, "start", time(points[0].created_at)), points.length > 1 ? text(right, frame.height - 8, "end", time(points[points.length - 1].created_at)) : null,
      changes, base ? draw("path", { class: "baseline", d: `M${frame.left} ${y(base.figure.value)}H${right}` }) : null,
      points.length > 1 ? draw("path", { class: "line", d: path }) : null, points.map(mark)),
    folded("as a table", table([["Run"], ["Started (UTC)"], ["Model"], ["Value", true], ["95 % interval", true, "wide"], ["n", true], ["Coverage", true], ["Note"]], rows)));
}

function showFlips() {
  const section = byId("flips");
  section.hidden = known.flips.length === 0 && !known.flips_problem;
  section.querySelector("div").replaceChildren(known.flips_problem ? make("p", { class: "notice" }, visible(known.flips_problem)) : table(
    [["Model"], ["Task"], ["Metric"], ["Pairs of runs", true], ["Scores compared", true], ["Changed", true], ["Share", true, "decisive"]],
    known.flips.map((flip) => [visible(flip.model ?? "–"), visible(flip.task_id), visible(flip.metric_id), count(flip.pairs), count(flip.compared), count(flip.flips), percent(flip.rate)])));
}

chooseTheme();
const wantedSuite = new URLSearchParams(location.search).get("suite") ?? "";
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("suite").addEventListener("change", () => location.assign(`/history?suite=${encodeURIComponent(byId("suite").value)}`));
byId("model").addEventListener("change", drawTrends);
follow(`/data/history?suite=${encodeURIComponent(wantedSuite)}`, showHistory, 5000);
