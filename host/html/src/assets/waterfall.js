// The stages of a sample, one after another, each as long as it took.

/** Stages in the order in which a sample passes them: what a reader calls them, and where their time is. */
function stagesOf({ latency_ms: latency, queue_ms: queue, first_token_ms: first, scoring_ms: scoring, attempts, requests = 0, stages = {} }) {
  const model = attempts > Math.max(1, requests) ? `model, last of ${attempts} calls` : requests > 1 ? `model, ${requests} turns` : "model";
  const all = [
    ["reading", stages.preprocess_ms], ["queue", queue], ["support", stages.support_ms], ["prompt", stages.prompt_ms],
    [model, attempts > 0 ? latency : 0, first], ["embedding", stages.embed_ms], ["judge", stages.judge_ms], ["scoring", scoring],
  ];
  return all.filter(([, milliseconds]) => milliseconds > 0);
}

/** A waterfall: a bar for each stage, which begins where the one before ends. */
function waterfall(timing) {
  const stages = timing ? stagesOf(timing) : [];
  const whole = stages.reduce((sum, [, milliseconds]) => sum + milliseconds, 0);
  if (!(whole > 0)) return [];
  let begin = 0;
  const lines = stages.map(([name, milliseconds, first]) => {
    const [x, width] = [(300 * begin) / whole, Math.max(1.5, (300 * milliseconds) / whole)];
    begin += milliseconds;
    const mark = first > 0 && first < milliseconds ? x + (width * first) / milliseconds : null;
    const bar = draw("svg", { class: "stage", viewBox: "0 0 300 14", preserveAspectRatio: "none", "aria-hidden": "true" },
      draw("path", { class: "axis", d: "M0 13.5H300" }), draw("rect", { class: name.startsWith("model") ? "mark" : "mark other", x: Math.min(x, 298.5), y: 3, width, height: 9 }),
      mark === null ? null : draw("path", { class: "first", d: `M${mark} 1V14` }));
    return [name, bar, make("span", { title: mark === null ? null : `first token after ${duration(first)}` }, duration(milliseconds), mark === null ? "" : ` (first ${duration(first)})`)];
  });
  return [make("h3", {}, `Timing: ${duration(whole)} of work and waiting`), make("div", { class: "waterfall" }, table([["Stage"], [""], ["Time", true]], lines)),
    make("p", { class: "soft" }, "Stages stand in their order; pauses between them are not recorded. Scoring and reading are shares of a batch.")];
}
