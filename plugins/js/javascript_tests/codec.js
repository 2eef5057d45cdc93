// Values that cross between the interpreter of the tests and that of the candidate, as JSON.
//
// Plain values are copied. Functions stay where they are. The decoder never runs code that the other side chose: it creates
// values of a fixed list of types, and refuses everything else.

// Maximum nesting of a value that is copied.
export const MAX_DEPTH = 80;
// Maximum number of hexadecimal digits of an integer of any size.
const MAX_BIGINT_DIGITS = 100_000;

const ERRORS = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, Error };
const SPECIAL_NUMBERS = { NaN, Infinity, "-Infinity": -Infinity, "-0": -0 };

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const toBytes = (text) => encoder.encode(text);
export const fromBytes = (bytes) => decoder.decode(bytes);

// A form that `encode` does not write.
export class MalformedForm extends Error {}

// Prototype of objects of classes: they have the data of the candidate's objects, and equal no plain object strictly.
const INSTANCE = Object.create(Object.prototype);

// Returns the JSON form of a value. `keep` returns that of a function.
export function encode(value, keep, depth = 0) {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (Object.is(value, -0)) return ["number", "-0"];
      return Number.isFinite(value) ? value : ["number", String(value)];
    case "undefined":
      return ["undefined"];
    case "bigint":
      return ["bigint", value < 0n ? `-${(-value).toString(16)}` : value.toString(16)];
    case "function":
      return keep(value);
    case "symbol":
      throw new TypeError("a symbol is not a plain value");
  }
  if (value === null) return null;
  if (depth > MAX_DEPTH) throw new RangeError(`a value is nested more than ${MAX_DEPTH} levels deep`);
  return encodeObject(value, (one) => encode(one, keep, depth + 1));
}

const isHole = (array, item, place) => item === undefined && !Object.hasOwn(array, place);

function encodeObject(value, part) {
  const pairs = (entries) => entries.map(([key, one]) => [part(key), part(one)]);
  if (Array.isArray(value)) return ["array", Array.from(value, (one, place) => (isHole(value, one, place) ? ["hole"] : part(one)))];
  if (value instanceof Map) return ["map", pairs([...value])];
  if (value instanceof Set) return ["set", [...value].map(part)];
  if (value instanceof Date) return ["date", part(value.getTime())];
  if (value instanceof Error) return ["error", baseOf(value), String(value.name), String(value.message)];
  const tag = Object.prototype.toString.call(value).slice("[object ".length, -1);
  if (tag !== "Object") throw new TypeError(`a ${tag} is not a plain value`);
  const prototype = Object.getPrototypeOf(value);
  const kind = prototype === null ? "bare" : prototype === Object.prototype ? "plain" : "instance";
  return ["object", kind, pairs(Object.entries(value))];
}

// Returns the name of the nearest built-in class of an error. The engine's own error for deep recursion is Node's RangeError.
function baseOf(error) {
  if (error.name === "InternalError") return "RangeError";
  return Object.keys(ERRORS).find((name) => error instanceof ERRORS[name]);
}

// Returns the value of a JSON form. `kept` returns the function of a form that `keep` made.
export function decode(form, kept, depth = 0) {
  if (form === null || ["string", "boolean", "number"].includes(typeof form)) return form;
  if (!Array.isArray(form) || depth > MAX_DEPTH + 1) throw new MalformedForm();
  const part = (one) => decode(one, kept, depth + 1);
  const [tag, ...fields] = form;
  return typeof tag === "string" && Object.hasOwn(READERS, tag) ? READERS[tag](fields, part) : kept(form);
}

function listOf(value) {
  if (!Array.isArray(value)) throw new MalformedForm();
  return value;
}

function pairsOf(value, part) {
  return listOf(value).map((pair) => {
    if (listOf(pair).length !== 2) throw new MalformedForm();
    return pair.map(part);
  });
}

function textOf(value) {
  if (typeof value !== "string") throw new MalformedForm();
  return value;
}

// An object of the candidate does not say what it equals. Tests may call its `valueOf` and `toString` by name.
function refuseConversion() {
  throw new TypeError("an object of the candidate is not a primitive value");
}

const READERS = {
  undefined: () => undefined,
  number([name]) {
    if (!Object.hasOwn(SPECIAL_NUMBERS, textOf(name))) throw new MalformedForm();
    return SPECIAL_NUMBERS[name];
  },
  bigint([text]) {
    const [, sign, digits] = /^(-?)([0-9a-f]+)$/.exec(textOf(text)) ?? [];
    if (digits === undefined || digits.length > MAX_BIGINT_DIGITS) throw new MalformedForm();
    const value = BigInt(`0x${digits}`);
    return sign === "-" ? -value : value;
  },
  array([items], part) {
    const array = new Array(listOf(items).length);
    items.forEach((form, place) => {
      if (!Array.isArray(form) || form[0] !== "hole") array[place] = part(form);
    });
    return array;
  },
  map: ([pairs], part) => new Map(pairsOf(pairs, part)),
  set: ([items], part) => new Set(listOf(items).map(part)),
  date([time], part) {
    const value = part(time);
    if (typeof value !== "number") throw new MalformedForm();
    return new Date(value);
  },
  error([base, name, message]) {
    if (!Object.hasOwn(ERRORS, textOf(base))) throw new MalformedForm();
    const error = new ERRORS[base](textOf(message));
    if (textOf(name) !== error.name) Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
    return error;
  },
  object([kind, pairs], part) {
    const prototypes = { plain: Object.prototype, bare: null, instance: INSTANCE };
    if (!Object.hasOwn(prototypes, textOf(kind))) throw new MalformedForm();
    const object = Object.create(prototypes[kind]);
    for (const [key, value] of pairsOf(pairs, part)) {
      // An assignment to `__proto__` would replace the prototype.
      Object.defineProperty(object, textOf(key), { value, configurable: true, enumerable: true, writable: true });
    }
    if (Object.hasOwn(object, "valueOf") || Object.hasOwn(object, "toString")) {
      Object.defineProperty(object, Symbol.toPrimitive, { value: refuseConversion });
    }
    return object;
  },
};
