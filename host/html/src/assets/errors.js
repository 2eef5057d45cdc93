// Errors of samples, grouped by their message; a group leads to its samples.

/** Groups that are shown before somebody asks for the rest. */
const MAX_OPEN_GROUPS = 8;

function showErrors() {
  const section = byId("errors");
  section.hidden = errorGroups.length === 0;
  if (section.hidden) return;
  const order = errorGroups.map((group, place) => [group, place]).sort(([one], [other]) => other.count - one.count);
  const tasks = errorGroups.map(() => new Set());
  for (let row = 0; row < rows.length; row += 1) if (rows.error[row] >= 0) tasks[rows.error[row]].add(rows.task[row]);
  const listedTasks = (place) => [...tasks[place]].slice(0, 4).map((task) => visible(names.tasks[task])).join(", ") + (tasks[place].size > 4 ? ` and ${count(tasks[place].size - 4)} more` : "");
  const cells = ([group, place]) => [
    make("button", { type: "button", class: "link number", click: () => choose({ error: place }) }, count(group.count)),
    visible(named(group.stage)), visible(group.kind), make("span", { class: "error-text" }, visible(group.message)), listedTasks(place),
  ];
  const columns = [["Samples", true], ["Stage"], ["Kind"], ["Message of the first"], ["Tasks"]];
  section.append(table(columns, order.slice(0, MAX_OPEN_GROUPS).map(cells)));
  const rest = order.slice(MAX_OPEN_GROUPS);
  if (rest.length > 0) section.append(folded(counted(rest.length, "further group"), table(columns, rest.slice(0, 500).map(cells))));
}

/** The most frequent error of a run, which stands at its head. */
function mainErrorOf(run) {
  const counts = new Map();
  let failed = 0;
  for (let row = 0; row < rows.length; row += 1) {
    if (rows.run[row] !== run || rows.error[row] < 0) continue;
    failed += 1;
    counts.set(rows.error[row], (counts.get(rows.error[row]) ?? 0) + 1);
  }
  const [place, number] = [...counts].sort(([, one], [, other]) => other - one)[0] ?? [];
  return place === undefined ? null : { place, number, failed };
}
