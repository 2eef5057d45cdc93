import type { PluginError } from "./error.js";

/** What `secret` and `bearer` return. */
export interface Hidden {
  readonly value: { tag: "secret" | "bearer"; val: string };
}

/** The value of a granted secret, by its name. It never enters the plugin. */
export function secret(name: string): Hidden;
/** The same behind the word `Bearer`. */
export function bearer(name: string): Hidden;

export interface HttpRequest {
  url: string;
  /** Default `GET`, and `POST` where there is a body. */
  method?: string;
  headers?: Record<string, string | Hidden>;
  /** Default: empty. */
  body?: string | Uint8Array;
  /** A value that is sent as JSON, in place of `body`, with the header `content-type: application/json`. */
  json?: unknown;
  /** For the whole exchange, in milliseconds. Default: what the grant allows, which it cannot exceed. */
  timeoutMs?: number;
}

/** What a server answered, whatever its status. Secrets are blanked out. */
export class HttpResponse {
  readonly status: number;
  /** In the order in which they came, names in lower case. */
  readonly headers: [name: string, value: string][];
  readonly body: Uint8Array;
  /** Whether the status is from 200 to 299. */
  readonly ok: boolean;
  /** The first header of that name, in any case; null where there is none. */
  header(name: string): string | null;
  /** The body as UTF-8. */
  text(): string;
  /** The body as JSON. Throws a `PluginError` of the kind `upstream` where it is none. */
  json(): any;
}

/**
 * Sends a request to a host that was granted, and waits for the response. Redirects are returned, not followed. Throws a
 * `PluginError`: `denied`, `limit-exceeded`, `upstream`.
 */
export function send(request: HttpRequest): HttpResponse;

/** Sends them at the same time, as far as the grant allows: a response, or an error that is not thrown, for each. */
export function sendAll(requests: HttpRequest[]): (HttpResponse | PluginError)[];
