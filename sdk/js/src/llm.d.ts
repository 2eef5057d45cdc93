import type { PluginError } from "./error.js";
import type { ContinuationScore, Generation, Message, Prompt } from "./messages.js";

export interface LlmRequest extends Prompt {
  /** An `adapter_id` of the suite. */
  role: string;
}

/**
 * Calls the model of a role. The call counts against the budgets of the grant. Throws a `PluginError`: `denied`,
 * `limit-exceeded`, `upstream`.
 */
export function generate(request: LlmRequest): Generation;

/**
 * Calls a model concurrently, as far as the role's pool allows. Returns a generation, or an error that is not thrown,
 * for each request.
 */
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
  /** Text of any length, but not empty; no chat template is applied to it. */
  text: string;
}

export interface LlmTexts {
  /** An `adapter_id` of the suite. */
  role: string;
  /** At least one text. */
  texts: string[];
}

/** Likelihood of a whole text; its perplexity per token is `Math.exp(-logprob / tokenCount)`. */
export interface RollingScore {
  logprob: number;
  tokenCount: number;
  /** Number of UTF-8 bytes of the text. */
  byteCount: number;
}

/**
 * Returns the likelihood of each continuation, for models that have log-likelihoods. Throws like `generate`, and
 * `unsupported` if the backend of the role has none.
 */
export function loglikelihood(request: LlmContinuations): ContinuationScore[];

/**
 * Scores continuations concurrently, as far as the role's pool allows. Returns scores, or an error that is not thrown,
 * for each request.
 */
export function loglikelihoodAll(requests: LlmContinuations[]): (ContinuationScore[] | PluginError)[];

/** Returns the likelihood of a whole text, each token given the tokens before it. Throws like `loglikelihood`. */
export function rollingLoglikelihood(request: LlmText): RollingScore;

/**
 * Scores texts concurrently, as far as the role's pool allows. Returns a score, or an error that is not thrown, for
 * each.
 */
export function rollingLoglikelihoodAll(requests: LlmText[]): (RollingScore | PluginError)[];

/**
 * Returns one embedding per text, in order, all of the same length, not normalized by the host. Counts as one call of
 * the grant, and fails as a whole. Throws like `generate`, and `unsupported` if the backend has no embeddings.
 */
export function embed(request: LlmTexts): Float32Array[];

/**
 * Embeds lists of texts concurrently, as far as the role's pool allows. Returns vectors, or an error that is not
 * thrown, for each.
 */
export function embedAll(requests: LlmTexts[]): (Float32Array[] | PluginError)[];
