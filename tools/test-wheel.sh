#!/usr/bin/env bash
# Tests the wheel in dist/: its files, and the program in new environments of this machine and of a Debian 12 without compilers. The
# latter needs root, and debootstrap, which is installed where possible. Builds nothing. Each check has a limit of time.
# `tools/test-python.sh dist/gage_host-*.whl` tests its Python package with data frames and a notebook.
set -euo pipefail
cd "$(dirname "$0")/.."

CHECK_LIMIT_S=300
SYSTEM_LIMIT_S=900
SYSTEM=bookworm
CASES=4
TARGET=${CARGO_TARGET_DIR:-target}
mkdir -p "$TARGET/test-wheel"
WORK=$(cd "$TARGET/test-wheel" && pwd)
ROOT=$WORK/debian-12
LOG=$WORK/log.txt

wheels=(dist/gage_host-*.whl)
if [ ${#wheels[@]} -ne 1 ] || [ ! -f "${wheels[0]}" ]; then
  echo "error: dist/ must hold one wheel; build it with \`make wheel\`" >&2
  exit 2
fi
WHEEL=$PWD/${wheels[0]}
VERSION=$(basename "$WHEEL" | cut -d- -f2)
rows=()
failed=0

# Runs a command, and notes whether it succeeded.
check() { # PLACE CHECK COMMAND...
  local place=$1 what=$2 result=ok start=$SECONDS
  shift 2
  echo "$place: $what" >&2
  if ! timeout --kill-after=10 "$CHECK_LIMIT_S" "$@" >"$LOG" 2>&1 </dev/null; then
    result=FAILED
    failed=1
    cat "$LOG" >&2
  fi
  rows+=("$place;$what;$result;$((SECONDS - start)) s")
}

# Runs a command, and notes whether it succeeded and its output contains a text.
check_output() { # PLACE CHECK TEXT COMMAND...
  local place=$1 what=$2
  shift 2
  # shellcheck disable=SC2016
  local script='output=$("${@:2}"); code=$?; printf "%s\n" "$output"; [ $code -eq 0 ] && [[ $output == *"$1"* ]]'
  check "$place" "$what" bash -c "$script" check_output "$@"
}

# Installs the wheel into an environment, and runs the program as a new user would: with an empty home, and without a PATH.
check_place() { # PLACE FOLDER WHEEL PREFIX...: the folder and the wheel as the commands with the prefix see them
  local place=$1 folder=$2 wheel=$3
  shift 3
  local clean=("$@" env -i "HOME=$folder/home" "PATH=/nonexistent" LANG=C.UTF-8)
  local bin=$folder/environment/bin
  check "$place" "venv" "$@" python3 -m venv "$folder/environment"
  check "$place" "pip install" "$@" "$bin/python" -m pip install --quiet --no-index --disable-pip-version-check "$wheel"
  check_output "$place" "gage-host --version" "gage-host $VERSION" "${clean[@]}" "$bin/gage-host" --version
  check_output "$place" "python -m gage_host" "gage-host $VERSION" "${clean[@]}" "$bin/python" -m gage_host --version
  check_output "$place" "gage-host doctor" "gage-model" "${clean[@]}" "$bin/gage-host" doctor
  check "$place" "package gage_host" "${clean[@]}" "PYTHONDONTWRITEBYTECODE=1" "$bin/python" -m unittest discover \
    --start-directory "$folder/sources/sdk/python-host/tests"
  check_output "$place" "python_tests" "$CASES of $CASES cases passed" "${clean[@]}" "$bin/gage-host" plugin test python_tests \
    --cases "$folder/sources/cases.jsonl"
  check_output "$place" "gage-host demo" "200/200" "${clean[@]}" "$bin/gage-host" demo --dir "$folder/home/demo"
}

# Copies the tests of the Python package, what they read, and cases of python_tests into a folder.
copy_sources() { # FOLDER
  mkdir -p "$1/sources/docs/guides" "$1/sources/sdk"
  cp -R config "$1/sources/"
  cp docs/guides/python-package.md "$1/sources/docs/guides/"
  cp -R sdk/python-host "$1/sources/sdk/"
  head -n "$CASES" tests/code/candidates.jsonl >"$1/sources/cases.jsonl"
}

# Makes a small Debian 12 with Python, or says why not.
make_system() {
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "needs root on Debian"
    return 1
  fi
  if ! command -v debootstrap >/dev/null; then
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends debootstrap; } >"$LOG" 2>&1 ||
      { echo "debootstrap cannot be installed"; return 1; }
  fi
  if [ ! -f "$ROOT/complete" ]; then
    local mirror
    # shellcheck disable=SC2016
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $SYSTEM" 'Component: main' | head -1)
    [ -n "$mirror" ] || { echo "apt has no source of Debian 12"; return 1; }
    rm -rf "$ROOT"
    timeout "$SYSTEM_LIMIT_S" debootstrap --variant=minbase --include=python3-venv "$SYSTEM" "$ROOT" "$mirror" >"$LOG" 2>&1 ||
      { echo "debootstrap failed: $(tail -1 "$LOG")"; return 1; }
    touch "$ROOT/complete"
  fi
  if [ -x "$ROOT/usr/bin/cc" ] || [ -x "$ROOT/usr/bin/cmake" ]; then
    echo "it has compilers"
    return 1
  fi
  # The program finds its own file there.
  mountpoint -q "$ROOT/proc" || mount -t proc proc "$ROOT/proc" || { echo "proc cannot be mounted"; return 1; }
}

FOLDER=$(mktemp -d)
clean_up() {
  rm -rf "$FOLDER" "$ROOT/wheel-test"
  if mountpoint -q "$ROOT/proc"; then umount "$ROOT/proc"; fi
}
trap clean_up EXIT

mkdir "$FOLDER/files" "$FOLDER/home"
check wheel "unpack" python3 -m zipfile --extract "$WHEEL" "$FOLDER/files"
check wheel "symbols and libraries" tools/check-elf.py "$FOLDER/files"
cat "$LOG"
copy_sources "$FOLDER"
check_place "this machine" "$FOLDER" "$WHEEL"

if reason=$(make_system); then
  rm -rf "$ROOT/wheel-test"
  mkdir -p "$ROOT/wheel-test/home"
  cp "$WHEEL" "$ROOT/wheel-test/"
  copy_sources "$ROOT/wheel-test"
  without_network=()
  if unshare --net true 2>/dev/null; then without_network=(unshare --net); fi
  check_place "Debian 12" /wheel-test "/wheel-test/$(basename "$WHEEL")" "${without_network[@]}" chroot "$ROOT"
else
  rows+=("Debian 12;all;skipped: $reason;")
fi

printf '\nplace;check;result;time\n%s\n' "$(printf '%s\n' "${rows[@]}")" | column -t -s ';'
exit $failed
