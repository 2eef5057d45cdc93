// Each template passes the cases that all languages share.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { KINDS } from "../build/kinds.mjs";
import { problemsOfCase } from "./cases.js";
import { installHooks } from "./hooks.js";

installHooks();

const templates = new URL("../../templates/", import.meta.url);

for (const kind of Object.keys(KINDS)) {
  test(`the template ${kind}`, async () => {
    const { default: plugin } = await import(new URL(`js/${kind}/plugin.js`, templates).href);
    const { implement } = await import(`../src/${kind}.js`);
    const functions = implement(plugin, {});
    const file = new URL(`cases/${kind}.jsonl`, templates);
    assert.ok(existsSync(file));
    for (const line of readFileSync(file, "utf8").trim().split("\n")) {
      const given = JSON.parse(line);
      assert.deepEqual(problemsOfCase(kind, functions, given, "{{snake}}"), [], given.case);
    }
  });
}
