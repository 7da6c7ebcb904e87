#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Instructions of each role's loop, ours beside FlashAttention-4's, as a table and as
# bench/results/cost.csv. Takes the compilers of check-fa4-peers (run that first) and
# assembles both kernels with one ptxas from PyPI.
#   FA4C   the compiler (default: build/bin/fa4c)
#   PEERS  the folder that check-fa4-peers worked in (default: build/test/Peers)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
exec python3 "$here/compare.py" --fa4c "${FA4C:-$root/build/bin/fa4c}" --peers "${PEERS:-$root/build/test/Peers}" \
  --work "$root/build/bench-cost" --csv "$root/bench/results/cost.csv"
