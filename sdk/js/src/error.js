// The error that plugins throw on purpose, and conversion of all others.

export const ERROR_KINDS = [
  "invalid-config",
  "invalid-input",
  "missing-field",
  "unsupported",
  "denied",
  "limit-exceeded",
  "upstream",
  "internal",
];

export class PluginError extends Error {
  constructor(kind, message, { pointer = null, retryable = false } = {}) {
    super(message);
    if (!ERROR_KINDS.includes(kind)) {
      throw new TypeError(`no error kind '${kind}'; allowed are ${ERROR_KINDS.join(", ")}`);
    }
    this.name = "PluginError";
    this.kind = kind;
    this.pointer = pointer;
    this.retryable = retryable;
  }
}

// Converts anything thrown to the contract's record.
export function errorToHost(thrown, kindOfOthers = "internal") {
  if (thrown instanceof PluginError) {
    const { kind, message, pointer, retryable } = thrown;
    return { kind, message, pointer: pointer ?? undefined, retryable };
  }
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}${placesOf(thrown)}` : `thrown: ${String(thrown)}`;
  return { kind: kindOfOthers, message, pointer: undefined, retryable: false };
}

const MAX_FRAMES = 5;

// Returns the places in the author's code at which an error was raised, the innermost first. A component knows only the
// functions: the lines are those of the bundle.
export function placesOf({ stack }) {
  if (typeof stack !== "string") return "";
  const places = [];
  for (const line of stack.split("\n")) {
    const [, called, file, row] = /^ *at (?:async )?(?:(.*) \()?file:\/\/(.*?):(\d+):\d+\)?$/.exec(line) ?? [];
    if (file !== undefined) {
      if (/\/(?:gage\/)?sdk\/js\//.test(file)) break;
      places.push(`${file.split("/").at(-1)}, line ${row}${called === undefined ? "" : `, in ${called}`}`);
    } else if (/^[^ ]*@/.test(line)) {
      const name = line.slice(0, line.indexOf("@"));
      if (!/^[\w$.]+$/.test(name)) break;
      places.push(places.length === 0 ? `in ${name}` : name);
    }
  }
  const shown = places.slice(0, MAX_FRAMES);
  if (places.length > shown.length) shown.push(`${places.length - shown.length} more`);
  return shown.length === 0 ? "" : ` (${shown.join(", called from ")})`;
}

export function errorFromHost({ kind, message, pointer, retryable }) {
  return new PluginError(kind, message, { pointer, retryable });
}

// Calls the host. Its errors are thrown with the record in `payload`.
export function callHost(call) {
  try {
    return call();
  } catch (thrown) {
    const record = thrown?.payload ?? thrown;
    throw ERROR_KINDS.includes(record?.kind) ? errorFromHost(record) : thrown;
  }
}

// Converts an element of a list of results: the value, or the error as a PluginError that is not thrown.
export function resultFromHost({ tag, val }, convert) {
  return tag === "ok" ? convert(val) : errorFromHost(val);
}
