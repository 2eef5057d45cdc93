// The program of a candidate, taken from the answer of a model, and what programs and tests have in common.

import { PluginError } from "gage-sdk";
import { assert, show } from "./assert.js";

// End of a program as a function: it returns a function that looks up a name. Its only name is one that no program can replace.
export const NAME_LOOKUP = "\n;return function () { return eval(arguments[0]); }";

const FENCED_BLOCK = /^([ \t]*)(`{3,})[^\n`]*\n([^]*?)(?:^[ \t]*\2|($)(?![^]))/gm;
const TILDES = /^([ \t]*)(~{3,})[^\n`~]*\n/gm;

const CONSOLE_METHODS =
  "assert clear count countReset debug dir dirxml error group groupCollapsed groupEnd info log profile profileEnd table time timeEnd " +
  "timeLog timeStamp trace warn";

const FUNCTION_START = String.raw`(?:async\b|function\b|class\b|\(|[\w$]+\s*=>)`;
// A function that is the whole module.
const EXPORTED_FUNCTION = new RegExp(String.raw`^(?:module\.exports\s*=|export\s+default\b)\s*${FUNCTION_START}`, "m");

// Matches a program that may export its functions without a declaration at the start of a line.
const OTHER_EXPORT = /\b(?:exports|globalThis|export\s+default)\b/;

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
  const start = [...promptCode.matchAll(DECLARATION)].findLast(([, name]) => name === entryPoint);
  // The program may define the helpers of the prompt again, which is an error of the syntax for `const`.
  const whole = [`${promptCode.slice(0, start?.index)}\n${code}`, code];
  if (defines(code, entryPoint) || EXPORTED_FUNCTION.test(code)) return whole;
  const isOpen = !prompt.endsWith("\n") && !code.startsWith("\n");
  const continued = prompt + (isOpen ? "\n" : "") + code;
  return OTHER_EXPORT.test(code) ? [continued, ...whole] : [continued];
}

// Returns the first fenced block that defines the entry point, or the first one, or the whole answer if it has none.
function codeOf(answer, name) {
  const blocks = blocksOf(answer, name);
  return withoutInterpreter(blocks.find((code) => name && defines(code, name)) ?? blocks[0] ?? answer);
}

// Returns the codes of fenced blocks. One that has others in it counts only if none of them is a program.
function blocksOf(answer, name) {
  const tildes = tildeBlocksOf(answer, name);
  const fences = [...answer.matchAll(FENCED_BLOCK)];
  // Lines of tildes also underline titles, in a program or around it.
  const isOuter = fences.every(({ index }) => tildes.some(({ start, end }) => start < index && index < end));
  const blocks = isOuter ? tildes.map(({ code }) => code) : fences.map(([, indent, , code]) => withoutIndent(code, indent));
  return blocks.flatMap((code) => {
    const closed = [...code.matchAll(FENCED_BLOCK)].filter(([, , , , end]) => end === undefined);
    const inner = closed.map(([, indent, , part]) => withoutIndent(part, indent)).filter((part) => defines(part, name));
    return inner.length > 0 ? inner : [code];
  });
}

// Returns the blocks between lines of tildes that are programs.
function tildeBlocksOf(answer, name) {
  const blocks = [];
  const opening = new RegExp(TILDES);
  for (let open; (open = opening.exec(answer)) !== null; ) {
    const [, indent, tildes] = open;
    const closing = new RegExp(`^${indent}${tildes}~*[ \\t\\r]*$`, "gm");
    closing.lastIndex = opening.lastIndex;
    const close = closing.exec(answer);
    if (close === null) break;
    const code = withoutIndent(answer.slice(opening.lastIndex, close.index), indent);
    if (defines(code, name)) blocks.push({ start: open.index, end: close.index, code });
    opening.lastIndex = closing.lastIndex;
  }
  return blocks;
}

// Returns the code of a block in an item of a list, whose lines have the indent of the item.
function withoutIndent(code, indent) {
  const lines = code.split("\n");
  const hasIndent = lines.every((line) => line.startsWith(indent) || line.trim() === "");
  return hasIndent ? lines.map((line) => line.slice(indent.length)).join("\n") : code;
}

// Empties the line `#!/usr/bin/env node`.
function withoutInterpreter(program) {
  return program.replace(/^(\s*)#!.*/, "$1");
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
    return compiled(programs, ["require", "module", "exports"], NAME_LOOKUP)[1];
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
  for (const program of programs.map(withoutInterpreter).flatMap((one) => [one, commonJs(one)])) {
    try {
      return [program, new Function(...parameters, program + end)];
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}

const IMPORT = /^import\s*(?:\b([\w$]+)\s*,?\s*)?(?:\*\s*as\s+([\w$]+)|\{([^}]*)\})?\s*\bfrom\s*(['"][^'"\n]*['"])/gm;

// Returns a program without the statements of ES modules.
function commonJs(program) {
  return program
    .replace(IMPORT, (_, name, all, parts, file) => {
      const names = [name, all, parts && `{${parts.replace(/\s+as\s+/g, ": ")}}`].filter(Boolean);
      return names.map((one) => `const ${one} = require(${file})`).join("; ");
    })
    .replace(/^export\s+(?:default\s+)?(?=(?:(?:async\s+)?function\b\s*\*?|class\b)\s*(?!extends\b)[\w$]|(?:const|let|var)\b)/gm, "")
    .replace(/^export\s+(?:default\s+[\w$]+\s*(?:;|$)|\{[^}]*\}\s*;?)/gm, "")
    .replace(/^export\s+default\b/gm, "module.exports.default =");
}

const TEXT = /\/\/.*|\/\*[^]*?\*\/|'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*"|[/`'"]|<!--|-->/g;
const REGULAR_EXPRESSION = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/\w*/y;
const WORD_BEFORE_EXPRESSION = /(?<![\w$.])(?:return|typeof|case|in|of|delete|void|throw|new|else|do|yield|instanceof)\s*$/;
// Characters that a line may end in for `WORD_BEFORE_EXPRESSION`.
const MAX_WORD_CHARS = 40;

// Returns the parts of a program: `bare` without comments, texts and regular expressions, `commentless` with its texts. In a
// program with templates or slashes that could be a division or not, `isUnsure` is true: `bare` may be wrong.
export function partsOf(code) {
  let bare = "";
  let commentless = "";
  let isUnsure = false;
  let end = 0;
  const texts = new RegExp(TEXT);
  for (let found; (found = texts.exec(code)) !== null; end = texts.lastIndex) {
    const before = code.slice(end, found.index);
    let [text] = found;
    const isComment = /^\/[/*]/.test(text);
    if (text === "/") {
      const kind = kindOfSlash((bare + before).slice(-MAX_WORD_CHARS).trimEnd());
      REGULAR_EXPRESSION.lastIndex = found.index;
      const expression = kind === "expression" ? REGULAR_EXPRESSION.exec(code)?.[0] : undefined;
      isUnsure ||= kind === "unsure" || (kind === "expression" && expression === undefined);
      texts.lastIndex = found.index + (expression ?? text).length;
      text = expression ?? text;
      bare += before + (expression === undefined ? text : '""');
    } else {
      isUnsure ||= text.length === 1 || text === "<!--" || text === "-->";
      bare += before + (isComment ? (/[\n\r]/.test(text) ? "\n" : " ") : '""');
    }
    commentless += before + (isComment ? " " : text);
  }
  return { bare: bare + code.slice(end), commentless: commentless + code.slice(end), isUnsure };
}

// Returns whether a slash after some code is a division or starts a regular expression, or "unsure".
function kindOfSlash(before) {
  if (/(?:[)}]|\+\+|--)$/.test(before)) return "unsure";
  return /[\w$"'\]]$/.test(before) && !WORD_BEFORE_EXPRESSION.test(before) ? "division" : "expression";
}

// Returns a program without its comments and texts; the program itself where that is unsure.
export function withoutTexts(code) {
  const { bare, isUnsure } = partsOf(code);
  return isUnsure ? code : bare;
}

// A console that prints nothing, with the methods of Node's.
export function silentConsole() {
  return Object.fromEntries(CONSOLE_METHODS.split(" ").map((name) => [name, () => {}]));
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
