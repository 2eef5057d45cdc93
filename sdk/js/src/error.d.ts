/**
 * Kind of an error:
 * - `invalid-config`: `params` or `config` are unusable; the run stops before the first sample.
 * - `invalid-input`: this input cannot be processed.
 * - `missing-field`: a required value is missing.
 * - `unsupported`: the plugin or the host does not support the request.
 * - `denied`: there is no grant for it.
 * - `limit-exceeded`: a budget of the grant is exhausted, or something is too large.
 * - `upstream`: something outside the plugin failed.
 * - `internal`: the plugin itself is faulty.
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
 * The error of one item. Throw it if an item cannot be processed: the sample then ends with this error, never with a
 * score. Any other thrown error becomes `internal`.
 */
export class PluginError extends Error {
  constructor(kind: ErrorKind, message: string, options?: { pointer?: string | null; retryable?: boolean });
  readonly kind: ErrorKind;
  /** JSON pointer into the input, if one field is at fault. */
  readonly pointer: string | null;
  /** True if the same call may succeed later. Default false. */
  readonly retryable: boolean;
}
