#!/usr/bin/env bash
# Runs a suite in shards on Slurm and Ray, each with a node that dies, and checks the manifests for Kubernetes:
#
#   tools/test-engines.sh [slurm] [ray] [kubernetes]
#
# GAGE_HOST is the program, by default target/debug/gage-host. As root on Debian it installs Slurm; packages of
# Python go into virtual environments below target. An engine that cannot be installed is skipped, and a line says so.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
program=${GAGE_HOST:-$target/debug/gage-host}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

have() { command -v "$1" >/dev/null 2>&1; }

# Installs Slurm, and keeps its services from starting.
install_slurm() {
  local packages=(slurmctld slurmd slurm-client munge)
  if have slurmctld && have slurmd && have sbatch && have munged; then return 0; fi
  if [ "$(id -u)" -ne 0 ] || ! have apt-get; then
    echo "skipped: Slurm needs the packages ${packages[*]}: apt-get install --no-install-recommends ${packages[*]}"
    return 1
  fi
  echo "installing ${packages[*]}"
  export RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive
  if ! { timeout 120 apt-get update && timeout 240 apt-get install -y --no-install-recommends "${packages[@]}"; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    echo "skipped: Slurm could not be installed"
    return 1
  fi
}

# Installs the packages of an engine into a virtual environment, unless it has them.
install_packages() {
  local engine=$1 folder=$target/$1-venv list=tests/engines/requirements-$1.txt
  if cmp -s "$list" "$folder/installed.txt"; then return 0; fi
  if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    echo "skipped: the packages of $engine need Python 3.10"
    return 1
  fi
  echo "installing $(cat "$list") in $folder"
  local pip=("$folder/bin/pip" install --quiet --disable-pip-version-check)
  if ! { python3 -m venv "$folder" && "${pip[@]}" -r "$list"; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    echo "skipped: the packages of $engine could not be installed"
    return 1
  fi
  cp "$list" "$folder/installed.txt"
}

if [ $# -eq 0 ]; then set -- slurm ray kubernetes; fi
failed=
for engine in "$@"; do
  case $engine in
    slurm)
      if ! install_slurm; then continue; fi
      if [ "$(id -u)" -ne 0 ]; then
        echo "skipped: the daemons of Slurm need root"
        continue
      fi
      timeout --kill-after=60 600 python3 tests/engines/slurm.py "$program" || failed="$failed slurm"
      ;;
    ray)
      if ! install_packages ray; then continue; fi
      python=$target/ray-venv/bin/python
      timeout --kill-after=60 900 "$python" tests/engines/ray_cluster.py "$program" || failed="$failed ray"
      ;;
    kubernetes)
      if ! install_packages kubernetes; then continue; fi
      python=$target/kubernetes-venv/bin/python
      timeout --kill-after=60 600 "$python" tests/engines/kubernetes.py "$program" || failed="$failed kubernetes"
      ;;
    *)
      echo "error: $engine is not an engine; expected slurm, ray or kubernetes" >&2
      exit 2
      ;;
  esac
done
if [ -n "$failed" ]; then
  echo "FAILED:$failed" >&2
  exit 1
fi
