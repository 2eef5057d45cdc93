import type { PluginError } from "./error.js";
import type { ContinuationScore, Generation, Message, Prompt } from "./messages.js";

export interface LlmRequest extends Prompt {
  /** An `adapter_id` of the suite. */
  role: string;
}

/**
 * Asks the model of a role. It counts against the budgets of the grant. Throws a `PluginError`: `denied`,
 * `limit-exceeded`, `upstream`.
 */
export function generate(request: LlmRequest): Generation;

/** Asks at the same time, as far as the role's pool allows: a generation, or an error that is not thrown, for each. */
export function generateAll(requests: LlmRequest[]): (Generation | PluginError)[];

export interface LlmContinuations {
  /** An `adapter_id` of the suite. */
  role: string;
  messages: Message[];
  continuations: string[];
}

export interface LlmText {
  /** An `adapter_id` of the suite. */
  role: string;
  /** Of any length, and not empty; no chat template is applied to it. */
  text: string;
}

export interface LlmTexts {
  /** An `adapter_id` of the suite. */
  role: string;
  /** At least one. */
  texts: string[];
}

/** How likely a whole text is; its perplexity per token is `Math.exp(-logprob / tokenCount)`. */
export interface RollingScore {
  logprob: number;
  tokenCount: number;
  /** Of the text in UTF-8. */
  byteCount: number;
}

/**
 * How likely each continuation is, for models that have log-likelihoods. Throws as `generate` does, and `unsupported`
 * where the backend of the role has none.
 */
export function loglikelihood(request: LlmContinuations): ContinuationScore[];

/** Asks at the same time, as far as the role's pool allows: scores, or an error that is not thrown, for each. */
export function loglikelihoodAll(requests: LlmContinuations[]): (ContinuationScore[] | PluginError)[];

/** How likely a whole text is, each token given what stands before it. Throws as `loglikelihood` does. */
export function rollingLoglikelihood(request: LlmText): RollingScore;

/** Asks at the same time, as far as the role's pool allows: a score, or an error that is not thrown, for each. */
export function rollingLoglikelihoodAll(requests: LlmText[]): (RollingScore | PluginError)[];

/**
 * One vector for each text, in order, all of one length; as the model gives them, of whatever norm. Counts as one call
 * of the grant, and fails as a whole. Throws as `generate` does, and `unsupported` where the backend has no embeddings.
 */
export function embed(request: LlmTexts): Float32Array[];

/** Asks at the same time, as far as the role's pool allows: vectors, or an error that is not thrown, for each. */
export function embedAll(requests: LlmTexts[]): (Float32Array[] | PluginError)[];
