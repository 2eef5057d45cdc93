// Log lines.

import { emit } from "gage:plugin/log@0.1.0";
import { named } from "./output.js";

export const debug = (message) => emit("debug", named(String(message)));
export const info = (message) => emit("info", named(String(message)));
export const warn = (message) => emit("warn", named(String(message)));
export const error = (message) => emit("error", named(String(message)));
