#!/usr/bin/env bash
# Writes the generated pages of docs/reference again: those of keys, options, variables and plugins, and the page of messages.
set -euo pipefail
cd "$(dirname "$0")/.."

MESSAGES=$(mktemp -d)
trap 'rm -rf "$MESSAGES"' EXIT
# The one test that is left out compares the page of messages with the code, and so would fail before the page is written.
GAGE_RECORD_DOCS=1 GAGE_RECORD_MESSAGES=$MESSAGES cargo test --locked --workspace -- --skip page_of_messages_shows_errors_and_warnings
tools/messages.py "$MESSAGES" >docs/reference/messages.md
git status --short docs/reference
