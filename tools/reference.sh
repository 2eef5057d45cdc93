#!/usr/bin/env bash
# Writes the generated pages of docs/reference again: those of keys, options, variables and plugins, and the page of messages.
set -euo pipefail
cd "$(dirname "$0")/.."

MESSAGES=$(mktemp -d)
trap 'rm -rf "$MESSAGES"' EXIT
GAGE_RECORD_DOCS=1 GAGE_RECORD_MESSAGES=$MESSAGES cargo test --locked --workspace --test end_to_end --test models
tools/messages.py "$MESSAGES" >docs/reference/messages.md
git status --short docs/reference
