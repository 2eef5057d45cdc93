// Each further run against the first: what changed, and why.

// Both reasons for which nothing can be said have the same word.
const verdicts = { MISMATCH: "INVALID", INCOMPLETE: "INVALID" };
const importance = ["MISMATCH", "REGRESSION", "INCOMPLETE", "INCONCLUSIVE", "PASS", undefined];
/** Most lists of samples that are open from the beginning. */
const MOST_OPEN = 2;

function verdictWord(verdict) {
  const word = verdicts[verdict] ?? verdict;
  return make("span", { class: `verdict ${word.toLowerCase()}` }, word);
}

/** How many of the gated metrics have the verdict of all. */
function headline({ verdict, refusal, metrics }) {
  if (refusal) return `: ${visible(refusal)}`;
  const gated = metrics.filter((metric) => metric.gate);
  const same = gated.filter((metric) => metric.gate.verdict === verdict);
  return `: ${count(same.length)} of ${count(gated.length)} gated ${gated.length === 1 ? "metric" : "metrics"}`;
}

function showComparisons() {
  const section = byId("comparison");
  section.hidden = head.comparisons.length === 0;
  head.comparisons.forEach((comparison, place) => {
    section.append(make("h3", {}, `${comparison.new.run_id} against ${comparison.base.run_id}`));
    if (comparison.verdict) section.append(make("p", {}, verdictWord(comparison.verdict), headline(comparison)));
    if (comparison.same_run) section.append(make("p", { class: "notice" }, "The run is compared with itself."));
    section.append(...[...comparison.gate_changes, ...comparison.warnings].map(({ what }) => make("p", { class: "notice" }, visible(what))));
    section.append(...comparedMetrics(comparison, place + 1), ...comparedRest(comparison));
  });
}

function comparedMetrics(comparison, run) {
  const scored = comparison.metrics.filter((metric) => metric.n > 0);
  const isGated = !comparison.refusal && scored.some((metric) => metric.gate);
  const isNewTask = (place) => place === 0 || scored[place - 1].task_id !== scored[place].task_id;
  const main = scored.map((metric, place) => ({
    begins: isNewTask(place) && place > 0,
    cells: [
      isNewTask(place) ? ident(metric.task_id) : again(ident(metric.task_id)), ident(metric.sub_score ? `… ${metric.sub_score}` : metric.metric_id),
      ...(isGated ? [metric.gate ? verdictWord(metric.gate.verdict) : make("span", { class: "soft" }, "no gate")] : []),
      score(metric.base), score(metric.new), make("span", { class: "strong" }, signed(metric.difference)), range(metric.interval),
      changedCell(metric, "worse", metric.worse, run), changedCell(metric, "better", metric.better, run),
      pValue(metric.test.worse), ...(isGated ? [metric.gate ? pValue(metric.gate.worse_adjusted) : "–"] : []), count(metric.n),
    ],
  }));
  const parts = scored.length === 0 ? [] : [table([["Task"], ["Metric"], ...(isGated ? [["Verdict"]] : []), ["Base", true], ["New", true], ["Difference", true, "decisive"], ["95 % interval", true, "decisive wide"], ["Worse", true], ["Better", true], ["p of “worse”", true], ...(isGated ? [["p after Holm", true]] : []), ["n", true]], main)];
  if (isGated) parts.push(make("p", { class: "soft" }, "p of “worse” comes from the test for a loss of one metric. “p after Holm” is adjusted for the number of gated metrics; only it can give REGRESSION."));
  if (comparison.overall.length > 0) parts.push(overallTable(comparison.overall));
  let open = 0;
  // What matters most comes first; else they are in the order of the suite.
  for (const metric of comparison.metrics.toSorted((one, other) => importance.indexOf(one.gate?.verdict) - importance.indexOf(other.gate?.verdict))) {
    const name = [metric.task_id, metric.metric_id, metric.sub_score].filter(Boolean).map(visible).join(", ");
    if (metric.gate && !comparison.refusal) parts.push(make("p", {}, verdictWord(metric.gate.verdict), ` ${name}: ${visible(metric.gate.reason)}${metric.gate.verdict !== "INCOMPLETE" && lostOf(metric) ? ` (${lostOf(metric)})` : ""}`));
    else if (!comparison.refusal && lostOf(metric)) parts.push(make("p", { class: "soft" }, `${name}: ${lostOf(metric)}`));
    if (metric.flips.length > 0) {
      const hasTags = metric.flips.some((flip) => flip.error_tags.length > 0);
      const flips = metric.flips.map((flip) => [
        make("button", { type: "button", class: "link ident", title: visible(flip.sample_id), click: () => openById(run, metric.task_id, flip.sample_id) }, visible(flip.sample_id)),
        score(flip.base), score(flip.new), ...(hasTags ? [flip.error_tags.map(visible).join(", ")] : []),
      ]);
      open += 1;
      parts.push((open > MOST_OPEN ? folded : opened)(`${name}: ${flipsLabel(metric)}`, table([["Sample"], ["Base", true], ["New", true], ...(hasTags ? [["Tags"]] : [])], flips)));
    }
    if (metric.error_tags.length > 0) parts.push(folded(`${name}: error tags`, table([["Tag"], ["Base", true], ["New", true], ["Among worse samples", true]], metric.error_tags.map((tag) => [visible(tag.tag), count(tag.base), count(tag.new), count(tag.worse)]))));
    if (metric.slices.length > 0) {
      parts.push(folded(`${name}: slices`, table([["Slice"], ["Key"], ["Base", true], ["New", true], ["Worse", true], ["Better", true], ["n", true], ["q", true]],
        metric.slices.map((slice) => [visible(slice.by), visible(slice.key), score(slice.base), score(slice.new), count(slice.worse), count(slice.better), count(slice.n), make("span", { class: slice.q_value <= 0.05 && "strong" }, pValue(slice.q_value))]))));
    }
  }
  return parts;
}

function flipsLabel({ flips, worse }) {
  if (flips.length < worse) return `the ${count(flips.length)} of ${count(worse)} samples with the largest losses`;
  return worse === 1 ? "the sample that became worse" : `the ${count(worse)} samples that became worse`;
}

/** What a reason for a missing score is called, where that is not the name of an outcome. */
const reasons = {
  null_score: "with a null score", null_pass: "without pass or fail", no_sub_score: "without this sub-score", no_result: "without a result of this metric",
  not_finite: "with a score that is not finite", too_large: "with a score too large to compare",
};

/** Why a metric has no figures, or lacks samples. */
function lostOf({ n, unscored_base: before, unscored_new: now }) {
  const listed = (run, unscored) => {
    const causes = Object.entries(unscored).map(([cause, number]) => `${count(number)} ${reasons[cause] ?? named(cause)}`);
    return causes.length > 0 && `not scored in ${run}: ${causes.join(", ")}`;
  };
  return [n === 0 && "no sample is scored in both runs", listed("the baseline", before), listed("the new run", now)].filter(Boolean).join("; ");
}

/** The metrics that several tasks have, over all their samples. */
function overallTable(overall) {
  return table([["Over all tasks"], ["Tasks", true], ["Base", true], ["New", true], ["Difference", true, "decisive"], ["95 % interval", true, "decisive wide"], ["n", true]],
    overall.map((one) => [ident(one.metric_id), count(one.tasks), score(one.base), score(one.new), make("span", { class: "strong" }, signed(one.difference)), range(one.interval), count(one.n)]));
}

function comparedRest(comparison) {
  const parts = [];
  const unpaired = comparison.tasks.filter((task) => task.paired < task.total);
  if (unpaired.length > 0) {
    parts.push(folded("samples in only one of the runs", table([["Task"], ["Paired", true], ["Only in base", true], ["Only in new", true], ["Content differs", true], ["Duplicate id", true], ["Not reached", true]],
      unpaired.map((task) => [visible(task.task_id), `${count(task.paired)} of ${count(task.total)}`, ...[task.only_in_base, task.only_in_new, task.different_content, task.duplicate_ids, task.not_reached].map(count)]))));
  }
  const list = (label, items) => items.length > 0 && parts.push(folded(label, make("ul", {}, items.map((item) => make("li", {}, visible(item))))));
  list("differences besides the model", comparison.differences.map((one) => (one.allowed ? `${one.what} (allowed)` : one.what)));
  list("what is not compared", comparison.not_compared);
  return parts;
}

function opened(label, ...content) {
  const element = folded(label, ...content);
  element.open = true;
  return element;
}

/** How many samples changed; leads to them where the list knows: of sub-scores it has none. */
function changedCell({ task_id: task, metric_id: metric, sub_score: sub }, change, number, run) {
  const text = number === 0 ? "0" : `${change === "worse" ? "▼" : "▲"} ${count(number)}`;
  if (number === 0 || sub) return text;
  const lead = () => choose({ run, task: names.tasks.indexOf(task), change, metric: names.metrics.indexOf(metric) });
  return make("button", { type: "button", class: "link", click: lead }, text);
}
