// Aggregators: compute figures from score cards.

import { cardFromHost } from "./card.js";
import { check, collect, define, find, memberSpec, mustBeFunction, orThrow, prepareParams, settled } from "./member.js";
import { PluginError } from "./error.js";
import * as shape from "./shape.js";

export function aggregator(definition) {
  const made = define("aggregator", definition, ["start", "add", "finish"], ["merge"]);
  if (made.merge !== undefined) mustBeFunction(made.merge, `aggregator '${made.name}': merge`);
  return made;
}

function rowFromHost({ sampleId, weight, card }) {
  return { sampleId, weight, card: cardFromHost(card) };
}

// The host keeps the state as bytes, initially empty; this SDK uses JSON.
function stateFromHost(bytes, member, params) {
  return bytes.length === 0 ? member.start(params) : JSON.parse(new TextDecoder().decode(bytes));
}

function stateToHost(state) {
  return new TextEncoder().encode(shape.jsonObject(state, "the state"));
}

function figureToHost(figure) {
  shape.onlyKeys(shape.object(figure, "a figure"), ["name", "value", "stderr", "count"], "a figure");
  return {
    name: shape.text(figure.name, "the name of a figure"),
    value: shape.number(figure.value, `the value of '${figure.name}'`),
    stderr: shape.optional(figure.stderr, `the stderr of '${figure.name}'`, shape.number),
    count: shape.count(figure.count, `the count of '${figure.name}'`),
  };
}

function figuresToHost(member, state, params) {
  return shape.list(settled(member.finish(state, params), "finish"), "what finish returns").map(figureToHost);
}

export function implement(exported, info) {
  const members = collect("aggregator", exported);
  const open = (name, json, bytes) => {
    const member = find(members, name);
    const params = prepareParams(member, json);
    return { member, params, state: stateFromHost(bytes, member, params) };
  };
  const merges = members.filter((member) => member.merge !== undefined).map(({ name }) => name);
  const described = merges.length === 0 ? info : { ...info, extra: JSON.stringify({ ...JSON.parse(info.extra ?? "{}"), merges }) };
  return {
    describe: () => described,
    aggregators: () => members.map(memberSpec),
    check: (name, params) => check(members, name, params),
    fold: (name, json, bytes, rows) =>
      orThrow(() => {
        let { member, params, state } = open(name, json, bytes);
        for (const row of rows) state = settled(member.add(state, rowFromHost(row), params), "add") ?? state;
        return stateToHost(state);
      }),
    finish: (name, json, bytes) =>
      orThrow(() => {
        const { member, params, state } = open(name, json, bytes);
        return figuresToHost(member, state, params);
      }),
    resample: (name, json, states, draws) =>
      orThrow(() => {
        const member = find(members, name);
        if (member.merge === undefined) throw new PluginError("unsupported", `the aggregator '${name}' has no merge`);
        const params = prepareParams(member, json);
        return draws.map((draw) => {
          let merged = member.start(params);
          // Each state is parsed again, since a merge may change it.
          states.forEach((bytes, place) => {
            for (let times = draw[place]; times > 0; times -= 1) {
              merged = settled(member.merge(merged, stateFromHost(bytes, member, params), params), "merge") ?? merged;
            }
          });
          return figuresToHost(member, merged, params);
        });
      }),
  };
}
