// The kinds of plugins: the SDK's file, the contract's interface, and the name under which componentize-js expects its
// functions.

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

// Imports that must be declared; `log` is always available.
export const IMPORTS = ["media", "http", "llm"];
