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
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : `thrown: ${String(thrown)}`;
  return { kind: kindOfOthers, message, pointer: undefined, retryable: false };
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
