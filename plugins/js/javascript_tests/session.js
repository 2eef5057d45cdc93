// The tests' side of the border: requests to the candidate's interpreter, and what its replies become.

import { decode, encode, fromBytes, MalformedForm, toBytes } from "./codec.js";

// Maximum size of a reply of the candidate, in bytes.
const MAX_REPLY_SIZE = 8 << 20;
// Greatest number of a line of the program that is reported.
const MAX_LINE = 10_000_000;

const NO_REPLY = "it sent something that is not a reply";

// The candidate sent something that is not a reply. The tests cannot go on.
export class CandidateEnded extends Error {}

// A candidate that is loaded.
export class Session {
  #ask;
  #stubs = new Map();
  #places = new WeakMap();
  // Reason why the candidate ended, if it did.
  ended = null;
  // Number of calls of the candidate's functions, and of its plain values that were read.
  uses = 0;
  // Number of properties of the candidate's functions that were read.
  looks = 0;
  // What the candidate threw, with lines of the program.
  raised = [];

  constructor(ask) {
    this.#ask = ask;
  }

  // Runs the first of the programs that is JavaScript, and returns the names that it defines.
  load(programs, entryPoint) {
    const { names } = this.#request({ step: "load", programs, entryPoint });
    if (!Array.isArray(names)) throw this.#end();
    return new Set(names.filter((name) => typeof name === "string"));
  }

  // Returns the value of a name: a copy, or a function that calls that of the candidate.
  named(name) {
    const value = this.#value(this.#request({ step: "name", name }).value);
    if (typeof value !== "function") this.uses += 1;
    return value;
  }

  #call(target, args) {
    this.uses += 1;
    const { value, changed } = this.#request({ step: "call", target, args: args.map((one) => encode(one, (it) => this.#form(it))) });
    if (typeof changed === "object" && changed !== null) {
      // The keys of `changed` are the candidate's: `__proto__` would name the prototype of all arrays.
      args.forEach((arg, place) => {
        if (Object.hasOwn(changed, place)) change(arg, this.#value(changed[place]));
      });
    }
    return this.#value(value);
  }

  #request(request) {
    if (this.ended !== null) throw new CandidateEnded(this.ended);
    const bytes = this.#ask(toBytes(JSON.stringify(request)));
    if (bytes.length > MAX_REPLY_SIZE) throw this.#end();
    let reply;
    try {
      reply = JSON.parse(fromBytes(bytes));
    } catch {
      throw this.#end();
    }
    if (typeof reply !== "object" || reply === null || Array.isArray(reply)) throw this.#end();
    if (!Object.hasOwn(reply, "raised")) return reply;
    const isLine = Number.isInteger(reply.line) && reply.line > 0 && reply.line <= MAX_LINE;
    const thrown = this.#value(reply.raised);
    this.raised.push({ thrown, line: isLine ? reply.line : undefined });
    throw thrown;
  }

  #end() {
    this.ended = NO_REPLY;
    return new CandidateEnded(NO_REPLY);
  }

  #value(form) {
    try {
      return decode(form, (one) => this.#stub(one));
    } catch (error) {
      throw error instanceof MalformedForm ? this.#end() : error;
    }
  }

  // Returns what stands for a function of the candidate.
  #stub([tag, place]) {
    if (tag !== "function" || !Number.isSafeInteger(place) || place < 0) throw new MalformedForm();
    if (!this.#stubs.has(place)) {
      const get = (target, key) => ((this.looks += 1), target[key]);
      const stub = new Proxy((...args) => this.#call(place, args), { get });
      this.#stubs.set(place, stub);
      this.#places.set(stub, place);
    }
    return this.#stubs.get(place);
  }

  // Returns the form of a function that the tests pass.
  #form(value) {
    if (this.#places.has(value)) return ["function", this.#places.get(value)];
    if (globalThis[value.name] === value) return ["global", value.name];
    const code = String(value);
    // A method has no code that is an expression.
    if (code.includes("[native code]") || !/^(?:async\b|function\b|class\b|\(|[\w$]+\s*=>)/.test(code)) {
      throw new TypeError(`the function '${value.name}' cannot be passed to the candidate`);
    }
    return ["code", code];
  }
}

// Repeats what the candidate did to an object that it got.
function change(old, now) {
  if (typeof old !== "object" || old === null || typeof now !== "object" || now === null) return;
  if (Array.isArray(old) && Array.isArray(now)) {
    old.length = 0;
    old.length = now.length;
    now.forEach((one, place) => (old[place] = one));
  } else if (old instanceof Map && now instanceof Map) {
    old.clear();
    for (const [key, one] of now) old.set(key, one);
  } else if (old instanceof Set && now instanceof Set) {
    old.clear();
    for (const one of now) old.add(one);
  } else if (Object.getPrototypeOf(old) === Object.prototype && Object.getPrototypeOf(now) === Object.prototype) {
    for (const key of Object.keys(old)) delete old[key];
    Object.defineProperties(old, Object.getOwnPropertyDescriptors(now));
  }
}
