// Runs programs of models in a JavaScript engine, and tests them.

import { metric, PluginError, stripThoughtTags } from "gage-sdk";
import ask from "ask";
import { codeOfPrompt, entryPointOf, programsOf } from "./program.js";
import { judge } from "./verdict.js";

export default metric({
  name: "javascript_tests",
  version: "1",
  description: "Whether the program in the answer passes its tests.",
  inputs: {
    prediction: { path: "model_output.answer", param: "prediction_field", kind: "text" },
    test: { path: ["sample.metadata.tests", "sample.metadata.test", "sample.metadata.test_list"], param: "test_field", kind: "texts" },
    entry_point: { path: "sample.metadata.entry_point", param: "entry_point_field", kind: "text" },
    prompt: { path: ["sample.metadata.prompt", "sample.messages.0.content.0.text"], param: "prompt_field", kind: "text" },
    setup: { path: "sample.metadata.test_setup_code", param: "setup_field", kind: "texts" },
  },
  values: { passed: { minimum: 0, maximum: 1 } },
  params: { program: { enum: ["auto", "completion", "whole"], default: "auto" } },
  score({ prediction, test, entry_point: given, prompt, setup }, { program }) {
    if (!test?.length) {
      throw new PluginError("missing-field", "the sample has no tests: set `test_field` to the path of their code");
    }
    const code = codeOfPrompt(prompt ?? "");
    const entryPoint = given || entryPointOf(code);
    const answer = prediction ?? "";
    const shown = program !== "completion" && answer.includes("</think>") ? stripThoughtTags(answer) : answer;
    const task = { tests: test, setup: (setup ?? []).join("\n"), prompt: code, entryPoint };
    const { outcome, explain, line, test: number } = judge(ask, programsOf(shown, prompt ?? "", entryPoint, program), task);
    const hasPassed = outcome === "passed";
    return {
      primaryScore: hasPassed ? 1 : 0,
      pass: hasPassed,
      errorTags: hasPassed ? [] : [outcome],
      explain,
      detail: { outcome, line, test: number },
    };
  },
});
