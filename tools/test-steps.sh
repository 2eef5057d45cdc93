# Steps of the scripts that test with real servers. A script sets STEP_LIMIT_S and GAGE_HOST, calls `begin_steps NAME`, and adds the
# servers that it starts to `started`.
# shellcheck shell=bash

# Makes target/NAME and a folder for this run in it: TARGET and WORK. Ends the servers and removes the folder at the end.
begin_steps() { # NAME
  mkdir -p "$TARGET/$1"
  TARGET=$(cd "$TARGET/$1" && pwd)
  WORK=$(mktemp -d "$TARGET/work-XXXXXX")
  started=()
  trap finish EXIT
}

finish() {
  local code=$?
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  if [ $code -eq 0 ]; then rm -rf "$WORK"; else echo "the folder of the test is kept: $WORK" >&2; fi
}

fail() { # MESSAGE
  echo "FAILED: $1" >&2
  [ ! -f "$WORK/output.txt" ] || sed 's/^/  /' "$WORK/output.txt" >&2
  exit 1
}

# Waits until a command succeeds.
wait_until() { # MESSAGE COMMAND...
  local message=$1
  shift
  for _ in $(seq $((STEP_LIMIT_S * 10))); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  fail "$message"
}

# Runs a command with a limit of time. Its output is in output.txt.
limited() { # COMMAND...
  timeout --kill-after=10 "$STEP_LIMIT_S" "$@" >"$WORK/output.txt" 2>&1 </dev/null
}

# Runs the program, and checks its exit code.
expect() { # CODE ARGUMENTS...
  local code=0 expected=$1
  shift
  limited "$GAGE_HOST" "$@" || code=$?
  [ "$code" -eq "$expected" ] || fail "exit code $code instead of $expected: gage-host $*"
}

expect_text() { # TEXT
  grep -qF -- "$1" "$WORK/output.txt" || fail "the output lacks: $1"
}
