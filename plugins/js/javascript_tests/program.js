// The program of a candidate, taken from the answer of a model, and what programs and tests have in common.

import { PluginError } from "gage-sdk";
import { assert, show } from "./assert.js";

const DECLARATION = /^(?:export\s+(?:default\s+)?)?(?:async\s+)?(?:function\s*\*?|class|const|let|var)\s+([\w$]+)/gm;

// Returns a prompt if it is code, and otherwise an empty text.
export function codeOfPrompt(prompt) {
  return prompt.search(DECLARATION) >= 0 && completed(prompt) !== undefined ? prompt : "";
}

// Returns the name of the last function that a prompt defines: that which the candidate continues.
export function entryPointOf(prompt) {
  return [...prompt.matchAll(DECLARATION)].at(-1)?.[1] ?? "";
}

// Returns the programs that the answer may stand for. The first that is JavaScript counts.
//
// `completion` continues the prompt with the answer as it is. `whole` is the code of the answer alone. `auto` puts the part of
// the prompt before the entry point before a whole function, for its helpers, and continues the prompt with anything else.
export function programsOf(answer, prompt, entryPoint, form) {
  if (form === "completion") return [prompt + answer];
  const code = codeOf(answer, entryPoint);
  const promptCode = codeOfPrompt(prompt);
  if (form === "whole" || promptCode === "") return [code];
  if (defines(code, entryPoint)) {
    const start = [...promptCode.matchAll(DECLARATION)].findLast(([, name]) => name === entryPoint);
    // The program may define the helpers of the prompt again, which is an error of the syntax for `const`.
    return [`${promptCode.slice(0, start?.index)}\n${code}`, code];
  }
  const isOpen = !prompt.endsWith("\n") && !code.startsWith("\n");
  return [prompt + (isOpen ? "\n" : "") + code];
}

// Returns the first fenced block that defines the entry point, or the first one, or the whole answer if it has none.
function codeOf(answer, name) {
  const blocks = [...answer.matchAll(/^[ \t]*```[^\n`]*\n([^]*?)(?:^[ \t]*```|$(?![^]))/gm)].map(([, code]) => code);
  return blocks.find((code) => name && defines(code, name)) ?? blocks[0] ?? answer;
}

function defines(code, name) {
  const assigned = [...code.matchAll(/^(?:(?:module\.)?exports\.)?([\w$]+)\s*=(?!=)/gm)];
  return [...code.matchAll(DECLARATION), ...assigned].some(([, found]) => !name || found === name);
}

// Returns the function of a prompt, whose result looks up a name; undefined if the prompt is not code. A prompt that ends in a
// function gets the end of it.
function completed(prompt) {
  try {
    const programs = ["", "\n}", "\n}\n}"].map((end) => prompt + end);
    return compiled(programs, ["require", "module", "exports"], "\n;return (name) => eval(name)")[1];
  } catch {
    return undefined;
  }
}

// Returns a function that returns what a prompt defines by a name, or undefined.
export function namesOfPrompt(prompt) {
  let lookUp;
  try {
    lookUp = completed(prompt)?.(require, {}, {});
  } catch (error) {
    throw new PluginError("invalid-input", `the prompt of the sample fails: ${show(error)}`);
  }
  return (name) => {
    try {
      return lookUp?.(name);
    } catch {
      return undefined;
    }
  };
}

// Returns the first of several programs that is JavaScript, and its function. Throws the SyntaxError of the first.
export function compiled(programs, parameters, end) {
  let failure;
  for (const program of programs.flatMap((one) => [one, commonJs(one)])) {
    try {
      return [program, new Function(...parameters, program + end)];
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}

// Returns a program without the statements of ES modules.
function commonJs(program) {
  return program
    .replace(/^import\s+(?:\*\s+as\s+)?([\w$]+|\{[^}]*\})\s+from\s+(['"][^'"\n]*['"])/gm, (_, names, file) => {
      return `const ${names.replace(/\s+as\s+/g, ": ")} = require(${file})`;
    })
    .replace(/^export\s+(?:default\s+)?(?=(?:async|function|class|const|let|var)\b)/gm, "")
    .replace(/^export\s+(?:default\s+[\w$]+|\{[^}]*\})\s*;?/gm, "");
}

export function wordsIn(code) {
  return [...new Set(code.match(/[A-Za-z_$\x80-\uffff][\w$\x80-\uffff]*/g))];
}

// The modules of Node that there are.
export function require(name) {
  const short = String(name).replace(/^node:/, "");
  if (short === "assert") return assert;
  if (short === "assert/strict") return assert.strict;
  if (short === "util") return { isDeepStrictEqual: assert.isDeepStrictEqual };
  throw new Error(`Cannot find module '${name}'`);
}
