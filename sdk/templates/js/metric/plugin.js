import { metric, normalizeText, stripThoughtTags, words } from "gage-sdk";

// The host takes the inputs from each sample; with `param`, a suite can set another path. Increase the version when a
// score could change.
export default metric({
  name: "{{snake}}",
  version: "1",
  description: "Share of the reference's distinct words that the prediction contains.",
  inputs: {
    prediction: { path: "model_output.answer", param: "prediction_field", kind: "text" },
    reference: { path: "sample.label", param: "label_field", kind: "text" },
  },
  values: { score: { minimum: 0, maximum: 1 }, found: { minimum: 0 }, wanted: { minimum: 0 } },
  params: { case_sensitive: { type: "boolean", default: false } },
  // Returns a number, a boolean, or a card. A card without a score excludes the sample from the mean.
  score({ prediction, reference }, { case_sensitive }) {
    const options = { caseSensitive: case_sensitive };
    const found = new Set(words(normalizeText(stripThoughtTags(prediction), options)));
    const wanted = new Set(words(normalizeText(reference ?? "", options)));
    if (wanted.size === 0) return { primaryScore: null, explain: "there is no reference" };
    const missing = [...wanted].filter((word) => !found.has(word)).length;
    return {
      primaryScore: 1 - missing / wanted.size,
      pass: missing === 0,
      subScores: { found: wanted.size - missing, wanted: wanted.size },
      errorTags: missing > 0 ? ["missing_words"] : [],
    };
  },
});
