import type { ScoreCard } from "./card.js";
import type { Member, Params, ParamSchemas } from "./params.js";

/** The score card of one sample. */
export interface Row {
  sampleId: string;
  weight: number;
  card: Required<ScoreCard>;
}

export interface Figure {
  /** Unique within the aggregator's figures. */
  name: string;
  value: number;
  stderr?: number | null;
  /** Number of rows that it summarizes. */
  count: number;
}

/** A fold over rows. `T` is its state: an object that JSON can represent. */
export interface AggregatorDefinition<T extends object, P, S> extends Member<P, S> {
  /** Returns the state before the first row. */
  start(params: S): T;
  /**
   * Returns the state after one more row, or nothing if it changed `state` in place. An error ends the whole
   * aggregation.
   */
  add(state: T, row: Row, params: S): T | void;
  /** Returns the figures; the list may be empty. */
  finish(state: T, params: S): Figure[];
  /** Returns the state with the rows of both, or nothing if it changed `state` in place. With it, figures get intervals. */
  merge?(state: T, other: T, params: S): T | void;
}

export interface Aggregator {
  readonly kind: "aggregator";
  readonly name: string;
}

/** Creates an aggregator. Export one as default, or a list of them. */
export function aggregator<T extends object, const P extends ParamSchemas = {}, S = Params<P>>(
  definition: AggregatorDefinition<T, P, S>,
): Aggregator;
