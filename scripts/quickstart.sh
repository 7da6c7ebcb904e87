#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From a fresh clone to a checked result: installs what is missing, builds
# fa4c and fa4-sim, compiles a causal forward pass for a Blackwell GPU, runs the PTX
# in the simulator, and the same attention on this machine's CPU. Exits 0 only if
# both results agree with the float64 reference.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
parse_deps_option "$@"

[ $install_deps = no ] || "$root/scripts/install-deps.sh"
configure dev build
ninja -C "$root/build" -j "$(jobs)" fa4c fa4-sim

# run TOOL ARGUMENTS...: says what it runs, as one would type it.
run() {
  echo "+ $*"
  (cd "$root" && "build/bin/$1" "${@:2}")
}
out=build/quickstart
run fa4c --target=cpu --run examples/causal_forward.mlir --check
run fa4c --target=sm_100a examples/causal_forward.mlir -o "$out"
run fa4c --target=sm_100a --run examples/causal_forward.mlir --check
