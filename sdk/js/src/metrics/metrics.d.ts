import type { Metric, MetricOptions, Score } from "../metric.js";
import type { Inputs } from "../inputs.js";
import type { Params, ParamSchemas } from "../params.js";

export interface ComparisonDefinition<P, S> extends MetricOptions<P, S> {
  /** Other inputs; two of them must be named `prediction` and `reference`. */
  inputs?: Inputs;
  /** Scores a prediction against its reference, both unchanged; null if a field is missing. */
  score(prediction: any, reference: any, params: S): Score;
}

/** Compares a prediction with a reference; the card's detail contains both. */
export function comparison<const P extends ParamSchemas = {}, S = Params<P>>(definition: ComparisonDefinition<P, S>): Metric;

export interface SequenceDistanceDefinition<P, S> extends MetricOptions<P, S> {
  /** See `comparison`. */
  inputs?: Inputs;
  /** Returns the distance of two normalized texts, 0 or more. Default: `levenshteinDistance`. */
  distance?(prediction: string, reference: string, params: S): number;
}

/**
 * Scores the distance of two texts in lower case with white space collapsed. The parameter `normalize` is `anls`
 * (default; 1 - distance / longer length, at least 0), `wer` (1 - distance / length of the reference, at least 0) or
 * `raw` (the distance itself). The parameter `case_sensitive` defaults to false. Lengths are in characters. Two empty
 * texts score 1, or 0 with `raw`. The detail contains `distance`, `normalized` and `strategy`.
 */
export function sequenceDistance<const P extends ParamSchemas = {}, S = Params<P>>(
  definition: SequenceDistanceDefinition<P, S>,
): Metric;

export interface MultiReferenceDefinition<P, S> extends MetricOptions<P, S> {
  /** Other inputs; two of them must be named `prediction` and `references`. */
  inputs?: Inputs;
  /** Scores a prediction against one reference, both normalized. Default: equality. */
  score?(prediction: string, reference: string, params: S): Score;
}

/**
 * Returns the best score over several references (`references_field`, `answers_field`): a list, or one text that is
 * split at the parameter `separator` if that is set. White space is collapsed, and texts are in lower case unless
 * `case_sensitive` is true. The detail contains `best_score` and `best_reference`. Without a prediction or references
 * the score is 0, with the tag `missing_prediction` or `missing_reference`.
 */
export function multiReference<const P extends ParamSchemas = {}, S = Params<P>>(
  definition: MultiReferenceDefinition<P, S>,
): Metric;

/** Parameters of `numericThreshold` in addition to the author's own. */
export interface Threshold {
  tolerance: number;
  min_value: number | undefined;
  max_value: number | undefined;
}

export interface NumericThresholdDefinition<P> extends Omit<MetricOptions<P, never>, "setup"> {
  /** See `comparison`. */
  inputs?: Inputs;
  /**
   * Decides whether a number is correct. `reference` is null if there is none. Default: it differs from the reference
   * by at most `tolerance` (0), and is within `min_value` and `max_value`.
   */
  accept?(prediction: number, reference: number | null, params: Params<P> & Threshold): Score;
}

/**
 * Compares a number with a number. Anything but a number scores 0, with the tag `invalid_format`. The detail contains
 * `prediction` and `reference`.
 */
export function numericThreshold<const P extends ParamSchemas = {}>(definition: NumericThresholdDefinition<P>): Metric;

/** Options of a metric with a predefined score. */
export type ReadyMade<P> = Omit<MetricOptions<P, never>, "setup"> & { inputs?: Inputs };

/**
 * Mean negative log-likelihood of tokens (`nll`), its exponential (`ppl`), or `bits_per_byte`, nll · tokens / (bytes ·
 * ln 2). nll comes from `loss` (`loss_field`) or from token log-probabilities (`logprobs_field`). `bits_per_byte` needs
 * the number of bytes (`byte_count_field`), and for a loss the number of tokens (`token_count_field`). Lower is better.
 *
 * The parameter `metric_type` (`nll`) selects the primary score. Each figure that is known and finite is a sub-score.
 * If the primary one is unknown or not finite, there is no score. A loss that is not a finite number counts as missing;
 * true is 1 and false is 0. The detail contains `source`, `token_count` and `metric_type`.
 */
export function likelihood<const P extends ParamSchemas = {}>(definition: ReadyMade<P>): Metric;

/**
 * Rank of the first correct candidate: 1 / rank, or with the parameter `metric_type: hit_at_k` whether it is among the
 * first `k` (3). Candidates (`candidates_field` or `prediction_field`) are texts or objects. `candidate_field`, or
 * `candidate_key`, names the key of objects; default `text`, `id` or `label`. Numbers count by value, and match a text
 * that spells them. Booleans match a text that spells them in any case; otherwise case counts. Sub-scores are `mrr` and
 * `hit_at_k`; the detail contains `k` and `rank`. Without candidates or targets the score is 0, with the tag
 * `missing_prediction` or `missing_reference`.
 *
 * Targets (`targets_field` or `label_field`) are a text or a list. With grades, they are an object of grades by text,
 * or a list of objects with the grade under `grade`, `relevance` or `gain`. Grades add the sub-scores `ndcg_at_k` (the
 * grade as gain) and `average_precision`. A grade of 0 means that a candidate is not a target. A grade that is not a
 * number or below 0 is an error.
 */
export function ranking<const P extends ParamSchemas = {}>(definition: ReadyMade<P>): Metric;
