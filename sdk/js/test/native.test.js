// The metrics of a plugin in Node, as `gage-host plugin test --native` runs them.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { placesOf } from "../src/error.js";

const RUNNER = fileURLToPath(new URL("../native.mjs", import.meta.url));

const PLUGIN = `
import { metric } from "gage-sdk";
import data from "./data.json";
const helper = (values) => values.x.y;
export default metric({
  name: "tried", version: "1", description: "Does what it is asked for.",
  inputs: { prediction: "model_output.answer" },
  score({ prediction }) {
    console.log("asked for", prediction);
    return prediction === "break" ? helper({}) : data.factor / Number(prediction);
  },
});
`;

// Creates the folder of a plugin.
function project(source) {
  const folder = mkdtempSync(join(tmpdir(), "gage-native-"));
  writeFileSync(join(folder, "plugin.js"), source);
  writeFileSync(join(folder, "data.json"), '{"factor": 1}');
  writeFileSync(join(folder, "package.json"), '{"name": "a", "version": "1", "type": "module"}');
  return folder;
}

// Returns the messages of the runner.
function run(source, ...requests) {
  const folder = project(source);
  try {
    const input = requests.map((request) => `${JSON.stringify(request)}\n`).join("");
    const { stdout, stderr } = spawnSync(process.execPath, [RUNNER], { cwd: folder, input, encoding: "utf8" });
    assert.equal(stderr, "");
    return stdout.trim().split("\n").map((line) => JSON.parse(line));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function score(...values) {
  const items = values.map((val, index) => ({ sample_id: `q${index}`, inputs: [{ tag: "text", val }] }));
  return { call: "score", member: "tried", params: "{}", items };
}

test("declarations", () => {
  const [{ reply }] = run(PLUGIN, { call: "describe" });
  const [{ name, inputs, default_aggregation }] = reply.metrics;
  assert.deepEqual([name, inputs[0].default_paths, default_aggregation], ["tried", ["model_output.answer"], "mean"]);
});

test("scores and lines", () => {
  const [line, { reply }] = run(PLUGIN, score("2"));
  assert.deepEqual(line, { line: { source: "info", text: "asked for 2" } });
  assert.equal(reply[0].ok.primary_score, 0.5);
  const [, second, both] = run(PLUGIN, score("0", "x"));
  assert.equal(second.line.text, "sample q1: asked for x");
  assert.deepEqual(both.reply.map(({ ok }) => ok.primary_score), ["Infinity", "NaN"]);
});

test("a function that a component lacks is named once", () => {
  const [first, ...others] = run(PLUGIN.replace("data.factor", '"é".normalize("NFD").length'), score("2", "3"));
  assert.deepEqual(first, { line: { source: "info", text: "sample q0: asked for 2" } });
  const told = others.filter(({ line }) => line?.text.includes("String.prototype.normalize does not exist in a component"));
  assert.equal(told.length, 1);
  assert.match(others.at(-1).reply[1].error.message, /normalize is not a function/);
  // A plugin may look for the function, or bring its own.
  const looking = PLUGIN.replace("data.factor", '("".normalize ? 2 : 1) * (globalThis.Intl === undefined ? 1 : 2)');
  assert.equal(run(looking, score("2")).at(-1).reply[0].ok.primary_score, 0.5);
  const own = `String.prototype.normalize = () => "abc";${PLUGIN.replace("data.factor", '"".normalize().length')}`;
  assert.equal(run(own, score("3")).at(-1).reply[0].ok.primary_score, 1);
});

test("an error names its places", () => {
  const messages = run(PLUGIN, score("break"));
  const { message } = messages.at(-1).reply[0].error;
  assert.match(message, / \(plugin\.js, line 4, in helper, called from plugin\.js, line 10, in Object\.score\)$/);
  const stack = messages.filter(({ line }) => line?.source === "debug").map(({ line }) => line.text);
  assert.match(stack[1], /at helper .*plugin\.js:4:/);
});

test("code that cannot be loaded", () => {
  for (const [source, expected, missing] of [
    ['import "not-a-package";', /not-a-package/, "not-a-package"],
    ['import "fs";', /'fs' is a module of Node, and a plugin has no files/, null],
    ["let = 3 +;", /plugin\.js:1/, null],
  ]) {
    const [failed] = run(source, { call: "describe" });
    assert.match(failed.failure, expected);
    assert.equal(failed.missing_module, missing);
  }
});

test("an endless loop ends with the host", { timeout: 60_000 }, async (context) => {
  const folder = project(PLUGIN.replace("return", "for (;;);\n    return"));
  // Stands for the host. The runner holds the output open until it ends.
  const host = `
    const stdio = ["pipe", "inherit", "inherit"];
    const runner = require("node:child_process").spawn(process.execPath, [${JSON.stringify(RUNNER)}], { stdio });
    console.log(runner.pid);
    runner.stdin.write(${JSON.stringify(`${JSON.stringify(score("2"))}\n`)});
  `;
  const child = spawn(process.execPath, ["-e", host], { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  context.after(() => {
    // Only a test that fails leaves it behind.
    spawnSync("kill", ["-9", text.split("\n")[0]]);
    rmSync(folder, { recursive: true });
  });
  for await (const chunk of child.stdout) {
    text += chunk;
    if (text.includes("asked for 2")) child.kill("SIGKILL");
  }
  assert.match(text, /^\d+\n.*asked for 2/);
});

test("an endless loop ends if the host ended first", { timeout: 60_000 }, () => {
  const folder = project(PLUGIN.replace("return", "for (;;);\n    return"));
  try {
    const { pid: host } = spawnSync(process.execPath, ["-e", ""]);
    const input = `${JSON.stringify(score("2"))}\n`;
    const { signal } = spawnSync(process.execPath, [RUNNER, String(host)], { cwd: folder, input, timeout: 50_000 });
    assert.equal(signal, "SIGKILL");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("places in a component are functions", () => {
  const stack = "helper@plugin.js:12:5\nscore@plugin.js:30:1\nimplement/score/<@plugin.js:90:3\nbatch@plugin.js:99:1\n";
  assert.equal(placesOf({ stack }), " (in helper, called from score)");
  assert.equal(placesOf({ stack: "" }), "");
  assert.equal(placesOf({}), "");
});
