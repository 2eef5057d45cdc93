/** A value as text: strings as they are, null and undefined as the empty text, all else as JSON. */
export function textOf(value: unknown): string;

export interface Normalization {
  /** Keeps upper and lower case apart. Default false. */
  caseSensitive?: boolean;
  /** Takes white space off both ends. Default true. */
  strip?: boolean;
  /** Makes one space of each run of white space. Default false. */
  collapseWhitespace?: boolean;
}

/** A text in the form in which texts are compared; null of null. Values that are not texts are taken as JSON. */
export function normalizeText(value: null | undefined, options?: Normalization): null;
export function normalizeText(value: string | number | boolean | object, options?: Normalization): string;
export function normalizeText(value: unknown, options?: Normalization): string | null;

/** The words of a text, which is split at Unicode white space. None of null. */
export function words(value: unknown): string[];

/**
 * Removes what lies in `<think>`, `<thinking>`, `<thought>` and `<reflection>` tags of any case, and outer white space. A
 * closing tag without its opening one removes everything up to it, an opening tag that is never closed removes the rest.
 */
export function stripThoughtTags(value: unknown): string;

/**
 * A text between two lines of ten dashes, for a judge's prompt. Lines of ten or more dashes within the text become
 * `- - -`, so that it cannot end its fence.
 */
export function fenced(value: unknown): string;

/** The text of a message of a Sample, whose content is a text or a list of parts. */
export function messageText(message: { content?: unknown }): string;

/** The text of all messages of a Sample's user. */
export function userText(sample: Record<string, any>): string;
