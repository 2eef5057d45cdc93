// Log lines of the author's code, with the sample that they are about.

import { PluginError } from "./error.js";

// The item that is processed. The host names the only item of a call itself.
let subject = null;
let isOnly = true;

// The host's log, in a built plugin.
let emit = () => {};

export function setEmit(call) {
  emit = call;
}

export function beginItem(item, only) {
  subject = item;
  isOnly = only;
}

// Returns a line, with the sample if the call has several.
export function named(text) {
  const name = isOnly ? undefined : (subject?.sampleId ?? subject?.id);
  return name === undefined ? text : `sample ${name}: ${text}`;
}

// Logs the author's part of the stack of an unexpected error, if the call is about one item.
export function logStack(thrown) {
  if (!isOnly || !(thrown instanceof Error) || thrown instanceof PluginError) return;
  const isForeign = (line) => /\/sdk\/js\/|\(<anonymous>\)/.test(line);
  for (const line of String(thrown.stack).trimEnd().split("\n")) if (!isForeign(line)) emit("debug", line);
}
