#!/usr/bin/env bash
# Runs every test: those of the host with real components and the tiny model, those of the
# plugins on this machine's own processor, and those of the SDKs.
set -euo pipefail
cd "$(dirname "$0")/.."

# Without `--workspace`: all that needs no model, and neither cmake, libclang nor a C++ compiler.
cargo test --workspace --locked
# Only the libraries, which have all of the tests.
cargo test --manifest-path plugins/Cargo.toml --workspace --lib --locked --target-dir target/plugins-native
cargo test --manifest-path sdk/rust/Cargo.toml --locked --target-dir target/plugins-native

# The SDKs of the other languages, where those are installed.
if python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
  (cd sdk/python && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=src:tests python3 -m unittest discover --start-directory tests)
  # Tests of tables and notebooks are skipped if their packages are not installed: `make test-python` installs them.
  PROGRAMS=$(cd "${CARGO_TARGET_DIR:-target}/debug" && pwd)
  (cd sdk/python-host && PATH="$PROGRAMS:$PATH" PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$PWD/src" python3 -m unittest discover --start-directory tests)
else
  echo "skipped: the tests in Python need Python 3.10"
fi
if [ "$(node --version 2>/dev/null | sed -E 's/^v([0-9]+).*/\1/')" -ge 20 ] 2>/dev/null; then
  (cd sdk/js && node --test test/*.test.js)
else
  echo "skipped: the JavaScript SDK's tests need Node 20"
fi
