// Ready-made metrics and helpers against cases recorded from the reference implementation, with the intended
// differences. The Rust components are tested against the same files.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as sdk from "../src/index.js";
import { implement } from "../src/metric.js";

const COMMON = { name: "m", version: "1", description: "d" };
const FOLDER = new URL("../../../tests/conformance/", import.meta.url);
const read = (file) => readFileSync(new URL(file, FOLDER), "utf8");
const differences = JSON.parse(read("known_differences.json"));
const isNear = (found, expected) => typeof found === "number" && Math.abs(found - expected) <= 1e-9;

// Returns the cases of a file, with intended differences in place of recorded values.
function casesOf(file) {
  const lines = read(`cases/${file}`).trim().split("\n");
  return lines.map((line) => {
    const { expected_values, expected = expected_values, ...given } = JSON.parse(line);
    const known = differences.find((difference) => difference.file === file && difference.case === given.case);
    return { ...given, expected: known === undefined ? expected : known.expected, isKnown: known !== undefined };
  });
}

function toValue(value) {
  if (value === null || value === undefined) return { tag: "absent" };
  const tags = { string: "text", number: "number", boolean: "boolean" };
  const tag = tags[typeof value];
  return tag === undefined ? { tag: "json", val: JSON.stringify(value) } : { tag, val: value };
}

const at = (path, root) => path.split(".").reduce((value, key) => value?.[key], root);

// Returns the card of a case. The host resolves the inputs, and removes the parameters that name their paths.
function score(definition, { params, ...roots }) {
  const functions = implement(definition, {});
  const [{ inputs: specs, name }] = functions.metrics();
  const own = specs.flatMap(({ pathParams }) => pathParams);
  const inputs = specs.map(({ pathParams, defaultPaths }) => {
    const chosen = pathParams.map((param) => params[param]).find((path) => path !== undefined);
    const paths = chosen === undefined ? defaultPaths : [chosen];
    return toValue(paths.map((path) => at(path, roots)).find((value) => value !== undefined && value !== null));
  });
  const rest = Object.fromEntries(Object.entries(params).filter(([param]) => !own.includes(param)));
  const [{ tag, val }] = functions.score(name, JSON.stringify(rest), [{ sampleId: "1", inputs }]);
  assert.equal(tag, "ok", val.message);
  const subScores = Object.fromEntries(val.subScores.map((sub) => [sub.name, sub.value]));
  return { ...val, subScores, detail: JSON.parse(val.detail) };
}

test("likelihoods as recorded", () => {
  const likelihood = sdk.likelihood(COMMON);
  for (const given of casesOf("likelihood.jsonl")) {
    const { primaryScore, subScores, detail } = score(likelihood, given);
    if (given.expected === null) {
      assert.equal(primaryScore, undefined, given.note);
    } else {
      const [[name, value]] = Object.entries(given.expected);
      assert.equal(detail.metric_type, name, given.note);
      assert.ok(isNear(subScores[name], value) && primaryScore === subScores[name], given.note);
    }
  }
});

test("rankings as recorded", () => {
  const ranking = sdk.ranking(COMMON);
  const { k } = JSON.parse(implement(ranking, {}).metrics()[0].paramsSchema).properties;
  assert.deepEqual([k.type, k.minimum, k.default], ["integer", 0, 3]);
  for (const given of casesOf("ranking.jsonl")) {
    if (given.expected_error !== undefined) {
      // The host rejects values that violate the schema before creating a metric.
      assert.ok(!Number.isInteger(given.params.k), given.note);
      continue;
    }
    const { primaryScore, subScores, detail } = score(ranking, given);
    assert.ok(isNear(primaryScore, given.expected.hit), given.note);
    if (!given.isKnown) {
      const { k: first, hit_rank: rank, mrr, hit_at_k } = given.expected_metadata;
      assert.deepEqual(detail, { k: first, rank }, given.note);
      assert.ok(isNear(subScores.mrr, mrr) && isNear(subScores.hit_at_k, hit_at_k), given.note);
    }
  }
});

test("distances as recorded", () => {
  for (const { input, expected } of casesOf("helper_levenshtein_distance.jsonl")) {
    assert.equal(sdk.levenshteinDistance(input.a, input.b), expected, JSON.stringify(input));
  }
});

test("flat numbers as recorded", () => {
  for (const { input, expected } of casesOf("helper_flatten_numeric_list.jsonl")) {
    const found = sdk.flattenNumbers(input.value).map((number) => (Number.isNaN(number) ? "NaN" : number));
    assert.deepEqual(found, expected, JSON.stringify(input));
  }
});
