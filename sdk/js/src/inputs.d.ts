/**
 * Type to which the host converts a field. A field that cannot be converted is an error of its sample.
 * - `any`: unchanged.
 * - `text`: strings unchanged, numbers and booleans in their JSON spelling.
 * - `number`: numbers, and strings that spell one.
 * - `texts`: a list of strings; a single string becomes a list of one.
 * - `json`: unchanged as well; the host sends it as JSON text.
 */
export type InputKind = "any" | "text" | "number" | "texts" | "json";

/** An input of a metric or an extractor; a string stands for `{ path }`. */
export type Input =
  | string
  | {
      /** Path, as in `sample.metadata.unit`; if there are several, the first that exists. `sample` is the whole sample. */
      readonly path?: string | readonly string[];
      /**
       * Parameter with which a suite sets another path, as in `label_field`; if there are several, the first that is
       * set.
       */
      readonly param?: string | readonly string[];
      /** Default `any`. */
      readonly kind?: InputKind;
    };

export type Inputs = { readonly [name: string]: Input };

/** The values of one item by input name; null if a field is missing. */
export type Values<I> = {
  [K in keyof I]: I[K] extends { readonly kind: "text" }
    ? string | null
    : I[K] extends { readonly kind: "number" }
      ? number | null
      : I[K] extends { readonly kind: "texts" }
        ? string[] | null
        : any;
};
