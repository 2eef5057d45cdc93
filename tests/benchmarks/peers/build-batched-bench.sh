#!/usr/bin/env bash
# Builds llama-batched-bench with the llama.cpp of this project and its baseline kernels, which gage-host uses with
# `kernels: baseline`. Its two source files are not in the crate; they come from a source package of llama-cpp-python (PyPI) with
# the llama.cpp of the same month.
#
#     build-batched-bench.sh FOLDER    # writes FOLDER/llama-batched-bench
set -euo pipefail
folder=$(realpath "$1")
cd "$(dirname "$0")/../../.."

package=llama_cpp_python-0.3.36
if ! [ -d "$folder/$package" ]; then
  "$folder/python/bin/pip" download --quiet --no-deps --no-binary :all: --dest "$folder" "llama-cpp-python==${package##*-}"
  tar -xzf "$folder/$package.tar.gz" -C "$folder" --wildcards '*/tools/batched-bench/*.cpp'
fi
crate=$(cargo metadata --format-version 1 --locked --filter-platform "$(rustc -vV | sed -n 's/^host: //p')" |
  python3 -c 'import json, sys; print(next(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == "llama-cpp-sys-2"))')
source=$(dirname "$crate")/llama.cpp
# A build with static libraries: that of `make release` loads its kernels. The latest one, if there are several. The variable
# replaces tools/llama.cmake, which leaves out parts that the program needs, by an empty file.
CMAKE_PROJECT_INCLUDE=/dev/null cargo build --release --locked --package gage-llama --lib --target-dir "$folder/whole"
built=$(ls -td "$folder"/whole/release/build/llama-cpp-sys-2-*/out/lib | head -1)
built=${built%/lib}
mapfile -t vendored < <(find "$built/build/common" "$built/build/vendor" -name '*.a')
g++ -O2 -std=c++17 -I"$source/include" -I"$source/ggml/include" -I"$source/common" -I"$source/vendor" \
  "$folder/$package"/vendor/llama.cpp/tools/batched-bench/*.cpp -o "$folder/llama-batched-bench" \
  -Wl,--start-group "${vendored[@]}" "$built"/lib/lib{llama,ggml,ggml-cpu,ggml-base}.a -Wl,--end-group \
  -lssl -lcrypto -lpthread -fopenmp -ldl
