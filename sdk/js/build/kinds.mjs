// The kinds of plugins: the file of the SDK, the interface of the contract, and the name under which componentize-js wants
// its functions.

export const KINDS = {
  metric: { interface: "metric", exported: "metric" },
  preprocessor: { interface: "preprocessor", exported: "preprocessor" },
  "doc-hook": { interface: "doc-hooks", exported: "docHooks" },
  aggregator: { interface: "aggregator", exported: "aggregator" },
  judge: { interface: "judge", exported: "judge" },
  extractor: { interface: "answer-extractor", exported: "answerExtractor" },
  "role-adapter": { interface: "role-adapter", exported: "roleAdapter" },
  backend: { interface: "backend", exported: "backend" },
};

// The imports that a plugin may ask for; `log` needs no asking.
export const IMPORTS = ["media", "http", "llm"];
