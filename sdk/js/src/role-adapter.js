// Role adapters: prepare the request to the model of a role, and interpret its reply.

import { check, collect, define, memberBatch, memberSpec, settled } from "./member.js";
import { generationFromHost, promptToHost } from "./messages.js";
import * as shape from "./shape.js";

class Ask {
  constructor(messages, params) {
    this.prompt = { messages, params };
  }
}

class Output {
  constructor(value) {
    this.value = value;
  }
}

export const ask = (messages, params) => new Ask(messages, params);
export const output = (value) => new Output(value);

export function roleAdapter(definition) {
  return define("role-adapter", definition, ["prepare"], ["parse"]);
}

function preparedToHost(value) {
  if (value instanceof Ask) return { tag: "ask", val: promptToHost(value.prompt, "ask") };
  if (value instanceof Output) return { tag: "output", val: shape.jsonObject(value.value, "output") };
  throw new TypeError(`prepare must return ask(messages) or output(object), not ${shape.nameOfType(value)}`);
}

export function implement(exported, info) {
  const members = collect("role-adapter", exported);
  return {
    describe: () => info,
    adapters: () => members.map(memberSpec),
    check: (name, params) => check(members, name, params),
    prepare: (name, json, payloads) =>
      memberBatch(members, name, json, payloads, (member, payload, params) =>
        preparedToHost(settled(member.prepare(JSON.parse(payload), params), "prepare")),
      ),
    parse: (name, json, replies) =>
      memberBatch(members, name, json, replies, (member, { payload, reply }, params) => {
        const generation = generationFromHost(reply);
        if (member.parse === undefined) return JSON.stringify({ answer: generation.answer });
        const value = settled(member.parse(generation, JSON.parse(payload), params), "parse");
        return shape.jsonObject(value, "what parse returns");
      }),
  };
}
