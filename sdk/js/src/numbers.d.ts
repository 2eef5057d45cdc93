/** Returns the number that a value is or spells, including `inf` and `nan`; otherwise null. Booleans are not numbers. */
export function parseNumber(value: unknown): number | null;

/**
 * Returns the numbers in nested lists, in order. An object counts by its key `logprob`, `token_logprob` or `value`.
 * Anything else is omitted.
 */
export function flattenNumbers(value: unknown): number[];
