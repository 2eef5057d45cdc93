// Bundles the author's code, the SDK and packages from npm into one module.

import { build } from "esbuild";
import { existsSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Failure } from "./failure.mjs";
import { IMPORTS, KINDS } from "./kinds.mjs";

const SDK = join(dirname(fileURLToPath(import.meta.url)), "..", "src");

// Stubs of the host interfaces, for inspecting the code without a host.
const STUBS = `
  const refuse = () => { throw new Error("the host cannot be asked while the plugin is built"); };
  export const emit = () => {}, enabled = () => false, find = refuse, read = refuse, send = refuse, sendAll = refuse;
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

// Returns the package of npm that a file belongs to, with its folder.
function packageOf(file) {
  const found = /^(.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+))(?:[\\/]|$)/.exec(resolve(file));
  return found === null ? undefined : { folder: found[1], name: found[2].replace("\\", "/") };
}

const importer = (file) => {
  const owner = packageOf(file);
  return owner === undefined ? "the plugin" : `the package '${owner.name}'`;
};

const NATIVE = "a component runs no native code; use a package that is written in JavaScript only";

// Addons are machine code, or are built to it.
const nativePlugin = {
  name: "native",
  setup(build) {
    build.onResolve({ filter: /\.node$/ }, ({ path, importer: file }) => ({
      errors: [{ text: `${importer(file)} has the native addon '${path}'; ${NATIVE}` }],
    }));
  },
};

// Rejects packages whose code is in the bundle and that would be built to machine code when they are installed.
function refuseNative(inputs) {
  for (const file of Object.keys(inputs)) {
    const owner = packageOf(file);
    if (owner !== undefined && existsSync(join(owner.folder, "binding.gyp"))) {
      throw new Failure(`the package '${owner.name}' has native code (binding.gyp); ${NATIVE}`);
    }
  }
}

// Returns the packages whose code is in the bundle, as NAME@VERSION.
function packagesIn(inputs) {
  const owners = Object.keys(inputs).map(packageOf).filter((owner) => owner !== undefined);
  const names = owners.map(({ folder, name }) => `${name}@${JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).version}`);
  return [...new Set(names)].sort();
}

// Returns the files of the bundle that belong to no package, relative to the current folder.
function sourcesIn(inputs) {
  return Object.keys(inputs).filter((file) => packageOf(file) === undefined && existsSync(file));
}

// Packages from npm may share names with Node's modules, so those are rejected only if nothing else is found.
const nodePlugin = {
  name: "node",
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...options }) => {
      if (!isBuiltin(path) || pluginData === "looking") return undefined;
      const found = await build.resolve(path, { ...options, pluginData: "looking" });
      if (found.errors.length === 0) return found;
      const text = `${importer(options.importer)} imports '${path}', a module of Node; a plugin has no files, no processes and no network of its own`;
      return { errors: [{ text }] };
    });
  },
};

// Returns the bundle's text, the host interfaces that it uses, the packages in it, and its other files. If `forHost` is false, these are stubs, so that Node
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
      loader: { ".txt": "text", ".md": "text", ".csv": "text", ".tsv": "text", ".jsonl": "text", ".bin": "binary" },
      define: { "process.env.NODE_ENV": '"production"' },
      keepNames: true,
      logLevel: "silent",
      plugins: [sdkPlugin(forHost), nativePlugin, nodePlugin],
    });
    refuseNative(result.metafile.inputs);
    const [{ imports }] = Object.values(result.metafile.outputs);
    const used = new Set(imports.map(({ path }) => /^gage:plugin\/([^@]*)/.exec(path)?.[1]));
    return { code: result.outputFiles[0].text, used, packages: packagesIn(result.metafile.inputs), sources: sourcesIn(result.metafile.inputs) };
  } catch (error) {
    if (error.errors === undefined) throw error;
    throw new Failure(error.errors.map(describeError).join("\n"));
  }
}

function describeError({ text, location }) {
  if (location?.file === "entry.js") return "the source file has no default export, as in export default metric({ … })";
  const native = /No loader is configured for "\.node" files: (.*)/.exec(text)?.[1];
  if (native !== undefined) {
    return `${native} is native code, which a component cannot run: use a package in pure JavaScript, or write the plugin in Rust`;
  }
  return location === null ? text : `${relative(".", location.file)}:${location.line}:${location.column + 1}: ${text}`;
}
