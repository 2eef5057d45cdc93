// Runs the templates' cases against a plugin's exports, in the contract's shapes. Returns the failures.

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";

const at = (path, root) => path.split(".").reduce((value, key) => value?.[key], root);

function toValue(value) {
  if (value === undefined || value === null) return { tag: "absent" };
  if (typeof value === "string") return { tag: "text", val: value };
  if (typeof value === "number") return { tag: "number", val: value };
  return { tag: "json", val: JSON.stringify(value) };
}

// Processes an item's inputs like the host: given by name, or resolved by path.
function itemOf(specs, { inputs, sample, model_output, params = {} }) {
  const values = specs.map(({ name, pathParams, defaultPaths }) => {
    if (inputs !== undefined) return toValue(inputs[name]);
    const chosen = pathParams.map((param) => params[param]).find((path) => path !== undefined);
    const paths = chosen === undefined ? defaultPaths : [chosen];
    return toValue(paths.map((path) => at(path, { sample, model_output })).find((value) => value !== undefined));
  });
  return { sampleId: "1", inputs: values };
}

function differs(expected, actual, place) {
  if (typeof expected === "number" && typeof actual === "number") {
    return Math.abs(expected - actual) <= 1e-9 ? [] : [`${place}: ${actual}, not ${expected}`];
  }
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length === actual.length) {
    return expected.flatMap((value, index) => differs(value, actual[index], `${place}[${index}]`));
  }
  if (typeof expected === "object" && expected !== null && !Array.isArray(expected) && typeof actual === "object" && actual !== null) {
    return Object.entries(expected).flatMap(([key, value]) => differs(value, actual[key], `${place}.${key}`));
  }
  const same = isDeepStrictEqual(expected, actual ?? null);
  return same ? [] : [`${place}: ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`];
}

// Returns the only result of a batch of one.
function only({ length, 0: { tag, val } }) {
  if (length !== 1) throw new Error(`${length} results for one item`);
  return tag === "ok" ? { ok: val } : { error: val.kind.replaceAll("-", "_") };
}

// Returns a result that is not in a list.
function outcome(call) {
  try {
    return { ok: call() };
  } catch (thrown) {
    const { kind } = thrown.payload ?? thrown;
    if (kind === undefined) throw thrown;
    return { error: kind.replaceAll("-", "_") };
  }
}

function metric({ metrics, score }, given, name, params) {
  const card = only(score(name, params, [itemOf(metrics()[0].inputs, given)]));
  if (card.error) return card;
  const { primaryScore = null, pass, subScores, errorTags } = card.ok;
  const sub_scores = Object.fromEntries(subScores.map(({ name: sub, value }) => [sub, value]));
  return { expected: { primary_score: primaryScore, pass, sub_scores, error_tags: errorTags } };
}

function preprocessor({ convert }, { row }, name, params) {
  const converted = only(convert(name, params, [{ dataset: "d", index: 0n, body: JSON.stringify(row) }]));
  if (converted.error) return converted;
  const { tag, val } = converted.ok;
  return tag === "skip" ? { expected_skip: val } : { expected: JSON.parse(val) };
}

function docHook({ toMedia }, { sample }, name, params) {
  const media = only(toMedia(name, params, [JSON.stringify(sample)]));
  return media.error ? media : { expected: media.ok };
}

function aggregator({ fold, finish, resample }, { rows }, name, params) {
  const figures = outcome(() => {
    let state = new Uint8Array();
    for (const { sample_id, weight = 1, card } of rows) {
      const primaryScore = card.primary_score ?? undefined;
      const full = { primaryScore, pass: undefined, subScores: [], errorTags: [], explain: undefined, detail: "{}" };
      state = fold(name, params, state, [{ sampleId: sample_id, weight, card: full }]);
    }
    const figures = finish(name, params, state);
    // A state that is drawn once has its own figures.
    assert.deepEqual(resample(name, params, [state, state], [[0, 1]]), [figures]);
    return figures;
  });
  if (figures.error) return figures;
  return { expected: Object.fromEntries(figures.ok.map(({ name: figure, value }) => [figure, value])) };
}

const generation = (answer) => ({ answer, finish: "stop", usage: undefined, extra: "{}" });

function judge({ render, parse }, { sample, model_output, replies }, name, params) {
  const judged = { sampleId: "1", sample: JSON.stringify(sample), modelOutput: JSON.stringify(model_output) };
  const prompts = only(render(name, params, [judged]));
  if (prompts.error) return prompts;
  const shown = { expected_prompts: prompts.ok };
  if (replies === undefined) return shown;
  const verdict = only(parse(name, params, [{ case: judged, replies: replies.map(generation) }]));
  if (verdict.error) return verdict;
  const { tag, val } = verdict.ok;
  return { ...shown, ...(tag === "unparseable" ? { expected_unparseable: true } : { expected: JSON.parse(val) }) };
}

function extractor({ extractors, extract }, given, name, params) {
  const answer = only(extract(name, params, [itemOf(extractors()[0].inputs, given)]));
  if (answer.error) return answer;
  return { expected: answer.ok === undefined ? null : { ...answer.ok, value: JSON.parse(answer.ok.value) } };
}

function roleAdapter({ prepare, parse }, { payload, reply }, name, params) {
  const prepared = only(prepare(name, params, [JSON.stringify(payload)]));
  if (prepared.error) return prepared;
  const { tag, val } = prepared.ok;
  if (tag === "output") return { expected_output: JSON.parse(val) };
  if (reply === undefined) return { expected_request: val };
  const parsed = only(parse(name, params, [{ payload: JSON.stringify(payload), reply: generation(reply) }]));
  return { expected_request: val, expected: parsed.error ?? JSON.parse(parsed.ok) };
}

function backend({ generate }, { messages }, name, config) {
  const sent = messages.map((message) => ({ ...message, extra: "{}" }));
  const answer = only(generate(config, [{ id: "1", messages: sent, params: "{}" }]));
  return answer.error ? answer : { expected: answer.ok };
}

const KINDS = { metric, preprocessor, "doc-hook": docHook, aggregator, judge, extractor, "role-adapter": roleAdapter, backend };

export function problemsOfCase(kind, functions, given, name) {
  const { error, ...actual } = KINDS[kind](functions, given, name, JSON.stringify(given.params ?? {}));
  const expectedError = given.expected_error;
  if (error !== undefined || expectedError !== undefined) {
    return error === expectedError ? [] : [`error ${error}, not ${expectedError}`];
  }
  const expected = Object.fromEntries(Object.entries(given).filter(([key]) => key.startsWith("expected")));
  return differs(expected, actual, "");
}
