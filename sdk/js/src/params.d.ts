/** A property of a JSON Schema. The SDK fills in `default` if the suite sets no value. */
export interface ParamSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly [keyword: string]: unknown;
}

/** Parameters by name, each with its JSON Schema. */
export type ParamSchemas = { readonly [name: string]: ParamSchema };

type ParamValue<S> = S extends { readonly enum: readonly (infer E)[] }
  ? E
  : S extends { readonly type: "string" }
    ? string
    : S extends { readonly type: "number" | "integer" }
      ? number
      : S extends { readonly type: "boolean" }
        ? boolean
        : S extends { readonly type: "array"; readonly items: infer I }
          ? ParamValue<I>[]
          : S extends { readonly type: "object" }
            ? Record<string, any>
            : any;

/** Type of the `params` passed to a member's functions, derived from the schemas. */
export type Params<P> = {
  [K in keyof P]: P[K] extends { readonly default: any } ? ParamValue<P[K]> : ParamValue<P[K]> | undefined;
};

/**
 * Description of a member, common to all kinds. `P` are the schemas of its parameters, `S` is the type of `params` in
 * its functions.
 */
export interface Member<P, S> {
  /** Name in suites. */
  name: string;
  /** Version, which changes whenever a result could change; recorded in every run. */
  version: string;
  /** Description in one sentence. */
  description: string;
  /** The parameters, each with its JSON Schema. Others are rejected. Default: none. */
  params?: P;
  /** Names of required parameters. Default: none. */
  required?: readonly (keyof P & string)[];
  /**
   * Runs once before the run and once per batch. Its result, such as a compiled expression or a table, is passed to the
   * other functions in place of `params`. Throw if the parameters are unusable.
   */
  setup?(params: Params<P>): S;
}
