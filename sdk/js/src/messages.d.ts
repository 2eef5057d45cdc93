export type Role = "system" | "user" | "assistant" | "tool";

/** A text message. */
export interface Message {
  role: Role;
  content: string;
  /** `name`, `tool_calls`, `tool_call_id`, and `parts` for content other than text. */
  extra?: Record<string, any>;
}

/** Creates a message of the role `system`. */
export function system(content: string): Message;
/** Creates a message of the role `user`. */
export function user(content: string): Message;
/** Creates a message of the role `assistant`. */
export function assistant(content: string): Message;

/** A conversation for a model to continue. */
export interface Prompt {
  messages: Message[];
  /** Sampling parameters that override those of the role. Default: none. */
  params?: Record<string, unknown>;
}

export type FinishReason = "stop" | "length" | "tool-calls" | "content-filter" | "other";

/** A model's answer. */
export interface Generation {
  answer: string;
  finish: FinishReason;
  usage: { promptTokens: number; completionTokens: number } | null;
  /** Additional keys without a field of their own. */
  extra: Record<string, any>;
}

/** Likelihood of a continuation. */
export interface ContinuationScore {
  /** Sum of the natural logarithms of the token probabilities. */
  logprob: number;
  tokenCount: number;
  /** True if greedy decoding would have produced the continuation. */
  isGreedy: boolean;
}
