// Media of the items of the current call.

import { find as hostFind, read as hostRead } from "gage:plugin/media@0.1.1";
import { callHost } from "./error.js";

const MOST_BYTES = 1 << 20;

export function find(digest) {
  const { kind, mediaType, size } = callHost(() => hostFind(digest));
  return { digest, kind, mediaType, size: Number(size) };
}

export function read(digest, offset = 0, length = MOST_BYTES) {
  return callHost(() => hostRead(digest, BigInt(offset), length));
}

export function readAll(digest) {
  const bytes = new Uint8Array(find(digest).size);
  for (let offset = 0; offset < bytes.length; ) {
    const part = read(digest, offset);
    if (part.length === 0) return bytes.subarray(0, offset);
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}
