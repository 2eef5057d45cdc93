#!/bin/sh
# Builds javascript_tests.wasm, the component that runs programs of models: tools/javascript-runner/build.sh [FOLDER]
set -eu
cd "$(dirname "$0")/../.."
OUTPUT=${1:-${CARGO_TARGET_DIR:-target}/release/plugins}
CACHE=${GAGE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gage-host}
PACKAGES=$CACHE/tools/javascript-runner
LOCK=tools/javascript-runner/package-lock.json
if ! cmp -s "$LOCK" "$PACKAGES/installed.json"; then
    rm -rf "$PACKAGES"
    mkdir -p "$PACKAGES"
    cp tools/javascript-runner/package.json "$LOCK" "$PACKAGES/"
    (cd "$PACKAGES" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
    cp "$LOCK" "$PACKAGES/installed.json"
fi
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
mkdir -p "$OUTPUT" "$WORK/wit"
cp wit/*.wit plugins/js/javascript_tests/world.wit "$WORK/wit/"
REPOSITORY=$PWD
(cd "$PACKAGES" && node "$REPOSITORY/tools/javascript-runner/build.mjs" "$REPOSITORY" "$WORK/wit" "$WORK/interpreter.wasm")
python3 tools/python-runner/compose.py "$WORK/interpreter.wasm" "$OUTPUT/javascript_tests.wasm" bytes
sha256sum "$OUTPUT/javascript_tests.wasm"
