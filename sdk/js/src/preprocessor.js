// Preprocessors: convert raw rows of a dataset to Samples.

import { check, collect, define, memberBatch, memberSpec, settled } from "./member.js";
import * as shape from "./shape.js";

class Skip {
  constructor(reason) {
    this.reason = shape.text(reason, "the reason of skip");
  }
}

export const skip = (reason) => new Skip(reason);

export function preprocessor(definition) {
  return define("preprocessor", definition, ["convert"]);
}

function outcome(value) {
  return value instanceof Skip
    ? { tag: "skip", val: value.reason }
    : { tag: "sample", val: shape.jsonObject(value, "what convert returns") };
}

export function implement(exported, info) {
  const members = collect("preprocessor", exported);
  return {
    describe: () => info,
    preprocessors: () => members.map(memberSpec),
    check: (name, params) => check(members, name, params),
    convert: (name, json, rows) =>
      memberBatch(members, name, json, rows, (member, row, params) => {
        const place = { dataset: row.dataset, index: Number(row.index) };
        return outcome(settled(member.convert(JSON.parse(row.body), params, place), "convert"));
      }),
  };
}
