// Ends the process when the host has ended. It runs in a thread of its own, so it works during an endless loop of the plugin.

const INTERVAL_MS = 200;
const host = process.ppid;

setInterval(() => {
  // The system gives a process without a parent another one.
  if (process.ppid !== host) process.kill(process.pid, "SIGKILL");
}, INTERVAL_MS);
