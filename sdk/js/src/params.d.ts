/** A property of a JSON Schema. `default` is filled in by the SDK where the suite says nothing. */
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

/** What the functions of a member get as `params`, from the schemas. */
export type Params<P> = {
  [K in keyof P]: P[K] extends { readonly default: any } ? ParamValue<P[K]> : ParamValue<P[K]> | undefined;
};

/**
 * What every member of a plugin says of itself. `P` are the schemas of its parameters, `S` is what its functions get as
 * `params`.
 */
export interface Member<P, S> {
  /** How a suite names it. */
  name: string;
  /** Changes whenever a result could change; recorded in every run. */
  version: string;
  /** One sentence. */
  description: string;
  /** The parameters, each with its JSON Schema. Others are refused. Default: none. */
  params?: P;
  /** Names of parameters that must be given. Default: none. */
  required?: readonly (keyof P & string)[];
  /**
   * Runs once before the run and once for each batch. What it returns is handed to the other functions in place of
   * `params`: a compiled expression, a table. Throw where the parameters cannot be used.
   */
  setup?(params: Params<P>): S;
}
