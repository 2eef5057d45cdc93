// Features shared by all kinds: named members, their parameters, and batches.

import { PluginError, errorToHost } from "./error.js";
import { beginItem, logStack } from "./output.js";
import * as shape from "./shape.js";

const COMMON = ["name", "version", "description", "params", "required", "setup"];

// Marks a definition with its kind, and rejects invalid keys early.
export function define(kind, definition, needed, optional = []) {
  shape.object(definition, `the definition of a ${kind}`);
  const place = `${kind} '${definition.name ?? "?"}'`;
  shape.onlyKeys(definition, [...COMMON, ...needed, ...optional], place);
  for (const key of ["name", "version", "description"]) shape.text(definition[key], `${place}: ${key}`);
  for (const key of needed) mustBeFunction(definition[key], `${place}: ${key}`);
  if (definition.setup !== undefined) mustBeFunction(definition.setup, `${place}: setup`);
  return Object.freeze({ kind, params: {}, required: [], ...definition });
}

export function mustBeFunction(value, place) {
  if (typeof value !== "function") throw new TypeError(`${place} must be a function, not ${shape.nameOfType(value)}`);
}

// Returns the members of a plugin from its default export: one definition or a list of them.
export function collect(kind, exported) {
  const members = Array.isArray(exported) ? exported : [exported];
  if (members.length === 0) throw new TypeError(`the default export is an empty list; it must hold a ${kind}`);
  const names = new Set();
  for (const member of members) {
    if (member?.kind !== kind) {
      const found = member?.kind === undefined ? shape.nameOfType(member) : `a ${member.kind}`;
      throw new TypeError(`the default export must be a ${kind} or a list of them, as gage-plugin.toml says, not ${found}`);
    }
    if (names.has(member.name)) throw new TypeError(`two members have the name '${member.name}'`);
    names.add(member.name);
  }
  return members;
}

// Returns the JSON Schema of an object with exactly these properties.
export function schemaOf({ params, required }) {
  return JSON.stringify({
    type: "object",
    additionalProperties: false,
    properties: params,
    ...(required.length > 0 ? { required } : {}),
  });
}

export function memberSpec(member) {
  const { name, description, version } = member;
  return { name, description, version, paramsSchema: schemaOf(member) };
}

export function find(members, name) {
  const member = members.find((candidate) => candidate.name === name);
  if (member !== undefined) return member;
  throw new PluginError("unsupported", `no ${members[0].kind} '${name}' in this component; it has ${members.map((each) => each.name).join(", ")}`);
}

// Returns the `params` for the author's functions: fills in the schema's defaults, then calls `setup`.
export function prepareParams(member, json) {
  try {
    const given = JSON.parse(json);
    const params = { ...given };
    for (const [name, property] of Object.entries(member.params)) {
      if (params[name] === undefined && property?.default !== undefined) params[name] = structuredClone(property.default);
    }
    return member.setup === undefined ? params : settled(member.setup(params), "setup");
  } catch (thrown) {
    throw thrown instanceof PluginError ? thrown : new PluginError("invalid-config", errorToHost(thrown).message);
  }
}

export function settled(value, place) {
  if (typeof value?.then === "function") {
    throw new TypeError(`${place} returned a promise; it must not be async, as everything that the host offers answers at once`);
  }
  return value;
}

// Returns one result per item. An exception affects only its item.
export function batch(items, call) {
  return items.map((item) => {
    beginItem(item, items.length === 1);
    try {
      return { tag: "ok", val: call(item) };
    } catch (thrown) {
      logStack(thrown);
      return { tag: "err", val: errorToHost(thrown) };
    } finally {
      beginItem(null, true);
    }
  });
}

// Like `batch`, for a member found by name. If its setup fails, every item gets that error.
export function memberBatch(members, name, json, items, call) {
  let member, params;
  try {
    member = find(members, name);
    params = prepareParams(member, json);
  } catch (thrown) {
    const error = errorToHost(thrown);
    return items.map(() => ({ tag: "err", val: error }));
  }
  return batch(items, (item) => call(member, item, params));
}

// Returns a result that is not in a list, or throws its error as the contract's record.
export function orThrow(call) {
  try {
    return call();
  } catch (thrown) {
    throw errorToHost(thrown);
  }
}

export function check(members, name, json) {
  orThrow(() => prepareParams(find(members, name), json));
}
