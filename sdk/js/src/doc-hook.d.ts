import type { Message } from "./messages.js";
import type { Member, Params, ParamSchemas } from "./params.js";

export type MediaKind = "image" | "audio" | "video" | "file";

/** Location of media for the host; a string stands for `{ source }`. */
export type MediaSource =
  | string
  | {
      /** A path below the dataset's folder, a `data:` URL, or a digest. */
      source: string;
      /** Default: `image` for hooks of the kind `visual`, `audio` for those of the kind `audio`. */
      kind?: MediaKind;
      /** Additional keys for the Sample's segment. Default: none. */
      extra?: Record<string, unknown>;
    };

export interface TextHookDefinition<P, S> extends Member<P, S> {
  hook: "text";
  /** Returns the messages of one Sample. */
  toText(sample: Record<string, any>, params: S): Message[];
}

export interface MediaHookDefinition<P, S> extends Member<P, S> {
  hook: "visual" | "audio";
  /** Returns the media of one Sample. */
  toMedia(sample: Record<string, any>, params: S): MediaSource[];
}

export interface DocHook {
  readonly kind: "doc-hook";
  readonly name: string;
}

/**
 * Creates a doc hook: `doc_to_text`, `doc_to_visual` or `doc_to_audio` of a dataset. Export one as default, or a list
 * of them.
 */
export function docHook<const P extends ParamSchemas = {}, S = Params<P>>(
  definition: TextHookDefinition<P, S> | MediaHookDefinition<P, S>,
): DocHook;
