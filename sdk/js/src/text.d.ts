/** Returns a value as text: strings unchanged, null and undefined as the empty text, anything else as JSON. */
export function textOf(value: unknown): string;

export interface Normalization {
  /** True if case counts. Default false. */
  caseSensitive?: boolean;
  /** True to trim white space. Default true. */
  strip?: boolean;
  /** True to replace each run of white space with one space. Default false. */
  collapseWhitespace?: boolean;
}

/** Normalizes a text for comparison; null stays null. Values other than texts are converted to JSON. */
export function normalizeText(value: null | undefined, options?: Normalization): null;
export function normalizeText(value: string | number | boolean | object, options?: Normalization): string;
export function normalizeText(value: unknown, options?: Normalization): string | null;

/** Splits a text into words at Unicode white space. Null has no words. */
export function words(value: unknown): string[];

/**
 * Removes the content of `<think>`, `<thinking>`, `<thought>` and `<reflection>` tags in any case, and outer white
 * space. A closing tag without an opening one removes everything up to it; an unclosed opening tag removes the rest.
 */
export function stripThoughtTags(value: unknown): string;

/**
 * Encloses a text in two lines of ten dashes, for a judge's prompt. Lines of ten or more dashes in the text become
 * `- - -`, so that it cannot end its fence.
 */
export function fenced(value: unknown): string;

/** Returns the text of a Sample's message, whose content is a text or a list of parts. */
export function messageText(message: { content?: unknown }): string;

/** Returns the text of all user messages of a Sample. */
export function userText(sample: Record<string, any>): string;
