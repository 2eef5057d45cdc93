// Helpers for texts. White space means Unicode white space, and the separators U+001C to U+001F.

const SPACE = "[\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const SPACES = new RegExp(`${SPACE}+`, "g");
const OUTER_SPACES = new RegExp(`^${SPACE}+|${SPACE}+$`, "g");
const FINAL_SIGMA = /(?<=[A-Za-z\xc0-\u1fff])Σ(?![A-Za-z\xc0-\u1fff])/g;
const THOUGHT_TAG = /<(\/?)(think|thinking|thought|reflection)>/gi;
const LINE_END = /\r\n|[\n\v\f\r\x85\u2028\u2029]/;
const DASHES = /^-{10,}$/;

export function textOf(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function trim(text) {
  return text.replace(OUTER_SPACES, "");
}

export function normalizeText(value, { caseSensitive = false, strip = true, collapseWhitespace = false } = {}) {
  if (value === null || value === undefined) return null;
  let text = textOf(value);
  if (collapseWhitespace) text = text.replace(SPACES, " ");
  if (strip) text = trim(text);
  return caseSensitive ? text : lowerCase(text);
}

// The component's engine does not handle the sigma at the end of a word.
function lowerCase(text) {
  return text.replace(FINAL_SIGMA, "ς").toLowerCase();
}

export function words(value) {
  return textOf(value).split(SPACES).filter((word) => word !== "");
}

export function stripThoughtTags(value) {
  const text = textOf(value);
  let kept = "";
  let position = 0;
  let open = null;
  for (const match of text.matchAll(THOUGHT_TAG)) {
    const name = match[2].toLowerCase();
    const isClosing = match[1] === "/";
    const end = match.index + match[0].length;
    if (open === null && !isClosing) {
      kept += text.slice(position, match.index);
      open = name;
    } else if (open === null) {
      // The thought began before the text.
      kept = "";
      position = end;
    } else if (isClosing && open === name) {
      open = null;
      position = end;
    }
  }
  return trim(open === null ? kept + text.slice(position) : kept);
}

export function fenced(value) {
  const fence = "-".repeat(10);
  const lines = textOf(value).split(LINE_END).map((line) => (DASHES.test(trim(line)) ? "- - -" : line));
  return [fence, ...lines, fence].join("\n");
}

export function messageText({ content }) {
  if (!Array.isArray(content)) return textOf(content);
  return content.filter((part) => part?.type === "text").map((part) => textOf(part.text)).join("\n");
}

export function userText(sample) {
  return (sample.messages ?? []).filter((message) => message.role === "user").map(messageText).join("\n\n");
}
