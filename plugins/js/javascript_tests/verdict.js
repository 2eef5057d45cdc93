// Runs the tests of a task against a candidate, and names the outcome.

import { PluginError } from "gage-sdk";
import { assert, AssertionError, show } from "./assert.js";
import { compiled, namesOfPrompt, require, wordsIn } from "./program.js";
import { CandidateEnded, Session } from "./session.js";

// Maximum length of an explanation. A candidate chooses parts of it, and a card that is too large has no score.
const MAX_EXPLANATION_CHARS = 2_000;

// Outcomes by the messages of errors that the engine throws.
const ENGINE_OUTCOMES = Object.assign(Object.create(null), {
  "too much recursion": "recursion",
  "out of memory": "out_of_memory",
  "allocation size overflow": "out_of_memory",
});

// What the tests get beside the names of the program.
const OWN_NAMES = ["assert", "console", "require", "module", "exports", "candidate", "testNumber"];
const own = new Set([...Object.getOwnPropertyNames(globalThis), ...OWN_NAMES, "arguments"]);

// Returns the outcome of a candidate, one of whose programs runs in its interpreter. The tests run in this one.
//
// A task has `tests`, a list of programs; `setup`, code before them; `prompt`, which the candidate continues; and `entryPoint`.
export function judge(ask, programs, task) {
  checkTests(task);
  const helpers = namesOfPrompt(task.prompt);
  const session = new Session(ask);
  let names;
  try {
    names = session.load(programs, task.entryPoint);
  } catch (thrown) {
    const verdict = failed(session, thrown);
    return thrown instanceof SyntaxError ? { ...verdict, outcome: "syntax_error" } : verdict;
  }
  const { entryPoint } = task;
  if (entryPoint && !names.has(entryPoint)) return { outcome: "missing_name", explain: `the program does not define ${entryPoint}` };
  let place = 0;
  try {
    const values = namesOfTests(task, helpers, names, session);
    const run = testFunction(task, [...values.keys()]);
    run(assert, testConsole(), require, {}, {}, values.get(entryPoint), (number) => (place = number), ...values.values());
  } catch (thrown) {
    const verdict = failed(session, thrown);
    return task.tests.length > 1 ? { ...verdict, test: place } : verdict;
  }
  if (session.ended !== null) return { outcome: "exit", explain: session.ended };
  if (session.uses === 0) throw new PluginError("invalid-input", "the tests never use the candidate");
  return { outcome: "passed" };
}

function checkTests({ tests, setup }) {
  for (const code of [setup, ...tests]) {
    // A failure after such a test ended would be lost.
    if (/\basync\s*(?:function|\(|[\w$]+\s*=>)|\bawait\s|\bset(?:Timeout|Interval)\(/.test(code)) {
      throw new PluginError("unsupported", "the tests of the sample wait (async, await, setTimeout, setInterval), which is not supported");
    }
    try {
      compiled([`{\n${code}\n}`], [], "");
    } catch (error) {
      throw new PluginError("invalid-input", `the tests of the sample are not JavaScript: ${error.message}`);
    }
  }
}

// Returns the values of the names that the tests read: those of the prompt, so that the candidate cannot replace a helper that
// the tests use, and otherwise those of the program.
function namesOfTests({ tests, setup, entryPoint }, helpers, names, session) {
  const read = new Set(wordsIn([setup, ...tests].join("\n")).filter((name) => !own.has(name)));
  if (entryPoint) read.add(entryPoint);
  const values = new Map();
  for (const name of read) {
    if (!names.has(name) || !isName(name)) continue;
    const helper = name === entryPoint ? undefined : helpers(name);
    values.set(name, helper === undefined ? session.named(name) : helper);
  }
  return values;
}

function isName(word) {
  try {
    return Boolean(new Function(word, ""));
  } catch {
    return false;
  }
}

// Returns the tests as one function. Each of several tests has a scope of its own, after the setup.
function testFunction({ tests, setup, entryPoint }, names) {
  const check = entryPoint && entryPoint !== "check" ? "\n;if (typeof check === 'function') check(candidate);" : "";
  const parts = tests.length > 1 ? tests.map((code, place) => `testNumber(${place + 1});{\n${code}\n}`) : tests;
  const [, run] = compiled([`{\n${setup}\n${parts.join("\n")}${check}\n}`], [...OWN_NAMES, ...names], "");
  return run;
}

// HumanEval-X tests with `console.assert`, which only prints in Node.
function testConsole() {
  const print = () => {};
  return { assert, debug: print, log: print, info: print, warn: print, error: print };
}

function failed(session, thrown) {
  if (session.ended !== null || thrown instanceof CandidateEnded) return { outcome: "exit", explain: session.ended };
  const text = shortened(show(thrown));
  const raised = session.raised.find((one) => Object.is(one.thrown, thrown));
  if (raised !== undefined) {
    // The engine throws some of these as texts.
    const outcome = ENGINE_OUTCOMES[thrown?.message ?? thrown] ?? "exception";
    return { outcome, explain: text, line: raised.line };
  }
  if (thrown instanceof AssertionError) return { outcome: "wrong_answer", explain: text };
  if (thrown instanceof ReferenceError) return { outcome: "missing_name", explain: text };
  return { outcome: "exception", explain: `in the tests: ${text}` };
}

function shortened(text) {
  const start = text.slice(0, MAX_EXPLANATION_CHARS).toWellFormed().replaceAll("\0", "\\0");
  return text.length > MAX_EXPLANATION_CHARS ? `${start}…` : start;
}
