// The candidate's interpreter: runs the program, and calls its functions when the tests ask.
//
// Nothing here decides about the verdict, and the candidate can change all of it. It knows the arguments of the calls, but not
// the tests.

import { decode, encode } from "./codec.js";
import { compiled, NAME_LOOKUP, require, silentConsole, wordsIn } from "./program.js";

// Lines of `new Function` before the program.
const LINES_BEFORE = 2;

// There is no clock and no network: these would end the interpreter.
for (const name of ["setTimeout", "setInterval", "fetch"]) delete globalThis[name];

const kept = [];
const globals = new Map(Object.getOwnPropertyNames(globalThis).map((name) => [name, globalValue(name)]));
const isEnumerable = Object.prototype.propertyIsEnumerable;
const parameters = ["require", "module", "exports"];
// Returns the value of a name of the program.
let valueOf = () => undefined;

function globalValue(name) {
  try {
    return globalThis[name];
  } catch {
    return undefined;
  }
}

// Serves a request of the tests, and returns the reply as JSON.
export function answer(request) {
  let reply;
  try {
    const { step, ...given } = JSON.parse(request);
    reply = STEPS[step](given);
  } catch (thrown) {
    reply = { raised: raisedForm(thrown), line: lineOf(thrown) };
  }
  return JSON.stringify(reply);
}

const STEPS = {
  // Runs the first of the programs that is JavaScript, as a CommonJS module.
  load({ programs, entryPoint }) {
    Object.assign(console, silentConsole());
    const [program, run] = compiled(programs, parameters, `${NAME_LOOKUP}\n//# sourceURL=candidate.js`);
    const module = { exports: {} };
    // A program that returns early has its names in `module.exports` at most.
    const lookUp = run.call(module.exports, require, module, module.exports);
    const { exports } = module;
    const owners = [exports, exports?.default].filter((one) => one !== undefined && one !== null);
    const found = (name) => {
      const owner = owners.find((one) => isEnumerable.call(one, name));
      return owner === undefined ? lookUp?.(name) : owner[name];
    };
    const whole = typeof exports === "function" ? exports : exports?.default;
    const isWhole = (name) => typeof whole === "function" && (name === entryPoint || name === whole.name);
    valueOf = (name) => (isWhole(name) && !isDefined(name, found) ? whole : found(name));
    const names = new Set([...wordsIn(program), ...(entryPoint ? [entryPoint] : [])]);
    return { names: [...names].filter((name) => (name === entryPoint || !parameters.includes(name)) && isDefined(name, valueOf)) };
  },
  name: ({ name }) => ({ value: encode(valueOf(name), keep) }),
  call({ target, args }) {
    const values = args.map((form) => decode(form, functionOf));
    const called = kept[target];
    const value = encode(called(...values), keep);
    const changed = {};
    values.forEach((one, place) => {
      if (typeof one !== "object" || one === null) return;
      const form = encode(one, keep);
      if (JSON.stringify(form) !== JSON.stringify(args[place])) changed[place] = form;
    });
    return { value, changed };
  },
};

// Returns whether a name has a value that is not that of a global name of the engine.
function isDefined(name, lookUp) {
  try {
    const value = lookUp(name);
    return value !== undefined && !(globals.has(name) && Object.is(globals.get(name), value));
  } catch {
    return false;
  }
}

function keep(value) {
  const place = kept.indexOf(value);
  return ["function", place >= 0 ? place : kept.push(value) - 1];
}

// Returns a function that the tests passed: one of the candidate, a built-in one, or one of the tests by its code.
function functionOf([tag, given]) {
  if (tag === "function") return kept[given];
  return tag === "global" ? globalThis[given] : (0, eval)(`(${given})`);
}

function raisedForm(thrown) {
  try {
    return encode(thrown, keep);
  } catch {
    return ["error", "Error", "Error", "it threw a value that is not plain"];
  }
}

// Returns the line of the program that threw a value; null if that is unknown.
function lineOf(thrown) {
  try {
    const found = /candidate\.js:(\d+):/.exec(thrown.stack)?.[1] ?? (thrown instanceof SyntaxError ? thrown.lineNumber : undefined);
    return found === undefined ? null : Number(found) - LINES_BEFORE;
  } catch {
    return null;
  }
}
