#!/usr/bin/env bash
# Builds llama.cpp's CUDA kernels on a machine with a GPU, runs the suites on them, and measures.
#
#     tools/gpu-check.sh ARCHIVE RESULTS_FOLDER
#
# ARCHIVE is what tools/gpu-archive.sh writes. The machine needs nvcc, cmake, ninja and Python with numpy and gguf. A part that fails
# does not stop the later ones: each failure is a line with FAILED, the last lines list them, and the exit code is 1.
set -uo pipefail

archive=${1:?the archive}
results=$(mkdir -p "${2:?a folder for the results}" && cd "$2" && pwd)
work=${GPU_CHECK_FOLDER:-/tmp/gpu-check}
mkdir -p "$work"
tar -C "$work" -xJf "$archive" || exit 1
cd "$work" || exit 1

part() { printf '\n== %s (at %s s)\n' "$*" "$SECONDS"; }

failures=()
failed() { # WHAT...
  failures+=("$*")
  echo "FAILED: $*"
}

part machine
nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap --format=csv || failed "nvidia-smi"
nvcc --version | tail -n 2
lscpu | grep -E 'Model name|^CPU\(s\)'
ldd --version | head -n 1

part kernels
# The program with only the kernels for the processor that are also used beside a GPU.
# The folder may have CUDA kernels of an earlier call.
rm -rf cpu-only && cp -al lib/gage-host cpu-only && rm -rf cpu-only/kernels/{sse42,avx512,cuda}
kernels=$work/lib/gage-host/kernels/cuda
mkdir -p "$kernels"
toolkit=$(cd "$(dirname "$(command -v nvcc)")/.." && pwd -P)
libraries=$(ls -d "$toolkit"/lib64 "$toolkit"/lib 2>/dev/null | head -n 1)
search() { # LIBRARY: searches its folder for libraries, if it was found
  [ -z "$1" ] || export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(dirname "$1")"
}
# A toolkit from PyPI wheels may lack cuBLAS, or the names that a linker looks for.
cublas=$(find / -name cublas_v2.h -not -path '/proc/*' 2>/dev/null | head -n 1)
[ -f "$toolkit/include/cublas_v2.h" ] || [ -z "$cublas" ] || ln -sf "$(dirname "$cublas")"/* "$toolkit/include/"
for name in cublas cublasLt cudart; do
  found=$(find / -name "lib$name.so.*" -not -path '/proc/*' 2>/dev/null | head -n 1)
  [ -n "$found" ] || echo "lib$name.so was not found"
  [ -z "$libraries" ] || [ -z "$found" ] || [ -e "$libraries/lib$name.so" ] || ln -sf "$found" "$libraries/lib$name.so"
  search "$found"
done
driver=$(find / -name 'libcuda.so.1' -not -path '/proc/*' 2>/dev/null | head -n 1)
search "$driver"
memory=()
[ -e "$libraries/stubs/libcuda.so" ] || memory=(-DGGML_CUDA_NO_VMM=ON)
printf 'toolkit %s, cuBLAS %s, driver %s, %s\n' "$toolkit" "$cublas" "$driver" "${memory[*]:-virtual memory}"
if [ -f libggml-cuda.so.xz ]; then
  xz -dc libggml-cuda.so.xz >"$kernels/libggml-cuda.so"
else
  cmake -S llama.cpp -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DGGML_NATIVE=OFF -DGGML_BACKEND_DL=ON -DGGML_CUDA=ON -DGGML_CUDA_NCCL=OFF \
    -DCMAKE_CUDA_ARCHITECTURES="${CMAKE_CUDA_ARCHITECTURES:-native}" -DCUDAToolkit_ROOT="$toolkit" "${memory[@]}" -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF \
    -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF >"$results/configure.log" 2>&1 || { failed "configuring the kernels"; tail -n 30 "$results/configure.log"; }
  ninja -C build ggml-cuda >"$results/build.log" 2>&1 ||
    { failed "building the kernels"; grep -m 5 -A 12 -E 'FAILED|error' "$results/build.log"; }
  module=$(find build -name 'libggml-cuda.so' | head -n 1)
  if [ -n "$module" ] && cp "$module" "$kernels/" && strip --strip-unneeded "$kernels/libggml-cuda.so"; then
    # In the background, for a later call on another machine.
    (xz -1 -T4 -c "$kernels/libggml-cuda.so" | split -b 15000000 - "$results/libggml-cuda.so.xz.") &
  fi
fi
ls -l "$kernels"
printf 'built at %s s\n' "$SECONDS"
[ -f "$kernels/libggml-cuda.so" ] || failed "there are no CUDA kernels"
# gage-model has loaded libggml-base before.
if ldd "$kernels/libggml-cuda.so" | grep 'not found' | grep -v libggml-base; then failed "libraries of the CUDA kernels are missing"; fi
bin/gage-host doctor || failed "gage-host doctor"

on() { # cpu|cuda ARGUMENT...: runs gage-host with or without kernels for GPUs, for a bounded time
  local folder=lib/gage-host
  [ "$1" = cuda ] || folder=cpu-only
  shift
  GAGE_HOST_MODEL_PROGRAM="$work/$folder/gage-model" timeout "${STEP_SECONDS:-120}" bin/gage-host "$@"
}

check_variant() { # cpu|cuda RUN: prints the kernels of a run, and fails if they are the wrong ones
  local expected=baseline found
  [ "$1" = cpu ] || expected=cuda
  found=$(sed -n 's/.*"kernel_variant": *"\([^"]*\)".*/\1/p' "runs/$2/manifest.json" | head -n 1)
  case $found in
    "$expected" | "$expected "*) echo "kernels of $2: $found" ;;
    *) failed "kernels of $2: ${found:-unknown} instead of $expected" ;;
  esac
}

part tiny suite
for program in cuda cpu; do
  on "$program" run config/custom/tiny.yaml --run-id "tiny-$program" --output-dir runs 2>&1 | tail -n 25 || failed "tiny.yaml on $program"
  check_variant "$program" "tiny-$program"
  grep -o '"gpu_layers": *[0-9]*' "runs/tiny-$program/manifest.json" | head -n 1
done
on cuda run config/custom/tiny.yaml --run-id tiny-cuda-again --concurrency 1 --output-dir runs >/dev/null 2>&1 || failed "tiny.yaml on cuda again"
python3 - <<'PYTHON' || failed "the outputs of tiny.yaml differ"
import json, sys
def answers(run):
    rows = (json.loads(line) for line in open(f"runs/{run}/samples.jsonl"))
    return {(row["task_id"], row["sample_id"]): json.dumps(row.get("model_output", {}), sort_keys=True) for row in rows}
def texts(run):
    return {key: json.loads(value).get("answer") for key, value in answers(run).items()}
try:
    cpu, cuda, again = answers("tiny-cpu"), answers("tiny-cuda"), answers("tiny-cuda-again")
    same = sum(texts("tiny-cpu")[key] == texts("tiny-cuda").get(key) for key in cpu)
    print(f"answers equal on CPU and CUDA: {same} of {len(cpu)}")
    repeated = sum(cuda[key] == again.get(key) for key in cuda)
    print(f"model outputs equal in two runs on CUDA (concurrency 16 and 1): {repeated} of {len(cuda)}")
    sys.exit(not cpu or same < len(cpu) or repeated < len(cuda))
except Exception as error:
    sys.exit(f"comparison failed: {error!r}")
PYTHON

part model of random weights
python3 random-model.py config/models/gage-tiny.gguf random.gguf ${RANDOM_MODEL_OPTIONS:-} && ls -l random.gguf || failed "the model of random weights"

part log-likelihood with shared prefixes
[ -d data/piqa ] || failed "PIQA is not in the archive"
export GAGE_MODEL_PATH="$work/random.gguf" LOCAL_DATASETS_ROOT="$work/data"
for program in cuda cpu; do
  for deterministic in true false; do
    run="piqa-$program-$deterministic"
    nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -lms 200 >memory.log & watch=$!
    on "$program" run config/custom/piqa_llama_cpp_loglikelihood.yaml --max-samples 60 --run-id "$run" --output-dir runs \
      --set "backends.llama.config.deterministic=$deterministic" >"$run.log" 2>&1 || { failed "$run"; tail -n 5 "$run.log"; }
    kill "$watch"
    python3 -c "
import json
print('GPU memory used at most, MiB:', max(int(line) for line in open('memory.log')))
timings = json.load(open('runs/$run/timings.json'))
print('$run', {key: round(value, 3) for key, value in timings.items() if isinstance(value, (int, float))})" || failed "the figures of $run"
  done
done
on cuda run config/custom/piqa_llama_cpp_loglikelihood.yaml --max-samples 60 --run-id piqa-cuda-again --concurrency 1 --output-dir runs >/dev/null 2>&1 || failed "piqa-cuda-again"
python3 - <<'PYTHON' || failed "deterministic log-likelihoods on CUDA differ"
import json, sys
def values(run):
    out = {}
    for line in open(f"runs/{run}/samples.jsonl"):
        row = json.loads(line)
        for index, scored in enumerate(row["model_output"].get("continuations", [])):
            out[row["sample_id"], index] = scored["logprob"]
    return out
try:
    base = values("piqa-cpu-true")
    for run in ("piqa-cpu-false", "piqa-cuda-true", "piqa-cuda-false"):
        other = values(run)
        worst = max(abs(base[key] - other[key]) / max(1, abs(base[key])) for key in base)
        print(f"{run}: {len(base)} log-likelihoods, largest relative difference from deterministic CPU {worst:.2e}")
    first, second = values("piqa-cuda-true"), values("piqa-cuda-again")
    equal = sum(first[key] == second[key] for key in first)
    print("deterministic on CUDA, concurrency 16 and 1, equal bits:", equal, "of", len(first))
    sys.exit(not first or equal < len(first))
except Exception as error:
    sys.exit(f"comparison failed: {error!r}")
PYTHON

part llama-batched-bench
module=$(find "$work" -name libggml-cuda.so -size +1M | head -n 1)
bare=()
if [ ! -d batched-bench ]; then
  failed "llama-batched-bench is not in the archive"
else
  cmake -S llama.cpp -B bench -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DGGML_NATIVE=OFF -DGGML_BACKEND_DL=ON -DLLAMA_BUILD_COMMON=ON -DLLAMA_BUILD_TESTS=OFF \
    -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF >"$results/bench-configure.log" 2>&1
  ninja -C bench ggml-cpu llama-common >"$results/bench-build.log" 2>&1 || grep -m 5 -A 12 -E 'FAILED|error' "$results/bench-build.log"
  # The kernels are looked for beside the program.
  ln -sf "$module" bench/bin/
  g++ -O2 -std=c++17 -Illama.cpp/include -Illama.cpp/ggml/include -Illama.cpp/common -Illama.cpp/vendor batched-bench/*.cpp -o bench/bin/llama-batched-bench \
    -Lbench/bin -lllama-common -lllama -lggml -lggml-base -Wl,-rpath,'$ORIGIN' && bare=(--batched-bench "$work/bench/bin/llama-batched-bench") || failed "building llama-batched-bench"
fi
printf 'built at %s s\n' "$SECONDS"

part memory and speed beside llama-batched-bench
GAGE_HOST_MODEL_PROGRAM="$work/lib/gage-host/gage-model" python3 gpu-speed.py random.gguf "${bare[@]}" || failed "memory or speed"

gpus=$(nvidia-smi -L | wc -l)
if [ "$gpus" -gt 1 ]; then
  part "replicas on $gpus GPUs"
  for replicas in 1 auto; do
    on cuda run config/custom/tiny.yaml --run-id "replicas-$replicas" --output-dir runs --set "backends.tiny.config.replicas=$replicas" 2>&1 | tail -n 3 ||
      failed "replicas: $replicas"
    grep -o '"replicas": *[0-9]*' "runs/replicas-$replicas/manifest.json" | head -n 1
  done
  cmp runs/replicas-1/samples.jsonl runs/replicas-auto/samples.jsonl && echo "the samples of both are equal" || failed "the samples of both differ"
fi

part speed beside a bare loop over llama.cpp
on cuda model bench random.gguf --repeats 1 --seconds 5 2>&1 || failed "gage-host model bench"
nvidia-smi --query-gpu=memory.used --format=csv
wait
printf '\nfinished at %s s with %s failures\n' "$SECONDS" "${#failures[@]}"
if [ ${#failures[@]} -gt 0 ]; then
  printf 'FAILED: %s\n' "${failures[@]}"
  exit 1
fi
