import type { Generation, Prompt } from "./messages.js";
import type { Member, Params, ParamSchemas } from "./params.js";

/** What is to be judged. */
export interface Case {
  sampleId: string;
  sample: Record<string, any>;
  /** What the model under test gave: an object with `answer`. */
  modelOutput: Record<string, any>;
}

/** What `unparseable` returns. */
export interface Unparseable {
  readonly reason: string;
}

/** Says that the replies hold nothing that can be used, and why. It is never a score of 0. */
export function unparseable(reason: string): Unparseable;

export interface JudgeDefinition<P, S> extends Member<P, S> {
  /** What the judge model is asked; a list of several where answers are compared in both orders. */
  render(judged: Case, params: S): Prompt | Prompt[];
  /** Reads the replies, one for each prompt, in order. An object with `score` or `answer`, which metrics read. */
  parse(replies: Generation[], judged: Case, params: S): { score?: number; answer?: unknown; [key: string]: unknown } | Unparseable;
}

export interface Judge {
  readonly kind: "judge";
  readonly name: string;
}

/** A judge. Export one as default, or a list of them. */
export function judge<const P extends ParamSchemas = {}, S = Params<P>>(definition: JudgeDefinition<P, S>): Judge;
