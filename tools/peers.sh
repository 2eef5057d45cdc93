#!/usr/bin/env bash
# Measures how fast models run beside other programs that run llama.cpp: xllamacpp (PyPI), node-llama-cpp where npm is there,
# and llama-batched-bench where g++ and OpenSSL are. All are fetched into target/peers; gage-host is the one that `make
# release` built.
#
#     tools/peers.sh [MODEL.gguf]     # default: the model of `make fetch-model`
set -euo pipefail
cd "$(dirname "$0")/.."

model=${1:-$(tools/fetch-model.sh gemma3-270m)}
folder=target/peers
mkdir -p "$folder"
[ -x "$folder/python/bin/python" ] || python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --requirement tests/benchmarks/peers/requirements.txt
if command -v npm >/dev/null; then
  cp tests/benchmarks/peers/package.json tests/benchmarks/peers/node_answers.mjs "$folder/"
  npm install --prefix "$folder" --no-audit --no-fund --silent
else
  echo "skipped: node-llama-cpp needs npm" >&2
fi
"$folder/python/bin/python" tests/benchmarks/peers/compare.py "$model" --node "$folder"
if tests/benchmarks/peers/build-batched-bench.sh "$folder"; then
  "$folder/python/bin/python" tests/benchmarks/peers/generation.py "$model" "$folder/llama-batched-bench"
else
  echo "skipped: llama-batched-bench could not be built" >&2
fi
