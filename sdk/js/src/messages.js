// Messages, and answers of models.

import * as shape from "./shape.js";

const ROLES = ["system", "user", "assistant", "tool"];
const FINISHES = ["stop", "length", "tool-calls", "content-filter", "other"];

export const system = (content) => ({ role: "system", content });
export const user = (content) => ({ role: "user", content });
export const assistant = (content) => ({ role: "assistant", content });

export function messagesToHost(messages, place) {
  return shape.list(messages, place).map((message, index) => {
    const where = `${place}[${index}]`;
    shape.onlyKeys(shape.object(message, where), ["role", "content", "extra"], where);
    return {
      role: shape.oneOf(message.role, ROLES, `${where}.role`),
      content: shape.text(message.content, `${where}.content`),
      extra: shape.extraJson(message.extra, `${where}.extra`),
    };
  });
}

export function messagesFromHost(messages) {
  return messages.map(({ role, content, extra }) => ({ role, content, extra: JSON.parse(extra) }));
}

// Converts a prompt: messages, and sampling parameters that override those of the role.
export function promptToHost(prompt, place) {
  shape.onlyKeys(shape.object(prompt, place), ["messages", "params"], place);
  return {
    messages: messagesToHost(prompt.messages, `${place}.messages`),
    params: shape.extraJson(prompt.params, `${place}.params`),
  };
}

export function generationFromHost({ answer, finish, usage, extra }) {
  return {
    answer,
    finish,
    usage: usage ? { promptTokens: Number(usage.promptTokens), completionTokens: Number(usage.completionTokens) } : null,
    extra: JSON.parse(extra),
  };
}

export function generationToHost(value) {
  const generation = typeof value === "string" ? { answer: value } : shape.object(value, "the generation");
  shape.onlyKeys(generation, ["answer", "finish", "usage", "extra"], "the generation");
  return {
    answer: shape.text(generation.answer, "answer"),
    finish: shape.oneOf(generation.finish ?? "stop", FINISHES, "finish"),
    usage: shape.optional(generation.usage, "usage", (usage) => ({
      promptTokens: shape.count(usage.promptTokens, "usage.promptTokens"),
      completionTokens: shape.count(usage.completionTokens, "usage.completionTokens"),
    })),
    extra: shape.extraJson(generation.extra, "extra"),
  };
}

export function scoresToHost(scores, continuations) {
  if (shape.list(scores, "loglikelihood's result").length !== continuations.length) {
    throw new TypeError(`loglikelihood gave ${scores.length} scores for ${continuations.length} continuations`);
  }
  return scores.map(({ logprob, tokenCount, isGreedy }) => ({
    logprob: shape.number(logprob, "logprob"),
    tokenCount: Number(shape.count(tokenCount, "tokenCount")),
    isGreedy: shape.boolean(isGreedy, "isGreedy"),
  }));
}
