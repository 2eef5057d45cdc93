// Lets Node run code written for a component: `gage-sdk` is this package, and the host is a mock that tests set in
// `globalThis.gageHost`, as functions by interface.

import { register } from "node:module";

const FUNCTIONS = {
  log: ["emit", "enabled"],
  http: ["send", "sendAll"],
  llm: [
    ...["generate", "generateAll", "loglikelihood", "loglikelihoodAll"],
    ...["rollingLoglikelihood", "rollingLoglikelihoodAll", "embed", "embedAll"],
  ],
  media: ["find", "read"],
};

export function resolve(specifier, context, next) {
  const [, name] = /^gage-sdk(?:\/(.*))?$/.exec(specifier) ?? [];
  if (specifier.startsWith("gage-sdk")) {
    return { url: new URL(`../src/${name ?? "index"}.js`, import.meta.url).href, shortCircuit: true };
  }
  return specifier.startsWith("gage:plugin/") ? { url: specifier, shortCircuit: true } : next(specifier, context);
}

export function load(url, context, next) {
  const name = /^gage:plugin\/(.*)@/.exec(url)?.[1];
  if (name === undefined) return next(url, context);
  const lines = FUNCTIONS[name].map((call) => `export const ${call} = (...given) => globalThis.gageHost.${name}.${call}(...given);`);
  return { format: "module", source: lines.join("\n"), shortCircuit: true };
}

export function installHooks() {
  register(import.meta.url);
}
