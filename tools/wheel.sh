#!/usr/bin/env bash
# Packs what `make release` and `make python-runner` built into a wheel in dist/, and shows which systems it is for. The tools come
# from PyPI into target/wheel-tools.
set -euo pipefail
cd "$(dirname "$0")/.."

MATURIN=1.16.0
AUDITWHEEL=6.8.2
TAG=manylinux_2_34
mkdir -p "${CARGO_TARGET_DIR:-target}" dist
CARGO_TARGET_DIR=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
export CARGO_TARGET_DIR
TOOLS=$CARGO_TARGET_DIR/wheel-tools
# pyproject.toml names the sources of the program from here, wherever cargo builds.
PROJECT=target/wheel

if [ "$(uname -sm)" != "Linux x86_64" ]; then
  echo "error: wheels are built for Linux on x86-64 only" >&2
  exit 1
fi
if [ "$("$TOOLS/bin/maturin" --version 2>/dev/null)" != "maturin $MATURIN" ]; then
  python3 -m venv --clear "$TOOLS"
  "$TOOLS/bin/python" -m pip install --quiet --disable-pip-version-check "maturin==$MATURIN" "auditwheel==$AUDITWHEEL"
fi

rm -rf "$PROJECT"
mkdir -p "$PROJECT/gage_host.data/data/lib"
cp -R sdk/python-host/pyproject.toml sdk/python-host/README.md sdk/python-host/src LICENSE "$PROJECT"
find "$PROJECT/src" -name __pycache__ -exec rm -rf {} +
# The files of gage-model and python_tests, as `make install` lays them out. pip puts them below the environment, where gage-host
# looks for them. Kernels for GPUs are left out: they are large, and need libraries that not every system has.
INSTALLED=$(mktemp -d)
trap 'rm -rf "$INSTALLED"' EXIT
DESTDIR=$INSTALLED tools/install.sh /usr --without-gpu-kernels >/dev/null
mv "$INSTALLED/usr/lib/gage-host" "$PROJECT/gage_host.data/data/lib/"
tools/licences.py "$PROJECT" >"$PROJECT/THIRD-PARTY-LICENSES.txt"

# `check`: a library that would have to be copied into the wheel is an error, because maturin would replace the program by a script.
rm -f dist/gage_host-*.whl
(cd "$PROJECT" && "$TOOLS/bin/maturin" build --release --locked --compatibility "$TAG" --auditwheel check --out ../../dist)
"$TOOLS/bin/auditwheel" show dist/gage_host-*.whl
ls -l dist/gage_host-*.whl
