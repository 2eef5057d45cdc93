#!/usr/bin/env bash
# Puts gage-model, the shared libraries that it needs, and its kernels into one folder, as an installation has them:
#
#     tools/model-program.sh TARGET_FOLDER DEST [--without-gpu-kernels]
#
# TARGET_FOLDER is a folder of Cargo's, such as target/release, with a gage-model that was built with
# `--features gage-llama/dynamic-backends`. DEST gets gage-model, lib*.so.* and kernels/NAME/, all stripped. It may be
# TARGET_FOLDER itself. The kernels for GPUs that are in TARGET_FOLDER/kernels are copied too. If a check fails, DEST stays as it was.
set -euo pipefail

usage() { echo "usage: tools/model-program.sh TARGET_FOLDER DEST [--without-gpu-kernels]" >&2; exit 2; }
[ $# -eq 2 ] || [ "$#:${3:-}" = 3:--without-gpu-kernels ] || usage
target=$1
dest=$2
gpus=(cuda metal vulkan)
[ $# -eq 2 ] || gpus=()

# The build of llama.cpp that gage-model was linked with. Cargo lists what a program depends on, with escaped spaces, and
# host/llama/build.rs adds this folder to the list.
backends=$(sed 's/\\ /\x01/g' "$target/gage-model.d" 2>/dev/null | tr -s ' ' '\n' | tr '\001' ' ' |
  grep -x '.*/llama-cpp-sys-2-[^/]*/out/backends' | sort -u || true)
[ -f "$target/gage-model" ] && [ -d "$backends" ] || {
  echo "error: $target has no gage-model with loadable kernels" >&2
  echo "  help: build it with \`make release\`" >&2
  exit 1
}
out=$(dirname "$backends")
case $(uname -m) in
  x86_64) kernels="sse42=sse42 baseline=haswell avx512=cascadelake" ;;
  aarch64) kernels="baseline=armv8.0_1" ;;
  *) echo "error: there are no loadable kernels for $(uname -m)" >&2; exit 1 ;;
esac

# Strips a file into another. Cargo's own file is not to change.
place() { # FILE DEST_FILE STRIP_OPTION...
  local file=$1 to=$2
  shift 2
  strip "$@" -o "$to" "$file"
  chmod 755 "$to"
}
needed() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

# Kernels of CUDA fit the version of llama.cpp that they were built from. tools/cuda.sh writes it beside them.
check_version() { # FOLDER
  local found="an unknown version"
  [ -e "$1/libggml-cuda.so" ] || return 0
  if [ -f "$1/llama-cpp-sys-2.version" ]; then found="version $(<"$1/llama-cpp-sys-2.version")"; fi
  [ "$found" = "version $version" ] || {
    echo "error: $1 is for $found of llama-cpp-sys-2, and gage-model has version $version" >&2
    echo "  help: run \`make cuda\` and install its kernels too, or remove the folder; nothing was changed" >&2
    exit 1
  }
}
version=$(sed -n '/^name = "llama-cpp-sys-2"$/{n;s/^version = "\(.*\)"$/\1/p}' "$(dirname "$0")/../Cargo.lock")

# Everything is put into a folder of its own, and moved when all checks have passed.
mkdir -p "$dest"
stage=$(mktemp -d "$dest/.model-program.XXXXXX")
trap 'rm -rf "$stage"' EXIT
mkdir "$stage/kernels"
for gpu in "${gpus[@]}"; do
  [ -d "$target/kernels/$gpu" ] || continue
  check_version "$target/kernels/$gpu"
  if ! [ "$target/kernels/$gpu" -ef "$dest/kernels/$gpu" ]; then cp -R "$target/kernels/$gpu" "$stage/kernels/"; fi
done
# Of an earlier installation.
[ -d "$stage/kernels/cuda" ] || check_version "$dest/kernels/cuda"
place "$target/gage-model" "$stage/gage-model" --strip-all
for pair in $kernels; do
  mkdir "$stage/kernels/${pair%=*}"
  place "$backends/libggml-cpu-${pair#*=}.so" "$stage/kernels/${pair%=*}/libggml-cpu-${pair#*=}.so" --strip-unneeded
done

# Libraries are asked for by their SONAME, which the links in the target folder do not have.
libraries=("$stage/gage-model" "$stage"/kernels/{sse42,baseline,avx512}/*.so)
placed=" "
while [ ${#libraries[@]} -gt 0 ]; do
  file=${libraries[0]}
  libraries=("${libraries[@]:1}")
  [ -f "$file" ] || continue
  for name in $(needed "$file"); do
    case $placed in *" $name "*) continue ;; esac
    case $name in
      libllama* | libggml* | libmtmd*) library=$(find "$out/lib" "$out/lib64" "$out/build" -name "$name" 2>/dev/null | head -n 1 || true) ;;
      libgomp.so.1) library=$(cc -print-file-name="$name") ;;
      # Part of every system with glibc 2.34. A copy of libstdc++ would need the glibc of the machine that builds.
      *) continue ;;
    esac
    [ -f "$library" ] || { echo "error: $name, which ${file##*/} needs, is not in $out" >&2; exit 1; }
    place "$(readlink -f "$library")" "$stage/$name" --strip-unneeded
    placed="$placed$name "
    libraries+=("$stage/$name")
  done
done

# The program finds its libraries in its own folder, and a kernel module finds OpenMP because the program has loaded it.
missing=$(LD_LIBRARY_PATH="" ldd "$stage/gage-model" | sed -n 's/ => not found//p')
[ -n "$missing" ] && { echo "error: gage-model does not find" $missing >&2; exit 1; }
for library in libllama libgomp; do
  needed "$stage/gage-model" | grep "^$library\.so" >/dev/null ||
    { echo "error: $target/gage-model does not load $library: it was built without \`dynamic-backends\`" >&2; exit 1; }
done

mkdir -p "$dest/kernels"
for folder in "$stage"/kernels/*; do
  rm -rf "$dest/kernels/${folder##*/}"
  mv "$folder" "$dest/kernels/"
done
mv -f "$stage"/lib*.so* "$stage/gage-model" "$dest/"
