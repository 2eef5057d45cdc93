import type { ScoreCard } from "./card.js";
import type { Inputs, Values } from "./inputs.js";
import type { Member, Params, ParamSchemas } from "./params.js";

/** What is known of a figure. */
export interface ValueSpec {
  /** Default true. */
  higherIsBetter?: boolean;
  /** Default: no bound. */
  minimum?: number;
  /** Default: no bound. */
  maximum?: number;
}

/** A number is a primary score, a boolean is 1 or 0 with `pass` set, null is no score. */
export type Score = number | boolean | null | ScoreCard;

/** `prediction` is the model's answer (`prediction_field`), `reference` is the label (`label_field`), as they stand. */
export type ComparedInputs = {
  readonly prediction: { readonly kind: "any" };
  readonly reference: { readonly kind: "any" };
};

export interface MetricOptions<P, S> extends Member<P, S> {
  /**
   * The figures; the first is the primary score, the rest are sub-scores that are worth declaring.
   * Default `{ score: { minimum: 0, maximum: 1 } }`.
   */
  values?: { [name: string]: ValueSpec };
  /** How the scores of a dataset become one figure. Default `mean`. */
  aggregation?: string;
}

export interface MetricDefinition<I, P, S> extends MetricOptions<P, S> {
  /** The values that it reads, by name. Default: `prediction` and `reference`. */
  inputs?: I;
  /** Scores one sample from its inputs alone. */
  score(inputs: Values<I>, params: S): Score;
}

export interface Metric {
  readonly kind: "metric";
  readonly name: string;
}

/** A metric. Export one as default, or a list of them. */
export function metric<
  const I extends Inputs = ComparedInputs,
  const P extends ParamSchemas = {},
  S = Params<P>,
>(definition: MetricDefinition<I, P, S>): Metric;
