# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sourced by the scripts beside it: repository root, job count, dev build.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# One job per core, and no more than one per 2 GiB: a translation unit that
# includes NVVM peaks above 1 GiB.
jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemTotal/ {print int($2 / 2097152)}' /proc/meminfo)
  [ "$memory" -ge 1 ] || memory=1
  echo $((cores < memory ? cores : memory))
}

# configure PRESET FOLDER: only where it was never done or the presets are
# newer; ninja redoes it by itself when a CMake file changes.
configure() {
  if [ ! -f "$root/$2/build.ninja" ] || [ "$root/CMakePresets.json" -nt "$root/$2/CMakeCache.txt" ]; then
    (cd "$root" && cmake --fresh --preset "$1")
  fi
}

# Handles the options that both entry scripts share.
parse_deps_option() {
  install_deps=yes
  for argument in "$@"; do
    case $argument in
      --no-deps) install_deps=no ;;
      *) echo "usage: $(basename "$0") [--no-deps]" >&2; exit 2 ;;
    esac
  done
}
