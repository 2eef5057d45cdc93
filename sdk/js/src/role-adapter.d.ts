import type { Generation, Message } from "./messages.js";
import type { Member, Params, ParamSchemas } from "./params.js";

/** Return type of `ask`. */
export interface Ask {
  readonly prompt: { messages: Message[]; params?: Record<string, unknown> };
}

/** Return type of `output`. */
export interface Output {
  readonly value: object;
}

/** Lets the host call the role's model. `params` are sampling parameters that override those of the role. */
export function ask(messages: Message[], params?: Record<string, unknown>): Ask;

/** Returns the output itself, without a model call: a retrieved document, or a tool's result. */
export function output(value: object): Output;

export interface RoleAdapterDefinition<P, S> extends Member<P, S> {
  /** Prepares one payload: an object with `sample`, and results of earlier steps under their names. */
  prepare(payload: Record<string, any>, params: S): Ask | Output;
  /** Returns the output object for later steps and metrics. Default `{ answer: reply.answer }`. */
  parse?(reply: Generation, payload: Record<string, any>, params: S): object;
}

export interface RoleAdapter {
  readonly kind: "role-adapter";
  readonly name: string;
}

/** Creates a role adapter. Export one as default, or a list of them. */
export function roleAdapter<const P extends ParamSchemas = {}, S = Params<P>>(
  definition: RoleAdapterDefinition<P, S>,
): RoleAdapter;
