#!/usr/bin/env bash
# Builds the modules of both kernels, and writes down what they were built from.
#
#   rebuild.sh           builds the modules, copies them here, and rewrites modules.sources
#   rebuild.sh --list    rewrites modules.sources alone, for the modules that are here
#   rebuild.sh --check   compares the sources with modules.sources and builds nothing; the crate's test `stale` does the same
#
# What it needs, and which variables it reads, stands in the script that it shares with others.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd -P)
root=$(cd "$here/../.." && pwd -P)
source "$root/runtime-wasm/guest/rebuild-lib.sh"

name=kernels
what='floats.wasm and stores.wasm were built from, and the modules'
guest=benches/kernels/guest
packages=(floats-guest stores-guest)
modules=(benches/kernels/floats.wasm benches/kernels/stores.wasm)
list=benches/kernels/modules.sources
sources=(
  "${kernel_sources[@]}"
  "${sdk_sources[@]}"
  benches/kernels/Cargo.toml
  benches/kernels/guest/.cargo/config.toml
  benches/kernels/guest/Cargo.lock
  benches/kernels/guest/Cargo.toml
  benches/kernels/guest/floats
  benches/kernels/guest/stores
  benches/kernels/src
)

rebuild "$@"
