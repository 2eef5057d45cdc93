// Errors of samples, grouped by their message; a group leads to its samples.

/** Groups that are shown before somebody asks for the rest. */
const MAX_OPEN_GROUPS = 8;

function showErrors() {
  const section = byId("errors");
  section.hidden = errorGroups.length === 0;
  if (section.hidden) return;
  const order = errorGroups.map((group, place) => [group, place]).sort(([one], [other]) => other.count - one.count);
  const tasks = errorGroups.map(() => new Set());
  for (let row = 0; row < rows.length; row += 1) for (const place of errorsOf(row)) tasks[place].add(rows.task[row]);
  const listedTasks = (place) => [...tasks[place]].slice(0, 4).map((task) => visible(names.tasks[task])).join(", ") + (tasks[place].size > 4 ? ` and ${count(tasks[place].size - 4)} more` : "");
  const hasMetrics = errorGroups.some((group) => group.metric !== "");
  const cells = ([group, place]) => [
    make("button", { type: "button", class: "link number", click: () => choose({ error: place }) }, count(group.count)),
    visible(named(group.stage)), visible(group.kind), ...(hasMetrics ? [visible(group.metric)] : []), make("span", { class: "error-text" }, visible(group.message)), listedTasks(place),
  ];
  const columns = [["Samples", true], ["Stage"], ["Kind"], ...(hasMetrics ? [["Metric"]] : []), ["Message of the first", false, "wide"], ["Tasks"]];
  section.append(table(columns, order.slice(0, MAX_OPEN_GROUPS).map(cells)));
  const rest = order.slice(MAX_OPEN_GROUPS);
  if (rest.length > 0) section.append(folded(counted(rest.length, "further group"), table(columns, rest.slice(0, 500).map(cells))));
}

/** How many samples of a run failed, and why, with links to them. Null if none failed. */
function failureNotice(run) {
  const unscored = new Map();
  let [ended, failed, isZero] = [0, 0, true];
  for (let row = 0; row < rows.length; row += 1) {
    const outcome = names.outcomes[rows.outcome[row]];
    if (rows.run[row] !== run || UNFINISHED.includes(outcome)) continue;
    ended += 1;
    if (!isFailed(row)) continue;
    failed += 1;
    if (outcome !== "scored") unscored.set(rows.outcome[row], (unscored.get(rows.outcome[row]) ?? 0) + 1);
    else isZero &&= names.metrics.every((_, metric) => !failsBy(row, metric) || rows.scores[metric][row] === 0);
  }
  if (failed === 0) return null;
  const link = (text, filters) => make("button", { type: "button", class: "link", click: () => choose({ run, ...filters }) }, text);
  const missing = [...unscored].sort(([, one], [, other]) => other - one);
  const without = missing.reduce((sum, [, number]) => sum + number, 0);
  const outcomes = missing.flatMap(([outcome, number], place) => [place > 0 ? ", " : "", link(`${count(number)} ${named(names.outcomes[outcome])}`, { outcome })]);
  const scored = link(`${count(failed - without)} ${isZero ? "scored 0" : "did not pass"}`, { outcome: names.outcomes.indexOf("scored"), isFailed: true });
  const parts = [...(without > 0 ? [`${count(without)} ${without === 1 ? "has" : "have"} no score (`, ...outcomes, ")"] : []), without > 0 && failed > without ? ", " : "", failed > without ? scored : ""];
  return make("p", { class: "notice bad" }, isSeveral() ? `${head.runs[run].run_id}: ` : "", link(`${count(failed)} of ${counted(ended, "sample")} failed`, { isFailed: true }), ": ", ...parts, ".", ...mainErrorText(run));
}

/** The most frequent error of a run, with a link to its samples. */
function mainErrorText(run) {
  const main = mainErrorOf(run);
  if (!main) return [];
  const samples = make("button", { type: "button", class: "link", click: () => choose({ run, error: main.place }) }, counted(main.number, "sample"));
  const group = errorGroups[main.place];
  return [" The most frequent error, of ", samples, `: ${errorTitle(group.stage, group.kind)}: ${messageOf(group)}`];
}

/** Where something failed, and how: `error in inference (timeout)`. */
const errorTitle = (stage, kind) => `error in ${named(stage)} (${visible(named(kind))})`;

/** The most frequent error of a run. */
function mainErrorOf(run) {
  const counts = new Map();
  for (let row = 0; row < rows.length; row += 1) {
    if (rows.run[row] !== run || rows.error[row] < 0) continue;
    for (const place of errorsOf(row)) counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  const [place, number] = [...counts].sort(([, one], [, other]) => other - one)[0] ?? [];
  return place === undefined ? null : { place, number };
}
