import type { Metric, MetricOptions, Score } from "../metric.js";
import type { Inputs } from "../inputs.js";
import type { Params, ParamSchemas } from "../params.js";

export interface ComparisonDefinition<P, S> extends MetricOptions<P, S> {
  /** Other inputs; two of them must be named `prediction` and `reference`. */
  inputs?: Inputs;
  /** Scores a prediction against its reference, both as they stand; null where a field is missing. */
  score(prediction: any, reference: any, params: S): Score;
}

/** A prediction against a reference; the card's detail gets both. */
export function comparison<const P extends ParamSchemas = {}, S = Params<P>>(definition: ComparisonDefinition<P, S>): Metric;

export interface SequenceDistanceDefinition<P, S> extends MetricOptions<P, S> {
  /** See `comparison`. */
  inputs?: Inputs;
  /** The distance of two normalised texts, from 0 on. Default: `levenshteinDistance`. */
  distance?(prediction: string, reference: string, params: S): number;
}

/**
 * A distance of two texts in lower case with white space collapsed. Its parameters: `normalize`, which is `anls`
 * (default; 1 - distance / longer length, at least 0), `wer` (1 - distance / length of the reference, at least 0) or `raw`
 * (the distance itself), and `case_sensitive` (default false). Lengths are in characters. Two empty texts score 1, and 0
 * with `raw`. The detail holds `distance`, `normalized` and `strategy`.
 */
export function sequenceDistance<const P extends ParamSchemas = {}, S = Params<P>>(
  definition: SequenceDistanceDefinition<P, S>,
): Metric;

export interface MultiReferenceDefinition<P, S> extends MetricOptions<P, S> {
  /** Other inputs; two of them must be named `prediction` and `references`. */
  inputs?: Inputs;
  /** Scores a prediction against one reference, both normalised. Default: whether they are equal. */
  score?(prediction: string, reference: string, params: S): Score;
}

/**
 * The best score over several references (`references_field`, `answers_field`): a list, or one text that is split at the
 * parameter `separator` if that is set. Texts are in lower case, unless `case_sensitive` is true, with white space
 * collapsed. The detail holds `best_score` and `best_reference`. Without a prediction or references the score is 0, with
 * the tag `missing_prediction` or `missing_reference`.
 */
export function multiReference<const P extends ParamSchemas = {}, S = Params<P>>(
  definition: MultiReferenceDefinition<P, S>,
): Metric;

/** Parameters that `numericThreshold` has beside the author's own. */
export interface Threshold {
  tolerance: number;
  min_value: number | undefined;
  max_value: number | undefined;
}

export interface NumericThresholdDefinition<P> extends Omit<MetricOptions<P, never>, "setup"> {
  /** See `comparison`. */
  inputs?: Inputs;
  /**
   * Whether a number is right. `reference` is null where there is none. Default: it differs from the reference by at most
   * `tolerance` (0), and lies within `min_value` and `max_value`.
   */
  accept?(prediction: number, reference: number | null, params: Params<P> & Threshold): Score;
}

/**
 * A number against a number. What is not a number scores 0, with the tag `invalid_format`. The detail holds `prediction`
 * and `reference`.
 */
export function numericThreshold<const P extends ParamSchemas = {}>(definition: NumericThresholdDefinition<P>): Metric;

/** What remains to be said of a metric whose score is ready-made. */
export type ReadyMade<P> = Omit<MetricOptions<P, never>, "setup"> & { inputs?: Inputs };

/**
 * The mean negative log-likelihood of tokens (`nll`), from `loss` (`loss_field`) or from token log-probabilities
 * (`logprobs_field`), its exponential (`ppl`), or `bits_per_byte`, nll · tokens / (bytes · ln 2), for which the number of
 * bytes must be known (`byte_count_field`), and of a loss that of the tokens (`token_count_field`). Lower is better. The
 * parameter `metric_type` (`nll`) says which is the primary score; each that is known and finite is a sub-score. Where the
 * primary one is neither, there is no score. A loss that is no finite number counts as missing; true is 1 and false is 0. The
 * detail holds `source`, `token_count` and `metric_type`.
 */
export function likelihood<const P extends ParamSchemas = {}>(definition: ReadyMade<P>): Metric;

/**
 * Where the first right one of ranked candidates (`candidates_field` or `prediction_field`; texts or objects) stands: 1 / rank,
 * or with the parameter `metric_type: hit_at_k` whether it is among the first `k` (3). `candidate_field`, or `candidate_key`,
 * names the key of objects; default `text`, `id` or `label`. Numbers count by value, and match a text that spells them;
 * booleans match a text that spells them in any case; otherwise case counts. Sub-scores `mrr` and `hit_at_k`; the detail holds
 * `k` and `rank`. Without candidates or targets the score is 0, with the tag `missing_prediction` or `missing_reference`.
 *
 * Targets (`targets_field` or `label_field`) are a text or a list; with grades an object of grades by text, or a list of
 * objects with the grade under `grade`, `relevance` or `gain`. Grades add the sub-scores `ndcg_at_k` (the grade as gain) and
 * `average_precision`; a grade of 0 says that a candidate is no target, and one that is no number or below 0 is an error.
 */
export function ranking<const P extends ParamSchemas = {}>(definition: ReadyMade<P>): Metric;
