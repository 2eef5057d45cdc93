// Backends: answer requests in place of a model.

import { PluginError, errorToHost } from "./error.js";
import { batch, check, collect, define, mustBeFunction, prepareParams, schemaOf, settled } from "./member.js";
import { generationToHost, messagesFromHost, scoresToHost } from "./messages.js";
import * as shape from "./shape.js";

const ANSWERING = ["generate", "generateAll", "loglikelihood"];

export function backend(definition) {
  const { config = {}, maxBatch = 32, ...rest } = shape.object(definition, "the definition of a backend");
  if (!Number.isInteger(maxBatch) || maxBatch < 1) throw new TypeError(`maxBatch must be a whole number from 1 on, not ${maxBatch}`);
  shape.onlyKeys(rest, ["version", "required", "setup", ...ANSWERING], "backend");
  const given = ANSWERING.filter((key) => rest[key] !== undefined);
  if (given.length === 0) throw new TypeError(`a backend must have one of ${ANSWERING.join(", ")}`);
  for (const key of given) mustBeFunction(rest[key], `backend: ${key}`);
  const member = { name: "backend", description: "", params: config, maxBatch, ...rest };
  return define("backend", member, [], ["maxBatch", ...ANSWERING]);
}

function requestFromHost({ id, messages, params }) {
  return { id, messages: messagesFromHost(messages), params: JSON.parse(params) };
}

// With generateAll, the author gets the whole batch and returns an answer or a PluginError for each request.
function generateAll(member, requests, config) {
  const answers = shape.list(settled(member.generateAll(requests.map(requestFromHost), config), "generateAll"), "what generateAll returns");
  if (answers.length !== requests.length) {
    throw new TypeError(`generateAll gave ${answers.length} answers for ${requests.length} requests`);
  }
  return batch(answers, (answer) => {
    if (answer instanceof PluginError) throw answer;
    return generationToHost(answer);
  });
}

export function implement(exported, info) {
  const members = collect("backend", exported);
  if (members.length > 1) throw new TypeError(`a component holds one backend, not ${members.length}`);
  const [member] = members;
  // Handles the whole call, if the configuration is invalid or the batch is answered at once.
  const answer = (json, requests, call) => {
    try {
      return call(prepareParams(member, json));
    } catch (thrown) {
      const error = errorToHost(thrown);
      return requests.map(() => ({ tag: "err", val: error }));
    }
  };
  const offers = (method) => {
    if (member[method] === undefined) throw new PluginError("unsupported", `this backend has no ${method}`);
  };
  return {
    describe: () => info,
    spec: () => ({
      version: member.version,
      maxBatch: member.maxBatch,
      supportsGenerate: member.generate !== undefined || member.generateAll !== undefined,
      supportsLoglikelihood: member.loglikelihood !== undefined,
      configSchema: schemaOf(member),
    }),
    check: (json) => check(members, member.name, json),
    generate: (json, requests) =>
      answer(json, requests, (config) => {
        if (member.generateAll !== undefined) return generateAll(member, requests, config);
        offers("generate");
        return batch(requests, (request) =>
          generationToHost(settled(member.generate(requestFromHost(request), config), "generate")),
        );
      }),
    loglikelihood: (json, requests) =>
      answer(json, requests, (config) => {
        offers("loglikelihood");
        return batch(requests, ({ id, messages, continuations }) => {
          const request = { id, messages: messagesFromHost(messages), continuations };
          return scoresToHost(settled(member.loglikelihood(request, config), "loglikelihood"), continuations);
        });
      }),
  };
}
