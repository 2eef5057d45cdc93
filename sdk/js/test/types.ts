// Checked by `tsc --noEmit -p test/tsconfig.json`, not run. The declarations must accept correct code, with the types
// that an author expects, and reject incorrect code.

import { aggregator, backend, comparison, extractor, likelihood, metric, multiReference, normalizeText, numericThreshold, PluginError, preprocessor, sequenceDistance, skip } from "gage-sdk";
import { bearer, send, sendAll } from "gage-sdk/http";
import { embed, embedAll, generate, loglikelihoodAll, rollingLoglikelihood, rollingLoglikelihoodAll } from "gage-sdk/llm";
import { info } from "gage-sdk/log";
import { readAll } from "gage-sdk/media";

const common = { name: "m", version: "1", description: "d" };

export const typed = metric({
  ...common,
  inputs: { a: { path: "sample.a", kind: "text" }, b: { path: "sample.b", kind: "texts" }, c: "sample.c" },
  params: { size: { type: "integer", default: 1 }, unit: { enum: ["m", "s"] }, mode: { type: "string" } },
  required: ["mode"],
  score({ a, b, c }, { size, unit, mode }) {
    const text: string | null = a;
    const texts: string[] | null = b;
    const number: number = size;
    const known: "m" | "s" | undefined = unit;
    const optional: string | undefined = mode;
    info(`${text} ${texts} ${c} ${number} ${known} ${optional}`);
    // @ts-expect-error: it was not declared
    info(size.nothing);
    return { primaryScore: number, subScores: { size } };
  },
});

export const withSetup = metric({
  ...common,
  params: { pattern: { type: "string", default: "a" } },
  setup: ({ pattern }) => ({ expression: new RegExp(pattern) }),
  score: ({ prediction }, { expression }) => expression.test(prediction),
});

export const readyMade = [
  comparison({ ...common, score: (prediction, reference) => prediction === reference }),
  sequenceDistance({ ...common, params: { factor: { type: "number", default: 1 } }, distance: (a, b, { factor }) => factor * (a.length - b.length) }),
  multiReference(common),
  numericThreshold({ ...common, accept: (prediction, _reference, { tolerance }) => prediction > tolerance }),
  likelihood({ ...common, aggregation: "median" }),
];

// @ts-expect-error: a metric has a version
metric({ name: "m", description: "d", score: () => 1 });
// @ts-expect-error: a text is no score
metric({ ...common, score: () => "1" });
// @ts-expect-error: no such kind of error
export const wrong = new PluginError("bad", "message");

export const rows = preprocessor({ ...common, convert: (row, _params, { index }) => (index > 3 ? skip("enough") : { label: row.label }) });

export const folded = aggregator({
  ...common,
  start: () => ({ sum: 0 }),
  add(state, { weight, card }) {
    state.sum += weight * (card.primaryScore ?? 0);
  },
  finish: ({ sum }) => [{ name: "sum", value: sum, count: 1 }],
});

export const found = extractor({ ...common, extract: ({ text }) => (text ? { kind: "text", value: { value: text } } : null) });

export const answering = backend({
  version: "1",
  config: { url: { type: "string" } },
  required: ["url"],
  generateAll(requests, { url }) {
    const results = sendAll(requests.map(({ messages }) => ({ url: url ?? "", headers: { authorization: bearer("KEY") }, json: { messages } })));
    return results.map((result) => (result instanceof PluginError ? result : { answer: result.json().answer, finish: "stop" }));
  },
  loglikelihood: ({ continuations }) => continuations.map(() => ({ logprob: -1, tokenCount: 1, isGreedy: false })),
});

const lower: string = normalizeText("A");
const length: number = readAll("sha256:0").length;
const status: number = send({ url: "https://example.com" }).status;
const answer: string = generate({ role: "judge", messages: [{ role: "user", content: "q" }] }).answer;
const loss: number = -rollingLoglikelihood({ role: "judge", text: "a" }).logprob;
const vector: Float32Array | undefined = embed({ role: "judge", texts: ["a"] })[0];
const several = [...loglikelihoodAll([]), ...rollingLoglikelihoodAll([]), ...embedAll([])];
export const used = [lower, length, status, answer, loss, vector, several];
