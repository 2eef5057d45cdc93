// The shards of a run: how far each of them is.

const folder = decodeURIComponent(location.pathname.split("/")[2]);
const states = { done: "done", running: "running now", stopped: "stopped", not_started: "not started", unreadable: "unreadable", deleted: "deleted" };
/** How often the shards are looked at, in milliseconds, and how often once all have ended. */
const PAUSE = 2000;
const PAUSE_AT_END = 10000;

const ofPlanned = (recorded, planned) => (recorded === null ? "–" : planned === null ? count(recorded) : `${count(recorded)} of ${count(planned)}`);

/** A time in its largest unit, as the program prints it. */
function roughly(seconds) {
  if (seconds < 90) return `${seconds.toFixed(0)} s`;
  if (seconds < 90 * 60) return `${(seconds / 60).toFixed(0)} min`;
  return seconds < 48 * 3600 ? `${(seconds / 3600).toFixed(0)} h` : `${(seconds / 86400).toFixed(0)} days`;
}

function showShards(now) {
  const { totals } = now;
  document.title = `${count(totals.done)} of ${counted(totals.shards, "shard")} ${visible(now.run_id)} – gage-host`;
  byId("title").textContent = visible(now.run_id);
  const report = byId("report");
  report.hidden = !now.has_report;
  report.href = runAddress(folder);
  byId("overview").replaceChildren(facts([
    ["Suite", visible(now.suite ?? "")],
    ["Model", now.models.map(visible).join(", ")],
    ["Shards", `${count(totals.done)} of ${count(totals.shards)} done`],
    ["Running now", totals.running > 0 && count(totals.running)],
    ["Samples", ofPlanned(totals.recorded, totals.planned)],
    ["Without a score", totals.failed > 0 && count(totals.failed)],
    ["Samples per second", totals.samples_per_s === null ? null : totals.samples_per_s.toFixed(1)],
    ["Time left", totals.seconds_left === null ? null : `about ${roughly(totals.seconds_left)}`],
    ["Started (UTC)", now.created_at === null ? null : time(visible(now.created_at))],
    ["Merge", visible(now.merge)],
    ["Next", now.next === null ? null : make("code", {}, visible(now.next))],
  ]));
  byId("summary").textContent = `${visible(now.summary)}.`;
  document.querySelector("#shards div").replaceChildren(table(
    [["Shard"], ["State"], [""], ["Samples", true], ["Without a score", true], ["Per second", true], ["Last change", true]],
    now.rows.map((row) => shardRow(row, now.now)),
  ));
  return now.has_ended ? PAUSE_AT_END : PAUSE;
}

function shardRow(row, now) {
  const number = row.first === row.last ? count(row.first) : `${count(row.first)}–${count(row.last)}`;
  const state = make("span", { class: row.state === "unreadable" ? "notice" : row.state === "running" ? "strong" : "" }, states[row.state] ?? visible(row.state));
  const isStarted = row.state !== "not_started";
  return [
    row.page ? make("a", { href: runAddress(row.page) }, number) : number,
    [state, row.reason ? make("span", { class: "soft message-of-run" }, ` ${visible(row.reason)}`) : ""],
    bar(row.recorded ?? 0, 0, row.planned),
    isStarted ? ofPlanned(row.recorded, row.planned) : "–",
    isStarted && row.failed !== null ? count(row.failed) : "–",
    row.samples_per_s === null ? "–" : row.samples_per_s.toFixed(1),
    row.changed_unix_ms === null ? "–" : `${roughly(Math.max(0, now - row.changed_unix_ms) / 1000)} ago`,
  ];
}

chooseTheme();
follow(`/data/runs/${encodeURIComponent(folder)}/shards`, showShards, PAUSE);
