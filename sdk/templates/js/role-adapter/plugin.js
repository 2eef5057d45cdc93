import { ask, output, PluginError, roleAdapter, user } from "gage-sdk";

// Increase the version when the output for later steps could change.
export default roleAdapter({
  name: "{{snake}}",
  version: "1",
  description: "Gives the document on the sample's topic.",
  params: { documents: { type: "object", additionalProperties: { type: "string" }, default: {} } },
  // Returns output(object), which later steps and metrics read, or ask(messages) to call the role's model.
  prepare({ sample }, { documents }) {
    const topic = sample.metadata?.topic ?? null;
    if (topic === null) {
      throw new PluginError("missing-field", "the sample has no topic", { pointer: "/sample/metadata/topic" });
    }
    if (Object.hasOwn(documents, topic)) return output({ document: documents[topic] });
    return ask([user(`Explain in one sentence: ${topic}`)]);
  },
  // Creates the output from the model's reply.
  parse: (reply) => ({ document: reply.answer }),
});
