#!/usr/bin/env bash
# Tests the Python package of the wheel with data frames and a notebook, and checks its types, for users as well. A checker computes
# the oldest Python that can run it, which must be the one in pyproject.toml. The packages come from PyPI into target/test-python.
# GAGE_HOST names the program (default target/debug/gage-host), and PYTHON the Python (default python3). With a wheel, its package and
# its program are tested instead: tools/test-python.sh dist/gage_host-*.whl
set -euo pipefail
cd "$(dirname "$0")/.."

LIST=$PWD/tools/test-python.txt
TARGET=${CARGO_TARGET_DIR:-target}
PYTHON=${PYTHON:-python3}
NAME=$("$PYTHON" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
mkdir -p "$TARGET/test-python"
ENVIRONMENT=$(cd "$TARGET/test-python" && pwd)/$NAME
BIN=$ENVIRONMENT/bin

if ! cmp --silent "$LIST" "$ENVIRONMENT/installed.txt"; then
  "$PYTHON" -m venv --clear "$ENVIRONMENT"
  "$BIN/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --requirement "$LIST"
  cp "$LIST" "$ENVIRONMENT/installed.txt"
fi

"$BIN/python" -m pip uninstall --quiet --yes gage-host 2>/dev/null
if [ $# -gt 0 ]; then
  "$BIN/python" -m pip install --quiet --disable-pip-version-check --no-deps "$1"
else
  PATH=$(dirname "$(realpath "${GAGE_HOST:-$TARGET/debug/gage-host}")"):$PATH
  export PYTHONPATH=$PWD/sdk/python-host/src
fi
export PYTHONDONTWRITEBYTECODE=1

cd sdk/python-host
OLDEST=$(sed -n 's/^requires-python = ">=\(.*\)"$/\1/p' pyproject.toml)
echo "== Python $OLDEST is the oldest that can run the package"
FOUND=$("$BIN/vermin" --eval-annotations --no-tips src | sed -n 's/^Minimum required versions: *//p')
if [ "$FOUND" != "$OLDEST" ]; then
  echo "error: requires-python in sdk/python-host/pyproject.toml is >=$OLDEST, and the package needs $FOUND" >&2
  "$BIN/vermin" --eval-annotations --no-tips -vvv src | grep -v '^~' >&2
  exit 1
fi
echo "== types"
"$BIN/mypy" --python-version "$OLDEST" --cache-dir "$ENVIRONMENT/mypy"
"$BIN/mypy" --python-version "$OLDEST" --cache-dir "$ENVIRONMENT/mypy" tests/*.py
"$BIN/pyright" --pythonversion "$OLDEST" --pythonpath "$BIN/python"
echo "== tests on $NAME"
"$BIN/python" -m unittest discover --start-directory tests
