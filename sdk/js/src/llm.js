// Models of the run.

import {
  generate as hostGenerate,
  generateAll as hostGenerateAll,
  loglikelihood as hostLoglikelihood,
} from "gage:plugin/llm@0.1.0";
import { callHost, resultFromHost } from "./error.js";
import { generationFromHost, messagesToHost, promptToHost } from "./messages.js";
import * as shape from "./shape.js";

function requestToHost({ role, ...prompt }) {
  return { role: shape.text(role, "role"), ...promptToHost(prompt, "the request") };
}

export function generate(request) {
  const toHost = requestToHost(request);
  return generationFromHost(callHost(() => hostGenerate(toHost)));
}

export function generateAll(requests) {
  const results = hostGenerateAll(requests.map(requestToHost));
  return results.map((result) => resultFromHost(result, generationFromHost));
}

export function loglikelihood({ role, messages, continuations }) {
  const toHost = {
    role: shape.text(role, "role"),
    messages: messagesToHost(messages, "messages"),
    continuations: shape.list(continuations, "continuations"),
  };
  return callHost(() => hostLoglikelihood(toHost));
}
