/**
 * What went wrong:
 * - `invalid-config`: `params` or `config` cannot be used; the run stops before the first sample.
 * - `invalid-input`: this one input cannot be processed.
 * - `missing-field`: a value that is needed is absent.
 * - `unsupported`: the plugin, or the host, does not offer what was asked of it.
 * - `denied`: there is no grant for it.
 * - `limit-exceeded`: a budget of the grant is used up, or something is larger than it may be.
 * - `upstream`: something outside the plugin failed.
 * - `internal`: a fault of the plugin itself.
 */
export type ErrorKind =
  | "invalid-config"
  | "invalid-input"
  | "missing-field"
  | "unsupported"
  | "denied"
  | "limit-exceeded"
  | "upstream"
  | "internal";

/**
 * The error of one item. Throw it where an item cannot be processed: the sample ends with this
 * error, and never with a score. Any other error that is thrown becomes `internal`.
 */
export class PluginError extends Error {
  constructor(kind: ErrorKind, message: string, options?: { pointer?: string | null; retryable?: boolean });
  readonly kind: ErrorKind;
  /** JSON pointer into the input, when one field is to blame. */
  readonly pointer: string | null;
  /** Whether the same call may succeed later. Default false. */
  readonly retryable: boolean;
}
