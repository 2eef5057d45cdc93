// Comparison of a number with a number.

import { metric } from "../metric.js";
import { parseNumber } from "../numbers.js";
import { withDetail } from "./comparison.js";

const PARAMS = {
  tolerance: { type: "number", minimum: 0, default: 0, description: "Largest accepted difference" },
  min_value: { type: "number", description: "Predictions below it score 0" },
  max_value: { type: "number", description: "Predictions above it score 0" },
};

export function numericThreshold({ accept, params, ...definition }) {
  return metric({
    ...definition,
    params: { ...PARAMS, ...params },
    score(inputs, own) {
      const [prediction, reference] = [parseNumber(inputs.prediction), parseNumber(inputs.reference)];
      const { tolerance, min_value = -Infinity, max_value = Infinity } = own;
      if (prediction === null || (reference === null && accept === undefined)) {
        return withDetail({ primaryScore: 0, pass: false, errorTags: ["invalid_format"] }, inputs);
      }
      const decision =
        accept === undefined
          ? Math.abs(prediction - reference) <= tolerance && prediction >= min_value && prediction <= max_value
          : accept(prediction, reference, own);
      return withDetail(decision, inputs);
    },
  });
}
