// The command line, and the contents of package.json.

import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { Failure } from "./failure.mjs";
import { IMPORTS, KINDS } from "./kinds.mjs";

const SOURCES = ["plugin.js", "plugin.mjs", "plugin.ts", "plugin.mts"];

export const USAGE =
  "usage: node build.mjs --kind KIND --wit FOLDER --output FILE.wasm [--imports media,http,llm] [--source FILE]";

export function readOptions(args) {
  const string = { type: "string" };
  const options = { kind: string, wit: string, output: string, imports: { ...string, default: "" }, source: string };
  let values;
  try {
    ({ values } = parseArgs({ args, options }));
  } catch (error) {
    throw new Failure(`${error.message}\n${USAGE}`);
  }
  for (const name of ["kind", "wit", "output"]) {
    if (values[name] === undefined) throw new Failure(`--${name} is missing\n${USAGE}`);
  }
  const imports = values.imports.split(",").filter((name) => name !== "");
  among([values.kind], Object.keys(KINDS), "kind");
  among(imports, IMPORTS, "import");
  return { ...values, imports, source: resolve(values.source ?? findSource()) };
}

function among(given, allowed, what) {
  for (const name of given) {
    if (!allowed.includes(name)) {
      throw new Failure(`gage-plugin.toml: no ${what} '${name}'; allowed are ${allowed.join(", ")}`);
    }
  }
}

export function findSource() {
  const found = SOURCES.filter((name) => existsSync(name));
  if (found.length === 1) return found[0];
  const problem = found.length === 0 ? "there is no source file" : `there are several source files, ${found.join(", ")}`;
  throw new Failure(`${problem}; the plugin is written in one of ${SOURCES.join(", ")}, which may import others`);
}

// Returns the plugin's description from package.json.
export function readInfo() {
  let manifest;
  try {
    manifest = JSON.parse(readFileSync("package.json", "utf8"));
  } catch (error) {
    throw new Failure(`package.json cannot be read: ${error.message}`);
  }
  for (const key of ["name", "version"]) {
    if (typeof manifest[key] !== "string") throw new Failure(`package.json has no ${key}`);
  }
  const { license, homepage, author, wants } = manifest;
  const authors = author === undefined ? undefined : [typeof author === "string" ? author : author.name];
  return {
    name: manifest.name,
    version: manifest.version,
    description: manifest.description ?? "",
    extra: JSON.stringify({ license, homepage, authors, wants }),
  };
}
