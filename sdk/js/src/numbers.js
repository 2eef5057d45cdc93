// Helpers for numbers.

import { trim } from "./text.js";

const NUMBER = /^[+-]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)(e[+-]?\d+)?$/i;
const NOT_FINITE = /^([+-]?)(inf|infinity|nan)$/i;
const WIDE_DIGIT = /[\uff10-\uff19]/g;
const KEYS = ["logprob", "token_logprob", "value"];

export function parseNumber(value) {
  if (typeof value === "number") return value;
  if (typeof value !== "string") return null;
  const text = trim(value).replace(WIDE_DIGIT, (digit) => String(digit.charCodeAt(0) - 0xff10));
  if (NUMBER.test(text)) return Number(text.replaceAll("_", ""));
  const special = NOT_FINITE.exec(text);
  if (special === null) return null;
  if (special[2].toLowerCase() === "nan") return NaN;
  return special[1] === "-" ? -Infinity : Infinity;
}

export function flattenNumbers(value) {
  if (Array.isArray(value)) return value.flatMap(flattenNumbers);
  if (typeof value === "object" && value !== null) {
    const key = KEYS.find((name) => Object.hasOwn(value, name));
    return key === undefined ? [] : flattenNumbers(value[key]);
  }
  const number = parseNumber(value);
  return number === null ? [] : [number];
}
