// Checks of values from the author's code, with errors that name the place.

export function nameOfType(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return value.constructor?.name === "Object" ? "an object" : `a ${value.constructor?.name}`;
  return value === undefined ? "undefined" : `a ${typeof value}`;
}

function fail(place, wanted, value) {
  throw new TypeError(`${place} must be ${wanted}, not ${nameOfType(value)}`);
}

export function text(value, place) {
  return typeof value === "string" ? value : fail(place, "a string", value);
}

export function number(value, place) {
  return typeof value === "number" ? value : fail(place, "a number", value);
}

export function boolean(value, place) {
  return typeof value === "boolean" ? value : fail(place, "true or false", value);
}

export function list(value, place) {
  return Array.isArray(value) ? value : fail(place, "a list", value);
}

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function object(value, place) {
  return isObject(value) ? value : fail(place, "an object", value);
}

export function oneOf(value, allowed, place) {
  if (allowed.includes(value)) return value;
  throw new TypeError(`${place} is '${value}'; allowed are ${allowed.join(", ")}`);
}

export function count(value, place) {
  if (Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  throw new TypeError(`${place} must be a whole number from 0 on, not ${value}`);
}

// Null and undefined both mean "absent" in JavaScript; the contract's options require undefined.
export function optional(value, place, check) {
  return value === null || value === undefined ? undefined : check(value, place);
}

export function onlyKeys(value, allowed, place) {
  for (const key of Object.keys(value)) {
    if (!allowed.includes(key)) {
      throw new TypeError(`${place} has no key '${key}'; allowed are ${allowed.join(", ")}`);
    }
  }
  return value;
}

// JSON has no NaN or infinity, and JSON.stringify silently turns them into null.
function refuseNotFinite(key, value) {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new TypeError(`${key || "a value"} is ${value}, which JSON cannot hold`);
  }
  return value;
}

export function jsonObject(value, place) {
  return JSON.stringify(object(value, place), refuseNotFinite);
}

// Returns the JSON text of an optional object.
export function extraJson(value, place) {
  return value === null || value === undefined ? "{}" : jsonObject(value, place);
}
