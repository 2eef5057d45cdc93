#!/usr/bin/env bash
# Builds the documentation site into target/site with mdBook, which it installs from crates.io into target/docs-tools.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=0.5.4
TARGET=${CARGO_TARGET_DIR:-target}
TOOLS=$TARGET/docs-tools
if [ "$("$TOOLS/bin/mdbook" --version 2>/dev/null)" != "mdbook v$VERSION" ]; then
  cargo install mdbook --version "$VERSION" --locked --no-default-features --features search \
    --root "$TOOLS" --target-dir "$TOOLS/build"
fi
# Links are checked before the site is built: mdBook does not check them.
cargo test --quiet --package gage-source-rules --test documentation_links
"$TOOLS/bin/mdbook" build docs
echo "the site is in target/site/index.html"
