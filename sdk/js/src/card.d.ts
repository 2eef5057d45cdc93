/** What a scorer says about one sample. */
export interface ScoreCard {
  /** Null when there is nothing to score: the sample then stays out of the mean. */
  primaryScore: number | null;
  pass?: boolean | null;
  /** Further figures by name. */
  subScores?: Record<string, number>;
  /** Why a score is low, as short stable names: `invalid_format`, `wrong_unit`. */
  errorTags?: string[];
  explain?: string | null;
  /** What the scorer saw, for people. */
  detail?: Record<string, unknown>;
}
