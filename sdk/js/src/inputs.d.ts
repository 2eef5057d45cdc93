/**
 * What the host turns a field into before it hands it over. A field that cannot be turned into it is an error of its
 * sample.
 * - `any`: as it stands.
 * - `text`: strings as they are, numbers and booleans in their JSON spelling.
 * - `number`: numbers, and strings that spell one.
 * - `texts`: a list of strings; a single string becomes a list of one.
 * - `json`: as it stands, too; the host sends it as JSON text.
 */
export type InputKind = "any" | "text" | "number" | "texts" | "json";

/** One value that a metric or an extractor reads; a string stands for `{ path }`. */
export type Input =
  | string
  | {
      /** Where it lies, as in `sample.metadata.unit`; of several the first that exists. `sample` is the whole sample. */
      readonly path?: string | readonly string[];
      /** The parameter with which a suite names another path, as in `label_field`; of several the first that is set. */
      readonly param?: string | readonly string[];
      /** Default `any`. */
      readonly kind?: InputKind;
    };

export type Inputs = { readonly [name: string]: Input };

/** The values of one item under the names of its inputs; null where a field is missing. */
export type Values<I> = {
  [K in keyof I]: I[K] extends { readonly kind: "text" }
    ? string | null
    : I[K] extends { readonly kind: "number" }
      ? number | null
      : I[K] extends { readonly kind: "texts" }
        ? string[] | null
        : any;
};
