/**
 * Log lines of a plugin; the host caps their number and their size for each call. `console.log` and its siblings do the
 * same in a built plugin, and work outside of it too.
 */
export function debug(message: string): void;
export function info(message: string): void;
export function warn(message: string): void;
export function error(message: string): void;
