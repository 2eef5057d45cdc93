import { ask, output, PluginError, roleAdapter, user } from "gage-sdk";

// Raise the version when what later steps read could change.
export default roleAdapter({
  name: "{{snake}}",
  version: "1",
  description: "Gives the document on the sample's topic.",
  params: { documents: { type: "object", additionalProperties: { type: "string" }, default: {} } },
  // Returns output(object), which later steps and metrics read, or ask(messages) to have the role's model asked.
  prepare({ sample }, { documents }) {
    const topic = sample.metadata?.topic ?? null;
    if (topic === null) {
      throw new PluginError("missing-field", "the sample has no topic", { pointer: "/sample/metadata/topic" });
    }
    if (Object.hasOwn(documents, topic)) return output({ document: documents[topic] });
    return ask([user(`Explain in one sentence: ${topic}`)]);
  },
  // Makes the output of the model's reply.
  parse: (reply) => ({ document: reply.answer }),
});
