// Where the first right candidate stands.

import { metric } from "../metric.js";
import { isObject, oneOf } from "../shape.js";
import { textOf } from "../text.js";

const INPUTS = {
  candidates: { path: "model_output.candidates", param: "candidates_field" },
  targets: { path: ["sample.targets", "sample.label"], param: "targets_field" },
};

const PARAMS = {
  metric_type: { type: "string", default: "mrr", description: "mrr or hit_at_k" },
  k: { type: "integer", minimum: 1, default: 5, description: "How many candidates count for hit_at_k" },
  candidate_key: { type: "string", description: "Key of candidates that are objects; default text, id or label" },
};

const BOUNDS = { minimum: 0, maximum: 1 };

function listOf(value) {
  return Array.isArray(value) ? value : [value];
}

function candidateText(candidate, key) {
  if (!isObject(candidate)) return textOf(candidate);
  const found = (key === undefined ? ["text", "id", "label"] : [key]).find((name) => Object.hasOwn(candidate, name));
  return textOf(found === undefined ? candidate : candidate[found]);
}

export function ranking(definition) {
  return metric({
    inputs: INPUTS,
    values: { score: BOUNDS, mrr: BOUNDS, hit_at_k: BOUNDS },
    ...definition,
    params: { ...PARAMS, ...definition.params },
    setup: ({ metric_type, ...params }) => ({
      ...params,
      metricType: oneOf(metric_type.toLowerCase().replace("@", "_at_"), ["mrr", "hit_at_k"], "metric_type"),
    }),
    score({ candidates, targets }, { metricType, k, candidate_key }) {
      const wanted = new Set(listOf(targets).filter((target) => target !== null).map(textOf));
      const texts = candidates === null ? [] : listOf(candidates).map((each) => candidateText(each, candidate_key));
      const index = texts.findIndex((text) => wanted.has(text));
      const rank = index < 0 ? null : index + 1;
      const subScores = { mrr: rank === null ? 0 : 1 / rank, hit_at_k: rank !== null && rank <= k ? 1 : 0 };
      return { primaryScore: subScores[metricType], subScores, detail: { k, rank } };
    },
  });
}
