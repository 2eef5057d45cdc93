// HTTP requests to granted hosts.

import { send as hostSend, sendAll as hostSendAll } from "gage:plugin/http@0.1.1";
import { PluginError, callHost, resultFromHost } from "./error.js";
import * as shape from "./shape.js";

const KEYS = ["method", "url", "headers", "body", "json", "timeoutMs"];

class Hidden {
  constructor(tag, name) {
    this.value = { tag, val: shape.text(name, `the name of a secret`) };
  }
}

export const secret = (name) => new Hidden("secret", name);
export const bearer = (name) => new Hidden("bearer", name);

export class HttpResponse {
  constructor({ status, headers, body }) {
    this.status = status;
    this.headers = headers;
    this.body = body;
  }

  get ok() {
    return this.status >= 200 && this.status < 300;
  }

  header(name) {
    const wanted = name.toLowerCase();
    return this.headers.find(([key]) => key === wanted)?.[1] ?? null;
  }

  text() {
    return new TextDecoder().decode(this.body);
  }

  json() {
    try {
      return JSON.parse(this.text());
    } catch (thrown) {
      throw new PluginError("upstream", `the response is not JSON: ${thrown.message}`);
    }
  }
}

function headersToHost(headers, isJson) {
  const pairs = Object.entries(shape.object(headers, "headers"));
  if (isJson && !pairs.some(([name]) => name.toLowerCase() === "content-type")) {
    pairs.push(["content-type", "application/json"]);
  }
  return pairs.map(([name, value]) => ({
    name,
    value: value instanceof Hidden ? value.value : { tag: "plain", val: shape.text(value, `header '${name}'`) },
  }));
}

function bodyToHost({ body, json }) {
  if (body !== undefined && json !== undefined) throw new TypeError("a request has body or json, not both");
  if (body instanceof Uint8Array) return body;
  return new TextEncoder().encode(json === undefined ? shape.text(body ?? "", "body") : JSON.stringify(json));
}

function requestToHost(request) {
  shape.onlyKeys(shape.object(request, "the request"), KEYS, "the request");
  const { url, headers = {}, body, json, timeoutMs = 0 } = request;
  return {
    method: request.method ?? (body === undefined && json === undefined ? "GET" : "POST"),
    url: shape.text(url, "url"),
    headers: headersToHost(headers, json !== undefined),
    body: bodyToHost(request),
    timeoutMs: Number(shape.count(timeoutMs, "timeoutMs")),
  };
}

const responseFromHost = (response) => new HttpResponse(response);

export function send(request) {
  const toHost = requestToHost(request);
  return responseFromHost(callHost(() => hostSend(toHost)));
}

export function sendAll(requests) {
  const results = hostSendAll(requests.map(requestToHost));
  return results.map((result) => resultFromHost(result, responseFromHost));
}
