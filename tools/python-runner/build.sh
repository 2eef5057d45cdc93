#!/bin/sh
# Builds python_tests.wasm, the component that runs programs of models: tools/python-runner/build.sh [FOLDER]
set -eu
cd "$(dirname "$0")/../.."
OUTPUT=${1:-${CARGO_TARGET_DIR:-target}/release/plugins}
CACHE=${GAGE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gage-host}
VENV=$CACHE/tools/python-runner
PACKAGES=tools/python-runner/requirements.txt
if ! cmp -s "$PACKAGES" "$VENV/requirements.txt"; then
    python3 -m venv --clear "$VENV"
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --requirement "$PACKAGES"
    cp "$PACKAGES" "$VENV/requirements.txt"
fi
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
mkdir -p "$OUTPUT" "$WORK/wit" "$WORK/empty/lib/python3/site-packages"
cp wit/*.wit plugins/python/python_tests/world.wit "$WORK/wit/"
# Modules of the component, without what tests or an editor left in the folder.
mkdir "$WORK/source"
cp plugins/python/python_tests/*.py "$WORK/source/"
(
    cd "$WORK/source"
    env -i PATH="$PATH" HOME="$HOME" VIRTUAL_ENV="$WORK/empty" "$VENV/bin/componentize-py" --quiet \
        --wit-path "$WORK/wit" --world interpreter componentize app \
        -p . -p "$OLDPWD/sdk/python/src" --output "$WORK/interpreter.wasm"
)
"$VENV/bin/python" tools/python-runner/compose.py "$WORK/interpreter.wasm" "$OUTPUT/python_tests.wasm"
sha256sum "$OUTPUT/python_tests.wasm"
