// The candidate's interpreter: runs the program, and calls its functions when the tests ask.
//
// Nothing here decides about the verdict, and the candidate can change all of it. It knows the arguments of the calls, but not
// the tests.

import { decode, encode } from "./codec.js";
import { compiled, require, wordsIn } from "./program.js";

// Lines of `new Function` before the program.
const LINES_BEFORE = 2;

// There is no clock and no network: these would end the interpreter.
for (const name of ["setTimeout", "setInterval", "fetch"]) delete globalThis[name];

const kept = [];
const builtIn = new Set([...Object.getOwnPropertyNames(globalThis), "module", "exports", "require"]);
// Returns the value of a name of the program.
let valueOf = () => undefined;

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
    const end = "\n;return (name) => eval(name)\n//# sourceURL=candidate.js";
    const [program, run] = compiled(programs, ["require", "module", "exports"], end);
    const module = { exports: {} };
    const lookUp = run.call(module.exports, require, module, module.exports);
    // A program that returns early has its names in `module.exports` at most.
    valueOf = (name) => (Object.hasOwn(module.exports ?? {}, name) ? module.exports[name] : lookUp?.(name));
    return { names: wordsIn(program).filter((name) => (name === entryPoint || !builtIn.has(name)) && isDefined(name)) };
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

function isDefined(name) {
  try {
    return valueOf(name) !== undefined;
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
