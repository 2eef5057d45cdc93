// Log lines.

import { emit, enabled as isKept } from "gage:plugin/log@0.1.1";
import { named } from "./output.js";

export const debug = (message) => emit("debug", named(String(message)));
export const info = (message) => emit("info", named(String(message)));
export const warn = (message) => emit("warn", named(String(message)));
export const error = (message) => emit("error", named(String(message)));
export const enabled = (level) => isKept(level);
