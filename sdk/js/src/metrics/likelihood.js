// How likely a text was to the model.

import { metric } from "../metric.js";
import { flattenNumbers, parseNumber } from "../numbers.js";
import { oneOf } from "../shape.js";

const INPUTS = {
  loss: { path: "model_output.loss", param: "loss_field" },
  logprobs: { path: "model_output.token_logprobs", param: "logprobs_field" },
};

const PARAMS = { metric_type: { type: "string", default: "nll", description: "nll or ppl" } };

const LOWER = { higherIsBetter: false };

// The mean negative log-likelihood and where it comes from; null where there is no data.
function negativeLogLikelihood({ loss, logprobs }) {
  const given = parseNumber(loss);
  if (given !== null) return { nll: given, detail: { source: "loss" } };
  const numbers = flattenNumbers(logprobs);
  if (numbers.length === 0) return null;
  const sum = numbers.reduce((total, value) => total + value, 0);
  return { nll: -sum / numbers.length, detail: { source: "token_logprobs", token_count: numbers.length } };
}

export function likelihood(definition) {
  return metric({
    inputs: INPUTS,
    values: { score: LOWER, nll: LOWER, ppl: LOWER },
    ...definition,
    params: { ...PARAMS, ...definition.params },
    setup: (params) => oneOf(params.metric_type.toLowerCase(), ["nll", "ppl"], "metric_type"),
    score(inputs, metricType) {
      const found = negativeLogLikelihood(inputs);
      const value = found === null ? NaN : metricType === "ppl" ? Math.exp(found.nll) : found.nll;
      if (!Number.isFinite(value)) {
        return { primaryScore: null, explain: "no finite loss and no token log-probabilities" };
      }
      const detail = { ...found.detail, metric_type: metricType };
      return { primaryScore: value, subScores: { [metricType]: value }, detail };
    },
  });
}
