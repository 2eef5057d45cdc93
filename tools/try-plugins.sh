#!/usr/bin/env bash
# Makes, builds, tests and measures a plugin of every kind in every language, in an empty folder
# outside the repository, as a new author would. Takes minutes; needs Python 3.10 and Node 20.
# usage: tools/try-plugins.sh [PROGRAM] [LANGUAGE...]
set -euo pipefail

program=$(realpath "${1:-target/release/gage-host}")
shift || true
languages=("$@")
[ ${#languages[@]} -gt 0 ] || languages=(rust python js)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

for language in "${languages[@]}"; do
  for kind in metric preprocessor doc-hook aggregator judge extractor role-adapter backend; do
    name="my-$kind-$language"
    "$program" plugin new --lang "$language" --kind "$kind" "$name" >/dev/null
    # One installation for all projects of a language; it is the slow part.
    [ "$language" != js ] || [ ! -d modules ] || cp -r modules "$name/node_modules"
    (cd "$name" && "$program" plugin build --quiet >/dev/null)
    [ "$language" != js ] || [ -d modules ] || cp -r "$name/node_modules" modules
    result=$(cd "$name" && "$program" plugin test --quiet)
    printf '%-7s %-13s %s\n' "$language" "$kind" "$result"
    (cd "$name" && "$program" plugin bench --quiet --uncounted --seconds 0.2) | sed 's/^/        /'
  done
done
