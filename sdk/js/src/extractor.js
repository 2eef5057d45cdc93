// Extractors: find the answer in a model's output.

import { inputsFromHost, inputSpecs } from "./inputs.js";
import { check, collect, define, memberBatch, memberSpec, settled } from "./member.js";
import * as shape from "./shape.js";

const TEXT = { text: { path: "model_output.answer", param: "text_field", kind: "text" } };
const ANSWERS = ["choice", "number", "list", "text", "reasoning"];

export function extractor(definition) {
  const defined = define("extractor", { inputs: TEXT, ...definition }, ["extract"], ["inputs"]);
  inputSpecs(defined.inputs);
  return defined;
}

function answerToHost(value) {
  if (value === null || value === undefined) return undefined;
  shape.onlyKeys(shape.object(value, "the answer"), ["kind", "value", "evidence"], "the answer");
  return {
    kind: shape.oneOf(value.kind, ANSWERS, "the kind of the answer"),
    value: shape.jsonObject(value.value, "the value of the answer"),
    evidence: shape.optional(value.evidence, "the evidence of the answer", shape.text),
  };
}

export function implement(exported, info) {
  const members = collect("extractor", exported);
  return {
    describe: () => info,
    extractors: () => members.map((member) => ({ member: memberSpec(member), inputs: inputSpecs(member.inputs) })),
    check: (name, params) => check(members, name, params),
    extract: (name, json, items) =>
      memberBatch(members, name, json, items, (member, item, params) =>
        answerToHost(settled(member.extract(inputsFromHost(member.inputs, item.inputs), params), "extract")),
      ),
  };
}
