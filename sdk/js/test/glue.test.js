// The functions of a component apart from the author's code.

import assert from "node:assert/strict";
import { test } from "node:test";
import { implement as implementAggregator } from "../src/aggregator.js";
import { implement as implementBackend } from "../src/backend.js";
import { aggregator, backend, comparison, metric, PluginError } from "../src/index.js";
import { implement } from "../src/metric.js";

const COMMON = { version: "1", description: "d" };
const item = (...inputs) => ({ sampleId: "1", inputs });
const text = (val) => ({ tag: "text", val });
const scoreOf = (definition, params, ...items) => implement(definition, {}).score(definition.name, params, items);

test("a specification in the contract's shapes", () => {
  const inputs = { a: "sample.a", b: { path: ["x", "y"], param: "b_field", kind: "texts" } };
  const params = { size: { type: "integer", default: 2 } };
  const values = { distance: { higherIsBetter: false, minimum: 0 }, extra: {} };
  const [spec] = implement(metric({ name: "m", ...COMMON, inputs, params, required: ["size"], values, score: () => 1 }), {}).metrics();
  assert.deepEqual(spec, {
    name: "m",
    description: "d",
    scorerVersion: "1",
    inputs: [
      { name: "a", pathParams: [], defaultPaths: ["sample.a"], kind: "any" },
      { name: "b", pathParams: ["b_field"], defaultPaths: ["x", "y"], kind: "texts" },
    ],
    values: [
      { name: "distance", higherIsBetter: false, minimum: 0, maximum: undefined },
      { name: "extra", higherIsBetter: true, minimum: undefined, maximum: undefined },
    ],
    defaultAggregation: "mean",
    paramsSchema: '{"type":"object","additionalProperties":false,"properties":{"size":{"type":"integer","default":2}},"required":["size"]}',
  });
});

test("every case of a value arrives", () => {
  const seen = [];
  const definition = metric({ name: "m", ...COMMON, inputs: { a: "a" }, score: ({ a }) => void seen.push(a) ?? 1 });
  const values = [{ tag: "absent" }, text("x"), { tag: "number", val: 2 }, { tag: "boolean", val: true }, { tag: "texts", val: ["x"] }, { tag: "json", val: '{"b":1}' }];
  scoreOf(definition, "{}", ...values.map((value) => item(value)));
  assert.deepEqual(seen, [null, "x", 2, true, ["x"], { b: 1 }]);
});

test("an exception is the error of its item alone", () => {
  const definition = comparison({
    name: "m",
    ...COMMON,
    score(prediction) {
      if (prediction === "bad") throw new PluginError("invalid-input", "it is bad", { pointer: "/a" });
      return prediction.length;
    },
  });
  const [first, second, third] = scoreOf(definition, "{}", item(text("bad"), text("")), item({ tag: "absent" }, text("")), item(text("abc"), text("")));
  assert.deepEqual(first.val, { kind: "invalid-input", message: "it is bad", pointer: "/a", retryable: false });
  assert.equal(second.val.kind, "internal");
  assert.match(second.val.message, /^TypeError: /);
  assert.equal(third.val.primaryScore, 3);
});

test("wrong results are said to be wrong", () => {
  const rows = [
    [{ score: 1 }, /the card has no key 'score'; allowed are primaryScore/],
    ["1", /score must return a number, a boolean, a card or null, not a string/],
    [undefined, /not undefined/],
    [{ primaryScore: "1" }, /primaryScore must be a number, not a string/],
    [{ primaryScore: 1, subScores: { a: null } }, /subScores.a must be a number, not null/],
    [{ primaryScore: 1, detail: { a: NaN } }, /a is NaN, which JSON cannot hold/],
    [Promise.resolve(1), /score returned a promise/],
  ];
  for (const [returned, message] of rows) {
    const [{ tag, val }] = scoreOf(metric({ name: "m", ...COMMON, score: () => returned }), "{}", item(text(""), text("")));
    assert.equal(tag, "err");
    assert.match(val.message, message);
  }
});

test("defaults and setup", () => {
  const definition = metric({
    name: "m",
    ...COMMON,
    params: { pattern: { type: "string", default: "a+" } },
    setup: ({ pattern }) => new RegExp(pattern),
    score: ({ prediction }, pattern) => pattern.test(prediction),
  });
  assert.equal(scoreOf(definition, "{}", item(text("aa"), text("")))[0].val.pass, true);
  assert.equal(scoreOf(definition, '{"pattern":"b"}', item(text("aa"), text("")))[0].val.pass, false);
  const { check } = implement(definition, {});
  check("m", "{}");
  assert.throws(() => check("m", '{"pattern":"("}'), { kind: "invalid-config" });
  assert.throws(() => check("n", "{}"), { kind: "unsupported", message: "no metric 'n' in this component; it has m" });
  const [first, second] = scoreOf(definition, '{"pattern":"("}', item(text(""), text("")), item(text(""), text("")));
  assert.deepEqual([first.val.kind, second.val.kind], ["invalid-config", "invalid-config"]);
});

test("wrong definitions are refused at once", () => {
  assert.throws(() => metric({ name: "m", ...COMMON, scores: () => 1 }), /metric 'm' has no key 'scores'; allowed are name, /);
  assert.throws(() => metric({ name: "m", ...COMMON }), /score must be a function, not undefined/);
  assert.throws(() => metric({ name: "m", ...COMMON, inputs: { a: { kind: "x" } }, score() {} }), /kind is 'x'; allowed are any/);
  const one = metric({ name: "m", ...COMMON, score: () => 1 });
  assert.throws(() => implement([one, one], {}), /two members have the name 'm'/);
  assert.throws(() => implement(undefined, {}), /the default export must be a metric .* not undefined/);
  assert.throws(() => implementBackend(one, {}), /must be a backend .* not a metric/);
});

test("a state that JSON cannot hold is refused", () => {
  const sum = aggregator({ name: "a", ...COMMON, start: () => ({ sum: 0 }), add: () => ({ sum: -Infinity }), finish: () => [] });
  const card = { subScores: [], errorTags: [], detail: "{}" };
  const { fold } = implementAggregator(sum, {});
  assert.throws(() => fold("a", "{}", new Uint8Array(), [{ sampleId: "1", weight: 1, card }]), {
    kind: "internal",
    message: "TypeError: sum is -Infinity, which JSON cannot hold",
  });
});

test("a backend that answers batches, and what it does not offer", () => {
  const requests = ["a", "b"].map((id) => ({ id, messages: [], params: "{}" }));
  const both = backend({ version: "1", generateAll: ([{ id }]) => [{ answer: id, usage: { promptTokens: 3, completionTokens: 4 } }, new PluginError("upstream", "no", { retryable: true })] });
  const functions = implementBackend(both, {});
  const [first, second] = functions.generate("{}", requests);
  assert.deepEqual(first.val, { answer: "a", finish: "stop", usage: { promptTokens: 3n, completionTokens: 4n }, extra: "{}" });
  assert.deepEqual([second.tag, second.val.retryable], ["err", true]);
  assert.deepEqual(functions.spec(), { version: "1", maxBatch: 32, supportsGenerate: true, supportsLoglikelihood: false, configSchema: '{"type":"object","additionalProperties":false,"properties":{}}' });
  assert.equal(functions.loglikelihood("{}", [{ id: "a", messages: [], continuations: [] }])[0].val.kind, "unsupported");
});

test("log-likelihoods: one score for each continuation", () => {
  const score = { logprob: -1, tokenCount: 2, isGreedy: false };
  const functions = implementBackend(backend({ version: "1", loglikelihood: () => [score] }), {});
  const ask = (...continuations) => functions.loglikelihood("{}", [{ id: "a", messages: [], continuations }])[0];
  assert.deepEqual(ask("x"), { tag: "ok", val: [score] });
  assert.match(ask("x", "y").val.message, /1 scores for 2 continuations/);
});
