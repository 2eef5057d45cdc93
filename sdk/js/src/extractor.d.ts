import type { Inputs, Values } from "./inputs.js";
import type { Member, Params, ParamSchemas } from "./params.js";

/** An extracted answer. */
export interface Answer {
  kind: "choice" | "number" | "list" | "text" | "reasoning";
  /** Value in the shape of its kind: `{ value: "B" }`, `{ value: 12.5, unit: "%" }`, `{ items: [] }`. */
  value: Record<string, unknown>;
  /** Part of the text that contains the answer. */
  evidence?: string | null;
}

/** `text` is the model's answer (`text_field`). */
export type SearchedInputs = { readonly text: { readonly kind: "text" } };

export interface ExtractorDefinition<I, P, S> extends Member<P, S> {
  /**
   * The values that it reads, by name. The first is the text to search, which an earlier extractor may have shortened.
   * Default: `text`.
   */
  inputs?: I;
  /** Returns the answer of one item; null if there is none. */
  extract(inputs: Values<I>, params: S): Answer | null | undefined;
}

export interface Extractor {
  readonly kind: "extractor";
  readonly name: string;
}

/** Creates an extractor. Export one as default, or a list of them. */
export function extractor<
  const I extends Inputs = SearchedInputs,
  const P extends ParamSchemas = {},
  S = Params<P>,
>(definition: ExtractorDefinition<I, P, S>): Extractor;
