import { docHook, PluginError } from "gage-sdk";

// Increase the version when the hook's results could change.
export default docHook({
  name: "{{snake}}",
  version: "1",
  description: "Shows the images that a field of the metadata names: one path, or a list of them.",
  // Or "audio"; or "text", with toText(sample, params), which returns messages.
  hook: "visual",
  params: { field: { type: "string", default: "image" } },
  // A source is a path below the dataset's folder, a data: URL or a digest.
  toMedia(sample, { field }) {
    const found = sample.metadata?.[field] ?? [];
    const paths = Array.isArray(found) ? found : [found];
    if (paths.every((path) => typeof path === "string")) return paths;
    throw new PluginError("invalid-input", "an image must be a path", { pointer: `/metadata/${field}` });
  },
});
