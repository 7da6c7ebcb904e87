#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Speeds that the cost model predicts for the H200 against those in
# bench/results/{h200,h200_tiles}.csv, as bench/results/model.csv.
#   COUNT=1   compile and disassemble the kernels of h200.csv again for bench/results/model_counts.csv
#   FA4C      the compiler (default: build/bin/fa4c), only with COUNT
#   PREDICT   the program of `ninja fa4-predict` (default: build/model/fa4-predict)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
if [ -n "${COUNT:-}" ]; then
  python3 "$here/kernels.py" --fa4c "${FA4C:-$root/build/bin/fa4c}" --work "$root/build/bench-model" \
    --csv "$root/bench/results/model_counts.csv"
fi
exec python3 "$here/model.py" --predict "${PREDICT:-$root/build/model/fa4-predict}" --csv "$root/bench/results/model.csv"
