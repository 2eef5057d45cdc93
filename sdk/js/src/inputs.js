// Declaration and conversion of the inputs of metrics and extractors.

import * as shape from "./shape.js";

const KINDS = ["any", "text", "number", "texts", "json"];

function names(value, place) {
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]).map((name) => shape.text(name, place));
}

// Returns the contract's list, from `{ name: { path, param, kind } }` or `{ name: path }`.
export function inputSpecs(inputs) {
  return Object.entries(inputs).map(([name, given]) => {
    const place = `input '${name}'`;
    const input = typeof given === "string" ? { path: given } : shape.object(given, place);
    shape.onlyKeys(input, ["path", "param", "kind"], place);
    return {
      name,
      pathParams: names(input.param, `${place}: param`),
      defaultPaths: names(input.path, `${place}: path`),
      kind: shape.oneOf(input.kind ?? "any", KINDS, `${place}: kind`),
    };
  });
}

function valueFromHost({ tag, val }) {
  if (tag === "absent") return null;
  return tag === "json" ? JSON.parse(val) : val;
}

// Returns an object with the values of one item by input name.
export function inputsFromHost(inputs, values) {
  return Object.fromEntries(Object.keys(inputs).map((name, index) => [name, valueFromHost(values[index])]));
}
