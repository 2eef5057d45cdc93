// Bundles the author's code, the SDK and packages from npm into one module.

import { build } from "esbuild";
import { isBuiltin } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Failure } from "./failure.mjs";
import { IMPORTS, KINDS } from "./kinds.mjs";

const SDK = join(dirname(fileURLToPath(import.meta.url)), "..", "src");

// Stubs of the host interfaces, for inspecting the code without a host.
const STUBS = `
  const refuse = () => { throw new Error("the host cannot be asked while the plugin is built"); };
  export const emit = () => {}, find = refuse, read = refuse, send = refuse, sendAll = refuse;
  export const generate = refuse, generateAll = refuse, loglikelihood = refuse, loglikelihoodAll = refuse;
  export const rollingLoglikelihood = refuse, rollingLoglikelihoodAll = refuse, embed = refuse, embedAll = refuse;
`;

// Returns the entry module: the author's default export, in the shape of the interface.
function entry({ kind, source, info, forHost }) {
  const implement = `implement(plugin, ${JSON.stringify(info)})`;
  // guest.js comes first, since the author's code runs when it is imported.
  return `
    ${forHost ? `import { withConsole } from ${JSON.stringify(join(SDK, "guest.js"))};` : ""}
    import plugin from ${JSON.stringify(source)};
    import { implement } from ${JSON.stringify(join(SDK, `${kind}.js`))};
    export const ${KINDS[kind].exported} = ${forHost ? `withConsole(${implement})` : implement};
  `;
}

function sdkPlugin(forHost) {
  return {
    name: "gage-sdk",
    setup(build) {
      build.onResolve({ filter: /^gage-sdk(\/|$)/ }, ({ path, importer }) => {
        const name = path === "gage-sdk" ? "index" : path.slice("gage-sdk/".length);
        if (!["index", "log", ...IMPORTS].includes(name)) {
          return { errors: [{ text: `no module '${path}'; there are gage-sdk, gage-sdk/log, ${IMPORTS.map((each) => `gage-sdk/${each}`).join(", ")}` }] };
        }
        return { path: join(SDK, `${name}.js`), sideEffects: false };
      });
      build.onResolve({ filter: /^gage:plugin\// }, ({ path }) =>
        forHost ? { path, external: true } : { path, namespace: "host" },
      );
      build.onLoad({ filter: /.*/, namespace: "host" }, () => ({ contents: STUBS }));
    },
  };
}

// Packages from npm may share names with Node's modules, so those are rejected only if nothing else is found.
const nodePlugin = {
  name: "node",
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...options }) => {
      if (!isBuiltin(path) || pluginData === "looking") return undefined;
      const found = await build.resolve(path, { ...options, pluginData: "looking" });
      if (found.errors.length === 0) return found;
      return { errors: [{ text: `'${path}' is a module of Node, and a plugin has no files, no processes and no network of its own` }] };
    });
  },
};

// Returns the bundle's text and the host interfaces that it uses. If `forHost` is false, these are stubs, so that Node
// can run it.
export async function bundle({ kind, source, info, forHost }) {
  try {
    const result = await build({
      stdin: { contents: entry({ kind, source, info, forHost }), resolveDir: dirname(source), sourcefile: "entry.js" },
      bundle: true,
      write: false,
      metafile: true,
      format: "esm",
      platform: "neutral",
      target: "es2022",
      mainFields: ["module", "main"],
      conditions: ["module"],
      loader: { ".txt": "text", ".md": "text" },
      define: { "process.env.NODE_ENV": '"production"' },
      keepNames: true,
      logLevel: "silent",
      plugins: [sdkPlugin(forHost), nodePlugin],
    });
    const [{ imports }] = Object.values(result.metafile.outputs);
    const used = new Set(imports.map(({ path }) => /^gage:plugin\/([^@]*)/.exec(path)?.[1]));
    return { code: result.outputFiles[0].text, used };
  } catch (error) {
    if (error.errors === undefined) throw error;
    throw new Failure(error.errors.map(describeError).join("\n"));
  }
}

function describeError({ text, location }) {
  if (location?.file === "entry.js") return "the source file has no default export, as in export default metric({ … })";
  return location === null ? text : `${relative(".", location.file)}:${location.line}:${location.column + 1}: ${text}`;
}
