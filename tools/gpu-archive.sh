#!/usr/bin/env bash
# Packs what tools/gpu-check.sh needs, for a machine with a GPU that has no Rust.
#
#     tools/gpu-archive.sh FOLDER
#
# Writes FOLDER/gpu-check.tar.xz: gage-host, gage-model with loadable kernels, the sources of llama.cpp, and the suites.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:?a folder for the archive}
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$folder"

cargo build --locked --workspace --bins
cargo build --locked --package gage-llama --features dynamic-backends --target-dir "$target/modules"

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage/bin" "$stage/kernels/baseline" "$stage/kernels/avx512"
strip -o "$stage/bin/gage-host" "$target/debug/gage-host"
strip -o "$stage/bin/gage-model" "$target/modules/debug/gage-model"

# The sources that Cargo fetched, and what their build script made of them.
manifest=$(cargo metadata --locked --format-version 1 |
  python3 -c 'import json,sys; print(next(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == "llama-cpp-sys-2"))')
built=$(ls -dt "$target"/modules/debug/build/llama-cpp-sys-2-*/out/backends | head -n 1)
cp "$built/libggml-cpu-haswell.so" "$stage/kernels/baseline/"
cp "$built/libggml-cpu-cascadelake.so" "$stage/kernels/avx512/"
# The program asks for libraries by their SONAME, which the links in the target folder do not have.
for library in "$built"/../lib/lib*.so.[0-9]; do
  cp -L "$library" "$stage/bin/"
done
cp -L "$(cc -print-file-name=libgomp.so.1)" "$stage/bin/"
strip --strip-unneeded "$stage"/bin/*.so* "$stage"/kernels/*/*.so
(cd "$(dirname "$manifest")" && tar -c --exclude='ggml-vulkan' --exclude='ggml-sycl' --exclude='ggml-opencl' --exclude='ggml-hexagon' \
  --exclude='ggml-webgpu' --exclude='ggml-cann' --exclude='ggml-metal' --exclude='ggml-musa' --exclude='tools/ui' --exclude='tools/server' \
  --exclude='models' --exclude='docs' --exclude='llama.cpp/tests' llama.cpp) | tar -x -C "$stage"
mkdir -p "$stage/config"
cp -r config/custom config/data config/models "$stage/config/"
cp tools/gpu-check.sh tools/random-model.py "$stage/"
tar -C "$stage" -c . | xz -3 -T0 >"$folder/gpu-check.tar.xz"
ls -l "$folder/gpu-check.tar.xz"
