# What the rebuild scripts of modules share; bash, to be sourced. A script sets the following, then calls `rebuild "$@"`:
#
#   here      its own folder, without symbolic links
#   root      the root of the repository, likewise
#   name      a name that no other script has: it becomes part of a path in /tmp
#   what      what the list of sources says of itself: what was built
#   guest     the folder of the guests' workspace, from the root
#   packages  the workspace's packages, one for each module
#   modules   the modules, from the root, in the same order
#   list      the list of sources, from the root
#   sources   every file and folder whose bytes can change a byte of a module, from the root
#
# It needs the target: rustup target add wasm32-unknown-unknown. A compiler without it can build core and alloc itself:
#
#   RUSTC                                        the compiler, if it isn't the installed one
#   RETICK_BUILD_STD=1                           builds core and alloc from the compiler's own sources (-Zbuild-std), which an
#                                                unstable compiler allows, or RUSTC_BOOTSTRAP=1
#   CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER   the linker, where the compiler brings none
#
# The same compiler gives the same bytes in every folder; another one gives another module, and so another identity.

# What every guest in Rust is made of, of the kernel and of the SDK. The kernel's machines above the runtime are linked away,
# the versions of dependencies stand in the guest's lock file, and tests are not built.
kernel_sources=(
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
)
sdk_sources=(
  runtime-wasm/guest/Cargo.toml
  runtime-wasm/guest/src
)

list_sources() {
  echo "# What $what: SHA-256 and path from the root of the repository."
  echo "# Written by rebuild.sh. Files below the following paths count, but for tests."
  printf '# source: %s\n' "${sources[@]}"
  find "${sources[@]}" -type f ! -name tests.rs ! -path '*/tests/*' -print | sort | xargs sha256sum
  sha256sum "${modules[@]}"
}

# The flags that keep every path of the building machine out of the modules, as a list for cargo's configuration.
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

build() {
  # The build's view of the repository. Names of symbols, and so the order of functions, follow from absolute paths: with one
  # path for everybody, a module's bytes don't depend on where the repository is. The folder also keeps two builds apart.
  local stage=/tmp/retick-$name-build target_dir=${CARGO_TARGET_DIR:-$root/$guest/target} arguments=() index
  mkdir -p "$target_dir" && target_dir=$(cd "$target_dir" && pwd -P)
  mkdir "$stage" || { echo "another build is running, or left $stage behind" >&2 && exit 1; }
  # shellcheck disable=SC2064 # The folder of now.
  trap "rm -f '$stage/repository' && rmdir '$stage'" EXIT
  ln -s "$root" "$stage/repository"
  [ "${RETICK_BUILD_STD:-0}" = 0 ] || arguments+=(-Zbuild-std=core,alloc)
  unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS

  cd "$root/$guest"
  # First, so that there is a registry to name.
  cargo fetch --locked --quiet
  for index in "${!modules[@]}"; do
    cargo build --locked --release --target wasm32-unknown-unknown --target-dir "$target_dir" \
      --manifest-path "$stage/repository/$guest/Cargo.toml" --package "${packages[index]}" \
      --config "target.wasm32-unknown-unknown.rustflags=[$(remappings "$target_dir" "$stage")]" "${arguments[@]}"
    cp "$target_dir/wasm32-unknown-unknown/release/${packages[index]//-/_}.wasm" "$root/${modules[index]}"
    chmod 644 "$root/${modules[index]}"
  done
  cd "$root"
}

rebuild() {
  cd "$root"
  case "${1:-}" in
    --check)
      diff "$list" <(list_sources) && echo "${modules[*]}: built from these sources"
      ;;
    --list)
      list_sources >"$list"
      ;;
    "")
      build
      list_sources >"$list"
      ls -l "${modules[@]}"
      ;;
    *)
      echo "usage: rebuild.sh [--check | --list]" >&2
      exit 2
      ;;
  esac
}
