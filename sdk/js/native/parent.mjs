// Ends the process when the host has ended. It runs in a thread of its own, so it works during an endless loop of the plugin.

import { workerData } from "node:worker_threads";

const INTERVAL_MS = 200;
const parent = process.ppid;

// The host may have ended before this thread started. It may also have started this process through another program.
function hostIsGone() {
  // The system gives a process without a parent another one.
  if (process.ppid !== parent) return true;
  try {
    // Sends no signal.
    process.kill(workerData.host, 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

setInterval(() => {
  if (hostIsGone()) process.kill(process.pid, "SIGKILL");
}, INTERVAL_MS);
