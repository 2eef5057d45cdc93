// Targets of a ranked list.

import { PluginError } from "../error.js";
import { isObject } from "../shape.js";
import { textOf } from "../text.js";

const TEXT_KEYS = ["text", "id", "label"];
const GRADE_KEYS = ["grade", "relevance", "gain"];
const BOOLEANS = { true: ["true", "True", "TRUE"], false: ["false", "False", "FALSE"] };

function firstOf(object, keys) {
  const key = keys.find((name) => Object.hasOwn(object, name));
  return key === undefined ? undefined : object[key];
}

// Returns the texts that identify a candidate or target; for an object, those under a key. Empty if there is nothing to
// match.
export function spellingsOf(value, key) {
  const keys = key === undefined || key === null ? TEXT_KEYS : [key];
  const found = isObject(value) ? firstOf(value, keys) : value;
  if (found === null || found === undefined) return [];
  return typeof found === "boolean" ? BOOLEANS[found] : [textOf(found)];
}

// Reads the targets of a sample with their grades, or 1 if they have none: a text, a list of texts or of objects, or an
// object of grades.
export function readTargets(value) {
  const targets = { isGraded: false, byText: new Map(), grades: [] };
  if (areGrades(value)) {
    for (const [text, grade] of Object.entries(value)) add(targets, [text], grade);
  } else {
    for (const item of Array.isArray(value) ? value : [value]) addItem(targets, item);
  }
  return targets;
}

// Returns whether an object holds grades by text, rather than being a single target like {"id": 7}.
function areGrades(value) {
  if (!isObject(value)) return false;
  const isEachNumber = Object.values(value).every((grade) => typeof grade === "number");
  return isEachNumber && !Object.keys(value).every((key) => TEXT_KEYS.includes(key));
}

function addItem(targets, item) {
  const spellings = spellingsOf(item);
  if (spellings.length > 0) {
    add(targets, spellings, isObject(item) ? firstOf(item, GRADE_KEYS) : undefined);
  } else if (isObject(item)) {
    // An object without any of the keys is represented by its JSON.
    add(targets, [textOf(item)], undefined);
  }
}

function add(targets, spellings, grade) {
  if (grade !== undefined) {
    targets.isGraded = true;
    if (typeof grade !== "number" || !(grade >= 0)) {
      throw new PluginError("invalid-input", `the grade of a target must be a number from 0 up, not ${JSON.stringify(grade)}`);
    }
  }
  // A repeated target has its first grade.
  const fresh = spellings.filter((text) => !targets.byText.has(text));
  for (const text of fresh) targets.byText.set(text, { place: targets.grades.length, grade: grade ?? 1 });
  if (fresh.length > 0) targets.grades.push(grade ?? 1);
}

// Returns the grade of each candidate, identified by its spellings: 0 if it is not a target or occurred earlier.
export function gradesOf({ byText }, candidates) {
  const seen = new Set();
  return candidates.map((spellings) => {
    const text = spellings.find((spelling) => byText.has(spelling));
    if (text === undefined) return 0;
    const { place, grade } = byText.get(text);
    if (seen.has(place)) return 0;
    seen.add(place);
    return grade;
  });
}

// Returns the grades above 0, highest first.
export function idealOf({ grades }) {
  return grades.filter((grade) => grade > 0).sort((a, b) => b - a);
}
