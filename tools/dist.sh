#!/usr/bin/env bash
# Packs what `make release` and `make python-runner` built, with man pages, completions and licences, into an archive in dist/. It
# can be unpacked anywhere. Kernels for GPUs are left out, as in the wheel.
set -euo pipefail
cd "$(dirname "$0")/.."

TARGET=${CARGO_TARGET_DIR:-target}
VERSION=$("$TARGET/release/gage-host" --version | awk '{ print $2 }')
NAME=gage-host-$VERSION-$(uname -m)-$(uname -s | tr '[:upper:]' '[:lower:]')
FOLDER=$TARGET/dist/$NAME
ARCHIVE=$NAME.tar.xz

rm -rf "$FOLDER"
mkdir -p "$FOLDER" dist
DESTDIR=$FOLDER tools/install.sh "" --without-gpu-kernels >/dev/null
cp README.md LICENSE "$FOLDER"
tools/licences.py "$FOLDER" >"$FOLDER/THIRD-PARTY-LICENSES.txt"

# The same files give the same archive.
XZ_OPT=-T0 tar --create --xz --file "dist/$ARCHIVE" --directory "$TARGET/dist" --sort=name --owner=0 --group=0 --numeric-owner \
  --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" "$NAME"
(cd dist && sha256sum "$ARCHIVE" | tee "$ARCHIVE.sha256")
