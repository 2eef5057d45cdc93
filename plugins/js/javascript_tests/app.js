// The exports of the component.

import { withConsole } from "../../../sdk/js/src/guest.js";
import { implement } from "../../../sdk/js/src/metric.js";
import plugin from "./plugin.js";
import { answer as answerText } from "./candidate.js";
import { fromBytes, toBytes } from "./codec.js";

// Fuel runs out before the time does, so a timeout is reproducible.
const limits = { fuel_per_item: 10_000_000_000, wall_time: 60 };

const info = {
  name: "javascript_tests",
  version: "0.1.0",
  description: "Runs programs of models in a JavaScript engine, and tests them.",
  extra: JSON.stringify({ license: "Apache-2.0", runs_programs: ["javascript_tests"], limits }),
};

const functions = implement(plugin, info);

// A call has one sample, so that each candidate has an engine of its own.
function score(name, params, items) {
  // A host that ignores `runs_programs` repeats the call with fewer samples.
  if (items.length > 1) throw new Error("a call has one sample");
  return functions.score(name, params, items);
}

export const metric = withConsole({ ...functions, score });

export const answer = (request) => toBytes(answerText(fromBytes(request)));
