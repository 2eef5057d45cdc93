// Judges: prompt a judge model and interpret its reply.

import { check, collect, define, memberBatch, memberSpec, settled } from "./member.js";
import { generationFromHost, promptToHost } from "./messages.js";
import * as shape from "./shape.js";

class Unparseable {
  constructor(reason) {
    this.reason = shape.text(reason, "the reason of unparseable");
  }
}

export const unparseable = (reason) => new Unparseable(reason);

export function judge(definition) {
  return define("judge", definition, ["render", "parse"]);
}

function caseFromHost({ sampleId, sample, modelOutput }) {
  return { sampleId, sample: JSON.parse(sample), modelOutput: JSON.parse(modelOutput) };
}

function promptsToHost(value) {
  const prompts = Array.isArray(value) ? value : [value];
  return prompts.map((prompt, index) => promptToHost(prompt, `prompt ${index}`));
}

function verdictToHost(value) {
  return value instanceof Unparseable
    ? { tag: "unparseable", val: value.reason }
    : { tag: "output", val: shape.jsonObject(value, "what parse returns") };
}

export function implement(exported, info) {
  const members = collect("judge", exported);
  return {
    describe: () => info,
    judges: () => members.map(memberSpec),
    check: (name, params) => check(members, name, params),
    render: (name, json, cases) =>
      memberBatch(members, name, json, cases, (member, each, params) =>
        promptsToHost(settled(member.render(caseFromHost(each), params), "render")),
      ),
    parse: (name, json, cases) =>
      memberBatch(members, name, json, cases, (member, answered, params) => {
        const replies = answered.replies.map(generationFromHost);
        return verdictToHost(settled(member.parse(replies, caseFromHost(answered.case), params), "parse"));
      }),
  };
}
