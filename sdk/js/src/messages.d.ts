export type Role = "system" | "user" | "assistant" | "tool";

/** A message as text. */
export interface Message {
  role: Role;
  content: string;
  /** `name`, `tool_calls`, `tool_call_id`, and `parts` for what is not text. */
  extra?: Record<string, any>;
}

/** A message of the role `system`. */
export function system(content: string): Message;
/** A message of the role `user`. */
export function user(content: string): Message;
/** A message of the role `assistant`. */
export function assistant(content: string): Message;

/** One conversation that a model is to continue. */
export interface Prompt {
  messages: Message[];
  /** Sampling parameters that win over those of the role. Default: none. */
  params?: Record<string, unknown>;
}

export type FinishReason = "stop" | "length" | "tool-calls" | "content-filter" | "other";

/** What a model answered. */
export interface Generation {
  answer: string;
  finish: FinishReason;
  usage: { promptTokens: number; completionTokens: number } | null;
  /** Whatever has no field of its own. */
  extra: Record<string, any>;
}

/** How likely a continuation is. */
export interface ContinuationScore {
  /** Sum over the tokens of the natural logarithm of their probability. */
  logprob: number;
  tokenCount: number;
  /** Whether greedy decoding would have produced the continuation. */
  isGreedy: boolean;
}
