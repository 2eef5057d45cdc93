import type { Member, Params, ParamSchemas } from "./params.js";

/** Return type of `skip`. */
export interface Skip {
  readonly reason: string;
}

/** Skips a row on purpose, for the given reason. */
export function skip(reason: string): Skip;

export interface PreprocessorDefinition<P, S> extends Member<P, S> {
  /**
   * Converts one row to a Sample: an object with `schema_version`, `messages`, `label` and so on. The host validates
   * it, and adds a missing `id`. `place` is the row's dataset and its index, from 0 in file order.
   */
  convert(row: Record<string, any>, params: S, place: { dataset: string; index: number }): object | Skip;
}

export interface Preprocessor {
  readonly kind: "preprocessor";
  readonly name: string;
}

/** Creates a preprocessor. Export one as default, or a list of them. */
export function preprocessor<const P extends ParamSchemas = {}, S = Params<P>>(
  definition: PreprocessorDefinition<P, S>,
): Preprocessor;
