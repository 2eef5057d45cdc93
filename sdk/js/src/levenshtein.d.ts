/** The fewest insertions, deletions and replacements of characters (code points) that make one text of the other. */
export function levenshteinDistance(first: string, second: string): number;
