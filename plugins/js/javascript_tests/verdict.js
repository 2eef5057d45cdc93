// Runs the tests of a task against a candidate, and names the outcome.

import { PluginError } from "gage-sdk";
import { assert, AssertionError, show } from "./assert.js";
import { compiled, namesOfPrompt, require, partsOf, silentConsole, withoutTexts, wordsIn } from "./program.js";
import { CandidateEnded, Session } from "./session.js";

// Maximum length of an explanation. A candidate chooses parts of it, and a card that is too large has no score.
const MAX_EXPLANATION_CHARS = 2_000;

// Outcomes by the messages of errors that the engine throws.
const ENGINE_OUTCOMES = Object.assign(Object.create(null), {
  "too much recursion": "recursion",
  "out of memory": "out_of_memory",
  "allocation size overflow": "out_of_memory",
});

// What the tests get beside the names of the program. The last one notes the number of the test that runs.
const OWN_NAMES = ["assert", "console", "require", "module", "exports", "candidate", "gageTestNumber$"];
// Global names of the engine that tests use as names of the program, if it defines them.
const REPLACEABLE = ["escape", "unescape", "self", "location"];
// Names that Node, frameworks and libraries for tests define. A program must not stand in for them.
const RESERVED =
  "process global Buffer util chai should jest vi sinon expect test it describe suite " +
  "before after beforeEach afterEach beforeAll afterAll " +
  "deepEqual notDeepEqual strictEqual notStrictEqual deepStrictEqual notDeepStrictEqual isDeepStrictEqual " +
  "assertEqual assertEquals assertNotEqual assertDeepEqual assertStrictEqual assertTrue assertFalse assertThrows";
const globals = Object.getOwnPropertyNames(globalThis).filter((name) => !REPLACEABLE.includes(name));
const own = new Set([...globals, ...OWN_NAMES, ...RESERVED.split(" "), "arguments"]);

const WAITING_WORDS = "(?:async|await|Promise|queueMicrotask|setImmediate|setTimeout|setInterval|fromAsync)";
// What a test that could end before its assertions contains, outside of texts.
const WAITING = new RegExp(String.raw`(?<![\w$])${WAITING_WORDS}(?![\w$])|\.\s*(?:then|catch|finally)\s*(?:\?\.\s*)?\(`);
// The same as names of properties that are texts: `globalThis["queueMicrotask"]`, `{ "Promise": P }`.
const WAITING_PROPERTY = new RegExp(
  String.raw`[\w$)\]]\s*(?:\?\.\s*)?\[\s*(["'\`])${WAITING_WORDS}\1\s*\]|[{,]\s*(["'])${WAITING_WORDS}\2\s*:`,
);

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
    // `console.assert` of the tests, which HumanEval-X has, only prints in Node.
    const console = { ...silentConsole(), assert };
    const noteTest = (number) => (place = number);
    run(assert, console, require, {}, {}, values.get(entryPoint), noteTest, ...values.values());
  } catch (thrown) {
    const verdict = failed(session, thrown);
    return task.tests.length > 1 ? { ...verdict, test: place } : verdict;
  }
  if (session.ended !== null) return { outcome: "exit", explain: session.ended };
  if (session.uses > 0) return { outcome: "passed" };
  if (session.looks > 0 || isLacking(task, helpers, names)) {
    return { outcome: "missing_name", explain: "the tests used nothing of the program" };
  }
  throw new PluginError("invalid-input", "the tests never use the candidate");
}

function checkTests({ tests, setup }) {
  for (const code of [setup, ...tests]) {
    // A failure after such a test ended would be lost.
    if (canWait(code)) {
      throw new PluginError("unsupported", "the tests of the sample wait (async, await, promises, timers), which is not supported");
    }
    try {
      compiled([`{\n${code}\n}`], [], "");
    } catch (error) {
      throw new PluginError("invalid-input", `the tests of the sample are not JavaScript: ${error?.message ?? error}`);
    }
  }
}

function canWait(code) {
  const { bare, commentless, isUnsure } = partsOf(code);
  return WAITING.test(bare) || WAITING_PROPERTY.test(commentless) || (isUnsure && WAITING.test(code));
}

// Returns the values of the names that the tests read: the entry point, or all names of the program if there is none. Others
// are those of the prompt, so that the candidate cannot replace a helper that the tests use.
function namesOfTests({ tests, setup, entryPoint }, helpers, names, session) {
  const read = new Set(freeWordsIn([setup, ...tests].join("\n")).filter((name) => !own.has(name)));
  if (entryPoint) read.add(entryPoint);
  const values = new Map();
  for (const name of [...read].filter(isName)) {
    const helper = name === entryPoint ? undefined : helpers(name);
    if (helper !== undefined && helper !== globalThis[name]) values.set(name, helper);
    else if (names.has(name) && (!entryPoint || name === entryPoint)) values.set(name, session.named(name));
  }
  return values;
}

// Returns whether the tests read a name that the program lacks, if there is no entry point. Names that they define do not count.
function isLacking({ tests, setup, entryPoint }, helpers, names) {
  if (entryPoint) return false;
  const code = withoutTexts([setup, ...tests].join("\n"));
  const defined = [...code.matchAll(/\b(?:const|let|var|function|class)\s+([\w$]+)/g)].map(([, name]) => name);
  const isFree = (name) => isName(name) && !own.has(name) && !defined.includes(name) && helpers(name) === undefined;
  return freeWordsIn(code).some((name) => isFree(name) && !names.has(name));
}

// Returns the words of a program that are not names of properties after a dot, or in texts.
function freeWordsIn(code) {
  return wordsIn(withoutTexts(code).replace(/(?<!\.\.)\.\s*[\w$]+/g, "."));
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
  const parts = tests.length > 1 ? tests.map((code, place) => `gageTestNumber$(${place + 1});{\n${code}\n}`) : tests;
  const [, run] = compiled([`{\n${setup}\n${parts.join("\n")}${check}\n}`], [...OWN_NAMES, ...names], "");
  return run;
}

function failed(session, thrown) {
  if (session.ended !== null || thrown instanceof CandidateEnded) return { outcome: "exit", explain: session.ended };
  const text = shortened(show(thrown));
  const raised = session.raised.find((one) => Object.is(one.thrown, thrown));
  if (raised !== undefined) {
    // The engine throws some of these as texts.
    const message = thrown?.message ?? thrown;
    const outcome = (typeof message === "string" ? ENGINE_OUTCOMES[message] : undefined) ?? "exception";
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
