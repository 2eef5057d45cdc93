/** Minimum number of character (code point) insertions, deletions and substitutions that turn one text into the other. */
export function levenshteinDistance(first: string, second: string): number;
