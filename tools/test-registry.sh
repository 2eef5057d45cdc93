#!/usr/bin/env bash
# Tests plugins in a real registry: docker-registry on loopback, with oras as a second client, and cosign and @sigstore/verify as
# verifiers of signatures. They come from Debian, with the mirror of this machine's own apt sources, and from npm; all of it
# goes to target/test-registry, so it needs no root. GAGE_HOST names the program (default target/debug/gage-host). Each step
# has a limit of time.
set -euo pipefail
cd "$(dirname "$0")/.."

STEP_LIMIT_S=120
BUILD_LIMIT_S=900
# The first release with cosign and oras. Its programs need glibc 2.34.
DEBIAN=trixie
PACKAGES=(docker-registry oras cosign)
JUDGE_PACKAGES=(@sigstore/bundle@4.0.0 @sigstore/verify@3.1.1)
BUNDLE_TYPE=application/vnd.dev.sigstore.bundle.v0.3+json
CONFIG_TYPE=application/vnd.wasm.config.v0+json
PREDICATE_TYPE=https://sigstore.dev/cosign/sign/v1
TARGET=${CARGO_TARGET_DIR:-target}
GAGE_HOST=$(realpath "${GAGE_HOST:-$TARGET/debug/gage-host}")
source tools/test-steps.sh
begin_steps test-registry
TOOLS=$TARGET/tools
JUDGE=$TARGET/judge
SERVERS=$PWD/tools/test-s3-servers.py
JUDGE_SCRIPT=$PWD/tools/test-registry-judge.mjs

accepts() { # COMMAND...
  limited "$@" || fail "it fails: $*"
}

refuses() { # COMMAND...
  if limited "$@"; then fail "it succeeds: $*"; fi
}

# Runs the program, which must report an error. Code 1 is an internal error.
expect_error() { # TEXT ARGUMENTS...
  local code=0 text=$1
  shift
  limited "$GAGE_HOST" "$@" || code=$?
  { [ "$code" -ge 2 ] && [ "$code" -le 5 ]; } || fail "exit code $code instead of 2 to 5: gage-host $*"
  expect_text "error: "
  expect_text "$text"
}

# Fetches the packages of Debian without installing them. The lists of this machine stay as they are.
fetch_tools() {
  local mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg option=
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Component: main' |
    awk '$2 !~ /-/ { print $1; exit }')
  [ -n "$mirror" ] || { echo "error: the apt sources of this machine name no mirror" >&2; exit 2; }
  if [ -f "$keyring" ]; then option="[signed-by=$keyring] "; fi
  rm -rf "$TOOLS" "$TARGET/apt"
  mkdir -p "$TARGET/apt/lists/partial" "$TARGET/apt/cache/archives/partial" "$TARGET/apt/packages"
  echo "deb $option$mirror $DEBIAN main" >"$TARGET/apt/sources.list"
  cat >"$TARGET/apt/apt.conf" <<CONF
Dir::Etc::sourcelist "$TARGET/apt/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::Lists "$TARGET/apt/lists";
Dir::Cache "$TARGET/apt/cache";
APT::Sandbox::User "";
CONF
  (
    export APT_CONFIG=$TARGET/apt/apt.conf
    cd "$TARGET/apt/packages"
    timeout 300 apt-get update -qq && timeout 300 apt-get download -qq "${PACKAGES[@]}"
  ) || { echo "error: ${PACKAGES[*]} of Debian $DEBIAN cannot be fetched from $mirror" >&2; exit 2; }
  mkdir "$TOOLS"
  for package in "$TARGET/apt/packages"/*.deb; do dpkg -x "$package" "$TOOLS"; done
  rm -rf "$TARGET/apt"
  echo "$DEBIAN ${PACKAGES[*]}" >"$TOOLS/fetched.txt"
}

[ -x "$GAGE_HOST" ] || { echo "error: $GAGE_HOST does not exist; build it with \`make build\`" >&2; exit 2; }
for tool in apt-get dpkg openssl npm python3 curl; do
  command -v "$tool" >/dev/null || { echo "error: this test needs $tool" >&2; exit 2; }
done
if ! grep -qxF "$DEBIAN ${PACKAGES[*]}" "$TOOLS/fetched.txt" 2>/dev/null; then
  echo "fetching ${PACKAGES[*]} of Debian $DEBIAN" >&2
  fetch_tools
fi
if ! grep -qxF "${JUDGE_PACKAGES[*]}" "$JUDGE/installed.txt" 2>/dev/null; then
  rm -rf "$JUDGE"
  mkdir "$JUDGE"
  (cd "$JUDGE" && timeout 300 npm install --silent --no-fund --no-audit --ignore-scripts "${JUDGE_PACKAGES[@]}")
  echo "${JUDGE_PACKAGES[*]}" >"$JUDGE/installed.txt"
fi
cp "$JUDGE_SCRIPT" "$JUDGE/judge.mjs"
cd "$WORK"

echo "a plugin" >&2
"$GAGE_HOST" plugin new word-recall >output.txt
timeout --kill-after=10 "$BUILD_LIMIT_S" "$GAGE_HOST" plugin build word-recall --quiet >output.txt 2>&1 ||
  fail "it does not build"
cp word-recall/word-recall.wasm plugin.wasm
rm -rf word-recall
component=$(sha256sum plugin.wasm | cut -d ' ' -f 1)

# From here on nothing depends on the settings of the user.
export HOME=$WORK/home GAGE_CACHE_DIR=$WORK/cache COSIGN_PASSWORD='' PATH=$TOOLS/usr/bin:$PATH
unset DOCKER_CONFIG HTTP_PROXY http_proxy ALL_PROXY all_proxy
mkdir home
cat >registry.yml <<YAML
version: 0.1
log: {level: info}
storage: {filesystem: {rootdirectory: ./registry}, delete: {enabled: true}}
http: {addr: "127.0.0.1:0", secret: of-the-test}
YAML
docker-registry serve registry.yml >registry.txt 2>&1 &
registry_pid=$!
started+=("$registry_pid")
python3 "$SERVERS" model model.port &
started+=($!)
wait_until "the registry does not start" grep -q 'listening on ' registry.txt
wait_until "the model does not start" test -s model.port
ADDRESS=$(sed -n 's/.*listening on \(127\.0\.0\.1:[0-9]*\).*/\1/p' registry.txt | head -n 1)
OURS=$ADDRESS/metrics/word-recall
OTHERS=$ADDRESS/metrics/of-others

manifest_of() { # REPOSITORY REFERENCE
  curl --silent --fail --max-time 30 --header 'Accept: application/vnd.oci.image.manifest.v1+json' \
    "http://$ADDRESS/v2/${1#*/}/manifests/$2"
}
manifest_digest() { # REPOSITORY TAG
  manifest_of "$1" "$2" | sha256sum | cut -d ' ' -f 1
}
stored() { # DIGEST: the file of a blob or manifest in the registry
  echo "registry/docker/registry/v2/blobs/sha256/${1:0:2}/$1/data"
}
alter() { # FILE: changes one byte in its middle
  python3 -c '
import sys
with open(sys.argv[1], "r+b") as file:
    content = file.read()
    file.seek(len(content) // 2)
    file.write(bytes([content[len(content) // 2] ^ 1]))
' "$1"
}
expect_empty_cache() {
  [ -z "$(find cache/plugins/blobs cache/components -type f 2>/dev/null)" ] || fail "the cache is not empty"
}

write_suite() { # REFERENCE MORE_KEYS
  cat >suite.yaml <<SUITE
datasets: [rows.jsonl]
model: openai:sums@http://127.0.0.1:$(cat model.port)/v1
metrics: [word_recall]
plugins: [{id: recall, source: 'oci://$1'$2}]
SUITE
}
echo '{"id": "1", "question": "What is 1 + 1?", "answer": "2"}' >rows.jsonl

echo "a push, and pulls by oras and by us" >&2
expect 0 plugin push plugin.wasm "oci://$OURS:0.1.0"
expect_text "$component"
manifest=$(manifest_digest "$OURS" 0.1.0)
manifest_of "$OURS" 0.1.0 | python3 -c '
import json, sys
manifest = json.load(sys.stdin)
assert manifest["config"]["mediaType"] == sys.argv[1], manifest
assert [layer["mediaType"] for layer in manifest["layers"]] == ["application/wasm"], manifest
assert manifest["layers"][0]["digest"] == "sha256:" + sys.argv[2], manifest
assert manifest["layers"][0]["annotations"] == {"org.opencontainers.image.title": "word-recall.wasm"}, manifest
' "$CONFIG_TYPE" "$component" || fail "the manifest has another layout"
accepts oras blob fetch --plain-http --output by-oras.wasm "$OURS@sha256:$component"
cmp plugin.wasm by-oras.wasm || fail "oras fetched other bytes"
accepts oras pull --plain-http --output by-oras "$OURS:0.1.0"
cmp plugin.wasm by-oras/word-recall.wasm || fail "oras pulled other bytes"
expect 0 plugin pull "oci://$OURS:0.1.0" -o by-us.wasm
cmp plugin.wasm by-us.wasm || fail "we pulled other bytes"
expect 0 plugin push plugin.wasm "oci://$OURS:again"
[ "$(manifest_digest "$OURS" again)" = "$manifest" ] || fail "the same file gave another manifest"

echo "a push by oras, and a pull by us" >&2
echo '{"architecture": "wasm", "os": "wasip2"}' >config.json
accepts oras push --plain-http "$OTHERS:1.0.0" --config "config.json:$CONFIG_TYPE" plugin.wasm:application/wasm
others=$(manifest_digest "$OTHERS" 1.0.0)
expect 0 plugin pull "oci://$OTHERS:1.0.0" -o by-us.wasm
cmp plugin.wasm by-us.wasm || fail "we pulled other bytes than oras pushed"
expect 0 plugin inspect --static "oci://$OTHERS:1.0.0"
expect_text "$component"

echo "keys of openssl and of cosign" >&2
openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out team.key
openssl genpkey -algorithm ED25519 -out edwards.key
openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out other.key
for name in team edwards other; do openssl pkey -in "$name.key" -pubout -out "$name.pub"; done
accepts cosign generate-key-pair --output-key-prefix cosign
echo '{"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1"}' >root.json
echo '{}' >predicate.json
REGISTRY_OPTIONS=(--allow-insecure-registry --allow-http-registry)
cosign_verify() { # KEY REFERENCE: the tag with simple signing
  limited cosign verify --key "$1" --insecure-ignore-tlog "${REGISTRY_OPTIONS[@]}" "$2"
}
cosign_verify_referrer() { # KEY REFERENCE
  limited cosign verify-attestation --key "$1" --insecure-ignore-tlog "${REGISTRY_OPTIONS[@]}" --new-bundle-format \
    --trusted-root root.json --type "$PREDICATE_TYPE" "$2"
}
cosign_verify_file() { # KEY BUNDLE FILE
  limited cosign verify-blob-attestation --key "$1" --insecure-ignore-tlog --new-bundle-format --trusted-root root.json \
    --type "$PREDICATE_TYPE" --bundle "$2" "$3"
}
judge() { # KEY BUNDLE SHA256
  limited node "$JUDGE/judge.mjs" "$1" "$2" "$3"
}

echo "signatures by us, for cosign" >&2
if cosign_verify team.pub "$OURS@sha256:$manifest"; then fail "cosign accepts a package without a signature"; fi
for name in team edwards; do
  expect 0 plugin sign --key "$name.key" "oci://$OURS:0.1.0"
  cosign_verify "$name.pub" "$OURS@sha256:$manifest" || fail "cosign refuses the tag of $name"
  cosign_verify_referrer "$name.pub" "$OURS@sha256:$manifest" || fail "cosign refuses the referrer of $name"
  expect 0 plugin verify --key "$name.pub" "oci://$OURS:0.1.0"
done
accepts oras discover --plain-http --artifact-type "$BUNDLE_TYPE" "$OURS@sha256:$manifest"
expect_text "$BUNDLE_TYPE"
if cosign_verify other.pub "$OURS@sha256:$manifest"; then fail "cosign accepts another key"; fi
if cosign_verify_referrer other.pub "$OURS@sha256:$manifest"; then fail "cosign accepts another key"; fi
expect 3 plugin verify --key other.pub "oci://$OURS:0.1.0"

echo "bundles by us beside a file, for cosign and @sigstore/verify" >&2
cp plugin.wasm altered.wasm
alter altered.wasm
for name in team edwards; do
  expect 0 plugin sign --key "$name.key" plugin.wasm
  cosign_verify_file "$name.pub" plugin.wasm.sigstore.json plugin.wasm || fail "cosign refuses the bundle of $name"
  judge "$name.pub" plugin.wasm.sigstore.json "$component" || fail "@sigstore/verify refuses the bundle of $name"
  expect 0 plugin verify --key "$name.pub" plugin.wasm
  if cosign_verify_file other.pub plugin.wasm.sigstore.json plugin.wasm; then fail "cosign accepts another key"; fi
  if cosign_verify_file "$name.pub" plugin.wasm.sigstore.json altered.wasm; then fail "cosign accepts another file"; fi
  if judge other.pub plugin.wasm.sigstore.json "$component"; then fail "@sigstore/verify accepts another key"; fi
  cp plugin.wasm.sigstore.json altered.wasm.sigstore.json
  expect 3 plugin verify --key "$name.pub" altered.wasm
  expect 3 plugin verify --key other.pub plugin.wasm
  expect_error "that this key did not make" plugin sign --key other.key plugin.wasm
  rm plugin.wasm.sigstore.json
done

echo "signatures by cosign, for us" >&2
export GAGE_HOST_POLICY=$WORK/policy.yaml
write_policy() { # KEY
  printf "trust:\n  '%s/metrics': {keys: [%s], require: signature}\n" "$ADDRESS" "$WORK/$1" >policy.yaml
}
write_policy cosign.pub
write_suite "$OTHERS:1.0.0" ", sha256: $component"
expect 3 run suite.yaml --run-id unsigned
[ -z "$(find cache/components -name "$component*" 2>/dev/null)" ] || fail "an unsigned plugin was compiled"
accepts cosign sign --key cosign.key --tlog-upload=false "${REGISTRY_OPTIONS[@]}" -y "$OTHERS@sha256:$others"
expect 0 plugin verify "oci://$OTHERS:1.0.0"
write_policy other.pub
expect 3 run suite.yaml --run-id other-key
write_policy cosign.pub
# The package in the cache has no signature. Only a pull asks for those that were made since.
expect 3 run suite.yaml --run-id without-pull
expect_text "plugin pull"
expect 0 plugin pull "oci://$OTHERS:1.0.0"
expect 0 run suite.yaml --run-id signed
grep -qF cosign.pub runs/signed/summary.json || fail "the summary does not name the signer"
grep -qF "$component" runs/signed/summary.json || fail "the summary does not name the digest"

# A referrer of cosign, for a package without any other signature. Another file of oras has another manifest.
accepts oras push --plain-http "$OTHERS:2.0.0" --config "config.json:$CONFIG_TYPE" --annotation version=2 \
  plugin.wasm:application/wasm
second=$(manifest_digest "$OTHERS" 2.0.0)
expect 3 plugin verify "oci://$OTHERS:2.0.0"
accepts cosign attest --key cosign.key --new-bundle-format --tlog-upload=false "${REGISTRY_OPTIONS[@]}" \
  --type "$PREDICATE_TYPE" --predicate predicate.json -y "$OTHERS@sha256:$second"
expect 0 plugin verify "oci://$OTHERS:2.0.0"
accepts cosign attest-blob --key cosign.key --new-bundle-format --tlog-upload=false --type "$PREDICATE_TYPE" \
  --predicate predicate.json --bundle plugin.wasm.sigstore.json -y plugin.wasm
expect 0 plugin verify --key cosign.pub plugin.wasm
expect 3 plugin verify --key other.pub plugin.wasm

echo "a lock, an archive, and a moved tag" >&2
write_suite "$OTHERS:1.0.0" ""
expect 0 lock suite.yaml
expect 0 plugin export --config suite.yaml -o plugins.tar
accepts oras push --plain-http "$OTHERS:1.0.0" --config "config.json:$CONFIG_TYPE" altered.wasm:application/wasm
expect 0 run suite.yaml --locked --run-id moved

echo "content that was altered in the registry" >&2
mv cache used-cache
cp "$(stored "$component")" blob
alter "$(stored "$component")"
expect_error "$OURS" plugin pull "oci://$OURS:0.1.0" -o altered-blob.wasm
cp blob "$(stored "$component")"
cp "$(stored "$manifest")" manifest
alter "$(stored "$manifest")"
expect_error "$OURS" plugin pull "oci://$OURS:0.1.0" -o altered-manifest.wasm
cp manifest "$(stored "$manifest")"
for file in altered-blob.wasm altered-manifest.wasm; do [ ! -e "$file" ] || fail "$file was written"; done
expect_empty_cache
expect 0 plugin pull "oci://$OURS:0.1.0" -o by-us.wasm

echo "a registry that is gone" >&2
kill "$registry_pid"
wait "$registry_pid" 2>/dev/null || true
rm -rf cache
expect_error "$ADDRESS" plugin pull "oci://$OURS:0.1.0"
expect_error "$OTHERS" run suite.yaml --locked --run-id without-cache
expect_empty_cache
rm -rf cache
mv used-cache cache
expect 0 run suite.yaml --locked --run-id cached
cmp runs/moved/samples.jsonl runs/cached/samples.jsonl || fail "the runs differ"
GAGE_CACHE_DIR=$WORK/another-machine expect 0 plugin import plugins.tar
GAGE_CACHE_DIR=$WORK/another-machine expect 0 run suite.yaml --locked --offline --run-id imported
cmp runs/moved/samples.jsonl runs/imported/samples.jsonl || fail "the runs differ"

echo "plugins in a registry: all checks passed" >&2
