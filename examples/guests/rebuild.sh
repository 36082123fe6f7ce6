#!/usr/bin/env bash
# Builds the modules of examples/guests, and writes down what each was built from.
#
#   rebuild.sh [--check | --list] [rust] [goldens] [c] [assemblyscript]
#
# builds those modules, or all of them, and rewrites their lists; with --list only the lists, and with --check it compares them and
# builds nothing, as the crate's test `stale` does. runtime-wasm/guest/module.sh says which tools it needs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../runtime-wasm/guest/module.sh"

guests=examples/guests
rust_sources=(
  "${kernel_sources[@]}"
  $guests/Cargo.toml
  $guests/rust/.cargo/config.toml
  $guests/rust/Cargo.lock
  $guests/rust/Cargo.toml
  $guests/rust/src
  $guests/src
)

rust() {
  module=$guests/rust/forage.wasm sources=("${rust_sources[@]}")
  build() { build_rust $guests/rust guests_guest; }
  run_module "$mode"
}

goldens() {
  module=$guests/rust/goldens.wasm sources=("${rust_sources[@]}")
  build() { build_rust $guests/rust guests_guest --features goldens; }
  run_module "$mode"
}

c() {
  build() { build_c "${module%.wasm}.c"; }
  for module in $guests/c/{forage,fields}.wasm; do
    sources=("${module%.wasm}.c" runtime-wasm/guest/c/retick.h)
    run_module "$mode"
  done
}

assemblyscript() {
  build() { build_assemblyscript "${module%.wasm}.ts"; }
  for module in $guests/assemblyscript/{forage,fields}.wasm; do
    sources=("${module%.wasm}.ts" runtime-wasm/guest/assemblyscript/retick.ts)
    run_module "$mode"
  done
}

mode=
case "${1:-}" in --*) mode=$1 && shift ;; esac
[ $# -gt 0 ] || set -- rust goldens c assemblyscript
for guest in "$@"; do
  case "$guest" in
    rust | goldens | c | assemblyscript) "$guest" ;;
    *) echo "usage: rebuild.sh [--check | --list] [rust] [goldens] [c] [assemblyscript]" >&2 && exit 2 ;;
  esac
done
