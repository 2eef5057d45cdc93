// Best score over several references.

import { toCard } from "../card.js";
import { metric } from "../metric.js";
import { normalizeText, textOf, trim } from "../text.js";

const INPUTS = {
  prediction: { path: "model_output.answer", param: "prediction_field" },
  references: {
    path: ["sample.references", "sample.metadata.answers", "sample.label"],
    param: ["references_field", "answers_field"],
  },
};

const PARAMS = {
  separator: { type: "string", minLength: 1, description: "Separator that splits a single reference into several" },
  case_sensitive: { type: "boolean", default: false, description: "Distinguish upper and lower case" },
};

function referencesOf(value, separator) {
  if (value === null) return [];
  if (Array.isArray(value)) return value.filter((reference) => reference !== null).map(textOf);
  const text = textOf(value);
  return separator === undefined ? [text] : text.split(separator).map(trim);
}

export function multiReference({ score = (a, b) => a === b, params, setup, ...definition }) {
  return metric({
    inputs: INPUTS,
    ...definition,
    params: { ...PARAMS, ...params },
    setup: (given) => ({
      separator: given.separator,
      caseSensitive: given.case_sensitive,
      params: setup === undefined ? given : setup(given),
    }),
    score(inputs, { separator, caseSensitive, params: own }) {
      const normalize = (value) => normalizeText(value, { caseSensitive, collapseWhitespace: true }) ?? "";
      const prediction = normalize(inputs.prediction);
      const references = referencesOf(inputs.references, separator);
      if (prediction === "") return { primaryScore: 0, errorTags: ["missing_prediction"] };
      if (references.length === 0) return { primaryScore: 0, errorTags: ["missing_reference"] };
      let best = null;
      for (const reference of references) {
        const card = toCard(score(prediction, normalize(reference), own));
        if (best === null || (card.primaryScore ?? -Infinity) > (best.card.primaryScore ?? -Infinity)) best = { card, reference };
      }
      const detail = { best_score: best.card.primaryScore, best_reference: best.reference, ...best.card.detail };
      return { ...best.card, detail };
    },
  });
}
