import { PluginError, preprocessor, skip, textOf } from "gage-sdk";

// Increase the version when a Sample could change.
export default preprocessor({
  name: "{{snake}}",
  version: "1",
  description: "Makes a Sample of a question and its answer.",
  params: {
    question_field: { type: "string", default: "question" },
    answer_field: { type: "string", default: "answer" },
  },
  // Returns the Sample of a row, or skip(reason) to skip the row on purpose.
  convert(row, { question_field, answer_field }) {
    for (const field of [question_field, answer_field]) {
      if (row[field] === undefined) throw new PluginError("missing-field", `the row has no '${field}'`, { pointer: `/${field}` });
    }
    const text = textOf(row[question_field]);
    if (text.trim() === "") return skip("the question is empty");
    return {
      schema_version: "v1",
      messages: [{ role: "user", content: [{ type: "text", text }] }],
      // All correct answers; the first is the Sample's label.
      references: [{ answer: [{ type: "text", text: textOf(row[answer_field]) }] }],
    };
  },
});
