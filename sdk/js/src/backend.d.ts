import type { PluginError } from "./error.js";
import type { ContinuationScore, Generation, Message } from "./messages.js";
import type { Params, ParamSchemas } from "./params.js";

export interface GenerateRequest {
  id: string;
  messages: Message[];
  /** The merged sampling parameters. */
  params: Record<string, any>;
}

export interface LoglikelihoodRequest {
  id: string;
  messages: Message[];
  continuations: string[];
}

/** An answer; a string stands for `{ answer }`. Defaults: `finish` is `stop`, `usage` is unknown. */
export type Answered = string | (Pick<Generation, "answer"> & Partial<Generation>);

export interface BackendDefinition<P, S> {
  /** Version, which changes whenever an answer could change because of the component. */
  version: string;
  /** The keys of `config`, each with its JSON Schema. Other keys are rejected. Default: none. */
  config?: P;
  /** Names of required keys. Default: none. */
  required?: readonly (keyof P & string)[];
  /** Maximum number of requests per call. Default 32. */
  maxBatch?: number;
  /** Runs once before the run and once per batch. Its result is passed to the other functions in place of `config`. */
  setup?(config: Params<P>): S;
  /** Answers one request. */
  generate?(request: GenerateRequest, config: S): Answered;
  /**
   * Answers a whole batch, and takes precedence over `generate`. Returns an answer, or an error that is not thrown, for
   * each request.
   */
  generateAll?(requests: GenerateRequest[], config: S): (Answered | PluginError)[];
  /** Returns one score per continuation of a request. */
  loglikelihood?(request: LoglikelihoodRequest, config: S): ContinuationScore[];
}

export interface Backend {
  readonly kind: "backend";
}

/** Creates a backend. Export one as default: a component holds only one. */
export function backend<const P extends ParamSchemas = {}, S = Params<P>>(definition: BackendDefinition<P, S>): Backend;
