#!/usr/bin/env bash
# Builds the modules of both kernels, and writes down what each was built from.
#
#   rebuild.sh           builds the modules, copies them here, and rewrites their lists
#   rebuild.sh --list    rewrites the lists alone, for the modules that are here
#   rebuild.sh --check   compares the sources with the lists and builds nothing; the crate's tests do the same
#
# runtime-wasm/guest/module.sh says which tools it needs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../runtime-wasm/guest/module.sh"

kernels=benches/kernels
sources=(
  "${kernel_sources[@]}"
  $kernels/Cargo.toml
  $kernels/guest/.cargo/config.toml
  $kernels/guest/Cargo.lock
  $kernels/guest/Cargo.toml
  $kernels/guest/floats
  $kernels/guest/stores
  $kernels/src
)

for kernel in floats stores; do
  module=$kernels/$kernel.wasm
  build() { build_rust $kernels/guest "${kernel}_guest" --package "$kernel-guest"; }
  run_module "$@"
done
