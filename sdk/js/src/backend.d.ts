import type { PluginError } from "./error.js";
import type { ContinuationScore, Generation, Message } from "./messages.js";
import type { Params, ParamSchemas } from "./params.js";

export interface GenerateRequest {
  id: string;
  messages: Message[];
  /** The sampling parameters, merged and ready. */
  params: Record<string, any>;
}

export interface LoglikelihoodRequest {
  id: string;
  messages: Message[];
  continuations: string[];
}

/** An answer; a string stands for `{ answer }`. What is left out: `finish` is `stop`, `usage` is unknown. */
export type Answered = string | (Pick<Generation, "answer"> & Partial<Generation>);

export interface BackendDefinition<P, S> {
  /** Changes whenever an answer could change for reasons that lie in the component. */
  version: string;
  /** The keys of `config`, each with its JSON Schema. Others are refused. Default: none. */
  config?: P;
  /** Names of keys that must be given. Default: none. */
  required?: readonly (keyof P & string)[];
  /** Largest number of requests in one call. Default 32. */
  maxBatch?: number;
  /** Runs once before the run and once for each batch; what it returns is handed to the others in place of `config`. */
  setup?(config: Params<P>): S;
  /** Answers one request. */
  generate?(request: GenerateRequest, config: S): Answered;
  /** Answers a batch at once, and wins over `generate`: one answer, or an error that is not thrown, for each request. */
  generateAll?(requests: GenerateRequest[], config: S): (Answered | PluginError)[];
  /** One score for each continuation of one request. */
  loglikelihood?(request: LoglikelihoodRequest, config: S): ContinuationScore[];
}

export interface Backend {
  readonly kind: "backend";
}

/** A backend. Export one as default: a component holds one. */
export function backend<const P extends ParamSchemas = {}, S = Params<P>>(definition: BackendDefinition<P, S>): Backend;
