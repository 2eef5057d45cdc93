// Doc hooks: add a row's content other than its text to a Sample.

import { PluginError } from "./error.js";
import { check, collect, define, memberBatch, memberSpec, settled } from "./member.js";
import { messagesToHost } from "./messages.js";
import * as shape from "./shape.js";

const MEDIA = ["image", "audio", "video", "file"];
const MEDIA_OF = { visual: "image", audio: "audio" };

export function docHook(definition) {
  const { hook } = shape.object(definition, "the definition of a doc-hook");
  shape.oneOf(hook, ["text", ...Object.keys(MEDIA_OF)], "the key hook of a doc-hook");
  return define("doc-hook", definition, [hook === "text" ? "toText" : "toMedia"], ["hook"]);
}

function mediaToHost(sources, member) {
  return shape.list(sources, "what toMedia returns").map((given) => {
    const source = typeof given === "string" ? { source: given } : shape.object(given, "a media source");
    shape.onlyKeys(source, ["kind", "source", "extra"], "a media source");
    return {
      kind: shape.oneOf(source.kind ?? MEDIA_OF[member.hook], MEDIA, "the kind of a media source"),
      source: shape.text(source.source, "the source of a media source"),
      extra: shape.extraJson(source.extra, "the extra of a media source"),
    };
  });
}

function each(members, name, json, samples, method, toHost) {
  return memberBatch(members, name, json, samples, (member, sample, params) => {
    if (member[method] === undefined) {
      throw new PluginError("unsupported", `the doc-hook '${name}' is of the kind ${member.hook}`);
    }
    return toHost(settled(member[method](JSON.parse(sample), params), method), member);
  });
}

export function implement(exported, info) {
  const members = collect("doc-hook", exported);
  return {
    describe: () => info,
    hooks: () => members.map((member) => ({ kind: member.hook, member: memberSpec(member) })),
    check: (name, params) => check(members, name, params),
    toText: (name, json, samples) =>
      each(members, name, json, samples, "toText", (messages) => messagesToHost(messages, "messages")),
    toMedia: (name, json, samples) => each(members, name, json, samples, "toMedia", mediaToHost),
  };
}
