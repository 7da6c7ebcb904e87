#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every technique of the sm_100a forward kernel switched off alone, and the share of
# polynomial exponentials swept in the cost model, as tables and as
# bench/results/{ablation,exp2_share}.csv.
#   FA4C  the compiler (default: build/bin/fa4c)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
exec python3 "$here/ablate.py" --fa4c "${FA4C:-$root/build/bin/fa4c}" \
  --work "$root/build/bench-ablation" \
  --csv "$root/bench/results/ablation.csv" --sweep "$root/bench/results/exp2_share.csv"
