/**
 * Log lines of a plugin; the host limits their number and size per call. `console.log` and its siblings do the same in
 * a built plugin, and also work outside it.
 */
export function debug(message: string): void;
export function info(message: string): void;
export function warn(message: string): void;
export function error(message: string): void;
/**
 * Whether the host would keep a line of this level. Saves building a message that is dropped; a result must not depend on
 * it. Needs a host with version 0.1.1 of the contract.
 */
export function enabled(level: "debug" | "info" | "warn" | "error"): boolean;
