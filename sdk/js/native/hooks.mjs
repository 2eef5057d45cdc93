// Lets Node run a plugin's source: `gage-sdk` is this SDK, the host's interfaces are functions in `globalThis.gageHost`, and
// texts and JSON can be imported as in a bundle.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { fileURLToPath } from "node:url";

const FUNCTIONS = { log: ["emit", "enabled"], media: ["find", "read"] };
const SDK = new URL("../", import.meta.url).href;

export function resolve(specifier, context, next) {
  const [, name] = /^gage-sdk(?:\/(.*))?$/.exec(specifier) ?? [];
  if (/^gage-sdk(?:\/|$)/.test(specifier)) {
    return { url: `${SDK}src/${name ?? "index"}.js`, shortCircuit: true };
  }
  if (specifier.startsWith("gage:plugin/")) return { url: specifier, shortCircuit: true };
  const parent = context.parentURL ?? "";
  const isOwn = parent.startsWith("file:") && !parent.startsWith(SDK) && !parent.includes("/node_modules/");
  if (isOwn && isBuiltin(specifier) && !existsSync(`node_modules/${specifier}`)) {
    throw new Error(`'${specifier}' is a module of Node, and a plugin has no files, no processes and no network of its own`);
  }
  return next(specifier, context);
}

export async function load(url, context, next) {
  const name = /^gage:plugin\/(.*)@/.exec(url)?.[1];
  if (name !== undefined) return { format: "module", source: hostModule(name), shortCircuit: true };
  const ending = /\.(json|txt|md)$/.exec(url)?.[1];
  if (ending === undefined || url.includes("/node_modules/")) return next(url, context);
  const text = await readFile(fileURLToPath(url), "utf8");
  const value = ending === "json" ? text : JSON.stringify(text);
  return { format: "module", source: `export default ${value};`, shortCircuit: true };
}

function hostModule(name) {
  if (FUNCTIONS[name] === undefined) throw new Error(`a metric cannot import gage-sdk/${name}`);
  const lines = FUNCTIONS[name].map((call) => `export const ${call} = (...given) => globalThis.gageHost.${name}.${call}(...given);`);
  return lines.join("\n");
}
