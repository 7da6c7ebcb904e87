#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# From a fresh clone to a checked result: installs what is missing, builds
# fa4c, compiles a causal forward pass and runs it on this machine's CPU.
# Exits 0 only if the result agrees with the float64 reference.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
parse_deps_option "$@"

[ $install_deps = no ] || "$root/scripts/install-deps.sh"
configure dev build
ninja -C "$root/build" -j "$(jobs)" fa4c
echo "fa4c --target=cpu --run examples/causal_forward.mlir --check"
"$root/build/bin/fa4c" --target=cpu --run "$root/examples/causal_forward.mlir" --check
