#!/usr/bin/env bash
# Installs what building needs beyond rustup: a C compiler, and a compiler for WebAssembly; for the program that
# runs models (host/llama) also a C++ compiler, cmake and libclang. As root on Debian it installs; otherwise it says what to
# install. Does nothing where everything is there.
set -euo pipefail
cd "$(dirname "$0")/.."

TARGET=wasm32-unknown-unknown
missing=()   # Debian packages

have() { command -v "$1" >/dev/null 2>&1; }
say() { printf '%s\n' "$*" >&2; }

if ! have cargo || ! have rustc; then
  say "error: there is no Rust toolchain; install rustup with Rust 1.95 or newer"
  say "  help: see https://rustup.rs"
  exit 1
fi
minor=$(rustc --version | sed -E 's/^rustc 1\.([0-9]+).*/\1/')
if [ "$minor" -lt 95 ]; then
  say "error: Rust 1.95 or newer is needed, found $(rustc --version)"
  exit 1
fi

have cc || missing+=(gcc libc6-dev)
have c++ || missing+=(g++)
have make || missing+=(make)
have cmake || missing+=(cmake)
# Not libclang-cpp, which is another library.
libclang() {
  compgen -G '/usr/lib/llvm-*/lib/libclang.so*' || compgen -G '/usr/lib/llvm-*/lib/libclang-[0-9]*.so*' ||
    compgen -G '/usr/lib/*/libclang.so*' || compgen -G '/usr/lib/*/libclang-[0-9]*.so*' || [ -n "${LIBCLANG_PATH:-}" ]
}
headers() { compgen -G '/usr/lib/llvm-*/lib/clang/*/include/stddef.h' || compgen -G '/usr/lib/clang/*/include/stddef.h' || have clang; }
libclang >/dev/null || missing+=(libclang1-14)
headers >/dev/null || missing+=(libclang-common-14-dev)

# A compiler for WebAssembly: the target of the toolchain, or rustup's download, or Debian's.
installed() { [ -d "$(rustc --print sysroot)/lib/rustlib/$TARGET" ]; }
debian_rust() { [ -d /usr/lib/rustlib/src/rust/library/std ] && [ -x /usr/bin/rustc ] && have rust-lld; }
if installed; then
  wasm="the installed target $TARGET"
elif debian_rust; then
  wasm="Debian's rustc, with a standard library built from source"
elif have rustup && timeout 60 rustup target add "$TARGET" >/dev/null 2>&1 && installed; then
  wasm="the target $TARGET, added by rustup"
else
  wasm="Debian's rustc, with a standard library built from source"
  missing+=(rustc-web rust-web-src rust-web-llvm lld-22)
fi

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" -eq 0 ] && have apt-get; then
    say "installing ${missing[*]}"
    log=$(mktemp)
    if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
      cat "$log" >&2
      say "error: the packages could not be installed"
      exit 1
    fi
    rm -f "$log"
  else
    say "error: some packages are missing; install them with"
    say "  apt-get install --no-install-recommends ${missing[*]}"
    say "or what your system calls them; for the WebAssembly compiler, this is enough:"
    say "  rustup target add $TARGET"
    exit 1
  fi
fi
say "plugins are built with $wasm"
