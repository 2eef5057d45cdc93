// Runs the metrics of the plugin in the current folder in Node, for `gage-host plugin test --native`. The host sends one JSON
// object a line on the standard input, and gets one reply to each. Lines that the author's code prints precede the reply. The
// argument is the process id of the host.

import { spawnSync } from "node:child_process";
import { register } from "node:module";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { findSource, readInfo } from "./build/options.mjs";

const write = process.stdout.write.bind(process.stdout);

function send(message) {
  write(`${JSON.stringify(message)}\n`);
}

function sendLine(source, text) {
  send({ line: { source, text } });
}

// What the author's code writes must not look like a reply.
function captureStream(stream, source) {
  let unfinished = "";
  stream.write = (chunk) => {
    const lines = (unfinished + String(chunk)).split("\n");
    unfinished = lines.pop();
    for (const line of lines) sendLine(source, line);
    return true;
  };
  return () => {
    if (unfinished !== "") sendLine(source, unfinished);
    unfinished = "";
  };
}

function refuseMedia() {
  throw { kind: "unsupported", message: "there are no media with --native; build the component", retryable: false };
}

// JSON has no infinity, and JSON.stringify turns it into null.
function number(value) {
  return value === undefined || Number.isFinite(value) ? value : String(value);
}

function declaration({ scorerVersion, inputs, values, defaultAggregation, paramsSchema, ...spec }) {
  return {
    ...spec,
    version: scorerVersion,
    inputs: inputs.map(({ name, pathParams, defaultPaths, kind }) => ({ name, path_params: pathParams, default_paths: defaultPaths, kind })),
    values: values.map(({ name, higherIsBetter, minimum, maximum }) => ({ name, higher_is_better: higherIsBetter, minimum, maximum })),
    default_aggregation: defaultAggregation,
    params_schema: paramsSchema,
  };
}

function errorReply({ kind, message, pointer }) {
  return { error: { kind, message, pointer } };
}

function result({ tag, val }) {
  if (tag === "err") return errorReply(val);
  const { primaryScore, pass, subScores, errorTags, explain, detail } = val;
  return {
    ok: {
      primary_score: number(primaryScore),
      pass,
      sub_scores: subScores.map(({ name, value }) => ({ name, value: number(value) })),
      error_tags: errorTags,
      explain,
      detail,
    },
  };
}

function callsOf({ metrics, check, score }) {
  return {
    describe: () => ({ metrics: metrics().map(declaration), native_packages: [], outside_packages: [] }),
    check({ member, params }) {
      try {
        check(member, params);
      } catch (thrown) {
        return errorReply(thrown);
      }
      return { ok: null };
    },
    score({ member, params, items }) {
      const read = items.map(({ sample_id, inputs }) => ({ sampleId: sample_id, inputs }));
      return score(member, params, read).map(result);
    },
  };
}

// A component's engine lacks some functions of Node. A plugin sees that they are missing, and a line says why.
function hideMissingFunctions() {
  for (const [owner, name, shown] of [[String.prototype, "normalize", "String.prototype.normalize"], [globalThis, "Intl", "Intl"]]) {
    let isTold = false;
    const get = () => {
      if (!isTold) sendLine("stderr", `${shown} does not exist in a component: its engine has no Unicode tables`);
      isTold = true;
      return undefined;
    };
    const set = (value) => Object.defineProperty(owner, name, { configurable: true, writable: true, value });
    Object.defineProperty(owner, name, { configurable: true, get, set });
  }
}

async function load() {
  const source = findSource();
  const info = readInfo();
  const { withConsole } = await import("./src/guest.js");
  const { implement } = await import("./src/metric.js");
  // Lines that are logged while the plugin is loaded are shown as well.
  withConsole({ enable() {} }).enable();
  hideMissingFunctions();
  const { default: plugin } = await import(pathToFileURL(resolve(source)).href);
  return callsOf(implement(plugin, info));
}

function failureOf(thrown) {
  if (thrown?.code === "ERR_UNKNOWN_FILE_EXTENSION") return { text: `Node ${process.versions.node} cannot run TypeScript: use Node 22.18 or newer` };
  const [, missing] = /^Cannot find package '([^']*)'/.exec(thrown?.message) ?? [];
  // An error of the syntax does not say where it is; Node's own check does.
  const checked = thrown instanceof SyntaxError ? spawnSync(process.execPath, ["--check", findSource()]) : undefined;
  const text = checked?.status ? String(checked.stderr) : String(thrown?.stack ?? thrown);
  const isForeign = (line) => /^ *at .*(?:node:|\/sdk\/js\/)/.test(line) || /^Node\.js v/.test(line) || line === "";
  return { text: text.split("\n").filter((line) => !isForeign(line)).join("\n"), missing };
}

const endLines = [captureStream(process.stdout, "stdout"), captureStream(process.stderr, "stderr")];
globalThis.gageHost = { log: { emit: sendLine, enabled: () => true }, media: { find: refuseMedia, read: refuseMedia } };
// The plugin may keep this thread busy without end.
new Worker(new URL("./native/parent.mjs", import.meta.url), { workerData: { host: Number(process.argv[2]) } }).unref();
register(new URL("./native/hooks.mjs", import.meta.url));
let calls;
try {
  calls = await load();
} catch (thrown) {
  const { text, missing } = failureOf(thrown);
  send({ failure: text, missing_module: missing ?? null });
  process.exit(0);
}
for await (const line of createInterface({ input: process.stdin })) {
  const { call, ...given } = JSON.parse(line);
  const reply = calls[call](given);
  for (const end of endLines) end();
  send({ reply });
}
