// Builds the interpreter of javascript_tests: node build.mjs REPOSITORY WIT OUTPUT.wasm
//
// The packages are those of the current folder.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [repository, witPath, output] = process.argv.slice(2);
const packages = createRequire(join(process.cwd(), "package.json"));
const { build } = packages("esbuild");
const componentizeFile = join(process.cwd(), "node_modules/@bytecodealliance/componentize-js/src/componentize.js");
const { componentize } = await import(pathToFileURL(componentizeFile).href);

const bundled = await build({
  entryPoints: [join(repository, "plugins/js/javascript_tests/app.js")],
  alias: { "gage-sdk": join(repository, "sdk/js/src/index.js") },
  bundle: true,
  write: false,
  format: "esm",
  platform: "neutral",
  target: "es2022",
  external: ["ask", "gage:plugin/*"],
  keepNames: true,
});
const folder = await mkdtemp(join(tmpdir(), "gage-"));
try {
  const sourcePath = join(folder, "interpreter.js");
  await writeFile(sourcePath, bundled.outputFiles[0].text);
  // With these features disabled, the component imports nothing from WASI.
  const disableFeatures = ["stdio", "random", "clocks", "http", "fetch-event"];
  const { component } = await componentize({ sourcePath, witPath, worldName: "interpreter", disableFeatures });
  await writeFile(output, component);
} finally {
  await rm(folder, { recursive: true, force: true });
}
