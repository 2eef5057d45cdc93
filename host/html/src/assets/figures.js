// Figures with their intervals and coverage, outcomes, distributions, and what the clock says.

const isSeveral = () => head.runs.length > 1;

/** What is said of a run as a whole, by name. */
function factsOf(run, own) {
  const { summary, timings } = run;
  const sum = (key) => summary?.tasks.reduce((all, task) => all + task.usage[key], 0) ?? 0;
  const [asked, answered] = [sum("prompt_tokens"), sum("completion_tokens")];
  const number = head.runs.indexOf(run);
  const judged = judgeCostOf(number);
  const [judgeAsked, judgeAnswered] = judgeTokens[number] ?? [0, 0];
  return [
    ["Suite", run.suite && visible(run.suite)],
    ["Model", run.models.map(visible).join(", ")],
    ["Dataset", listedShort(run.datasets)],
    ["Prompt", listedShort(run.prompts)],
    ["Settings", settingsOf(summary)],
    ["Judge", listedShort(run.judges)],
    ["Plugins", (run.plugins ?? []).map(visible).join("; ")],
    ["Status", run.ended_by ? `${run.status}: ${visible(run.ended_by)}` : run.status],
    ["Samples", extentOf(summary, own)],
    ["Coverage", summary && covered(summary.samples)],
    ["Started (UTC)", visible(run.created_at.replace("T", " ").replace("Z", ""))],
    ["Wall time", timings && duration(timings.wall_runtime_s * 1000)],
    ["Tokens", asked + answered > 0 && `${count(asked)} of prompts + ${count(answered)} of answers`],
    ["Tokens of judges", judgeAsked + judgeAnswered > 0 && `${count(judgeAsked)} of prompts + ${count(judgeAnswered)} of replies`],
    ["Cost", costOf(run)],
    // Of a run that scored the answers of another, only the samples have it.
    ["Cost of judges", !costOf(run) && judged > 0 && score(judged)],
    ["Answers from run", run.parent_run && visible(run.parent_run)],
    ["Merged from", run.shards && shardsOf(run.shards, number)],
    ["Program", `gage-host ${visible(run.host_version)}`],
  ];
}

/** The number of shards of a run. A server shows them. */
function shardsOf(shards, number) {
  const text = counted(shards, "shard");
  return blocks("server").length > 0 ? make("a", { href: `/runs/${encodeURIComponent(folderNames()[number])}/shards` }, text) : text;
}

/** Names that a head has room for. */
const listedShort = (all) => all.slice(0, 4).map(visible).join(", ") + (all.length > 4 ? ` and ${count(all.length - 4)} more` : "");

/** The sampling parameters that were sent; of tasks with others, with their names. */
function settingsOf(summary) {
  const words = (task) => Object.entries(task.sampling_params ?? {}).map(([name, value]) => `${visible(name)} ${visible(typeof value === "object" ? JSON.stringify(value) : String(value)).slice(0, 60)}`).join(", ");
  const groups = new Map();
  for (const task of summary?.tasks ?? []) {
    const own = words(task);
    if (own) groups.set(own, [...(groups.get(own) ?? []), visible(task.task_id)]);
  }
  if (groups.size < 2) return [...groups.keys()][0];
  return [...groups].slice(0, 3).map(([own, tasks]) => `${tasks.slice(0, 3).join(", ")}${tasks.length > 3 ? "…" : ""}: ${own}`).join("; ");
}

/** What the tokens of a run cost, what those of the model and of the judges, and which models have no price. The suite does not name a currency. */
function costOf({ costs, judge_backends: ofJudges = [], missing_prices: missing }) {
  const each = Object.entries(costs ?? {}).filter(([, cost]) => typeof cost === "number");
  if (each.length === 0) return null;
  const sum = (some) => some.reduce((all, [, cost]) => all + cost, 0);
  const judges = each.filter(([backend]) => ofJudges.includes(backend));
  const models = each.filter(([backend]) => !ofJudges.includes(backend));
  const parts = [...models.slice(0, 4).map(([backend, cost]) => `${models.length === 1 ? "model" : visible(backend)} ${score(cost)}`), ...(models.length > 4 ? ["…"] : []), ...(judges.length > 0 ? [`judges ${score(sum(judges))}`] : [])];
  return score(sum(each)) + (parts.length > 1 ? ` (${parts.join(", ")})` : "") + (missing ? `, ${visible(missing)}` : "");
}

/** What the judges of a run cost, as far as the suite has prices. */
function judgeCostOf(run) {
  let sum = 0;
  for (let row = 0; row < rows.length; row += 1) if (rows.run[row] === run && !Number.isNaN(rows.judgeCost[row])) sum += rows.judgeCost[row];
  return sum;
}

/** How many samples a run has, and of how many where it was stopped before it came to all. */
function extentOf(summary, own) {
  const { not_reached: left = 0, total_is_least: isLeast = false, total = own } = summary?.samples ?? {};
  return isLeast ? `${count(own)}+, interrupted` : left > 0 ? `${count(total - left)} of ${count(total)}` : count(total);
}

function showOverview() {
  byId("facts").replaceChildren();
  byId("about").hidden = false;
  byId("title").textContent = head.runs.map((run) => run.run_id).join(" · ");
  const counts = head.runs.map((_, number) => rowsOfRun(number).length);
  byId("overview").replaceChildren(headLine(counts), ...headScores());
  const known = head.runs.map((run, number) => factsOf(run, counts[number]));
  byId("overview").append(...head.runs.map((_, number) => failureNotice(number)).filter(Boolean));
  if (isSeveral()) {
    const isSame = (place) => known.every((one) => one[place][1] === known[0][place][1]);
    // What all runs share stands above the table once.
    byId("facts").append(facts(known[0].filter((_, place) => isSame(place))));
    const labels = known[0].map(([label]) => label).filter((_, place) => !isSame(place) && known.some((one) => one[place][1]));
    const rest = known.map((one) => new Map(one));
    byId("facts").append(table([["Run"], ...labels.map((label) => [label, ["Samples", "Coverage", "Wall time", "Tokens"].includes(label)])],
      head.runs.map((run, number) => [make("span", { class: "strong" }, run.run_id), ...labels.map((label) => rest[number].get(label) || "–")])));
  } else byId("facts").append(facts(known[0]));
  head.runs.forEach((run, number) => {
    const which = isSeveral() ? `The run ${run.run_id}` : "This run";
    if (run.edited) byId("overview").append(make("p", { class: "notice" }, `${run.edited[0].toUpperCase()}${run.edited.slice(1)}. The report may not show what was run.`));
    run.notices.forEach((notice) => byId("overview").append(make("p", { class: "notice" }, visible(`${notice}.`))));
    if (!run.summary) byId("overview").append(make("p", { class: "notice" }, `${which} has not ended, so it has no figures yet. ${stateOf(number)}.`));
    else if (run.status === "interrupted") byId("overview").append(make("p", { class: "notice" }, `${which} was interrupted: its figures cover only the finished samples. The coverage shows their share.`));
  });
}

/** Most metrics at the head of a page. */
const MAX_HEAD_SCORES = 6;

/** The runs in one line: suite, models, date, samples, time and cost. */
function headLine(counts) {
  const unique = (values) => [...new Set(values.filter(Boolean))].map(visible).join(", ");
  const [run] = head.runs;
  const ofOne = isSeveral() ? [] : [
    `${visible(run.created_at.replace("T", " ").slice(0, 16))} UTC`, run.timings && duration(run.timings.wall_runtime_s * 1000), costOf(run) && `cost ${costOf(run)}`,
  ];
  const sizes = [...new Set(head.runs.map((one, number) => extentOf(one.summary, counts[number])))];
  const parts = [unique(head.runs.map((one) => one.suite)), unique(head.runs.flatMap((one) => one.models)), `${sizes.join(" and ")} samples`, ...ofOne].filter(Boolean);
  const why = isSeveral() ? null : incompleteness(run);
  return make("p", { class: "head-line" }, parts.join(" · "), why && make("span", { class: "verdict" }, ` · ${why}`));
}

/** Why a run is incomplete: the metric with the least coverage. */
function incompleteness({ status, summary }) {
  if (status !== "incomplete") return null;
  const figures = summary?.tasks.flatMap((task) => task.metrics) ?? [];
  const least = figures.reduce((one, other) => (one === null || (other.coverage ?? 0) < (one.coverage ?? 0) ? other : one), null);
  return least && least.coverage !== 1 ? `incomplete: ${visible(least.metric_id)} has coverage ${covered(least)}` : "incomplete";
}

/** The figures of the metrics in large digits: of several runs side by side, with the verdict of the gate. */
function headScores() {
  const isTimed = ({ run, figure }) => head.runs[run].timings?.timing_metrics.includes(figure);
  const groups = figuresByMetric().filter(([first]) => !isTimed(first));
  if (groups.length === 0) return [];
  const hasTasks = new Set(groups.map(([{ figure }]) => figure.task_id)).size > 1;
  const item = (group) => {
    const [{ figure }] = group;
    const compared = isPair() && group.length === 2 && head.comparisons[0]?.metrics.find((one) => one.task_id === figure.task_id && one.metric_id === figure.metric_id && !one.sub_score);
    const under = compared ? [signed(compared.difference), " ", range(compared.interval), compared.gate && !head.comparisons[0].refusal ? [" ", verdictWord(compared.gate.verdict)] : null] : group.length === 1 ? [figure.interval ? rangeOn(figure) : "no interval"] : [];
    return make("li", {}, make("span", { class: "name" }, hasTasks ? `${visible(figure.task_id)} ` : "", metricName(figure)), make("span", { class: "value" }, [group.map((one) => score(one.figure.value)).join(" → "), unitOf(figure)].filter(Boolean).join(" ")), make("span", { class: "soft" }, under.flat()));
  };
  const left = groups.length - MAX_HEAD_SCORES;
  return [make("ul", { class: "head-scores" }, groups.slice(0, MAX_HEAD_SCORES).map(item), left > 0 ? make("li", {}, make("a", { href: "#figures" }, `${count(left)} more`)) : null)];
}

/** How far the samples of a run are that has not ended. */
function stateOf(run) {
  const own = rowsOfRun(run);
  const ending = (name) => own.filter((row) => names.outcomes[rows.outcome[row]] === name).length;
  const [scores, judges] = UNFINISHED.map(ending);
  const waiting = (number, what) => number > 0 && `${counted(number, "answer")} ${number === 1 ? "awaits its" : "await their"} ${what}`;
  const done = own.length - scores - judges;
  return [`${counted(done, "sample")} ${done === 1 ? "is" : "are"} done`, waiting(scores, "scores"), waiting(judges, "judges")].filter(Boolean).join("; ");
}

function rowsOfRun(run) {
  const found = [];
  for (let row = 0; row < rows.length; row += 1) if (rows.run[row] === run) found.push(row);
  return found;
}

/** The figures of a run by task, with those of metrics that read a clock. */
function allFiguresOf(run) {
  const timed = run.timings?.timing_metrics ?? [];
  return (run.summary?.tasks ?? []).flatMap((task) => [...task.metrics, ...timed.filter((one) => one.task_id === task.task_id)]);
}

/** The unit of a figure, by its name and its scale; empty for a score without one. The tables of terminals have the same. */
function unitOf({ figures, value_name: own, scale }) {
  const name = figures?.[0]?.name ?? own;
  if (name === "bits_per_byte") return "bits/byte";
  if (name.endsWith("_ms")) return "ms";
  if (name.endsWith("_s")) return "s";
  if (name.endsWith("tokens")) return "tokens";
  return !figures?.length && scale?.[0] === 0 && scale[1] === 100 ? "points" : "";
}

/** A value of a metric with its unit. */
const withUnit = (value, figure) => [score(value), value !== null && value !== undefined && figure && unitOf(figure)].filter(Boolean).join(" ");

/** The figures of all runs: the same metric of the same task side by side. */
function figuresByMetric() {
  const groups = new Map();
  head.runs.forEach((run, number) => {
    for (const figure of allFiguresOf(run)) {
      const key = JSON.stringify([figure.task_id, figure.metric_id]);
      groups.set(key, [...(groups.get(key) ?? []), { run: number, figure }]);
    }
  });
  return [...groups.values()];
}

/** Where a figure is drawn: the scale that its metric declares, else the numbers of the same metric and 0. */
function boundsOf(figure, alike) {
  return figure.scale ?? boundsAround([0, ...alike.flatMap(({ value, interval }) => [value, interval?.low, interval?.high])]);
}

/** A figure on its scale, with the ends of the scale beside it. */
function drawnOn(figure, [low, high]) {
  if (figure.value === null) return "";
  return make("span", { class: "on-scale" }, make("span", {}, tick(low)), whisker(figure.value, figure.interval, low, high), make("span", {}, tick(high)));
}

/** An interval within the scale of its metric. */
const rangeOn = (figure) => range(figure.interval && figure.scale ? { low: Math.max(figure.scale[0], figure.interval.low), high: Math.min(figure.scale[1], figure.interval.high) } : figure.interval);

function showFigures() {
  const groups = figuresByMetric();
  if (groups.length === 0) return;
  const section = byId("figures");
  section.hidden = false;
  const alike = (figure) => groups.flat().map((one) => one.figure).filter((one) => one.metric_id === figure.metric_id);
  const columns = [["Task"], ["Metric"], ...(isSeveral() ? [["Run"]] : []), ["Value", true], ["95 % interval", true, "wide"], ["On its scale"], ["n", true], ["Coverage", true]];
  const isNewTask = (place) => place === 0 || groups[place - 1][0].figure.task_id !== groups[place][0].figure.task_id;
  const cells = groups.flatMap((group, place) => group.map(({ run, figure }, number) => ({
    begins: place > 0 && number === 0 && (isSeveral() || isNewTask(place)),
    cells: [
      number === 0 && isNewTask(place) ? visible(figure.task_id) : again(visible(figure.task_id)),
      number === 0 ? metricName(figure) : again(metricName(figure)),
      ...(isSeveral() ? [head.runs[run].run_id] : []),
      make("span", { class: "strong" }, withUnit(figure.value, figure)), rangeOn(figure),
      drawnOn(figure, boundsOf(figure, alike(figure))), ofSamples(figure), covered(figure),
    ],
  })));
  section.append(table(columns, cells));
  if (groups.flat().some(({ figure }) => !figure.higher_is_better)) section.append(make("p", { class: "soft" }, "↓ less is better."));
  for (const { run, figure } of groups.flat()) {
    const parts = furtherFigures(figure);
    if (parts.length === 0) continue;
    const of = isSeveral() ? ` in ${head.runs[run].run_id}` : "";
    section.append(folded(`${visible(figure.task_id)}, ${visible(figure.metric_id)}${of}: ${parts.map(([name]) => name).join(", ")}`, ...parts.map(([, part]) => part)));
  }
}

function metricName({ metric_id: metric, aggregation, value_name: name, higher_is_better: isMoreBetter }) {
  return make("span", { title: `${aggregation} of ${name}; ${isMoreBetter ? "more" : "less"} is better` }, visible(metric), isMoreBetter ? "" : " ↓");
}

function furtherFigures(figure) {
  const parts = [];
  const plain = (name, columns, cells) => cells.length > 0 && parts.push([name, table(columns, cells)]);
  if (figure.error) parts.push(["reason for the missing value", make("p", {}, visible(figure.error))]);
  plain("sub-scores", [["Sub-score"], ["Value", true], ["n", true]], figure.sub_scores.map((sub) => [visible(sub.name), score(sub.value), count(sub.n)]));
  plain("further figures", [["Figure"], ["Value", true], ["n", true]], (figure.figures ?? []).map((one) => [visible(one.name), score(one.value), one.n === undefined ? "" : count(one.n)]));
  plain("categories", [["Category"], ["Records", true], ["Share", true]], (figure.categories ?? []).map((one) => [visible(one.name), count(one.count), percent(one.share)]));
  // Nobody knows in which slices the samples are that a run did not come to.
  const reached = Object.values(figure.outcomes).reduce((sum, number) => sum + number, 0);
  const hasMore = figure.total_is_least || reached < figure.total * (figure.repeats ?? 1);
  const slices = (figure.slices ?? []).map((slice) => ({ ...slice, scale: figure.scale, total_is_least: hasMore }));
  plain("slices", [["Slice"], ["Key"], ["Value", true], ["95 % interval", true, "wide"], ["On its scale"], ["n", true], ["Coverage", true]],
    slices.map((slice, place) => ({
      begins: place > 0 && slices[place - 1].by !== slice.by,
      cells: [visible(slice.by), visible(slice.key), score(slice.value), rangeOn(slice), drawnOn(slice, boundsOf(slice, slices)), ofSamples(slice), covered(slice)],
    })));
  plain("means of slices", [["Slices"], ["Number", true], ["Mean", true], ["95 % interval", true, "wide"]],
    (figure.slice_means ?? []).map((mean) => [visible(mean.by), count(mean.slices), score(mean.value), rangeOn({ ...mean, scale: figure.scale })]));
  plain("error tags", [["Tag"], ["Records", true]], figure.error_tags.map(({ tag, count: number }) => [make("button", { type: "button", class: "link", click: () => choose({ tag }) }, visible(tag)), count(number)]));
  return parts;
}

/** How the samples of each task ended; a number leads to them. */
function showOutcomes() {
  const section = byId("outcomes");
  const counts = new Map();
  const left = new Map();
  // Tasks that a run did not come to have no samples, and those that it did not end have fewer than they were to have.
  head.runs.forEach((run, number) => {
    for (const { task_id: name, samples } of run.summary?.tasks ?? []) {
      const key = number * 65536 + placeIn(names.tasks, name);
      const { not_reached: missing = 0, total_is_least: isLeast = false } = samples;
      if (missing > 0 || isLeast) left.set(key, isLeast ? null : missing);
      counts.set(key, new Array(names.outcomes.length).fill(0));
    }
  });
  for (let row = 0; row < rows.length; row += 1) {
    const key = rows.run[row] * 65536 + rows.task[row];
    if (!counts.has(key)) counts.set(key, new Array(names.outcomes.length).fill(0));
    counts.get(key)[rows.outcome[row]] += 1;
  }
  section.hidden = counts.size === 0;
  // What was scored first, what is still to be last.
  const rank = (outcome) => UNFINISHED.includes(names.outcomes[outcome]) - (names.outcomes[outcome] === "scored");
  const order = names.outcomes.map((_, outcome) => outcome).sort((one, other) => rank(one) - rank(other));
  const scored = order.findIndex((outcome) => names.outcomes[outcome] === "scored");
  const columns = [["Task"], ...(isSeveral() ? [["Run"]] : []), ["Samples", true], [""], ...order.map((outcome) => [named(names.outcomes[outcome]), true]), ...(left.size > 0 ? [["not reached", true]] : [])];
  const cells = [...counts].sort(([one], [other]) => (one % 65536) - (other % 65536) || one - other).map(([key, numbers]) => {
    const [run, task] = [Math.floor(key / 65536), key % 65536];
    const own = numbers.reduce((sum, number) => sum + number, 0);
    const missing = left.has(key) ? left.get(key) : 0;
    const total = own + (missing ?? 0);
    const leads = (outcome) => numbers[outcome] === 0 ? "0" : make("button", { type: "button", class: "link", click: () => choose({ run, task, outcome }) }, count(numbers[outcome]));
    return [visible(names.tasks[task]), ...(isSeveral() ? [head.runs[run].run_id] : []), missing === null ? `${count(own)}+` : count(total), shares(order.map((outcome) => numbers[outcome]), total, scored), ...order.map(leads), ...(left.size > 0 ? [missing === null ? "unknown" : count(missing)] : [])];
  });
  section.append(table(columns, cells));
}

const named = (outcome) => outcome.replaceAll("_", " ");

async function showDistributions() {
  const place = byId("distributions").querySelector(".plots");
  for (let task = 0; task < names.tasks.length; task += 1) {
    for (let metric = 0; metric < names.metrics.length; metric += 1) {
      await breathe();
      const lists = head.runs.map(() => []);
      const [tasks, runs, scores] = [rows.task, rows.run, rows.scores[metric]];
      for (let row = 0; row < rows.length; row += 1) if (tasks[row] === task && !Number.isNaN(scores[row])) lists[runs[row]].push(scores[row]);
      // The figure of a metric with no score but 0 and 1 says as much as two bars.
      if (lists.every((list) => list.every((value) => value === 0 || value === 1))) continue;
      const note = lists.map((list, run) => `${isSeveral() ? `${head.runs[run].run_id} ` : ""}n = ${count(list.length)}`).join(", ");
      place.append(histogram(`${visible(names.tasks[task])}, ${visible(names.metrics[metric])}`, lists, { note }));
    }
  }
  byId("distributions").hidden = place.childElementCount === 0;
  if (isSeveral() && place.childElementCount > 0) place.before(make("p", { class: "soft" }, `Outlined: ${head.runs[0].run_id}; filled: ${head.runs.slice(1).map((run) => run.run_id).join(", ")}.`));
}

const quantile = (sorted, share) => (sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : NaN);

/** Samples that the plots over time are made of; of a run with more, evenly spread ones. */
const MAX_PLOTTED = 50000;

/** Latency and throughput by the time at which samples were done. */
async function showTiming() {
  const section = byId("timing");
  for (const [number, run] of head.runs.entries()) {
    await breathe();
    const all = rowsOfRun(number).filter((row) => !Number.isNaN(rows.finished[row]) && !Number.isNaN(rows.latency[row]));
    if (all.length < 2) continue;
    // Each of them stands for so many.
    const weight = Math.ceil(all.length / MAX_PLOTTED);
    const own = weight > 1 ? all.filter((_, place) => place % weight === 0) : all;
    section.hidden = false;
    const [first, last] = extent(own.map((row) => rows.finished[row] - rows.latency[row]).concat(own.map((row) => rows.finished[row])));
    const span = Math.max(1, last - first);
    const usual = quantile(own.map((row) => rows.latency[row]).sort((one, other) => one - other), 0.5);
    const bins = timeBins(own.map((row) => rows.finished[row]), first, span, usual);
    const [latencies, tokens] = [Array.from({ length: bins }, () => []), new Array(bins).fill(0)];
    for (const row of own) {
      const bin = Math.min(bins - 1, Math.floor(((rows.finished[row] - first) / span) * bins));
      latencies[bin].push(rows.latency[row]);
      tokens[bin] += Number.isNaN(rows.tokens[row]) ? 0 : weight * rows.tokens[row];
    }
    latencies.forEach((list) => list.sort((one, other) => one - other));
    const perSecond = (number) => number / (span / bins / 1000);
    const { timings } = run;
    const latency = timings?.latency;
    section.append(
      isSeveral() ? make("h3", {}, run.run_id) : "",
      facts([
        ["Latency, median", latency && duration(latency.p50_ms)], ["95th percentile", latency && duration(latency.p95_ms)],
        ["Longest", latency && duration(latency.max_ms)], ["First token, median", timings?.first_token && duration(timings.first_token.p50_ms)],
        ["Samples per second", timings?.throughput_total_samples_per_s?.toFixed(1)], ["Answer tokens per second", timings?.throughput_completion_tokens_per_s && count(Math.round(timings.throughput_completion_tokens_per_s))],
        ["Retries", timings && count(timings.retries)],
      ]),
      make("div", { class: "plots" },
        histogram("Latency", [own.map((row) => rows.latency[row])], { unit: " ms", note: `of ${count(own.length)} calls${weight > 1 ? `, one in ${count(weight)}` : ""}` }),
        lines("Latency over time", { series: [{ values: latencies.map((list) => quantile(list, 0.9)), high: true }, { values: latencies.map((list) => quantile(list, 0.5)) }], span, unit: "ms", note: "in ms: median, and dashed the 90th percentile" }),
        lines("Samples per second", { series: [{ values: latencies.map((list) => perSecond(weight * list.length)) }], span, unit: "per second", note: "by completion time" }),
        tokens.some((number) => number > 0) ? lines("Answer tokens per second", { series: [{ values: tokens.map(perSecond) }], span, unit: "per second" }) : ""));
  }
}

/** What each plugin cost. */
function showPlugins() {
  const section = byId("plugins");
  const columns = [["Plugin"], ["Kind"], ["Items", true], ["CPU an item", true, "decisive"], ["CPU", true, "decisive"], ["Fuel an item", true], ["Peak memory", true]];
  for (const run of head.runs) {
    const plugins = run.timings?.plugins ?? [];
    if (plugins.length === 0) continue;
    section.hidden = false;
    const cells = plugins.map((one) => [
      visible(one.member), visible(`${one.kind} of ${one.plugin}`), count(one.items),
      one.cpu_us_per_item === null ? "–" : duration(one.cpu_us_per_item / 1000), duration(one.cpu_s * 1000),
      one.items > 0 ? count(Math.round(one.fuel / one.items)) : "–", `${(one.peak_memory_bytes / 1e6).toFixed(1)} MB`,
    ]);
    section.append(isSeveral() ? make("h3", {}, run.run_id) : "", table(columns, cells));
  }
  if (!section.hidden) section.append(make("p", { class: "soft" }, "Of the last process that worked on the run. Fuel is about one unit per instruction; the memory is the most that one instance had."));
}
