// The modules that call the host, with a mock host.

import assert from "node:assert/strict";
import { test } from "node:test";
import { installHooks } from "./hooks.js";

installHooks();

const denied = { kind: "denied", message: "no grant", pointer: undefined, retryable: false };
const bytes = (text) => new TextEncoder().encode(text);

test("http", async () => {
  const { bearer, secret, send, sendAll } = await import("gage-sdk/http");
  const sent = [];
  const response = { status: 404, headers: [["content-type", "x"]], body: bytes('{"a":1}') };
  globalThis.gageHost = {
    http: {
      send: (request) => (sent.push(request), response),
      sendAll: (requests) => requests.map((_, index) => (index === 0 ? { tag: "ok", val: response } : { tag: "err", val: denied })),
    },
  };
  const got = send({ url: "https://a/", headers: { Authorization: bearer("KEY"), "x-key": secret("OTHER"), a: "b" }, json: { q: 1 } });
  assert.deepEqual([got.ok, got.header("Content-Type"), got.header("b"), got.json()], [false, "x", null, { a: 1 }]);
  assert.deepEqual(sent[0], {
    method: "POST",
    url: "https://a/",
    headers: [
      { name: "Authorization", value: { tag: "bearer", val: "KEY" } },
      { name: "x-key", value: { tag: "secret", val: "OTHER" } },
      { name: "a", value: { tag: "plain", val: "b" } },
      { name: "content-type", value: { tag: "plain", val: "application/json" } },
    ],
    body: bytes('{"q":1}'),
    timeoutMs: 0,
  });
  const [first, second] = sendAll([{ url: "https://a/" }, { url: "https://b/" }]);
  assert.deepEqual([first.status, second.kind, second.message], [404, "denied", "no grant"]);
  globalThis.gageHost.http.send = () => {
    throw Object.assign(new Error("see payload"), { payload: denied });
  };
  assert.throws(() => send({ url: "https://a/" }), { name: "PluginError", kind: "denied", message: "no grant" });
  assert.throws(() => send({ url: "https://a/", body: "a", json: 1 }), /body or json, not both/);
});

test("llm", async () => {
  const llm = await import("gage-sdk/llm");
  const { generate, generateAll, loglikelihood } = llm;
  const { user } = await import("gage-sdk");
  const asked = [];
  const rolled = (text) => ({ logprob: -2.5, tokenCount: 3n, byteCount: BigInt(text.length) });
  const failing = (given, val) => (given.length > 0 ? { tag: "ok", val } : { tag: "err", val: denied });
  const generation = { answer: "a", finish: "length", usage: { promptTokens: 1n, completionTokens: 2n }, extra: '{"b":1}' };
  globalThis.gageHost = {
    llm: {
      generate: (request) => (asked.push(request), generation),
      generateAll: () => [{ tag: "ok", val: generation }, { tag: "err", val: denied }],
      loglikelihood: () => [{ logprob: -1, tokenCount: 1, isGreedy: true }],
      loglikelihoodAll: (requests) => requests.map(({ continuations }) => failing(continuations, [{ logprob: -1, tokenCount: 1, isGreedy: true }])),
      rollingLoglikelihood: ({ text }) => rolled(text),
      rollingLoglikelihoodAll: (requests) => requests.map(({ text }) => failing(text, rolled(text))),
      embed: ({ texts }) => texts.map((text) => new Float32Array([text.length])),
      embedAll: (requests) => requests.map(({ texts }) => failing(texts, texts.map((text) => new Float32Array([text.length])))),
    },
  };
  const expected = { answer: "a", finish: "length", usage: { promptTokens: 1, completionTokens: 2 }, extra: { b: 1 } };
  assert.deepEqual(generate({ role: "judge", messages: [user("q")], params: { seed: 1 } }), expected);
  assert.deepEqual(asked, [{ role: "judge", messages: [{ role: "user", content: "q", extra: "{}" }], params: '{"seed":1}' }]);
  const [first, second] = generateAll([]);
  assert.deepEqual([first, second.kind], [expected, "denied"]);
  assert.equal(loglikelihood({ role: "r", messages: [], continuations: ["x"] })[0].isGreedy, true);
  const scored = llm.loglikelihoodAll([{ role: "r", messages: [], continuations: ["x"] }, { role: "r", messages: [], continuations: [] }]);
  assert.deepEqual([scored[0][0].logprob, scored[1].kind], [-1, "denied"]);
  assert.deepEqual(llm.rollingLoglikelihood({ role: "r", text: "ab" }), { logprob: -2.5, tokenCount: 3, byteCount: 2 });
  const texts = llm.rollingLoglikelihoodAll([{ role: "r", text: "a" }, { role: "r", text: "" }]);
  assert.deepEqual([texts[0].byteCount, texts[1].kind], [1, "denied"]);
  assert.deepEqual(llm.embed({ role: "r", texts: ["abc"] }), [new Float32Array([3])]);
  const lists = llm.embedAll([{ role: "r", texts: ["a", "ab"] }, { role: "r", texts: [] }]);
  assert.deepEqual([lists[0][1][0], lists[1].kind], [2, "denied"]);
  assert.throws(() => llm.rollingLoglikelihood({ role: "r" }), /text/);
});

test("media", async () => {
  const { find, readAll } = await import("gage-sdk/media");
  const size = (1 << 20) + 5;
  globalThis.gageHost = {
    media: {
      find: (digest) => ({ digest, kind: "image", mediaType: "image/png", size: BigInt(size) }),
      read: (_digest, offset, length) => new Uint8Array(Math.min(length, size - Number(offset))).fill(7),
    },
  };
  assert.deepEqual(find("sha256:0"), { digest: "sha256:0", kind: "image", mediaType: "image/png", size });
  const all = readAll("sha256:0");
  assert.ok(all.length === size && all.every((byte) => byte === 7));
});

test("log", async () => {
  const log = await import("gage-sdk/log");
  const lines = [];
  globalThis.gageHost = { log: { emit: (...line) => lines.push(line), enabled: (level) => level === "error" } };
  log.info("a");
  log.error("b");
  assert.deepEqual(lines, [["info", "a"], ["error", "b"]]);
  assert.deepEqual([log.enabled("debug"), log.enabled("error")], [false, true]);
});
