import type { MediaKind } from "./doc-hook.js";

/** What is known of media. */
export interface MediaRef {
  /** `sha256:` and 64 hexadecimal digits. */
  digest: string;
  kind: MediaKind;
  /** As in `image/png`. */
  mediaType: string;
  /** In bytes. */
  size: number;
}

/** What is known of the media with this digest. Throws a `PluginError` where the current call has none such. */
export function find(digest: string): MediaRef;

/** Bytes from `offset` (0) on, at most `length` and at most a mebibyte (default); fewer at the end. Throws as `find` does. */
export function read(digest: string, offset?: number, length?: number): Uint8Array;

/** All bytes. Mind the memory of a plugin. Throws as `find` does. */
export function readAll(digest: string): Uint8Array;
