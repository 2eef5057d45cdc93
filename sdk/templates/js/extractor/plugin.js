import { extractor } from "gage-sdk";

const NUMBER = /(?<![\w.])-?\d+(\.\d+)?/g;

// Increase the version when an answer could change.
export default extractor({
  name: "{{snake}}",
  version: "1",
  description: "The last number in the text.",
  inputs: { text: { path: "model_output.answer", param: "text_field", kind: "text" } },
  // Returns the answer, or null if there is none. Kinds are choice, number, list, text and reasoning.
  extract({ text }) {
    const evidence = text?.match(NUMBER)?.pop();
    return evidence === undefined ? null : { kind: "number", value: { value: Number(evidence) }, evidence };
  },
});
