import type { MediaKind } from "./doc-hook.js";

/** Metadata of media. */
export interface MediaRef {
  /** `sha256:` and 64 hexadecimal digits. */
  digest: string;
  kind: MediaKind;
  /** Media type, as in `image/png`. */
  mediaType: string;
  /** Size in bytes. */
  size: number;
}

/** Returns the metadata of the media with this digest. Throws a `PluginError` if the current call has no such media. */
export function find(digest: string): MediaRef;

/**
 * Reads bytes from `offset` (0) on: at most `length`, and at most a mebibyte (default); fewer at the end. Throws like
 * `find`.
 */
export function read(digest: string, offset?: number, length?: number): Uint8Array;

/** Reads all bytes. Mind the plugin's memory limit. Throws like `find`. */
export function readAll(digest: string): Uint8Array;
