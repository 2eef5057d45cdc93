import type { Generation, Prompt } from "./messages.js";
import type { Member, Params, ParamSchemas } from "./params.js";

/** Input of a judge. */
export interface Case {
  sampleId: string;
  sample: Record<string, any>;
  /** Output of the model under test: an object with `answer`. */
  modelOutput: Record<string, any>;
}

/** Return type of `unparseable`. */
export interface Unparseable {
  readonly reason: string;
}

/** Reports that the replies are unusable, with a reason. It never counts as a score of 0. */
export function unparseable(reason: string): Unparseable;

export interface JudgeDefinition<P, S> extends Member<P, S> {
  /** Returns the prompt for the judge model; a list if answers are compared in both orders. */
  render(judged: Case, params: S): Prompt | Prompt[];
  /** Interprets the replies, one per prompt, in order. Returns an object with `score` or `answer` for metrics. */
  parse(replies: Generation[], judged: Case, params: S): { score?: number; answer?: unknown; [key: string]: unknown } | Unparseable;
}

export interface Judge {
  readonly kind: "judge";
  readonly name: string;
}

/** Creates a judge. Export one as default, or a list of them. */
export function judge<const P extends ParamSchemas = {}, S = Params<P>>(definition: JudgeDefinition<P, S>): Judge;
