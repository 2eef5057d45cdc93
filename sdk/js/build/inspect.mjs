// Runs the bundle in Node, so that mistakes are found before the slow build.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Failure } from "./failure.mjs";
import { KINDS } from "./kinds.mjs";

const MEMBERS = {
  metric: ({ metrics }) => metrics(),
  preprocessor: ({ preprocessors }) => preprocessors(),
  "doc-hook": ({ hooks }) => hooks().map(({ member }) => member),
  aggregator: ({ aggregators }) => aggregators(),
  judge: ({ judges }) => judges(),
  extractor: ({ extractors }) => extractors().map(({ member }) => member),
  "role-adapter": ({ adapters }) => adapters(),
  backend: ({ describe, spec }) => [{ ...describe(), ...spec() }],
};

// Returns the names of the members.
export async function inspect(code, kind, folder) {
  const file = join(folder, "inspected.mjs");
  await writeFile(file, code);
  try {
    const module = await import(pathToFileURL(file).href);
    return MEMBERS[kind](module[KINDS[kind].exported]).map(({ name }) => name);
  } catch (error) {
    throw new Failure(`the plugin cannot be loaded: ${error?.message ?? error}`);
  }
}
