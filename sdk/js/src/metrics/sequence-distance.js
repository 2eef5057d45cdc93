// Distance of two texts as a score.

import { levenshteinDistance } from "../levenshtein.js";
import { metric } from "../metric.js";
import { oneOf, number } from "../shape.js";
import { normalizeText } from "../text.js";

const PARAMS = {
  normalize: { type: "string", default: "anls", description: "How the distance becomes the score: `anls`, `wer` or `raw`" },
  case_sensitive: { type: "boolean", default: false, description: "Distinguish upper and lower case" },
};

function normalized(distance, strategy, prediction, reference) {
  if (strategy === "raw") return distance;
  if (prediction.length === 0 && reference.length === 0) return 1;
  const length = strategy === "wer" ? reference.length : Math.max(prediction.length, reference.length);
  return length === 0 ? 0 : Math.max(1 - distance / length, 0);
}

export function sequenceDistance({ distance = levenshteinDistance, params, setup, ...definition }) {
  return metric({
    values: { score: { minimum: 0 } },
    ...definition,
    params: { ...PARAMS, ...params },
    setup(given) {
      const strategy = oneOf(given.normalize.toLowerCase(), ["anls", "wer", "raw"], "normalize");
      return { strategy, caseSensitive: given.case_sensitive, params: setup === undefined ? given : setup(given) };
    },
    score(inputs, { strategy, caseSensitive, params: own }) {
      const normalize = (value) => normalizeText(value, { caseSensitive, collapseWhitespace: true }) ?? "";
      const [prediction, reference] = [normalize(inputs.prediction), normalize(inputs.reference)];
      const edits = number(distance(prediction, reference, own), "the distance");
      const score = normalized(edits, strategy, [...prediction], [...reference]);
      return { primaryScore: score, detail: { distance: edits, normalized: score, strategy } };
    },
  });
}
