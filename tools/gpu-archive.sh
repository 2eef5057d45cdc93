#!/usr/bin/env bash
# Packs what tools/gpu-check.sh needs, for a machine with a GPU that has no Rust.
#
#     tools/gpu-archive.sh FOLDER
#
# Writes FOLDER/gpu-check.tar.xz: gage-host, gage-model with loadable kernels, the sources of llama.cpp and of
# llama-batched-bench, and the suites. If LOCAL_DATASETS_ROOT has PIQA, its first 200 questions too: they are for a machine of
# your own, since the data come without a licence of their own.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:?a folder for the archive}
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$folder"

# As `make release` builds them: their speed is compared.
make release

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir "$stage/bin"
strip -o "$stage/bin/gage-host" "$target/release/gage-host"
tools/model-program.sh "$target/release" "$stage/lib/gage-host" --without-gpu-kernels

# The sources that Cargo fetched.
manifest=$(cargo metadata --locked --format-version 1 |
  python3 -c 'import json,sys; print(next(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == "llama-cpp-sys-2"))')
(cd "$(dirname "$manifest")" && tar -c --exclude='ggml-vulkan' --exclude='ggml-sycl' --exclude='ggml-opencl' --exclude='ggml-hexagon' \
  --exclude='ggml-webgpu' --exclude='ggml-cann' --exclude='ggml-metal' --exclude='ggml-musa' --exclude='tools/ui' --exclude='tools/server' \
  --exclude='llama.cpp/models' --exclude='llama.cpp/docs' --exclude='llama.cpp/tests' llama.cpp) | tar -x -C "$stage"
# The two source files of llama-batched-bench are not in the crate.
package=$(sed -n 's/^package=//p' tests/benchmarks/peers/build-batched-bench.sh)
mkdir -p "$target/peers"
if [ -d "$target/peers/$package" ] ||
  python3 -m pip download --quiet --no-deps --no-binary :all: --dest "$target/peers" "llama-cpp-python==${package##*-}"; then
  [ -d "$target/peers/$package" ] || tar -xzf "$target/peers/$package.tar.gz" -C "$target/peers" --wildcards '*/tools/batched-bench/*.cpp'
  mkdir -p "$stage/batched-bench"
  cp "$target/peers/$package"/vendor/llama.cpp/tools/batched-bench/*.cpp "$stage/batched-bench/"
else
  echo "skipped: the sources of llama-batched-bench cannot be fetched" >&2
fi
piqa=${LOCAL_DATASETS_ROOT:-}/piqa
if [ -f "$piqa/valid.jsonl" ]; then
  mkdir -p "$stage/data/piqa"
  head -n 200 "$piqa/valid.jsonl" >"$stage/data/piqa/valid.jsonl"
  head -n 200 "$piqa/valid-labels.lst" >"$stage/data/piqa/valid-labels.lst"
else
  echo "skipped: PIQA is not in LOCAL_DATASETS_ROOT" >&2
fi
mkdir -p "$stage/config"
cp -r config/custom config/data config/models "$stage/config/"
cp tools/gpu-check.sh tools/gpu-speed.py tools/random-model.py "$stage/"
tar -C "$stage" -c . | xz -3 -T0 >"$folder/gpu-check.tar.xz"
ls -l "$folder/gpu-check.tar.xz"
