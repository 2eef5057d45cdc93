// Comparison of a prediction with a reference.

import { toCard } from "../card.js";
import { COMPARED, metric } from "../metric.js";

// Returns the card of a score, with the compared values in its detail.
export function withDetail(value, detail) {
  const card = toCard(value);
  return { ...card, detail: { ...detail, ...card.detail } };
}

export function comparison({ score, ...definition }) {
  return metric({
    inputs: COMPARED,
    ...definition,
    score: ({ prediction, reference }, params) =>
      withDetail(score(prediction, reference, params), { prediction, reference }),
  });
}
