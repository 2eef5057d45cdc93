// Conditions on samples, as a reader types them: exact_match < 0.5, level = hard, outcome = truncated.

const COMPARISONS = {
  "<": (one, other) => one < other, "<=": (one, other) => one <= other, ">": (one, other) => one > other, ">=": (one, other) => one >= other,
  "=": (one, other) => one === other, "!=": (one, other) => one !== other,
};
/** A part of the conditions: a name, a comparison and a value, which may be quoted. */
const CONDITION = /^\s*("[^"]*"|[^<>=!]+?)\s*(<=|>=|!=|==?|<|>)\s*("[^"]*"|[^"]*?)\s*$/;
const unquoted = (text) => (/^".*"$/.test(text) ? text.slice(1, -1) : text);

/** Numbers of a sample by name: its scores, and what is measured. */
function numberNamed(name) {
  const metric = names.metrics.findIndex((known) => known.toLowerCase() === name);
  if (metric >= 0) return (row) => rows.scores[metric][row];
  return ["latency", "tokens", "index"].includes(name) ? (row) => rows[name][row] : undefined;
}

/** Names that conditions may use. */
const conditionNames = () => [...names.metrics, ...[...metadata.keys()].filter((key) => !unlistedKeys.has(key)), "outcome", "latency", "tokens", "index"];

/** One condition as a function of a sample. */
function conditionOf(text) {
  const [, quotedName, sign, quotedValue] = CONDITION.exec(text) ?? [];
  if (quotedName === undefined) throw new Error(`“${text.trim()}” is not a condition: write a name, one of < <= > >= = !=, and a value`);
  const name = unquoted(quotedName).trim();
  const value = unquoted(quotedValue);
  const compare = COMPARISONS[sign === "==" ? "=" : sign];
  const number = name.startsWith("metadata.") ? undefined : numberNamed(name.toLowerCase());
  if (number) {
    const limit = Number(value);
    if (value.trim() === "" || Number.isNaN(limit)) throw new Error(`“${value}” is not a number, which ${name} is compared with`);
    return (row) => !Number.isNaN(number(row)) && compare(number(row), limit);
  }
  const key = name.replace(/^metadata\./, "");
  const known = metadata.get(key);
  if (known && !unlistedKeys.has(key)) {
    const isOrdered = sign !== "=" && sign !== "==" && sign !== "!=";
    const fits = known.values.map((own) => (isOrdered ? compare(Number(own), Number(value)) : compare(own.toLowerCase(), value.trim().toLowerCase())));
    return (row) => (known.of[row] < 0 ? sign === "!=" : fits[known.of[row]]);
  }
  if (name.toLowerCase() === "outcome" && ["=", "==", "!="].includes(sign)) {
    const wantedName = value.trim().toLowerCase().replaceAll(" ", "_");
    return (row) => compare(names.outcomes[rows.outcome[row]], wantedName);
  }
  const why = unlistedKeys.has(key) ? `${key} has too many different values` : `there is no ${name}`;
  throw new Error(`${why}: known are ${conditionNames().slice(0, 20).join(", ")}`);
}

/** All conditions of a text as one function, with commas between them. */
function conditionsOf(text) {
  const parts = (text.match(/(?:"[^"]*"|[^,"])+/g) ?? []).filter((part) => part.trim() !== "");
  const conditions = parts.map(conditionOf);
  return (row) => conditions.every((condition) => condition(row));
}

/** A condition as text: with quotes where it needs them. */
const conditionText = (name, sign, value) => [name, sign, value].map((part, place) => (place !== 1 && /[<>=!,"]|^\s|\s$/.test(part) ? `"${part.replaceAll('"', "")}"` : part)).join(" ");
