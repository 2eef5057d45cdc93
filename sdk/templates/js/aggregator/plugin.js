import { aggregator, PluginError } from "gage-sdk";

// A fold: the host keeps the state between calls, so it must be a small object that JSON can represent. Increase the
// version when a figure could change.
export default aggregator({
  name: "{{snake}}",
  version: "1",
  description: "Weighted geometric mean of the primary scores; cards without one do not count.",
  start: () => ({ logarithms: 0, weight: 0, count: 0, hasZero: false }),
  add(state, { sampleId, weight, card }) {
    const score = card.primaryScore;
    if (score === null) return;
    if (score < 0) throw new PluginError("invalid-input", `sample '${sampleId}' scores below zero`);
    if (score === 0) state.hasZero = true;
    else state.logarithms += weight * Math.log(score);
    state.weight += weight;
    state.count += 1;
  },
  // Optional: with it, the figure gets an interval, and gates compare it.
  merge(state, other) {
    state.logarithms += other.logarithms;
    state.weight += other.weight;
    state.count += other.count;
    state.hasZero ||= other.hasZero;
  },
  finish({ logarithms, weight, count, hasZero }) {
    if (weight === 0) return [];
    return [{ name: "geometric_mean", value: hasZero ? 0 : Math.exp(logarithms / weight), count }];
  },
});
