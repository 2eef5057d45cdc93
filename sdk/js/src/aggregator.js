// Aggregators: compute figures from score cards.

import { cardFromHost } from "./card.js";
import { check, collect, define, find, memberSpec, orThrow, prepareParams, settled } from "./member.js";
import * as shape from "./shape.js";

export function aggregator(definition) {
  return define("aggregator", definition, ["start", "add", "finish"]);
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

export function implement(exported, info) {
  const members = collect("aggregator", exported);
  const open = (name, json, bytes) => {
    const member = find(members, name);
    const params = prepareParams(member, json);
    return { member, params, state: stateFromHost(bytes, member, params) };
  };
  return {
    describe: () => info,
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
        return shape.list(settled(member.finish(state, params), "finish"), "what finish returns").map(figureToHost);
      }),
  };
}
