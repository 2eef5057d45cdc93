#!/usr/bin/env bash
# Installs what `make release` built below a folder: programs, man pages and shell completions; and what `make python-runner` built,
# if it did. DESTDIR is put before the folder, as packages need it. All checks come before the first program is replaced.
#
#     tools/install.sh PREFIX [--without-gpu-kernels]
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { echo "usage: tools/install.sh PREFIX [--without-gpu-kernels]" >&2; exit 2; }
[ $# -eq 1 ] || [ "$#:${2:-}" = 2:--without-gpu-kernels ] || usage
PREFIX=${DESTDIR:-}$1
RELEASE=${CARGO_TARGET_DIR:-target}/release

for program in gage-host gage-model; do
  [ -f "$RELEASE/$program" ] || {
    echo "error: there is no $RELEASE/$program" >&2
    echo "  help: build it with \`make release\`" >&2
    exit 1
  }
done

mkdir -p "$PREFIX/bin" "$PREFIX/lib/gage-host" "$PREFIX/share/man/man1" "$PREFIX/share/bash-completion/completions" \
  "$PREFIX/share/zsh/site-functions" "$PREFIX/share/fish/vendor_completions.d"
trap 'rm -f "$PREFIX/bin/gage-host.new"' EXIT
install -m 755 "$RELEASE/gage-host" "$PREFIX/bin/gage-host.new"
if [ -d "$RELEASE/kernels" ]; then
  tools/model-program.sh "$RELEASE" "$PREFIX/lib/gage-host" "${@:2}"
else
  install -m 755 "$RELEASE/gage-model" "$PREFIX/lib/gage-host/gage-model"
fi
mv -f "$PREFIX/bin/gage-host.new" "$PREFIX/bin/gage-host"
if [ -f "$RELEASE/plugins/python_tests.wasm" ]; then
  mkdir -p "$PREFIX/lib/gage-host/plugins"
  install -m 644 "$RELEASE/plugins/python_tests.wasm" "$PREFIX/lib/gage-host/plugins/"
fi
host=$PREFIX/bin/gage-host
"$host" man-pages "$PREFIX/share/man/man1"
"$host" completions bash >"$PREFIX/share/bash-completion/completions/gage-host"
"$host" completions zsh >"$PREFIX/share/zsh/site-functions/_gage-host"
"$host" completions fish >"$PREFIX/share/fish/vendor_completions.d/gage-host.fish"
echo "installed gage-host below $PREFIX"
case ":$PATH:" in
  *":$1/bin:"*) ;;
  *) echo "$1/bin is not on your PATH; add it to use gage-host from any folder" ;;
esac
