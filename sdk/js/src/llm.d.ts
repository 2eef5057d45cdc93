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

/** How likely each continuation is, for models that have log-likelihoods. Throws as `generate` does. */
export function loglikelihood(request: { role: string; messages: Message[]; continuations: string[] }): ContinuationScore[];
