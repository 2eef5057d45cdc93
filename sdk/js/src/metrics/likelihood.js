// Likelihood of a text under the model.

import { metric } from "../metric.js";
import { flattenNumbers, parseNumber } from "../numbers.js";
import { oneOf } from "../shape.js";

const FIGURES = ["nll", "ppl", "bits_per_byte"];

const INPUTS = {
  loss: { path: "model_output.loss", param: "loss_field" },
  logprobs: { path: ["model_output.token_logprobs", "model_output.rolling"], param: "logprobs_field" },
  byte_count: { path: "model_output.byte_count", param: "byte_count_field" },
  token_count: { path: "model_output.token_count", param: "token_count_field" },
};

const PARAMS = { metric_type: { type: "string", default: "nll", description: "Primary score: `nll`, `ppl` or `bits_per_byte`" } };

const LOWER = { higherIsBetter: false };

function finite(value) {
  const number = parseNumber(value);
  return Number.isFinite(number) ? number : null;
}

function aboveZero(value) {
  const number = finite(value);
  return number > 0 ? number : null;
}

// Returns the likelihood of a whole text, from the host's record.
function knownOfText({ loglikelihood, token_count, byte_count }) {
  const [sum, tokens] = [finite(loglikelihood), aboveZero(token_count)];
  return sum === null || tokens === null ? null : { nll: -sum / tokens, source: "rolling", tokens, bytes: aboveZero(byte_count) };
}

// Returns the mean negative log-likelihood, its source, and its number of tokens; null if there is no data.
function known({ loss, logprobs, token_count }) {
  const given = typeof loss === "boolean" ? Number(loss) : finite(loss);
  if (given !== null) return { nll: given, source: "loss", tokens: aboveZero(token_count) };
  if (logprobs?.loglikelihood !== undefined) return knownOfText(logprobs);
  const numbers = flattenNumbers(logprobs);
  if (numbers.length === 0) return null;
  const sum = numbers.reduce((total, value) => total + value, 0);
  return { nll: -sum / numbers.length, source: "token_logprobs", tokens: numbers.length };
}

export function likelihood(definition) {
  return metric({
    inputs: INPUTS,
    values: Object.fromEntries(["score", ...FIGURES].map((name) => [name, LOWER])),
    ...definition,
    params: { ...PARAMS, ...definition.params },
    setup: (params) => oneOf(params.metric_type.toLowerCase(), FIGURES, "metric_type"),
    score(inputs, metricType) {
      const found = known(inputs);
      if (found === null) return { primaryScore: null, explain: "there is neither a loss nor a log-probability" };
      const { nll, source, tokens } = found;
      const bytes = aboveZero(inputs.byte_count) ?? found.bytes ?? null;
      const bits = tokens === null || bytes === null ? NaN : (nll * tokens) / (bytes * Math.LN2);
      const figures = { nll, ppl: Math.exp(nll), bits_per_byte: bits };
      const subScores = Object.fromEntries(Object.entries(figures).filter(([, value]) => Number.isFinite(value)));
      const primaryScore = subScores[metricType] ?? null;
      const detail = { source, token_count: tokens, metric_type: metricType };
      if (primaryScore !== null) return { primaryScore, subScores, detail };
      return { primaryScore, subScores, explain: `${metricType} is not known, or not a finite number`, detail };
    },
  });
}
