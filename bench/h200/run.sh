#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Forward speed on a Hopper GPU beside cuDNN, FlexAttention, JAX and FlashAttention-2.
#   run.sh prepare FOLDER [options of prepare.py]   on a machine with the compiler
#   run.sh measure FOLDER [options of measure.py]   on the GPU's machine: python3 with torch
#                                                   and cuda-bindings, no compiler
#   run.sh                                          both, in build/bench-h200, where both are there
# Prints a table and writes bench/results/h200.csv (unless --csv says otherwise).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
csv=$root/bench/results/h200.csv
case ${1:-all} in
  prepare) shift; exec python3 "$here/prepare.py" "$@" ;;
  measure) folder=$2; shift 2; exec python3 "$here/measure.py" --kernels "$folder" "$@" ;;
  all)
    python3 "$here/prepare.py" "$root/build/bench-h200"
    python3 "$here/measure.py" --kernels "$root/build/bench-h200" --csv "$csv" --log "$root/build/bench-h200/log.json"
    python3 "$here/report.py" "$csv"
    ;;
  *) sed -n '3,9p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
