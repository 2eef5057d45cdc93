// Environment of a built plugin: a console that writes to the host's log, and deterministic replacements for randomness
// and clocks, which a component does not have.

import { emit } from "gage:plugin/log@0.1.1";
import { named, setEmit } from "./output.js";

setEmit(emit);

// During the build, the code runs once without a host; its log lines are dropped.
let hasHost = false;

function show(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

function line(level) {
  return (...values) => {
    if (!hasHost) return;
    for (const text of values.map(show).join(" ").split("\n")) emit(level, named(text));
  };
}

Object.assign(globalThis.console, {
  debug: line("debug"),
  log: line("info"),
  info: line("info"),
  warn: line("warn"),
  error: line("error"),
});

// A linear congruential generator: each fresh copy of the plugin draws the same numbers. Not suitable for secrets.
let drawn = 1;

function draw() {
  drawn = (Math.imul(drawn, 1664525) + 1013904223) >>> 0;
  return drawn;
}

Math.random = () => draw() / 2 ** 32;
crypto.getRandomValues = (array) => {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = draw() >>> 24;
  return array;
};
crypto.randomUUID = () => {
  throw new Error("a plugin has no source of chance, so it can make no UUID");
};
performance.now = () => 0;

// Wraps a component's exports, so that the host's first call enables the console.
export function withConsole(functions) {
  return Object.fromEntries(
    Object.entries(functions).map(([name, call]) => [
      name,
      (...given) => {
        hasHost = true;
        return call(...given);
      },
    ]),
  );
}
