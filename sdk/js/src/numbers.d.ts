/** The number that a value is or spells, `inf` and `nan` included; null where it is none. Booleans are no numbers. */
export function parseNumber(value: unknown): number | null;

/**
 * The numbers in nested lists, in order. Of an object the key `logprob`, `token_logprob` or `value` counts. What is not a
 * number is left out.
 */
export function flattenNumbers(value: unknown): number[];
