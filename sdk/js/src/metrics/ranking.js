// Rank of the correct candidates in a ranked list.

import { metric } from "../metric.js";
import { oneOf } from "../shape.js";
import { averagePrecision, ndcg } from "./gain.js";
import { gradesOf, idealOf, readTargets, spellingsOf } from "./targets.js";

const INPUTS = {
  candidates: { path: "model_output.candidates", param: ["candidates_field", "prediction_field"] },
  targets: { path: ["sample.targets", "sample.label"], param: ["targets_field", "label_field"] },
};

const KEY = { type: ["string", "null"], default: null };

const PARAMS = {
  metric_type: { type: "string", default: "mrr", description: "Primary score: `mrr` or `hit_at_k`" },
  k: { type: "integer", minimum: 0, default: 3, description: "Number of candidates that `hit_at_k` and `ndcg_at_k` consider" },
  candidate_field: { ...KEY, description: "Field of a candidate that is compared; by default `text`, `id` or `label`" },
  candidate_key: { ...KEY, description: "Alias of `candidate_field`" },
};

const BOUNDS = { minimum: 0, maximum: 1 };

function listOf(value) {
  if (value === null) return [];
  return Array.isArray(value) ? value : [value];
}

export function ranking(definition) {
  return metric({
    inputs: INPUTS,
    values: { score: BOUNDS, mrr: BOUNDS, hit_at_k: BOUNDS, ndcg_at_k: BOUNDS, average_precision: BOUNDS },
    ...definition,
    params: { ...PARAMS, ...definition.params },
    setup: ({ metric_type, k, candidate_field, candidate_key }) => ({
      k,
      key: candidate_field ?? candidate_key,
      metricType: oneOf(metric_type.toLowerCase().replace("@", "_at_"), ["mrr", "hit_at_k"], "metric_type"),
    }),
    score({ candidates, targets }, { metricType, k, key }) {
      const offered = listOf(candidates);
      const wanted = readTargets(targets);
      const ideal = idealOf(wanted);
      const grades = gradesOf(wanted, offered.map((candidate) => spellingsOf(candidate, key)));
      const index = grades.findIndex((grade) => grade > 0);
      const rank = index < 0 ? null : index + 1;
      const subScores = { mrr: rank === null ? 0 : 1 / rank, hit_at_k: rank !== null && rank <= k ? 1 : 0 };
      const primaryScore = subScores[metricType];
      if (wanted.isGraded) {
        subScores.ndcg_at_k = ndcg(grades, ideal, k);
        subScores.average_precision = averagePrecision(grades, ideal.length);
      }
      const errorTags = [];
      if (offered.length === 0) errorTags.push("missing_prediction");
      if (ideal.length === 0) errorTags.push("missing_reference");
      return { primaryScore, subScores, errorTags, detail: { k, rank } };
    },
  });
}
