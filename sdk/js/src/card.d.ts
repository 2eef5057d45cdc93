/** A scorer's result for one sample. */
export interface ScoreCard {
  /** Null if there is nothing to score: the sample is then excluded from the mean. */
  primaryScore: number | null;
  pass?: boolean | null;
  /** Additional figures by name. */
  subScores?: Record<string, number>;
  /** Reasons for a low score, as short stable names: `invalid_format`, `wrong_unit`. */
  errorTags?: string[];
  explain?: string | null;
  /** Evidence for the score, for people. */
  detail?: Record<string, unknown>;
}
