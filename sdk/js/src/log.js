// Log lines.

import { emit } from "gage:plugin/log@0.1.0";

export const debug = (message) => emit("debug", String(message));
export const info = (message) => emit("info", String(message));
export const warn = (message) => emit("warn", String(message));
export const error = (message) => emit("error", String(message));
