#!/usr/bin/env bash
# Builds skirmish.wasm, and writes down what it was built from.
#
#   rebuild.sh           builds the module, copies it here, and rewrites skirmish.wasm.sources
#   rebuild.sh --list    rewrites skirmish.wasm.sources alone, for the module that is here
#   rebuild.sh --check   compares the sources with skirmish.wasm.sources and builds nothing; the crate's test `stale` does the same
#
# What it needs, and which variables it reads, stands in the script that it shares with others.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd -P)
root=$(cd "$here/../.." && pwd -P)
source "$root/runtime-wasm/guest/rebuild-lib.sh"

name=skirmish
what='examples/skirmish/skirmish.wasm was built from, and the module'
guest=examples/skirmish/guest
packages=(skirmish-guest)
modules=(examples/skirmish/skirmish.wasm)
list=examples/skirmish/skirmish.wasm.sources
sources=(
  "${kernel_sources[@]}"
  examples/skirmish/Cargo.toml
  examples/skirmish/guest/.cargo/config.toml
  examples/skirmish/guest/Cargo.lock
  examples/skirmish/guest/Cargo.toml
  examples/skirmish/guest/src
  examples/skirmish/src
  "${sdk_sources[@]}"
)

rebuild "$@"
