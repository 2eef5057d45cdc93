// Score cards: a scorer's results for one sample.

import * as shape from "./shape.js";

const KEYS = ["primaryScore", "pass", "subScores", "errorTags", "explain", "detail"];

// Converts any result that a metric may return to a card in the author's format.
export function toCard(value) {
  if (value === null || typeof value === "number") return { primaryScore: value };
  if (typeof value === "boolean") return { primaryScore: value ? 1 : 0, pass: value };
  if (!shape.isObject(value)) {
    throw new TypeError(`score must return a number, a boolean, a card or null, not ${shape.nameOfType(value)}`);
  }
  return shape.onlyKeys(value, KEYS, "the card");
}

export function cardToHost(value) {
  const card = toCard(value);
  return {
    primaryScore: shape.optional(card.primaryScore, "primaryScore", shape.number),
    pass: shape.optional(card.pass, "pass", shape.boolean),
    subScores: Object.entries(shape.object(card.subScores ?? {}, "subScores")).map(([name, score]) => ({
      name,
      value: shape.number(score, `subScores.${name}`),
    })),
    errorTags: shape.list(card.errorTags ?? [], "errorTags").map((tag) => shape.text(tag, "an error tag")),
    explain: shape.optional(card.explain, "explain", shape.text),
    detail: shape.extraJson(card.detail, "detail"),
  };
}

export function cardFromHost(card) {
  return {
    primaryScore: card.primaryScore ?? null,
    pass: card.pass ?? null,
    subScores: Object.fromEntries(card.subScores.map(({ name, value }) => [name, value])),
    errorTags: card.errorTags,
    explain: card.explain ?? null,
    detail: JSON.parse(card.detail),
  };
}
