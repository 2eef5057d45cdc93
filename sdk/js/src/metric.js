// Metrics: score samples.

import { cardToHost } from "./card.js";
import { inputsFromHost, inputSpecs } from "./inputs.js";
import { check, collect, define, memberBatch, schemaOf, settled } from "./member.js";
import * as shape from "./shape.js";

const PREDICTION = { path: "model_output.answer", param: "prediction_field" };
const REFERENCE = { path: "sample.label", param: "label_field" };

export const COMPARED = Object.freeze({ prediction: PREDICTION, reference: REFERENCE });

const SCORE = { score: { minimum: 0, maximum: 1 } };

export function metric(definition) {
  const defined = define("metric", { inputs: COMPARED, values: SCORE, aggregation: "mean", ...definition }, ["score"], [
    "inputs",
    "values",
    "aggregation",
  ]);
  valueSpecs(defined.values);
  inputSpecs(defined.inputs);
  return defined;
}

function valueSpecs(values) {
  const specs = Object.entries(shape.object(values, "values")).map(([name, value]) => {
    shape.onlyKeys(value, ["higherIsBetter", "minimum", "maximum"], `value '${name}'`);
    return {
      name,
      higherIsBetter: shape.boolean(value.higherIsBetter ?? true, `value '${name}': higherIsBetter`),
      minimum: shape.optional(value.minimum, `value '${name}': minimum`, shape.number),
      maximum: shape.optional(value.maximum, `value '${name}': maximum`, shape.number),
    };
  });
  if (specs.length === 0) throw new TypeError("values is empty; its first key is the name of the primary score");
  return specs;
}

function metricSpec(member) {
  return {
    name: member.name,
    description: member.description,
    scorerVersion: member.version,
    inputs: inputSpecs(member.inputs),
    values: valueSpecs(member.values),
    defaultAggregation: member.aggregation,
    paramsSchema: schemaOf(member),
  };
}

export function implement(exported, info) {
  const members = collect("metric", exported);
  return {
    describe: () => info,
    metrics: () => members.map(metricSpec),
    check: (name, params) => check(members, name, params),
    score: (name, json, items) =>
      memberBatch(members, name, json, items, (member, item, params) =>
        cardToHost(settled(member.score(inputsFromHost(member.inputs, item.inputs), params), "score")),
      ),
  };
}
