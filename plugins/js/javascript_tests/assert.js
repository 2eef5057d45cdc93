// Node's `assert`, as far as tests of programs need it.

export class AssertionError extends Error {
  constructor({ message, actual, expected, operator }) {
    super(message);
    this.name = "AssertionError";
    this.code = "ERR_ASSERTION";
    Object.assign(this, { actual, expected, operator });
  }
}

// Returns a text for any value, also for one that a program made without a text.
export function show(value) {
  try {
    return textOf(value);
  } catch {
    return "an object";
  }
}

function textOf(value) {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (value instanceof Map) return `Map ${show([...value])}`;
  if (value instanceof Set) return `Set ${show([...value])}`;
  if (Object.is(value, -0)) return "-0";
  if (typeof value === "number" || typeof value === "symbol") return String(value);
  return JSON.stringify(value, (_, one) => (typeof one === "bigint" ? `${one}n` : one)) ?? String(value);
}

function check(holds, given, defaultMessage, fields) {
  if (holds) return;
  if (given instanceof Error) throw given;
  throw new AssertionError({ ...fields, message: given === undefined ? defaultMessage : String(given) });
}

const isObject = (value) => typeof value === "object" && value !== null;
const tagOf = (value) => Object.prototype.toString.call(value);

// Returns whether two values are equal, loosely or strictly, as Node's `deepEqual` and `deepStrictEqual` say.
function isDeepEqual(left, right, isStrict, seen = []) {
  if (Object.is(left, right)) return true;
  if (!isObject(left) || !isObject(right)) {
    const isPair = !isObject(left) && !isObject(right) && !isStrict;
    return isPair && (left == right || (left !== left && right !== right));
  }
  if (tagOf(left) !== tagOf(right)) return false;
  if (isStrict && Object.getPrototypeOf(left) !== Object.getPrototypeOf(right)) return false;
  if (seen.some(([one, other]) => one === left && other === right)) return true;
  const equal = (one, other) => isDeepEqual(one, other, isStrict, [...seen, [left, right]]);
  if (Array.isArray(left) && left.length !== right.length) return false;
  if (left instanceof Date && !Object.is(left.getTime(), right.getTime())) return false;
  if (left instanceof RegExp && String(left) !== String(right)) return false;
  if (left instanceof Error && (left.name !== right.name || left.message !== right.message)) return false;
  if (left instanceof Map || left instanceof Set) return hasEqualItems([...left], [...right], equal);
  if (left instanceof String || left instanceof Number || left instanceof Boolean) {
    if (!Object.is(left.valueOf(), right.valueOf())) return false;
  }
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length && keys.every((key) => Object.hasOwn(right, key) && equal(left[key], right[key]));
}

// Returns whether each item has an equal one of its own in the other list, in any order.
function hasEqualItems(left, right, equal) {
  if (left.length !== right.length) return false;
  const rest = [...right];
  return left.every((one) => {
    const place = rest.findIndex((other) => equal(one, other));
    if (place >= 0) rest.splice(place, 1);
    return place >= 0;
  });
}

function ok(value, message) {
  check(value, message, `${show(value)} is not true`, { actual: value, expected: true, operator: "==" });
}

// Creates a comparison, and its opposite.
function comparisons(name, holds, relation) {
  const compare = (isWanted, verb, operator) => (actual, expected, message) => {
    const text = `${show(actual)} ${verb} ${relation} ${show(expected)}`;
    check(holds(actual, expected) === isWanted, message, text, { actual, expected, operator });
  };
  const opposite = `not${name[0].toUpperCase()}${name.slice(1)}`;
  return { [name]: compare(true, "is not", name), [opposite]: compare(false, "is", opposite) };
}

// Returns whether a thrown value is what `throws` expects: of a class, like an object, or with a message that matches.
function isExpected(thrown, expected) {
  if (expected instanceof RegExp) return expected.test(String(thrown));
  if (typeof expected === "function") {
    if (expected.prototype !== undefined && thrown instanceof expected) return true;
    const isClass = expected === Error || Error.isPrototypeOf(expected) || /^class\b/.test(String(expected));
    return !isClass && expected.call({}, thrown) === true;
  }
  if (!isObject(thrown)) return false;
  const keys = expected instanceof Error ? ["name", "message"] : Object.keys(expected);
  return keys.every((key) => {
    const found = thrown[key];
    return expected[key] instanceof RegExp ? expected[key].test(String(found)) : isDeepEqual(found, expected[key], true);
  });
}

function throws(run, expected, message) {
  if (typeof expected === "string") [expected, message] = [undefined, expected];
  let thrown;
  try {
    run();
  } catch (error) {
    thrown = { error };
  }
  check(thrown !== undefined, message, "the expected exception is missing", { expected, operator: "throws" });
  if (expected === undefined) return;
  const { error } = thrown;
  check(isExpected(error, expected), message, `the exception is another one: ${show(error)}`, { actual: error, expected, operator: "throws" });
}

// Creates `match`, or its opposite. Neither holds for a value that is not a text.
function matching(isWanted, verb) {
  return (text, pattern, message) => {
    const holds = typeof text === "string" && pattern.test(text) === isWanted;
    check(holds, message, typeof text === "string" ? `${show(text)} ${verb} ${pattern}` : `${show(text)} is not a text`);
  };
}

function rejectAsync() {
  throw new TypeError("tests of programs cannot wait");
}

const looseEqual = (one, other) => one == other || (one !== one && other !== other);
const deepStrict = comparisons("deepStrictEqual", (one, other) => isDeepEqual(one, other, true), "deeply and strictly equal to");
const strict = comparisons("strictEqual", Object.is, "strictly equal to");

export const assert = Object.assign((...given) => ok(...given), {
  AssertionError,
  ok,
  ...comparisons("equal", looseEqual, "equal to"),
  ...strict,
  ...comparisons("deepEqual", (one, other) => isDeepEqual(one, other, false), "deeply equal to"),
  ...deepStrict,
  match: matching(true, "does not match"),
  doesNotMatch: matching(false, "matches"),
  throws,
  doesNotThrow: (run) => void run(),
  ifError: (value) => check(value === null || value === undefined, undefined, `there is an error: ${show(value)}`),
  fail: (message) => check(false, message, "failed"),
  rejects: rejectAsync,
  doesNotReject: rejectAsync,
  isDeepStrictEqual: (one, other) => isDeepEqual(one, other, true),
});

assert.strict = Object.assign((...given) => ok(...given), assert, {
  equal: strict.strictEqual,
  notEqual: strict.notStrictEqual,
  deepEqual: deepStrict.deepStrictEqual,
  notDeepEqual: deepStrict.notDeepStrictEqual,
});
