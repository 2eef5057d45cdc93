// Markdown as elements that hold only text. Links lead nowhere, pictures are named, and markup stays text.

/** A text beyond these bounds is shown as it is written. */
const MAX_MARKDOWN_CHARS = 40000;
const MAX_MARKDOWN_ELEMENTS = 4000;
const MAX_MARKDOWN_DEPTH = 8;
/** How far the end of an emphasis, a link or a formula is looked for. */
const MAX_INLINE_CHARS = 2000;
/** Characters that are looked through for all such ends of a text. */
const MAX_INLINE_WORK = 8e6;

/** Whether a text has anything that Markdown or TeX shows in another way. */
const hasMarkdown = (text) => /(?:^|\n)\s{0,3}(?:#{1,6}\s|```|~~~|[-*+]\s|\d{1,9}[.)]\s|>\s?|\|.*\|)|\*\*|__|`|\$|\\\(|\\\[|(?:^|\W)[*_]\w/.test(text);

/** A text as elements; null where it is beyond the bounds or has nothing to show in another way. */
function markdownOf(text) {
  if (text.length > MAX_MARKDOWN_CHARS || !hasMarkdown(text)) return null;
  const reader = new MarkdownReader();
  try {
    return make("div", { class: "markdown", dir: "auto" }, reader.blocks(text.split("\n"), 0));
  } catch {
    return null;
  }
}

class MarkdownReader {
  /** A reader of one line shows each formula in the line. */
  constructor(isOneLine = false) {
    this.isOneLine = isOneLine;
    this.elements = 0;
    this.work = 0;
  }

  make(name, attributes, ...children) {
    this.elements += 1;
    if (this.elements > MAX_MARKDOWN_ELEMENTS) throw new Error("a large text");
    return make(name, attributes, ...children);
  }

  /** Lines as blocks. Each reader takes the lines that it knows, and says how many. */
  blocks(lines, depth) {
    if (depth > MAX_MARKDOWN_DEPTH) throw new Error("a deep text");
    const blocks = [];
    let place = 0;
    while (place < lines.length) {
      if (lines[place].trim() === "") {
        place += 1;
        continue;
      }
      const [block, taken] = this.fence(lines, place) ?? this.display(lines, place) ?? this.heading(lines, place) ?? this.rule(lines, place)
        ?? this.quote(lines, place, depth) ?? this.list(lines, place, depth) ?? this.table(lines, place) ?? this.paragraph(lines, place);
      blocks.push(block);
      place += taken;
    }
    return blocks;
  }

  fence(lines, place) {
    const [, mark, language] = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/.exec(lines[place]) ?? [];
    if (mark === undefined) return null;
    let end = place + 1;
    while (end < lines.length && !(lines[end].trim().startsWith(mark) && lines[end].trim().replaceAll(mark[0], "") === "")) end += 1;
    const label = language.trim() ? this.make("span", { class: "language" }, language.trim().slice(0, 40)) : null;
    return [this.make("div", { class: "code" }, label, this.make("pre", {}, lines.slice(place + 1, end).join("\n"))), end + 1 - place];
  }

  /** A formula on lines of its own. */
  display(lines, place) {
    const [, mark, rest] = /^\s{0,3}(\$\$|\\\[)(.*)$/.exec(lines[place]) ?? [];
    if (mark === undefined) return null;
    const close = mark === "$$" ? "$$" : "\\]";
    const own = [];
    for (let end = place; end < Math.min(lines.length, place + 60); end += 1) {
      const line = end === place ? rest : lines[end];
      const at = line.indexOf(close);
      if (at >= 0 && line.slice(at + 2).trim().length > 1) return null;
      own.push(at < 0 ? line : line.slice(0, at));
      if (at >= 0) return [this.formula(own.join("\n").trim(), true, `${mark}${own.join("\n")}${close}`), end + 1 - place];
    }
    return null;
  }

  formula(source, isBlock, written) {
    try {
      const element = texElement(source, isBlock);
      this.elements += 20;
      return isBlock ? this.make("div", { class: "formula", title: written.slice(0, 500) }, element) : this.make("span", { title: written.slice(0, 500) }, element);
    } catch {
      return this.make(isBlock ? "pre" : "code", { class: "tex" }, written);
    }
  }

  heading(lines, place) {
    const [, marks, rest] = /^ {0,3}(#{1,6})[ \t]([^]*)$/.exec(lines[place]) ?? [];
    if (marks === undefined) return null;
    let text = rest.trim();
    while (text.endsWith("#")) text = text.slice(0, -1);
    return [this.make("p", { class: `heading level-${marks.length}`, role: "heading", "aria-level": Math.min(6, marks.length + 3) }, this.inline(text.trim(), 0)), 1];
  }

  rule(lines, place) {
    return /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/.test(lines[place]) ? [this.make("hr", {}), 1] : null;
  }

  quote(lines, place, depth) {
    let end = place;
    while (end < lines.length && /^ {0,3}>/.test(lines[end])) end += 1;
    if (end === place) return null;
    return [this.make("blockquote", {}, this.blocks(lines.slice(place, end).map((line) => line.replace(/^ {0,3}> ?/, "")), depth + 1)), end - place];
  }

  /** A list: what is deeper than its marks belongs to the item above. */
  list(lines, place, depth) {
    const mark = /^(\s*)([-*+]|\d{1,9}[.)])(\s+)(?=\S)/;
    const first = mark.exec(lines[place]);
    if (!first || first[1].length > 12) return null;
    const isOrdered = /\d/.test(first[2]);
    const items = [];
    let end = place;
    for (; end < lines.length; end += 1) {
      const line = lines[end];
      const found = mark.exec(line);
      const indent = /^\s*/.exec(line)[0].length;
      if (found && found[1].length === first[1].length && /\d/.test(found[2]) === isOrdered) items.push([line.slice(found[0].length)]);
      else if (line.trim() === "") {
        const next = lines[end + 1];
        if (next === undefined || !(/^\s*/.exec(next)[0].length > first[1].length || mark.test(next))) break;
        items[items.length - 1].push("");
      } else if (indent > first[1].length) items[items.length - 1].push(line.slice(Math.min(indent, first[0].length)));
      else break;
    }
    const attributes = isOrdered && parseInt(first[2], 10) !== 1 ? { start: parseInt(first[2], 10) } : {};
    const tight = (blocks) => (blocks.length > 0 && blocks[0].tagName === "P" && !blocks[0].className ? [...blocks[0].childNodes, ...blocks.slice(1)] : blocks);
    return [this.make(isOrdered ? "ol" : "ul", attributes, items.map((own) => this.make("li", {}, tight(this.blocks(own, depth + 1))))), end - place];
  }

  table(lines, place) {
    const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
    const next = lines[place + 1] ?? "";
    if (!lines[place].includes("|") || next.length > 1000 || !/^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/.test(next) || !next.includes("|")) return null;
    const align = cells(next).map((cell) => (/-:$/.test(cell) ? "number" : null));
    let end = place + 2;
    while (end < lines.length && lines[end].includes("|")) end += 1;
    const row = (line, name) => this.make("tr", {}, cells(line).slice(0, align.length).map((cell, column) => this.make(name, { class: align[column] }, this.inline(cell, 0))));
    return [this.make("div", { class: "scroll" }, this.make("table", {}, this.make("thead", {}, row(lines[place], "th")), this.make("tbody", {}, lines.slice(place + 2, end).map((line) => row(line, "td"))))), end - place];
  }

  paragraph(lines, place) {
    const begins = /^ {0,3}(?:#{1,6}\s|`{3}|~{3}|>|\$\$|\\\[|[-*+]\s|\d{1,9}[.)]\s)/;
    let end = place + 1;
    while (end < lines.length && lines[end].trim() !== "" && !begins.test(lines[end])) end += 1;
    return [this.make("p", {}, this.inline(lines.slice(place, end).join("\n"), 0)), end - place];
  }

  /** Text with emphasis, code and formulas. Line breaks stay. */
  inline(text, depth) {
    if (depth > MAX_MARKDOWN_DEPTH) return [text];
    const parts = [];
    const next = /\\[\\`*_{}[\]()#+\-.!$|<>~]|\\[([]|`+|\$\$?|\*{1,3}|_{1,3}|~~|!?\[/g;
    let done = 0;
    for (let found = next.exec(text); found; found = next.exec(text)) {
      const inner = this.span(text, found.index, found[0], depth);
      if (!inner) {
        // A run of marks is passed over as a whole.
        continue;
      }
      if (found.index > done) parts.push(text.slice(done, found.index));
      parts.push(...inner.nodes);
      done = inner.end;
      next.lastIndex = done;
    }
    if (done < text.length) parts.push(text.slice(done));
    return parts;
  }

  /** What a mark begins: its nodes and its end; null where it is only text. */
  span(text, at, mark, depth) {
    const start = at + mark.length;
    const within = text.slice(start, start + MAX_INLINE_CHARS);
    this.work += within.length;
    if (this.work > MAX_INLINE_WORK) throw new Error("many marks");
    const upTo = (close) => { const place = within.indexOf(close); return place < 0 ? null : within.slice(0, place); };
    const result = (node, content, close) => ({ nodes: [node], end: start + content.length + close.length });
    if (mark === "\\(" || mark === "\\[" || mark[0] === "$") return this.math(text, at, mark, upTo);
    if (mark[0] === "\\") return { nodes: [mark.slice(1)], end: start };
    if (mark[0] === "`") {
      const content = upTo(mark);
      return content === null || content === "" ? null : result(this.make("code", {}, content.trim() || content), content, mark);
    }
    if (mark.endsWith("[")) {
      const [all, label, target] = /^([^\]\n]{0,300})\]\(([^)\s]{0,1000})(?:\s+"[^"\n]{0,300}")?\)/.exec(within) ?? [];
      if (all === undefined) return null;
      const address = mark === "[" ? ` (${target})` : "";
      return { nodes: [this.make("span", { class: "address" }, mark === "[" ? label : `[picture: ${label} ${target}]`, this.make("span", { class: "soft" }, address))], end: start + all.length };
    }
    // Emphasis touches its words, and one of underscores stands between words.
    if (/^\s|^$/.test(within) || (mark[0] === "_" && /\w/.test(text[at - 1] ?? ""))) return null;
    const content = upTo(mark);
    if (content === null || content === "" || /\s$/.test(content) || content.includes("\n\n")) return null;
    if (mark[0] === "_" && /\w/.test(text[start + content.length + mark.length] ?? "")) return null;
    const names = { 1: "em", 2: mark === "~~" ? "s" : "strong", 3: "strong" };
    return result(this.make(names[mark.length], {}, this.inline(content, depth + 1)), content, mark);
  }

  /** A formula in a line; a dollar sign before a number is money unless the formula ends without a blank. */
  math(text, at, mark, upTo) {
    const close = { "\\(": "\\)", "\\[": "\\]", $: "$", $$: "$$" }[mark];
    const content = upTo(close);
    if (content === null || content.trim() === "" || (mark === "$" && (/^\s|\s$/.test(content) || content.includes("\n") || /\d/.test(text[at + content.length + 2] ?? "")))) return null;
    const isBlock = !this.isOneLine && (mark === "$$" || mark === "\\[");
    return { nodes: [this.formula(content.trim(), isBlock, mark + content + close)], end: at + mark.length + content.length + close.length };
  }
}
