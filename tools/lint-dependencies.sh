#!/usr/bin/env bash
# Checks spelling (typos) and the dependencies' licences and sources (cargo-deny). Installs both, in pinned versions, into
# target/lint-tools. On platforms for which none are pinned nothing is checked. If the installation fails, the script says
# so, and fails in CI (if the variable CI is set).
set -euo pipefail
cd "$(dirname "$0")/.."

LIST=tools/lint-tools.txt
TOOLS=${CARGO_TARGET_DIR:-target}/lint-tools
mkdir -p "$TOOLS"
TOOLS=$(cd "$TOOLS" && pwd)

install_tools() {
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --only-binary :all: \
    --require-hashes --upgrade --target "$TOOLS" -r "$LIST"
}
if ! cmp --silent "$LIST" "$TOOLS/installed.txt"; then
  if [ "$(uname -sm)" != "Linux x86_64" ]; then
    echo "spelling and dependencies are not checked: the tools are pinned for Linux on x86-64 only" >&2
    exit 0
  fi
  if ! errors=$(install_tools 2>&1); then
    printf 'spelling and dependencies are not checked: the tools could not be installed\n%s\n' "$errors" >&2
    [ -z "${CI:-}" ]
    exit
  fi
  cp "$LIST" "$TOOLS/installed.txt"
fi

"$TOOLS/bin/typos"
for manifest in Cargo.toml plugins/Cargo.toml sdk/rust/Cargo.toml sdk/examples/Cargo.toml tests/guests/Cargo.toml; do
  "$TOOLS/bin/cargo-deny" --locked --manifest-path "$manifest" --config deny.toml check --hide-inclusion-graph licenses bans sources
done
