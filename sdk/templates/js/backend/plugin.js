import { backend, PluginError } from "gage-sdk";

// To reach a server or another model, put "http" or "llm" into imports in gage-plugin.toml, and import gage-sdk/http or
// gage-sdk/llm. Raise the version when an answer could change.
export default backend({
  version: "1",
  config: { prefix: { type: "string", default: "" } },
  // Returns a text or a generation. With generateAll(requests, config) a batch is answered at once.
  generate({ messages }, { prefix }) {
    const last = messages.at(-1);
    if (last === undefined) throw new PluginError("invalid-input", "there is no message to echo");
    return prefix + last.content;
  },
});
