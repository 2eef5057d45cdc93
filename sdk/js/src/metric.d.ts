import type { ScoreCard } from "./card.js";
import type { Inputs, Values } from "./inputs.js";
import type { Member, Params, ParamSchemas } from "./params.js";

/** Properties of a figure. */
export interface ValueSpec {
  /** Default true. */
  higherIsBetter?: boolean;
  /** Default: no bound. */
  minimum?: number;
  /** Default: no bound. */
  maximum?: number;
}

/** A number is a primary score; a boolean is 1 or 0 with `pass` set; null means no score. */
export type Score = number | boolean | null | ScoreCard;

/** `prediction` is the model's answer (`prediction_field`), `reference` is the label (`label_field`), both unchanged. */
export type ComparedInputs = {
  readonly prediction: { readonly kind: "any" };
  readonly reference: { readonly kind: "any" };
};

export interface MetricOptions<P, S> extends Member<P, S> {
  /**
   * The figures; the first is the primary score, the rest are declared sub-scores. Default
   * `{ score: { minimum: 0, maximum: 1 } }`.
   */
  values?: { [name: string]: ValueSpec };
  /** Aggregation of a dataset's scores into one figure. Default `mean`. */
  aggregation?: string;
}

export interface MetricDefinition<I, P, S> extends MetricOptions<P, S> {
  /** The values that it reads, by name. Default: `prediction` and `reference`. */
  inputs?: I;
  /** Scores one sample, using only its inputs. */
  score(inputs: Values<I>, params: S): Score;
}

export interface Metric {
  readonly kind: "metric";
  readonly name: string;
}

/** Creates a metric. Export one as default, or a list of them. */
export function metric<
  const I extends Inputs = ComparedInputs,
  const P extends ParamSchemas = {},
  S = Params<P>,
>(definition: MetricDefinition<I, P, S>): Metric;
