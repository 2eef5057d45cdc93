#!/usr/bin/env bash
# Runs every test: those of the host with real components and the tiny model, and those of the
# plugins and of their SDK on this machine's own processor.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --workspace --locked
# Only the libraries: a component's exports have names that no other linker takes.
cargo test --manifest-path plugins/Cargo.toml --workspace --lib --locked --target-dir target/plugins-native
cargo test --manifest-path sdk/rust/Cargo.toml --locked --target-dir target/plugins-native
