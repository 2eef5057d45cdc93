// Creates a component from a bundle, for a world with only the imports that are used.

import { componentize } from "@bytecodealliance/componentize-js";
import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Failure } from "./failure.mjs";
import { KINDS } from "./kinds.mjs";

// Writes the contract, with the plugin's own world in its package.
async function writeWorld(wit, kind, imports, folder) {
  const files = (await readdir(wit)).filter((name) => name.endsWith(".wit"));
  if (files.length === 0) throw new Failure(`there are no .wit files in ${wit}`);
  await mkdir(folder);
  for (const name of files) await copyFile(join(wit, name), join(folder, name));
  const lines = [...imports.map((name) => `  import ${name};`), `  export ${KINDS[kind].interface};`];
  await writeFile(join(folder, "build.wit"), `package gage:plugin@0.1.1;\n\nworld built {\n${lines.join("\n")}\n}\n`);
}

export async function component({ code, kind, imports, wit, folder }) {
  const sourcePath = join(folder, "plugin.js");
  const witPath = join(folder, "wit");
  await writeFile(sourcePath, code);
  await writeWorld(wit, kind, imports, witPath);
  try {
    // With these features disabled, the component imports nothing from WASI.
    const disableFeatures = ["stdio", "random", "clocks", "http", "fetch-event"];
    const built = await componentize({ sourcePath, witPath, worldName: "built", disableFeatures });
    return built.component;
  } catch (error) {
    throw new Failure(`componentize-js failed: ${error.message}`);
  }
}
