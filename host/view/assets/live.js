// A run that goes on.

const folder = decodeURIComponent(location.pathname.split("/")[2]);
const fill = (id, isThere, ...content) => {
  const section = byId(id);
  section.hidden = !isThere;
  (section.querySelector("div") ?? section).replaceChildren(...content);
};

const ofTotal = (done, total) => (total === null ? count(done) : `${count(done)} of ${count(total)}`);

function showLive(now) {
  const { run } = now;
  const waiting = now.tasks.reduce((sum, task) => sum + task.awaiting, 0);
  // An answer is work that is done, whether or not it has its scores.
  const answered = now.done + waiting;
  const name = run.shard ? `${visible(run.shard.run_id)}, shard ${count(run.shard.number)} of ${count(run.shard.count)}` : visible(run.run_id);
  document.title = `${now.total ? `${Math.floor((100 * answered) / now.total)} % ` : ""}${name} – gage-host`;
  byId("title").textContent = name;
  if (!now.is_live) {
    // The report is there.
    location.reload();
    return Infinity;
  }
  byId("overview").replaceChildren(facts([
    ["Status", "running now"],
    ["Suite", visible(run.suite ?? "")],
    ["Model", run.models.map(visible).join(", ")],
    ["Samples", now.total === null && now.least_total > answered ? `${count(answered)} of ${count(now.least_total)}+` : ofTotal(answered, now.total)],
    ["Awaiting scores", count(waiting)],
    ["Samples per second", now.samples_per_s === null ? null : now.samples_per_s.toFixed(1)],
    ["Time left", now.eta_s === null ? null : `about ${duration(Math.max(1000, now.eta_s * 1000))}`],
    ["Tasks not started", now.tasks.some((task) => !task.has_begun) && `${count(now.tasks.filter((task) => !task.has_begun).length)} of ${count(now.tasks.length)}`],
    ["Running for", now.began === null ? null : duration(now.now - now.began)],
    ["Answer tokens", now.completion_tokens > 0 && count(now.completion_tokens)],
    ["Latency, median", now.latency.p50_ms === null ? null : duration(now.latency.p50_ms)],
    ["95th percentile", now.latency.p95_ms === null ? null : duration(now.latency.p95_ms)],
  ]));
  showProgress(now.tasks);
  showFiguresSoFar(now.tasks);
  showPace(now.pace);
  showEvents(now.events);
  return 1000;
}

function showProgress(tasks) {
  const failed = (task) => Object.entries(task.outcomes).filter(([outcome]) => outcome !== "scored").map(([outcome, number]) => `${outcome.replaceAll("_", " ")} ${count(number)}`).join(", ");
  fill("progress", tasks.length > 0, table([["Task"], [""], ["Answered", true], ["Share", true], ["Awaiting scores", true], ["Not scored"]],
    tasks.map((task) => (task.has_begun
      ? [visible(task.task_id), bar(task.done, task.awaiting, task.total), ofTotal(task.done + task.awaiting, task.total), task.total ? percent((task.done + task.awaiting) / task.total) : "–", count(task.awaiting), failed(task) || "none"]
      : [visible(task.task_id), bar(0, 0, null), make("span", { class: "soft" }, "not started"), "–", "–", "–"]))));
}

function showFiguresSoFar(tasks) {
  const figures = tasks.flatMap((task) => task.metrics.map((figure) => ({ ...figure, task, low: figure.interval?.low, high: figure.interval?.high }))).filter((figure) => figure.n > 0);
  fill("figures", figures.length > 0, table([["Task"], ["Metric"], ["Mean so far", true], ["95 % interval", true, "wide"], ["On its scale"], ["n", true], ["Coverage", true]],
    figures.map((figure, place) => [
      place > 0 && figures[place - 1].task === figure.task ? again(visible(figure.task.task_id)) : visible(figure.task.task_id), visible(figure.metric_id), make("span", { class: "strong" }, score(figure.value)), range(figure.interval),
      drawnFigure(figure, figures), ...(figure.is_preview ? [count(figure.n), "preview"] : [`${count(figure.n)} of ${count(figure.task.done)}`, percent(figure.coverage)]),
    ])));
}

/** A mean so far with its interval, and the ends of what is drawn. */
function drawnFigure(figure, figures) {
  const [low, high] = boundsOfFigure(figure, figures);
  return make("span", { class: "on-scale" }, make("span", {}, tick(low)), whisker(figure.value, figure.interval, low, high), make("span", {}, tick(high)));
}

function showPace(pace) {
  const isThere = pace !== null && pace.samples_per_s.length > 1;
  fill("pace", isThere, isThere ? lines("Samples per second", { series: [{ values: pace.samples_per_s }], span: pace.span_ms, unit: "per second", note: "since the program started" }) : "");
}

function showEvents(events) {
  const row = ({ unix_ms: when, level, kind, task_id: task, sample_id: sample, message }) => [
    new Date(when).toISOString().slice(11, 19), make("span", { class: level === "warn" || level === "error" ? "strong" : "" }, visible(kind.replaceAll("_", " "))),
    [task, sample].filter(Boolean).map(visible).join(" "), make("span", { class: "message-of-run", dir: "auto" }, visible(message)),
  ];
  fill("events", events.length > 0, table([["Time (UTC)"], ["Event"], ["Task and sample"], ["Message"]], events.map(row)));
}

chooseTheme();
byId("samples").href = `${runAddress(folder)}/report`;
const [ofRun, shardFolder] = folder.split(":");
if (shardFolder) {
  byId("shards").href = `${runAddress(ofRun)}/shards`;
  byId("shards").textContent = `Shards of ${visible(ofRun)}`;
  byId("shards").hidden = false;
}
follow(`/data/runs/${encodeURIComponent(folder)}`, showLive, 1000);
