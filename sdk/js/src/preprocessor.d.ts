import type { Member, Params, ParamSchemas } from "./params.js";

/** What `skip` returns. */
export interface Skip {
  readonly reason: string;
}

/** Leaves a row out on purpose; the text says why. */
export function skip(reason: string): Skip;

export interface PreprocessorDefinition<P, S> extends Member<P, S> {
  /**
   * Turns one row into a Sample: an object with `schema_version`, `messages`, `label` and so on. The host checks it, and
   * fills in `id` where it is missing. `place` is the row's dataset and its index, from 0 in the order of the file.
   */
  convert(row: Record<string, any>, params: S, place: { dataset: string; index: number }): object | Skip;
}

export interface Preprocessor {
  readonly kind: "preprocessor";
  readonly name: string;
}

/** A preprocessor. Export one as default, or a list of them. */
export function preprocessor<const P extends ParamSchemas = {}, S = Params<P>>(
  definition: PreprocessorDefinition<P, S>,
): Preprocessor;
