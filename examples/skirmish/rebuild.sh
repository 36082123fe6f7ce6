#!/usr/bin/env bash
# Builds skirmish.wasm, and writes down what it was built from.
#
#   rebuild.sh           builds the module, copies it here, and rewrites skirmish.wasm.sources
#   rebuild.sh --list    rewrites skirmish.wasm.sources alone, for the module that is here
#   rebuild.sh --check   compares the sources with skirmish.wasm.sources and builds nothing; the crate's test `stale` does the same
#
# It needs the target: rustup target add wasm32-unknown-unknown. A compiler without it can build core and alloc itself:
#
#   RUSTC                                        the compiler, if it isn't the installed one
#   RETICK_BUILD_STD=1                           builds core and alloc from the compiler's own sources (-Zbuild-std), which an
#                                                unstable compiler allows, or RUSTC_BOOTSTRAP=1
#   CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER   the linker, where the compiler brings none
#
# The same compiler gives the same bytes in every folder; another one gives another module, and so another identity.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd -P)
root=$(cd "$here/../.." && pwd -P)
module=examples/skirmish/skirmish.wasm
list=$module.sources

# Everything that can change a byte of the module. The kernel's machines above the runtime are linked away, the versions
# of dependencies stand in the guest's lock file, and tests are not built.
sources=(
  core/Cargo.toml
  core/src/codec
  core/src/config.rs
  core/src/config
  core/src/digest.rs
  core/src/event.rs
  core/src/event
  core/src/frame.rs
  core/src/identity.rs
  core/src/identity
  core/src/input
  core/src/record.rs
  core/src/rng.rs
  core/src/runtime
  core/src/seat.rs
  core/src/tick.rs
  examples/skirmish/Cargo.toml
  examples/skirmish/guest/.cargo/config.toml
  examples/skirmish/guest/Cargo.lock
  examples/skirmish/guest/Cargo.toml
  examples/skirmish/guest/src
  examples/skirmish/src
  runtime-wasm/guest/Cargo.toml
  runtime-wasm/guest/src
)

list_sources() {
  echo "# What $module was built from, and the module: SHA-256 and path from the root of the repository."
  echo "# Written by rebuild.sh. Files below the following paths count, but for tests."
  printf '# source: %s\n' "${sources[@]}"
  find "${sources[@]}" -type f ! -name tests.rs ! -path '*/tests/*' -print | sort | xargs sha256sum
  sha256sum "$module"
}

# The build's view of the repository. Names of symbols, and so the order of functions, follow from absolute paths: with one
# path for everybody, the module's bytes don't depend on where the repository is. The folder also keeps two builds apart.
stage=/tmp/retick-skirmish-build

# The flags that keep every path of the building machine out of the module, as a list for cargo's configuration.
remappings() {
  local sysroot registry
  sysroot=$("${RUSTC:-rustc}" --print sysroot)
  for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
    printf "'--remap-path-prefix=%s=registry'," "$registry"
  done
  printf "'--remap-path-prefix=%s=rust'," "$sysroot/lib/rustlib/src/rust"
  printf "'--remap-path-prefix=%s=target'," "$1"
  printf "'--remap-path-prefix=%s='," "$root" "$stage/repository"
}

build() {
  local target_dir=${CARGO_TARGET_DIR:-$here/guest/target} arguments=()
  mkdir -p "$target_dir" && target_dir=$(cd "$target_dir" && pwd -P)
  mkdir "$stage" || { echo "another build is running, or left $stage behind" >&2 && exit 1; }
  trap 'rm -f "$stage/repository" && rmdir "$stage"' EXIT
  ln -s "$root" "$stage/repository"
  [ "${RETICK_BUILD_STD:-0}" = 0 ] || arguments+=(-Zbuild-std=core,alloc)
  unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS

  cd "$here/guest"
  # First, so that there is a registry to name.
  cargo fetch --locked --quiet
  cargo build --locked --release --target wasm32-unknown-unknown --target-dir "$target_dir" \
    --manifest-path "$stage/repository/examples/skirmish/guest/Cargo.toml" \
    --config "target.wasm32-unknown-unknown.rustflags=[$(remappings "$target_dir")]" "${arguments[@]}"
  cp "$target_dir/wasm32-unknown-unknown/release/skirmish_guest.wasm" "$root/$module"
  chmod 644 "$root/$module"
  cd "$root"
}

cd "$root"
case "${1:-}" in
  --check)
    diff "$list" <(list_sources) && echo "$module is built from these sources"
    ;;
  --list)
    list_sources >"$list"
    ;;
  "")
    build
    list_sources >"$list"
    ls -l "$module"
    ;;
  *)
    echo "usage: rebuild.sh [--check | --list]" >&2
    exit 2
    ;;
esac
