import type { ScoreCard } from "./card.js";
import type { Member, Params, ParamSchemas } from "./params.js";

/** The score card of one sample. */
export interface Row {
  sampleId: string;
  weight: number;
  card: Required<ScoreCard>;
}

export interface Figure {
  /** Unique among the figures of an aggregator. */
  name: string;
  value: number;
  stderr?: number | null;
  /** How many rows it stands for. */
  count: number;
}

/** A fold over rows. `T` is its state: an object that JSON can hold. */
export interface AggregatorDefinition<T extends object, P, S> extends Member<P, S> {
  /** The state before the first row. */
  start(params: S): T;
  /** The state after one more row; nothing when `state` itself was changed. An error ends the whole aggregation. */
  add(state: T, row: Row, params: S): T | void;
  /** The figures; none where there is nothing to say. */
  finish(state: T, params: S): Figure[];
}

export interface Aggregator {
  readonly kind: "aggregator";
  readonly name: string;
}

/** An aggregator. Export one as default, or a list of them. */
export function aggregator<T extends object, const P extends ParamSchemas = {}, S = Params<P>>(
  definition: AggregatorDefinition<T, P, S>,
): Aggregator;
