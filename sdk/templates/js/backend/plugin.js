import { backend, PluginError } from "gage-sdk";

// To call a server or another model, add "http" or "llm" to imports in gage-plugin.toml, and import gage-sdk/http or
// gage-sdk/llm. Increase the version when an answer could change.
export default backend({
  version: "1",
  config: { prefix: { type: "string", default: "" } },
  // Returns a text or a generation. Define generateAll(requests, config) to answer a whole batch at once.
  generate({ messages }, { prefix }) {
    const last = messages.at(-1);
    if (last === undefined) throw new PluginError("invalid-input", "there is no message to echo");
    return prefix + last.content;
  },
});
