#!/usr/bin/env node
// Builds the plugin in the current folder into a component. `gage-host plugin build` runs it.

import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Failure } from "./build/failure.mjs";
import { IMPORTS } from "./build/kinds.mjs";
import { readInfo, readOptions } from "./build/options.mjs";

// Using an undeclared import is an error: gage-plugin.toml shows users what they grant.
function checkImports(used, asked) {
  const missing = IMPORTS.filter((name) => used.has(name) && !asked.includes(name));
  if (missing.length > 0) {
    const modules = missing.map((name) => `gage-sdk/${name}`).join(" and ");
    const wanted = IMPORTS.filter((name) => used.has(name) || asked.includes(name)).map((name) => `"${name}"`);
    throw new Failure(
      `the plugin uses ${modules}, which gage-plugin.toml does not ask for; write imports = [${wanted.join(", ")}] there`,
    );
  }
  const unused = asked.filter((name) => !used.has(name));
  if (unused.length > 0) console.error(`note: gage-plugin.toml asks for ${unused.join(", ")}, which the plugin does not use`);
}

async function main(args) {
  const { kind, imports, source, wit, output } = readOptions(args);
  const info = readInfo();
  const { bundle } = await load("./build/bundle.mjs");
  const folder = await mkdtemp(join(tmpdir(), "gage-"));
  try {
    const { inspect } = await import("./build/inspect.mjs");
    const { code, used, packages, sources } = await bundle({ kind, source, info, forHost: true });
    checkImports(used, imports);
    const names = await inspect((await bundle({ kind, source, info, forHost: false })).code, kind, folder);
    console.error(`building ${names.join(", ")}; this takes some tens of seconds`);
    const { component } = await load("./build/component.mjs");
    const sorted = ["log", ...IMPORTS].filter((name) => used.has(name));
    await writeFile(output, await component({ code, kind, imports: sorted, wit, folder }));
    for (const name of packages) console.log(`package: ${name}`);
    for (const name of sources) console.log(`input: ${name}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  console.error(`${output}: ${((await stat(output)).size / (1 << 20)).toFixed(1)} MiB`);
}

// Runs the steps that need packages from npm.
async function load(module) {
  try {
    return await import(module);
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new Failure(`${error.message.split("\n")[0]}; run npm install in the project's folder`);
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Failure ? `error: ${error.message}` : error);
  process.exitCode = 1;
}
