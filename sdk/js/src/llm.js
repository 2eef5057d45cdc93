// Models of the run.

import {
  generate as hostGenerate,
  generateAll as hostGenerateAll,
  loglikelihood as hostLoglikelihood,
  loglikelihoodAll as hostLoglikelihoodAll,
  rollingLoglikelihood as hostRollingLoglikelihood,
  rollingLoglikelihoodAll as hostRollingLoglikelihoodAll,
  embed as hostEmbed,
  embedAll as hostEmbedAll,
} from "gage:plugin/llm@0.1.1";
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

function scoredToHost({ role, messages, continuations }) {
  return {
    role: shape.text(role, "role"),
    messages: messagesToHost(messages, "messages"),
    continuations: shape.list(continuations, "continuations"),
  };
}

function textToHost({ role, text }) {
  return { role: shape.text(role, "role"), text: shape.text(text, "text") };
}

function textsToHost({ role, texts }) {
  return { role: shape.text(role, "role"), texts: shape.list(texts, "texts") };
}

function rollingFromHost({ logprob, tokenCount, byteCount }) {
  return { logprob, tokenCount: Number(tokenCount), byteCount: Number(byteCount) };
}

export function loglikelihood(request) {
  const toHost = scoredToHost(request);
  return callHost(() => hostLoglikelihood(toHost));
}

export function loglikelihoodAll(requests) {
  const results = hostLoglikelihoodAll(requests.map(scoredToHost));
  return results.map((result) => resultFromHost(result, (scores) => scores));
}

export function rollingLoglikelihood(request) {
  const toHost = textToHost(request);
  return rollingFromHost(callHost(() => hostRollingLoglikelihood(toHost)));
}

export function rollingLoglikelihoodAll(requests) {
  const results = hostRollingLoglikelihoodAll(requests.map(textToHost));
  return results.map((result) => resultFromHost(result, rollingFromHost));
}

export function embed(request) {
  const toHost = textsToHost(request);
  return callHost(() => hostEmbed(toHost));
}

export function embedAll(requests) {
  const results = hostEmbedAll(requests.map(textsToHost));
  return results.map((result) => resultFromHost(result, (vectors) => vectors));
}
