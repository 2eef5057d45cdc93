#!/usr/bin/env bash
# Installs the Chromium in which the tests open reports and the viewer: as root on Debian. Where it cannot be
# installed those tests say that they are skipped; nothing fails.
set -euo pipefail

have() { command -v "$1" >/dev/null 2>&1; }
say() { printf '%s\n' "$*" >&2; }

for name in ${CHROMIUM:-} chromium chromium-browser google-chrome chromium-headless-shell; do
  if have "$name"; then exit 0; fi
done
if [ "$(id -u)" -ne 0 ] || ! have apt-get; then
  say "skipped: the tests in a browser need Chromium; install it with"
  say "  apt-get install --no-install-recommends chromium"
  exit 0
fi
say "installing chromium"
log=$(mktemp)
if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium; } >"$log" 2>&1; then
  tail -n 5 "$log" >&2
  say "skipped: the tests in a browser need Chromium, and it could not be installed"
fi
rm -f "$log"
