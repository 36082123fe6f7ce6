#!/usr/bin/env bash
# Builds skirmish.wasm, and writes down what it was built from.
#
#   rebuild.sh           builds the module, copies it here, and rewrites skirmish.wasm.sources
#   rebuild.sh --list    rewrites skirmish.wasm.sources alone, for the module that is here
#   rebuild.sh --check   compares the sources with skirmish.wasm.sources and builds nothing; the crate's test `stale` does the same
#
# runtime-wasm/guest/module.sh says which tools it needs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../runtime-wasm/guest/module.sh"

module=examples/skirmish/skirmish.wasm
sources=(
  "${kernel_sources[@]}"
  examples/skirmish/Cargo.toml
  examples/skirmish/guest/.cargo/config.toml
  examples/skirmish/guest/Cargo.lock
  examples/skirmish/guest/Cargo.toml
  examples/skirmish/guest/src
  examples/skirmish/src
)

build() {
  build_rust examples/skirmish/guest skirmish_guest
}

run_module "$@"
