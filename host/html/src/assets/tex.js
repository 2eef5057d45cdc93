// Simple TeX as MathML, built from elements and text. What it does not know stays source.

const MATH = "http://www.w3.org/1998/Math/MathML";
const MAX_TEX_CHARS = 2000;
const MAX_TEX_ELEMENTS = 800;
const MAX_TEX_DEPTH = 24;
const isIn = (table, name) => Object.hasOwn(table, name);

const GREEK = Object.fromEntries(("alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ mu μ nu ν xi ξ pi π rho ρ sigma σ tau τ upsilon υ phi ϕ "
  + "varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Phi Φ Psi Ψ Omega Ω ell ℓ hbar ℏ infty ∞ partial ∂ nabla ∇ emptyset ∅ varnothing ∅ Re ℜ Im ℑ aleph ℵ angle ∠ degree ° "
  + "dots … ldots … cdots ⋯ vdots ⋮ ddots ⋱ prime ′ top ⊤ bot ⊥ square □ triangle △").split(" ").reduce((pairs, word, place, all) => (place % 2 ? pairs : [...pairs, [word, all[place + 1]]]), []));
const SIGNS = Object.fromEntries(("pm ± mp ∓ times × div ÷ cdot · ast ∗ star ⋆ circ ∘ bullet ∙ le ≤ leq ≤ ge ≥ geq ≥ ne ≠ neq ≠ approx ≈ equiv ≡ sim ∼ simeq ≃ cong ≅ propto ∝ ll ≪ gg ≫ in ∈ notin ∉ ni ∋ subset ⊂ subseteq ⊆ supset ⊃ "
  + "supseteq ⊇ cup ∪ cap ∩ setminus ∖ land ∧ wedge ∧ lor ∨ vee ∨ neg ¬ lnot ¬ forall ∀ exists ∃ to → rightarrow → leftarrow ← leftrightarrow ↔ Rightarrow ⇒ Leftarrow ⇐ Leftrightarrow ⇔ implies ⟹ iff ⟺ mapsto ↦ longrightarrow ⟶ uparrow ↑ downarrow ↓ "
  + "mid ∣ parallel ∥ perp ⊥ oplus ⊕ otimes ⊗ langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ lbrace { rbrace } vert | Vert ‖ colon : therefore ∴ because ∵ models ⊨ vdash ⊢").split(" ").reduce((pairs, word, place, all) => (place % 2 ? pairs : [...pairs, [word, all[place + 1]]]), []));
const LARGE = { sum: "∑", prod: "∏", int: "∫", iint: "∬", oint: "∮", bigcup: "⋃", bigcap: "⋂", coprod: "∐" };
const FUNCTIONS = new Set("sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp det dim ker deg gcd hom arg Pr".split(" "));
/** Functions whose scripts stand below them. */
const LIMITS = new Set("lim max min sup inf limsup liminf argmax argmin".split(" "));
const SPACES = { ",": "0.17em", ":": "0.22em", ";": "0.28em", "!": "-0.17em", " ": "0.25em", quad: "1em", qquad: "2em", "~": "0.25em" };
const ACCENTS = { hat: "^", widehat: "^", bar: "‾", overline: "‾", vec: "→", tilde: "~", widetilde: "~", dot: "˙", ddot: "¨", overrightarrow: "→" };
const STYLES = { mathbb: "double-struck", mathcal: "script", mathfrak: "fraktur", mathbf: "bold", boldsymbol: "bold", bm: "bold", mathit: "italic", mathsf: "sans-serif", mathtt: "monospace" };
const TEXTS = new Set(["text", "textrm", "textbf", "textit", "mbox", "mathrm", "operatorname", "textsf", "texttt"]);
/** Environments, and what stands around them. */
const FENCES = { matrix: ["", ""], pmatrix: ["(", ")"], bmatrix: ["[", "]"], Bmatrix: ["{", "}"], vmatrix: ["|", "|"], cases: ["{", ""], aligned: ["", ""], align: ["", ""], "align*": ["", ""], gathered: ["", ""], equation: ["", ""], "equation*": ["", ""], array: ["", ""], split: ["", ""] };
/** Letters of alphabets that have places of their own, as far as they follow one another. */
const ALPHABETS = { "double-struck": [0x1d538, 0x1d552], script: [0x1d49c, 0x1d4b6], fraktur: [0x1d504, 0x1d51e], bold: [0x1d400, 0x1d41a] };
const EXCEPTIONS = { "double-struck": { C: "ℂ", H: "ℍ", N: "ℕ", P: "ℙ", Q: "ℚ", R: "ℝ", Z: "ℤ" }, script: { B: "ℬ", E: "ℰ", F: "ℱ", H: "ℋ", I: "ℐ", L: "ℒ", M: "ℳ", R: "ℛ" }, fraktur: { C: "ℭ", H: "ℌ", I: "ℑ", R: "ℜ", Z: "ℨ" } };

/** A formula as an element. Fails with an Error where it is not simple. */
function texElement(source, isBlock) {
  if (source.length > MAX_TEX_CHARS) throw new Error("a long formula");
  const reader = new TexReader(source.match(/\\(?:[A-Za-z]+\*?|[^])|[0-9]+(?:\.[0-9]+)?|[^]/gu) ?? []);
  const content = reader.row(() => false);
  if (reader.place < reader.tokens.length) throw new Error("an unknown end");
  return mathElement("math", { display: isBlock ? "block" : "inline" }, [content]);
}

function mathElement(name, attributes, children) {
  const element = document.createElementNS(MATH, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

class TexReader {
  constructor(tokens) {
    Object.assign(this, { tokens, place: 0, depth: 0, elements: 0 });
  }

  element(name, children, attributes = {}) {
    this.elements += 1;
    if (this.elements > MAX_TEX_ELEMENTS) throw new Error("a large formula");
    return mathElement(name, attributes, children);
  }

  peek() {
    return this.tokens[this.place];
  }

  skipBlanks() {
    while (this.place < this.tokens.length && /^\s$/.test(this.peek())) this.place += 1;
  }

  /** Elements up to an end, which is not taken. */
  row(isEnd) {
    this.depth += 1;
    if (this.depth > MAX_TEX_DEPTH) throw new Error("a deep formula");
    const parts = [];
    for (this.skipBlanks(); this.place < this.tokens.length; this.skipBlanks()) {
      const token = this.peek();
      if (isEnd(token) || token === "}" || token === "&" || token === "\\\\" || token === "\\right" || token === "\\end") break;
      parts.push(this.scripted());
    }
    this.depth -= 1;
    return parts.length === 1 ? parts[0] : this.element("mrow", parts);
  }

  /** An element with what stands above and below it. */
  scripted() {
    const token = this.peek();
    const isLarge = token?.[0] === "\\" && (isIn(LARGE, token.slice(1)) || LIMITS.has(token.slice(1)));
    const base = token === "^" || token === "_" ? this.element("mrow", []) : this.atom();
    let [above, below] = [null, null];
    for (this.skipBlanks(); ["^", "_", "'", "\\limits", "\\nolimits"].includes(this.peek()); this.skipBlanks()) {
      const sign = this.tokens[this.place];
      this.place += 1;
      if (sign === "'") above = this.element("mo", [above === null ? "′" : "″"]);
      else if (sign === "^") above = this.argument();
      else if (sign === "_") below = this.argument();
    }
    const [over, under, both] = isLarge ? ["mover", "munder", "munderover"] : ["msup", "msub", "msubsup"];
    if (above && below) return this.element(both, [base, below, above]);
    if (above) return this.element(over, [base, above]);
    return below ? this.element(under, [base, below]) : base;
  }

  /** One atom, or a group in braces. */
  argument() {
    this.skipBlanks();
    if (this.peek() === undefined || this.peek() === "}" || this.peek() === "&") throw new Error("a missing argument");
    this.depth += 1;
    if (this.depth > MAX_TEX_DEPTH) throw new Error("a deep formula");
    // Of a number without braces, the argument is one digit.
    const number = /^[0-9]./.test(this.peek()) ? this.peek() : null;
    if (number) this.tokens.splice(this.place, 1, number[0], number.slice(1));
    const atom = this.atom();
    this.depth -= 1;
    return atom;
  }

  group() {
    const content = this.row(() => false);
    if (this.peek() !== "}") throw new Error("a missing brace");
    this.place += 1;
    return content;
  }

  /** The tokens of an argument as they are. */
  plain() {
    this.skipBlanks();
    if (this.peek() !== "{") return this.tokens[this.place++] ?? "";
    let [text, depth] = ["", 0];
    for (; this.place < this.tokens.length; this.place += 1) {
      const token = this.peek();
      depth += (token === "{") - (token === "}");
      if (depth === 0) break;
      if (token !== "{" || depth > 1) text += token;
    }
    if (this.peek() !== "}") throw new Error("a missing brace");
    this.place += 1;
    return text;
  }

  atom() {
    const token = this.tokens[this.place];
    this.place += 1;
    if (token === "{") return this.group();
    if (token[0] === "\\") return this.command(token.slice(1));
    if (/^[0-9]/.test(token)) return this.element("mn", [token]);
    if (/^\p{L}/u.test(token)) return this.element("mi", [token]);
    if (token === "~") return this.element("mspace", [], { width: SPACES["~"] });
    if (token === "#" || token === "%" || token === "$") throw new Error("an unknown sign");
    return this.element("mo", [token === "-" ? "−" : token === "*" ? "∗" : token], /[()[\]|]/.test(token) ? { stretchy: "false" } : {});
  }

  command(name) {
    if (isIn(GREEK, name)) return this.element("mi", [GREEK[name]]);
    if (isIn(SIGNS, name)) return this.element("mo", [SIGNS[name]], /^(?:l|r)(?:angle|floor|ceil|brace)$|ert$/.test(name) ? { stretchy: "false" } : {});
    if (isIn(LARGE, name)) return this.element("mo", [LARGE[name]], { movablelimits: "false" });
    if (FUNCTIONS.has(name) || LIMITS.has(name)) return this.element("mi", [name]);
    if (isIn(SPACES, name)) return this.element("mspace", [], { width: SPACES[name] });
    if (["{", "}", "%", "$", "#", "&", "_", "|"].includes(name)) return this.element("mo", [name === "|" ? "‖" : name], { stretchy: "false" });
    if (["frac", "dfrac", "tfrac", "cfrac"].includes(name)) return this.element("mfrac", [this.argument(), this.argument()]);
    if (["binom", "dbinom", "tbinom"].includes(name)) return this.element("mrow", [this.element("mo", ["("]), this.element("mfrac", [this.argument(), this.argument()], { linethickness: "0" }), this.element("mo", [")"])]);
    if (name === "sqrt") return this.root();
    if (isIn(ACCENTS, name)) return this.element("mover", [this.argument(), this.element("mo", [ACCENTS[name]], { stretchy: String(/^over|^wide/.test(name)) })], { accent: "true" });
    if (name === "underline") return this.element("munder", [this.argument(), this.element("mo", ["_"])]);
    if (isIn(STYLES, name)) return this.styled(STYLES[name]);
    if (TEXTS.has(name)) return this.element("mtext", [this.plain().replaceAll("\\ ", " ").replace(/\\([{}$%#&_])/g, "$1")]);
    if (name === "boxed") return this.element("mrow", [this.argument()], { class: "boxed" });
    if (name === "left") return this.fenced();
    if (name === "begin") return this.environment();
    if (["displaystyle", "textstyle", "limits", "nolimits", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr"].includes(name)) return this.element("mrow", []);
    if (["pmod", "bmod", "mod"].includes(name)) return this.modulus(name);
    throw new Error("an unknown command");
  }

  root() {
    this.skipBlanks();
    if (this.peek() !== "[") return this.element("msqrt", [this.argument()]);
    this.place += 1;
    const index = this.row((token) => token === "]");
    if (this.peek() !== "]") throw new Error("a missing bracket");
    this.place += 1;
    return this.element("mroot", [this.argument(), index]);
  }

  modulus(name) {
    const word = this.element("mo", ["mod"]);
    if (name !== "pmod") return word;
    return this.element("mrow", [this.element("mo", ["("]), word, this.argument(), this.element("mo", [")"])]);
  }

  /** Letters in another alphabet, which has its own characters. */
  styled(variant) {
    const text = this.plain();
    if (text.includes("\\")) throw new Error("a command in an alphabet");
    const letter = (character) => {
      const [upper, lower] = ALPHABETS[variant] ?? [];
      const code = character.charCodeAt(0);
      if (EXCEPTIONS[variant]?.[character]) return EXCEPTIONS[variant][character];
      if (upper && /^[A-Z]$/.test(character)) return String.fromCodePoint(upper + code - 65);
      return lower && /^[a-z]$/.test(character) && variant !== "script" ? String.fromCodePoint(lower + code - 97) : character;
    };
    return this.element("mi", [[...text].map(letter).join("")], variant === "italic" || text.length > 1 ? {} : { mathvariant: "normal" });
  }

  fence() {
    this.skipBlanks();
    const token = this.tokens[this.place] ?? "";
    this.place += 1;
    if (token === ".") return "";
    const sign = token[0] === "\\" ? (isIn(SIGNS, token.slice(1)) && SIGNS[token.slice(1)]) || { "{": "{", "}": "}", "|": "‖" }[token.slice(1)] : token;
    if (typeof sign !== "string" || !/^[()[\]{}|‖⟨⟩⌊⌋⌈⌉/<>]$/u.test(sign)) throw new Error("an unknown fence");
    return sign;
  }

  fenced() {
    const open = this.fence();
    const content = this.row(() => false);
    if (this.peek() !== "\\right") throw new Error("a missing fence");
    this.place += 1;
    return this.between(open, content, this.fence());
  }

  between(open, content, close) {
    const fence = (sign) => (sign ? [this.element("mo", [sign], { fence: "true", stretchy: "true" })] : []);
    return this.element("mrow", [...fence(open), content, ...fence(close)]);
  }

  environment() {
    const name = this.plain();
    if (!(isIn(FENCES, name))) throw new Error("an unknown environment");
    if (name === "array") this.plain();
    const [open, close] = FENCES[name];
    const lines = [[]];
    for (;;) {
      lines[lines.length - 1].push(this.element("mtd", [this.row(() => false)]));
      const token = this.tokens[this.place];
      this.place += 1;
      if (token === "\\\\") lines.push([]);
      else if (token === "\\end") break;
      else if (token !== "&") throw new Error("an unfinished environment");
    }
    if (this.plain() !== name) throw new Error("an unfinished environment");
    const table = this.element("mtable", lines.map((cells) => this.element("mtr", cells)), { class: /^(?:align|split)/.test(name) ? "aligned" : "" });
    return this.between(open, table, close);
  }
}
