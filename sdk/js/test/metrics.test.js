// The ready-made metrics, through the functions that a component exports.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as sdk from "../src/index.js";
import { implement } from "../src/metric.js";

const COMMON = { name: "m", version: "1", description: "d" };

function toValue(value) {
  if (value === null) return { tag: "absent" };
  return typeof value === "string" ? { tag: "text", val: value } : { tag: "json", val: JSON.stringify(value) };
}

function score(definition, params, ...values) {
  const functions = implement(definition, {});
  const [{ tag, val }] = functions.score("m", JSON.stringify(params), [{ sampleId: "1", inputs: values.map(toValue) }]);
  assert.equal(tag, "ok", val.message);
  const subScores = Object.fromEntries(val.subScores.map(({ name, value }) => [name, value]));
  return { ...val, subScores, detail: JSON.parse(val.detail) };
}

test("a comparison keeps what it compared", () => {
  const same = sdk.comparison({ ...COMMON, score: (prediction, reference) => prediction === reference });
  const card = score(same, {}, "a", "a");
  assert.deepEqual([card.primaryScore, card.pass, card.detail], [1, true, { prediction: "a", reference: "a" }]);
  assert.equal(score(same, {}, "a", null).pass, false);
});

test("sequence distances", () => {
  const distance = sdk.sequenceDistance(COMMON);
  const rows = [
    ["kitten", "sitting", "anls", 4 / 7],
    ["kitten", "sitting", "WER", 4 / 7],
    ["kitten", "sitting", "raw", 3],
    ["", "", "anls", 1],
    ["", "", "wer", 1],
    ["", "", "raw", 0],
    ["", "a", "anls", 0],
    ["a", "", "wer", 0],
    [null, null, "anls", 1],
    ["A  B", "a b", "anls", 1],
    ["abcdefgh", "a", "anls", 0.125],
    ["abcdefgh", "a", "wer", 0],
    ["北京", "东京", "anls", 0.5],
  ];
  for (const [prediction, reference, normalize, expected] of rows) {
    const card = score(distance, { normalize }, prediction, reference);
    assert.ok(Math.abs(card.primaryScore - expected) < 1e-9, `${prediction} ${reference} ${normalize}`);
    assert.equal(card.detail.strategy, normalize.toLowerCase());
  }
  assert.throws(() => implement(distance, {}).check("m", '{"normalize":"x"}'), { kind: "invalid-config" });
});

test("a distance of one's own", () => {
  const lengths = sdk.sequenceDistance({
    ...COMMON,
    params: { factor: { type: "number", default: 1 } },
    distance: (a, b, { factor }) => factor * Math.abs(a.length - b.length),
  });
  assert.equal(score(lengths, { normalize: "raw", factor: 2 }, "abc", "x").primaryScore, 4);
});

test("several references", () => {
  const best = sdk.multiReference(COMMON);
  assert.deepEqual(score(best, {}, "a", ["b", "A"]).detail, { best_score: 1, best_reference: "A" });
  assert.equal(score(best, { separator: "|" }, "a", "x|a").primaryScore, 1);
  assert.equal(score(best, {}, "a", "x|a").primaryScore, 0);
  assert.equal(score(best, {}, "a  b", ["a b"]).primaryScore, 1);
  assert.equal(score(best, {}, "a", ["", "a"]).primaryScore, 1);
  assert.equal(score(best, {}, "a", [{ answer: "a" }]).primaryScore, 0);
  assert.deepEqual(score(best, {}, "", ["a"]).errorTags, ["missing_prediction"]);
  assert.deepEqual(score(best, {}, "a", null).errorTags, ["missing_reference"]);
});

test("numbers against numbers", () => {
  const near = sdk.numericThreshold(COMMON);
  assert.equal(score(near, {}, " 3.5\n", 3.5).primaryScore, 1);
  assert.equal(score(near, { tolerance: 0.5 }, 1.5, "1.0").primaryScore, 1);
  assert.equal(score(near, { max_value: 4 }, 5, 5).primaryScore, 0);
  assert.deepEqual(score(near, {}, "50%", 50).errorTags, ["invalid_format"]);
  assert.deepEqual(score(near, {}, 5, null).detail, { prediction: 5, reference: null });
  const high = sdk.numericThreshold({
    ...COMMON,
    params: { threshold: { type: "number", default: 0.5 } },
    accept: (prediction, _reference, { threshold }) => prediction >= threshold,
  });
  assert.equal(score(high, {}, 0.5, null).primaryScore, 1);
});

test("likelihoods", () => {
  const nll = sdk.likelihood(COMMON);
  assert.equal(score(nll, {}, 1.25, null).primaryScore, 1.25);
  assert.deepEqual(score(nll, {}, null, [[-0.1, -0.2], [-0.3, [-0.4]]]).detail, {
    source: "token_logprobs",
    token_count: 4,
    metric_type: "nll",
  });
  const ppl = score(nll, { metric_type: "PPL" }, 1, null);
  assert.deepEqual([ppl.primaryScore, ppl.subScores], [Math.E, { ppl: Math.E }]);
  for (const none of [[null, null], ["x", []], ["nan", null]]) {
    assert.equal(score(nll, {}, ...none).primaryScore, undefined);
  }
});

test("rankings", () => {
  const rank = sdk.ranking(COMMON);
  const candidates = ["a", "b", { text: "c" }, { id: 4 }];
  assert.deepEqual(score(rank, {}, candidates, ["c", "b"]).subScores, { mrr: 0.5, hit_at_k: 1 });
  assert.equal(score(rank, { metric_type: "hit@k", k: 3 }, candidates, "4").primaryScore, 0);
  assert.equal(score(rank, { metric_type: "hit_at_k" }, candidates, 4).primaryScore, 1);
  assert.equal(score(rank, { candidate_key: "doc" }, [{ doc: "x", text: "y" }], ["y"]).detail.rank, null);
  assert.deepEqual(score(rank, {}, null, "a").detail, { k: 5, rank: null });
  assert.equal(score(rank, {}, ["a"], [null]).primaryScore, 0);
});
