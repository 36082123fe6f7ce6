# Building the modules of games in this repository, and writing down what each was built from. The games' own rebuild.sh source this file, name
# a `module`, its `sources` and a function `build`, and call `run_module`.
#
# Of the tools, only those of the languages that are built have to be there:
#
#   Rust              rustup target add wasm32-unknown-unknown. A compiler without it can build core and alloc itself:
#     RUSTC                                        the compiler, if it isn't the installed one
#     RETICK_BUILD_STD=1                           builds core and alloc from the compiler's own sources (-Zbuild-std), which an
#                                                  unstable compiler allows, or RUSTC_BOOTSTRAP=1
#     CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER   the linker, where the compiler brings none
#   C                 pip install ziglang==0.17.1, or any zig of that version by its command in ZIG
#   AssemblyScript    npm install assemblyscript@0.28.20, with `asc` on the path, or its command in ASC
#
# The same compiler gives the same bytes in every folder; another one gives another module, and so another identity.
export LC_ALL=C

zig_version=0.17.1
asc_version=0.28.20

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
cd "$root"

# What of the kernel and the guest SDK is part of every game in Rust. The kernel's machines above the runtime are linked away, the
# versions of dependencies stand in the guest's lock file, and tests are not built.
kernel_sources=(
  core/Cargo.toml
  core/src/codec
  core/src/config.rs
  core/src/config
  core/src/digest.rs
  core/src/event.rs
  core/src/event
  core/src/frame
  core/src/identity.rs
  core/src/identity
  core/src/input
  core/src/record.rs
  core/src/rng.rs
  core/src/runtime
  core/src/seat.rs
  core/src/tick.rs
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

# The flags that keep every path of the building machine out of the module, as a list for cargo's configuration.
remappings() {
  local sysroot registry
  sysroot=$("${RUSTC:-rustc}" --print sysroot)
  for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do
    printf "'--remap-path-prefix=%s=registry'," "$registry"
  done
  printf "'--remap-path-prefix=%s=rust'," "$sysroot/lib/rustlib/src/rust"
  printf "'--remap-path-prefix=%s=target'," "$1"
  printf "'--remap-path-prefix=%s='," "$root" "$2/repository"
}

# build_rust CRATE ARTIFACT [CARGO'S ARGUMENTS]: builds the guest in the folder CRATE, and copies its ARTIFACT.wasm to the module.
build_rust() {
  local crate=$1 artifact=$2 target_dir=${CARGO_TARGET_DIR:-$root/$1/target} arguments=("${@:3}") stage
  # The build's view of the repository. Names of symbols, and so the order of functions, follow from absolute paths: with one
  # path for everybody, the module's bytes don't depend on where the repository is. The folder also keeps two builds apart.
  stage=/tmp/retick-$(basename "$(dirname "$crate")")-build
  mkdir -p "$target_dir" && target_dir=$(cd "$target_dir" && pwd -P)
  mkdir "$stage" || { echo "another build is running, or left $stage behind" >&2 && exit 1; }
  trap "rm -f '$stage/repository' && rmdir '$stage'" EXIT
  ln -s "$root" "$stage/repository"
  [ "${RETICK_BUILD_STD:-0}" = 0 ] || arguments+=(-Zbuild-std=core,alloc)
  unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS

  cd "$crate"
  # First, so that there is a registry to name.
  cargo fetch --locked --quiet
  cargo build --locked --release --target wasm32-unknown-unknown --target-dir "$target_dir" \
    --manifest-path "$stage/repository/$crate/Cargo.toml" \
    --config "target.wasm32-unknown-unknown.rustflags=[$(remappings "$target_dir" "$stage")]" "${arguments[@]}"
  cd "$root"
  install -m 644 "$target_dir/wasm32-unknown-unknown/release/$artifact.wasm" "$module"
  rm "$stage/repository" && rmdir "$stage"
  trap - EXIT
}

# require_version WANTED COMMAND...: ends unless the command's output holds this version.
require_version() {
  local found
  found=$("${@:2}" 2>&1) || true
  [[ $found == *"$1"* ]] || { echo "${*:2}: version $1 is needed, this is ${found:-missing}" >&2 && exit 1; }
}

# build_c SOURCE: compiles one file of C to the module.
build_c() {
  local zig
  read -ra zig <<<"${ZIG:-python3 -m ziglang}"
  require_version "$zig_version" "${zig[@]}" version
  "${zig[@]}" cc --target=wasm32-freestanding -O2 -nostdlib -ffp-contract=off -Wall -Wextra -Werror -I runtime-wasm/guest/c \
    -Wl,--no-entry -Wl,-z,stack-size=8192 -Wl,--strip-all -o "$module" "$1"
  chmod 644 "$module"
}

# build_assemblyscript SOURCE: compiles one file of AssemblyScript, and what it imports, to the module.
build_assemblyscript() {
  local asc
  read -ra asc <<<"${ASC:-asc}"
  require_version "$asc_version" "${asc[@]}" --version
  "${asc[@]}" "$1" --runtime stub -O3 --use abort= --exportStart _initialize --outFile "$module"
}

# run_module [--check | --list]: builds `module` from `sources`, or only compares or rewrites its list.
run_module() {
  case "${1:-}" in
    --check)
      diff "$module.sources" <(list_sources) && echo "$module is built from these sources"
      ;;
    --list)
      list_sources >"$module.sources"
      ;;
    "")
      build
      list_sources >"$module.sources"
      ls -l "$module"
      ;;
    *)
      echo "usage: rebuild.sh [--check | --list]" >&2
      exit 2
      ;;
  esac
}
