// Each further run against the first: what changed, and why.

// Both reasons for which nothing can be said have the same word.
const verdicts = { MISMATCH: "INVALID", INCOMPLETE: "INVALID" };

function showComparisons() {
  const section = byId("comparison");
  section.hidden = head.comparisons.length === 0;
  head.comparisons.forEach((comparison, place) => {
    section.append(make("h3", {}, `${comparison.new.run_id} against ${comparison.base.run_id}`));
    if (comparison.verdict) section.append(make("p", {}, make("strong", {}, verdicts[comparison.verdict] ?? comparison.verdict), comparison.refusal ? `: ${visible(comparison.refusal)}` : ""));
    else if (comparison.refusal) section.append(make("p", { class: "notice" }, visible(comparison.refusal)));
    if (comparison.same_run) section.append(make("p", { class: "notice" }, "Both are the same run, so nothing can differ."));
    section.append(...comparedMetrics(comparison, place + 1), ...comparedRest(comparison));
  });
}

function comparedMetrics(comparison, run) {
  const scored = comparison.metrics.filter((metric) => metric.n > 0);
  if (scored.length === 0) return [];
  const main = scored.map((metric, place) => ({
    begins: place > 0 && !metric.sub_score,
    cells: [
      metric.sub_score ? "" : ident(metric.task_id), ident(metric.sub_score ? `… ${metric.sub_score}` : metric.metric_id),
      score(metric.base), score(metric.new), make("span", { class: "strong" }, signed(metric.difference)), range(metric.interval),
      leads(metric.worse, { run, task: names.tasks.indexOf(metric.task_id), change: "worse" }, "▼ "),
      leads(metric.better, { run, task: names.tasks.indexOf(metric.task_id), change: "better" }, "▲ "),
      pValue(metric.test.worse), count(metric.n),
    ],
  }));
  const parts = [table([["Task"], ["Metric"], ["Base", true], ["New", true], ["Difference", true], ["95 % interval", true], ["Worse", true], ["Better", true], ["p of “worse”", true], ["n", true]], main)];
  for (const metric of scored) {
    const name = [metric.task_id, metric.metric_id, metric.sub_score].filter(Boolean).map(visible).join(", ");
    if (metric.gate) parts.push(make("p", {}, make("strong", {}, verdicts[metric.gate.verdict] ?? metric.gate.verdict), ` ${name}: ${visible(metric.gate.reason)}`));
    if (metric.flips.length > 0) {
      const flips = metric.flips.map((flip) => [
        make("button", { type: "button", class: "link ident", title: visible(flip.sample_id), click: () => openById(run, metric.task_id, flip.sample_id) }, visible(flip.sample_id)),
        score(flip.base), score(flip.new), flip.error_tags.map(visible).join(", "),
      ]);
      parts.push(opened(`${name}: the ${metric.flips.length} of ${count(metric.worse)} samples that became worse by most`, table([["Sample"], ["Base", true], ["New", true], ["Tags"]], flips)));
    }
    if (metric.error_tags.length > 0) parts.push(folded(`${name}: error tags`, table([["Tag"], ["Base", true], ["New", true], ["Of samples that became worse", true]], metric.error_tags.map((tag) => [visible(tag.tag), count(tag.base), count(tag.new), count(tag.worse)]))));
    if (metric.slices.length > 0) {
      parts.push(folded(`${name}: slices`, table([["Slice"], ["Key"], ["Base", true], ["New", true], ["Worse", true], ["Better", true], ["n", true], ["q", true]],
        metric.slices.map((slice) => [visible(slice.by), visible(slice.key), score(slice.base), score(slice.new), count(slice.worse), count(slice.better), count(slice.n), make("span", { class: slice.q_value <= 0.05 && "strong" }, pValue(slice.q_value))]))));
    }
  }
  return parts;
}

function comparedRest(comparison) {
  const parts = [];
  const unpaired = comparison.tasks.filter((task) => task.paired < task.total);
  if (unpaired.length > 0) {
    parts.push(folded("samples without a partner", table([["Task"], ["Paired", true], ["Only in base", true], ["Only in new", true], ["Other content", true], ["Id twice", true]],
      unpaired.map((task) => [visible(task.task_id), `${count(task.paired)} of ${count(task.total)}`, ...[task.only_in_base, task.only_in_new, task.different_content, task.duplicate_ids].map(count)]))));
  }
  const list = (label, items) => items.length > 0 && parts.push(folded(label, make("ul", {}, items.map((item) => make("li", {}, visible(item))))));
  list("what differs besides the model", comparison.differences.map((one) => (one.allowed ? `${one.what} (allowed)` : one.what)));
  list("what only one of the runs has", comparison.not_compared);
  return parts;
}

/** A name that a narrow table shortens; its whole is shown where the pointer rests on it. */
const ident = (name) => make("span", { class: "ident", title: visible(name) }, visible(name));

function opened(label, ...content) {
  const element = folded(label, ...content);
  element.open = true;
  return element;
}

const leads = (number, wanted, sign) => (number === 0 ? "0" : make("button", { type: "button", class: "link", click: () => choose(wanted) }, `${sign}${count(number)}`));
