#!/usr/bin/env bash
# Builds llama.cpp's CUDA kernels as a module that gage-model loads, for the llama.cpp of Cargo.lock.
#
#     tools/cuda.sh            # or `make cuda`
#
# Writes target/release/kernels/cuda/libggml-cuda.so, beside the gage-model of `make release`; `make install` installs both. Needs
# cmake and a C++ compiler. The toolkit is that of CUDACXX, CUDA_HOME, PATH or /usr/local/cuda. Without one that has cuBLAS,
# NVIDIA's wheels are fetched from PyPI into the cache folder (0.6 GB). No GPU is needed.
#
#     CUDA_ARCHITECTURES=90-real   the compute capabilities to build for; see below
#     CUDA_LIBRARIES=copy          copies libcudart, libcublas and libcublasLt beside the module
#     CUDA_CONFIGURE=only          stops before compiling
#     JOBS=N                       compilers that run at once (default: all processors)
set -euo pipefail
# Otherwise a command that fails in $(…) does not end the script.
shopt -s inherit_errexit
cd "$(dirname "$0")/.."

fail() { # MESSAGE REMEDY
  printf 'error: %s\n  help: %s\n' "$1" "$2" >&2
  exit 1
}

# A100, RTX 30, RTX 40 and L4, H100 and H200, RTX 50. `90` also holds PTX, which costs no compile time: the driver translates
# it for GPUs that are newer than the others, such as B200. Each architecture adds about 75 minutes of processor time and
# 30 MB, so a machine with one kind of GPU should name that one alone.
architectures=${CUDA_ARCHITECTURES:-80-real;86-real;89-real;90;120a-real}

# The versions of one release of the toolkit, by which its wheels fit together.
WHEELS=(nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96
  nvidia-cuda-cccl==13.0.85 nvidia-cublas==13.0.2.14)

CHOOSE="set CUDACXX to the nvcc of a toolkit of NVIDIA, such as /usr/local/cuda-13.0/bin/nvcc"

# Functions of the driver that the module calls. The linker wants to see them; no wheel has a stub of the driver.
DRIVER_FUNCTIONS=(cuDeviceGet cuDeviceGetAttribute cuGetErrorString cuMemAddressFree cuMemAddressReserve cuMemCreate
  cuMemGetAllocationGranularity cuMemMap cuMemRelease cuMemSetAccess cuMemUnmap)

for program in cmake c++ python3 cargo; do
  command -v "$program" >/dev/null || fail "$program is not on the PATH" "install it; \`make setup\` installs what the programs need"
done

cache_folder() {
  if [ -n "${GAGE_CACHE_DIR:-}" ]; then
    printf '%s' "$GAGE_CACHE_DIR"
  elif [ -n "${XDG_CACHE_HOME:-}" ]; then
    printf '%s' "$XDG_CACHE_HOME/gage-host"
  else
    [ -n "${HOME:-}" ] || fail "there is no cache folder: HOME is not set" "set GAGE_CACHE_DIR"
    printf '%s' "$HOME/.cache/gage-host"
  fi
}

toolkit_of() { # NVCC: prints the folder of the toolkit that a compiler belongs to
  (cd "$(dirname "$(readlink -f "$1")")/.." && pwd -P)
}

# A whole toolkit is in one folder. Debian's packages spread it over several, where CMake does not find cuBLAS.
is_whole() { [ -e "$1/include/cublas_v2.h" ]; } # TOOLKIT

installed_toolkit() { # prints the folder of an installed toolkit: the chosen one, or else the first that can be used
  local nvcc chosen toolkit
  chosen=${CUDACXX:-${CUDA_HOME:+$CUDA_HOME/bin/nvcc}}
  if [ -n "$chosen" ]; then
    [ -n "$(command -v "$chosen" || true)" ] || fail "CUDACXX or CUDA_HOME names no program: $chosen" "$CHOOSE, or unset it"
    chosen=$(command -v "$chosen")
    toolkit=$(toolkit_of "$chosen")
    is_whole "$toolkit" || fail "the toolkit of $chosen has no $toolkit/include/cublas_v2.h" "$CHOOSE, or unset it"
    printf '%s' "$toolkit"
    return
  fi
  for nvcc in "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc; do
    if [ -z "$nvcc" ] || ! [ -x "$nvcc" ]; then continue; fi
    toolkit=$(toolkit_of "$nvcc")
    if is_whole "$toolkit"; then
      printf '%s' "$toolkit"
      return
    fi
    echo "the toolkit of $nvcc is not used, because $toolkit/include/cublas_v2.h is missing; to use another, $CHOOSE" >&2
  done
}

fetched_toolkit() { # fetches the wheels once, and prints the folder that they make up
  local folder toolkit part library
  folder=$(cache_folder)/cuda-${WHEELS[0]##*==}
  toolkit=$folder/nvidia/cu13
  if [ ! -e "$folder/complete" ]; then
    echo "there is no CUDA toolkit to use; fetching NVIDIA's wheels into $folder (0.6 GB)" >&2
    part=$folder.part
    rm -rf "$part" "$folder"
    mkdir -p "$part"
    python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --target "$part" "${WHEELS[@]}" >&2 ||
      fail "the wheels cannot be fetched" "install the CUDA toolkit 13, and set CUDACXX to its nvcc"
    chmod +x "$part"/nvidia/cu13/bin/* "$part"/nvidia/cu13/nvvm/bin/*
    ln -sfn lib "$part/nvidia/cu13/lib64"
    # The names that a linker looks for.
    for library in cudart cublas cublasLt; do
      ln -sf "lib$library.so.13" "$part/nvidia/cu13/lib/lib$library.so"
    done
    touch "$part/complete"
    mv "$part" "$folder"
  fi
  printf '%s' "$toolkit"
}

toolkit=$(installed_toolkit)
if [ -z "$toolkit" ]; then toolkit=$(fetched_toolkit); fi
nvcc=$toolkit/bin/nvcc
libraries=$toolkit/lib64
[ -d "$libraries" ] || libraries=$toolkit/lib
is_whole "$toolkit" || fail "$toolkit/include/cublas_v2.h is missing" "remove the folder, and run this again"
echo "CUDA toolkit: $toolkit ($("$nvcc" --version | sed -n 's/^Cuda compilation tools, //p'))"

target=${CARGO_TARGET_DIR:-target}
found=$(cargo metadata --locked --format-version 1 | python3 -c '
import json, sys
found = next(package for package in json.load(sys.stdin)["packages"] if package["name"] == "llama-cpp-sys-2")
print(found["version"], found["manifest_path"])')
version=${found%% *}
crate=$(dirname "${found#* }")
# Another version of the sources needs another folder.
build=$target/cuda/llama-cpp-sys-2-$version
mkdir -p "$build"
build=$(realpath "$build")
driver=$libraries/stubs/libcuda.so
if [ ! -e "$driver" ]; then
  driver=$build/stubs/libcuda.so
  mkdir -p "$build/stubs"
  # 34 is CUDA_ERROR_STUB_LIBRARY.
  printf 'int %s(void) { return 34; }\n' "${DRIVER_FUNCTIONS[@]}" |
    cc -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$driver" -x c -
fi

generator=()
if command -v ninja >/dev/null; then generator=(-G Ninja); fi
launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
fi
# The switches of llama-cpp-sys-2 with `dynamic-backends` and `cuda`: the module is loaded by a gage-model that was built so.
nice -n 10 cmake -S "$crate/llama.cpp" -B "$build" "${generator[@]}" "${launcher[@]}" \
  -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DGGML_NATIVE=OFF -DGGML_BACKEND_DL=ON -DGGML_CPU=OFF \
  -DGGML_CUDA=ON -DGGML_CUDA_NCCL=OFF -DGGML_CCACHE=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
  -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF \
  -DCMAKE_CUDA_COMPILER="$nvcc" -DCUDAToolkit_ROOT="$toolkit" -DCMAKE_CUDA_ARCHITECTURES="$architectures" \
  -DCMAKE_PROJECT_INCLUDE="$PWD/tools/llama.cmake" -DCUDA_cuda_driver_LIBRARY="$driver" -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DCMAKE_INSTALL_RPATH='$ORIGIN' >"$build/configure.log" 2>&1 || {
  tail -n 20 "$build/configure.log" >&2
  fail "the kernels cannot be configured" "read $build/configure.log"
}
echo "configured for $architectures in $build"
if [ "${CUDA_CONFIGURE:-}" = only ]; then exit 0; fi

nice -n 10 cmake --build "$build" --target ggml-cuda --parallel "${JOBS:-$(nproc)}"
module=$(find "$build" -name libggml-cuda.so -type f | head -n 1)
[ -n "$module" ] || fail "no libggml-cuda.so was built in $build" "remove the folder and run this again"
kernels=$target/release/kernels/cuda
rm -rf "$kernels"
mkdir -p "$kernels"
strip --strip-unneeded -o "$kernels/libggml-cuda.so" "$module"
tools/check-elf.py "$kernels/libggml-cuda.so" || echo "note: the module runs here, but not on every system with glibc 2.34" >&2
# tools/model-program.sh refuses kernels of another version.
echo "$version" >"$kernels/llama-cpp-sys-2.version"
# libcublasLt is needed by libcublas, in the same version.
mapfile -t needed < <(objdump -p "$module" | awk '$1 == "NEEDED" && $2 ~ /cudart|cublas/ {print $2} $2 ~ /^libcublas\.so/ {sub("cublas", "cublasLt", $2); print $2}' | sort -u)
if [ "${CUDA_LIBRARIES:-}" = copy ]; then
  for library in "${needed[@]}"; do
    cp -L "$libraries/$library" "$kernels/"
  done
else
  cat <<TEXT
The module needs these libraries when it is loaded: ${needed[*]}. Do one of these:
  export LD_LIBRARY_PATH=$libraries
  pip install nvidia-cublas nvidia-cuda-runtime, and name their folder nvidia/cu13/lib in LD_LIBRARY_PATH
  make cuda CUDA_LIBRARIES=copy
TEXT
fi
ls -l "$kernels"
echo "install it with \`make install\`, and check it on a machine with a GPU: gage-host doctor"
