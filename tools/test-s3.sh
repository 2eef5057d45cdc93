#!/usr/bin/env bash
# Tests shards in object storage with a server of S3's protocol (moto from PyPI, installed into target/test-s3): pushes, one that
# is killed on its way, one that comes too late, and a merge, which must have the bytes of an undivided run. It needs Python 3.10
# and the network for the installation. GAGE_HOST names the program (default target/debug/gage-host). Each step has a limit of time.
set -euo pipefail
cd "$(dirname "$0")/.."

# Longer than the two minutes in which requests to a server that is away are tried again.
STEP_LIMIT_S=240
MOTO='moto[server,s3]==5.2.5'
TARGET=${CARGO_TARGET_DIR:-target}
GAGE_HOST=$(realpath "${GAGE_HOST:-$TARGET/debug/gage-host}")
source tools/test-steps.sh
begin_steps test-s3
ENVIRONMENT=$TARGET/environment
SERVERS=$PWD/tools/test-s3-servers.py

[ -x "$GAGE_HOST" ] || { echo "error: $GAGE_HOST does not exist; build it with \`make build\`" >&2; exit 2; }
if ! grep -qxF "$MOTO" "$ENVIRONMENT/installed.txt" 2>/dev/null; then
  rm -rf "$ENVIRONMENT"
  python3 -m venv "$ENVIRONMENT"
  "$ENVIRONMENT/bin/pip" install --quiet --disable-pip-version-check "$MOTO"
  echo "$MOTO" >"$ENVIRONMENT/installed.txt"
fi
cd "$WORK"

# The servers: a model, S3, and a proxy before S3 that can stall uploads.
python3 "$SERVERS" model model.port &
started+=($!)
s3_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$ENVIRONMENT/bin/moto_server" -H 127.0.0.1 -p "$s3_port" >moto.txt 2>&1 &
started+=($!)
python3 "$SERVERS" proxy proxy.port "$s3_port" stall &
started+=($!)
wait_until "the model does not start" test -s model.port
wait_until "the proxy does not start" test -s proxy.port
wait_until "moto does not start" curl --silent --fail --max-time 5 "http://127.0.0.1:$s3_port/moto-api/"

export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=secret-of-the-test-1 AWS_REGION=us-east-1 AWS_ALLOW_HTTP=true
unset AWS_SESSION_TOKEN AWS_DEFAULT_REGION AWS_ENDPOINT_URL_S3 HTTP_PROXY http_proxy ALL_PROXY all_proxy
AWS_ENDPOINT_URL=http://127.0.0.1:$(cat proxy.port)
export AWS_ENDPOINT_URL

# Calls S3 without the program.
s3() { # EXPRESSION: of Python, with the client `s3`
  "$ENVIRONMENT/bin/python" -c "import boto3; s3 = boto3.client('s3', endpoint_url='http://127.0.0.1:$s3_port'); $1"
}
keys() { # PREFIX
  s3 "[print(found['Key']) for found in s3.list_objects_v2(Bucket='runs', Prefix='$1').get('Contents', [])]"
}
digest() { # KEY
  s3 "import hashlib; print(hashlib.sha256(s3.get_object(Bucket='runs', Key='$1')['Body'].read()).hexdigest())"
}

# 300 rows are ten batches, and each shard gets at least three of them.
python3 -c '
import json
for number in range(300):
    print(json.dumps({"id": str(number), "question": f"What is {number} + {number % 7}?", "answer": str(number + number % 7)}))
' >rows.jsonl
cat >suite.yaml <<SUITE
datasets: [rows.jsonl]
model: openai:sums@http://127.0.0.1:$(cat model.port)/v1
metrics: [exact_match]
SUITE
TARGET_URL=s3://runs/team/suites
SHARDS=team/suites/nightly/shards

run_shard() { # CODE NUMBER ARGUMENTS...
  local code=$1 number=$2
  shift 2
  expect "$code" run suite.yaml --run-id nightly --shard "$number/3" --push "$TARGET_URL" "$@"
}

echo "an undivided run" >&2
expect 0 run suite.yaml --run-id nightly --output-dir whole

echo "a bucket that does not exist" >&2
run_shard 2 1
expect_text "NoSuchBucket"
expect_text "create the bucket, or correct its name"
s3 "s3.create_bucket(Bucket='runs')"

echo "a push, and the same command again" >&2
run_shard 0 1
expect_text "pushed "
[ "$(keys "$SHARDS/01-of-03/" | grep -c '/01-of-03/manifest\.json$')" -eq 1 ] || fail "the shard is not marked as complete"
if keys "$SHARDS/" | grep -qE '/(page|exports)/|report\.html'; then fail "files of no run were pushed"; fi
before=$(keys "$SHARDS/")
run_shard 0 1
expect_text "was pushed before"
[ "$(keys "$SHARDS/")" = "$before" ] || fail "the second push changed objects"

echo "a push that is killed" >&2
touch stall
"$GAGE_HOST" run suite.yaml --run-id nightly --shard 2/3 --push "$TARGET_URL" >output.txt 2>&1 </dev/null &
victim=$!
started+=("$victim")
wait_until "nothing is uploaded" test -e stall.reached
kill -KILL "$victim"
wait "$victim" 2>/dev/null || true
rm stall stall.reached
[ -n "$(keys "$SHARDS/02-of-03/")" ] || fail "no object of the killed push is there"
if keys "$SHARDS/02-of-03/" | grep -q '/02-of-03/manifest\.json$'; then fail "the killed push is marked as complete"; fi

echo "a merge without it" >&2
run_shard 0 3
expect 4 merge "$TARGET_URL/nightly" --output-dir merged
expect_text "02-of-03"
[ ! -e merged/nightly/manifest.json ] || fail "a merge without a shard wrote a run"

echo "the killed push again" >&2
run_shard 0 2
expect_text "pushed "

echo "a push of another machine, which comes too late" >&2
manifest=$SHARDS/03-of-03/manifest.json
first=$(digest "$manifest")
expect 0 run suite.yaml --run-id nightly --shard 3/3 --output-dir another-machine
run_shard 0 3 --output-dir another-machine
expect_text "warning: "
expect_text "another machine"
[ "$(digest "$manifest")" = "$first" ] || fail "the later push replaced the first one"

echo "a new disk, and the same command" >&2
run_shard 0 3 --output-dir new-disk
expect_text "shard 3/3 was pushed before, and was fetched from $TARGET_URL/nightly"
expect_text "the shard was pushed before"

echo "a server that is away (two minutes)" >&2
AWS_ENDPOINT_URL=http://127.0.0.1:9 expect 5 merge "$TARGET_URL/nightly" --output-dir away
expect_text "check AWS_ENDPOINT_URL"
if grep -qF "$AWS_SECRET_ACCESS_KEY" output.txt; then fail "the key was printed"; fi

echo "a merge, and the same command again" >&2
for _ in 1 2; do
  expect 0 merge "$TARGET_URL/nightly" --output-dir merged
  for file in samples.jsonl summary.json; do
    cmp "whole/nightly/$file" "merged/nightly/$file" || fail "$file differs from that of the undivided run"
  done
done
expect 0 verify nightly --output-dir merged

echo "a damaged object" >&2
damaged=$(keys "$SHARDS/01-of-03/" | grep 'samples\.jsonl$')
s3 "s3.put_object(Bucket='runs', Key='$damaged', Body=b'x')"
expect 3 merge "$TARGET_URL/nightly" --output-dir damaged
expect_text "according to its manifest"

echo "object storage: all checks passed" >&2
