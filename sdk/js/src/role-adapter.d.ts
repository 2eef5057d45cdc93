import type { Generation, Message } from "./messages.js";
import type { Member, Params, ParamSchemas } from "./params.js";

/** What `ask` returns. */
export interface Ask {
  readonly prompt: { messages: Message[]; params?: Record<string, unknown> };
}

/** What `output` returns. */
export interface Output {
  readonly value: object;
}

/** Has the host ask the role's model. `params` are sampling parameters that win over those of the role. */
export function ask(messages: Message[], params?: Record<string, unknown>): Ask;

/** Gives the output itself, without a model: a document that was looked up, a tool's result. */
export function output(value: object): Output;

export interface RoleAdapterDefinition<P, S> extends Member<P, S> {
  /** What is done for one payload: an object with `sample`, and what earlier steps gave under their names. */
  prepare(payload: Record<string, any>, params: S): Ask | Output;
  /** The output object that later steps and metrics read. Default `{ answer: reply.answer }`. */
  parse?(reply: Generation, payload: Record<string, any>, params: S): object;
}

export interface RoleAdapter {
  readonly kind: "role-adapter";
  readonly name: string;
}

/** A role adapter. Export one as default, or a list of them. */
export function roleAdapter<const P extends ParamSchemas = {}, S = Params<P>>(
  definition: RoleAdapterDefinition<P, S>,
): RoleAdapter;
