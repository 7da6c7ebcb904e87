#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Issue slots of each role, ours beside FlashAttention-4's, in the loop and over whole tiles
# run in the simulator, as a table and as bench/results/cost.csv. Takes the compilers of
# check-fa4-peers (run that first) and assembles both kernels with one ptxas from PyPI.
#   FA4C, FA4_SIM  the compiler and the simulator (default: build/bin)
#   PEERS          a Python environment with FlashAttention-4 (default: build/test/Peers/venv)
#   REPEATS        compilations timed, of which the fastest counts (default: 3)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
exec python3 "$here/compare.py" --fa4c "${FA4C:-$root/build/bin/fa4c}" --sim "${FA4_SIM:-$root/build/bin/fa4-sim}" \
  --peers "${PEERS:-$root/build/test/Peers/venv}" --work "$root/build/bench-cost" --csv "$root/bench/results/cost.csv" \
  --repeats "${REPEATS:-3}"
