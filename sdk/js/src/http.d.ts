import type { PluginError } from "./error.js";

/** Return type of `secret` and `bearer`. */
export interface Hidden {
  readonly value: { tag: "secret" | "bearer"; val: string };
}

/** The value of a granted secret, given by name. It never enters the plugin. */
export function secret(name: string): Hidden;
/** The value of a granted secret, preceded by `Bearer`. */
export function bearer(name: string): Hidden;

export interface HttpRequest {
  url: string;
  /** Default `GET`, or `POST` if there is a body. */
  method?: string;
  headers?: Record<string, string | Hidden>;
  /** Default: empty. */
  body?: string | Uint8Array;
  /** A value to send as JSON, in place of `body`, with the header `content-type: application/json`. */
  json?: unknown;
  /** Timeout of the whole exchange, in milliseconds. Default and maximum: the limit of the grant. */
  timeoutMs?: number;
}

/** A server's response with any status. Secrets are redacted. */
export class HttpResponse {
  readonly status: number;
  /** Headers in received order, with names in lower case. */
  readonly headers: [name: string, value: string][];
  readonly body: Uint8Array;
  /** True if the status is from 200 to 299. */
  readonly ok: boolean;
  /** Returns the first header with this name, ignoring case; null if there is none. */
  header(name: string): string | null;
  /** Returns the body as UTF-8. */
  text(): string;
  /** Parses the body as JSON. Throws a `PluginError` of the kind `upstream` if it is not JSON. */
  json(): any;
}

/**
 * Sends a request to a granted host, and waits for the response. Redirects are returned, not followed. Throws a
 * `PluginError`: `denied`, `limit-exceeded`, `upstream`.
 */
export function send(request: HttpRequest): HttpResponse;

/**
 * Sends requests concurrently, as far as the grant allows. Returns a response, or an error that is not thrown, for
 * each.
 */
export function sendAll(requests: HttpRequest[]): (HttpResponse | PluginError)[];
