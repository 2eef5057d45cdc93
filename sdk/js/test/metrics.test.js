// The ready-made metrics, called through a component's exports.

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
  const inputs = Object.keys(definition.inputs).map((_, index) => values[index] ?? null);
  const [{ tag, val }] = functions.score("m", JSON.stringify(params), [{ sampleId: "1", inputs: inputs.map(toValue) }]);
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
  const rows = [
    [[1.25, null], 1.25, "loss"],
    [[0, null], 0, "loss"],
    [[" 1.25", null], 1.25, "loss"],
    [[true, null], 1, "loss"],
    [[false, [-1]], 0, "loss"],
    [[1, [-5]], 1, "loss"],
    [["x", [-1, -2]], 1.5, "token_logprobs"],
    [["nan", [-1]], 1, "token_logprobs"],
    [[null, [{ logprob: -0.7 }]], 0.7, "token_logprobs"],
    [[null, ["inf", "-inf"]], undefined, "token_logprobs"],
    [[null, null], undefined, undefined],
    [["x", []], undefined, undefined],
    [["nan", null], undefined, undefined],
  ];
  for (const [values, expected, source] of rows) {
    const card = score(nll, {}, ...values);
    assert.deepEqual([card.primaryScore, card.subScores.nll, card.detail.source], [expected, expected, source], JSON.stringify(values));
    assert.equal(card.explain === undefined, expected !== undefined);
  }
  // The host's record of a whole text: four tokens of two bits each in eight bytes.
  const rolling = { loglikelihood: -8 * Math.LN2, token_count: 4, byte_count: 8, word_count: 2 };
  for (const [type, expected] of [["nll", 2 * Math.LN2], ["ppl", 4], ["bits_per_byte", 1]]) {
    const { primaryScore, detail } = score(nll, { metric_type: type }, null, rolling);
    assert.ok(Math.abs(primaryScore - expected) < 1e-12, type);
    assert.deepEqual([detail.source, detail.token_count], ["rolling", 4]);
  }
  assert.equal(score(nll, {}, null, { loglikelihood: -1, token_count: 0 }).primaryScore, undefined);
  assert.deepEqual(score(nll, {}, null, [[-0.1, -0.2], [-0.3, [-0.4]]]).detail, {
    source: "token_logprobs",
    token_count: 4,
    metric_type: "nll",
  });
  const ppl = score(nll, { metric_type: "PPL" }, 1, null, null, "2");
  assert.deepEqual([ppl.primaryScore, ppl.subScores, ppl.detail.token_count], [Math.E, { nll: 1, ppl: Math.E }, 2]);
  const huge = score(nll, { metric_type: "ppl" }, 1000, null);
  assert.deepEqual([huge.primaryScore, huge.subScores, huge.detail.token_count], [undefined, { nll: 1000 }, null]);
  assert.throws(() => implement(nll, {}).check("m", '{"metric_type":"bits"}'), { kind: "invalid-config" });
});

test("bits per byte", () => {
  const bits = sdk.likelihood(COMMON);
  const params = { metric_type: "bits_per_byte" };
  // Two tokens of one bit each, covering four bytes, are half a bit per byte.
  const tokens = [-Math.LN2, -Math.LN2];
  for (const values of [[null, tokens, 4], [Math.LN2, null, "4", 2]]) {
    assert.ok(Math.abs(score(bits, params, ...values).primaryScore - 0.5) < 1e-12);
  }
  for (const values of [[Math.LN2, null, 4], [Math.LN2, null, 4, true], [null, tokens, 0], [null, tokens, "inf"], [null, tokens]]) {
    const { primaryScore, explain } = score(bits, params, ...values);
    assert.deepEqual([primaryScore, explain], [undefined, "bits_per_byte is not known, or not a finite number"]);
  }
});

test("rankings", () => {
  const rank = sdk.ranking(COMMON);
  const candidates = ["a", "b", { text: "c" }, { id: 4 }];
  assert.deepEqual(score(rank, {}, candidates, ["c", "b"]).subScores, { mrr: 0.5, hit_at_k: 1 });
  assert.equal(score(rank, { metric_type: "hit@k" }, candidates, "4").primaryScore, 0);
  assert.equal(score(rank, { metric_type: "HIT_AT_K", k: 4 }, candidates, 4).primaryScore, 1);
  assert.deepEqual(score(rank, {}, null, "a").detail, { k: 3, rank: null });
  const rows = [
    [{ candidate_field: "doc" }, [{ doc: "x", text: "y" }], ["y"], null],
    [{ candidate_field: "doc" }, ["x", { doc: "y" }], ["y"], 2],
    [{ candidate_key: "doc" }, ["x", { doc: "y" }], ["y"], 2],
    [{ candidate_field: null, k: 0 }, ["a"], ["a"], 1],
    [{}, [1, 2], ["2"], 2],
    [{}, [1, 2], [2], 2],
    [{}, [true], ["True"], 1],
    [{}, ["False"], [false], 1],
    [{}, [true], [1], null],
    [{}, ["true"], ["True"], null],
    [{}, ["Paris"], ["paris"], null],
    [{}, ["a", "null", "", null], [null], null],
    [{}, "a", "a", 1],
    [{}, [7, 8], { id: 8 }, 2],
    [{}, [{ doc: "y" }], ["y"], null],
    [{}, ['{"doc":"y"}'], [{ doc: "y" }], 1],
  ];
  for (const [params, offered, wanted, expected] of rows) {
    const card = score(rank, params, offered, wanted);
    assert.equal(card.detail.rank, expected, JSON.stringify([params, offered, wanted]));
    assert.deepEqual(Object.keys(card.subScores), ["mrr", "hit_at_k"]);
  }
  assert.deepEqual(score(rank, {}, [], ["a"]).errorTags, ["missing_prediction"]);
  assert.deepEqual(score(rank, {}, ["a"], null).errorTags, ["missing_reference"]);
});

test("rankings with grades", () => {
  const rank = sdk.ranking(COMMON);
  const candidates = ["a", "b", "a", "c"];
  const list = [{ id: "a", grade: 1 }, { id: "c", relevance: 3 }, { text: "d", gain: 0 }, { id: "a", grade: 7 }];
  for (const targets of [{ a: 1, c: 3, d: 0 }, list]) {
    const { primaryScore, subScores } = score(rank, { k: 4 }, candidates, targets);
    const ndcg = (1 + 3 / Math.log2(5)) / (3 + 1 / Math.log2(3));
    assert.ok(Math.abs(subScores.ndcg_at_k - ndcg) < 1e-12);
    assert.deepEqual([primaryScore, subScores.average_precision], [1, 0.75]);
  }
  const nothing = score(rank, {}, candidates, { a: 0 });
  assert.deepEqual([nothing.subScores.ndcg_at_k, nothing.errorTags], [0, ["missing_reference"]]);
  for (const targets of [{ a: -1 }, [{ id: "a", grade: "high" }], [{ id: "a", grade: true }], [{ id: "a", grade: null }]]) {
    const inputs = [candidates, targets].map(toValue);
    const [{ tag, val }] = implement(rank, {}).score("m", "{}", [{ sampleId: "1", inputs }]);
    assert.deepEqual([tag, val.kind], ["err", "invalid-input"]);
  }
});
