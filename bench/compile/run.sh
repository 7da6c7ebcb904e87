#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Seconds per stage of the compiler on one core, best of RUNS, as a table and as
# bench/results/compile.csv. `text-to-ptx` is the whole process without ptxas,
# `text-to-cubin` with it (left out where there is none).
#   FA4C  the binary (default: build/bin/fa4c)
#   RUNS  how often each case is compiled (default: 5)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
fa4c=${FA4C:-$root/build/bin/fa4c}
runs=${RUNS:-5}
csv=$root/bench/results/compile.csv
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
mkdir -p "$(dirname "$csv")"
echo "impl,case,stage,seconds" > "$csv"
printf '%-28s %-16s %9s\n' case stage seconds

one_core=()
if command -v taskset > /dev/null; then one_core=(taskset -c 0); fi

# record CASE STAGE SECONDS
record() {
  printf '%-28s %-16s %9.4f\n' "$1" "$2" "$3"
  printf 'fa4,%s,%s,%.4f\n' "$1" "$2" "$3" >> "$csv"
}

# seconds COMMAND...: wall time of the best run.
seconds() {
  local best="" begin end run
  for ((run = 0; run < runs; ++run)); do
    begin=$(date +%s%N)
    "${one_core[@]}" "$@" > /dev/null
    end=$(date +%s%N)
    if [ -z "$best" ] || [ $((end - begin)) -lt "$best" ]; then best=$((end - begin)); fi
  done
  awk -v ns="$best" 'BEGIN { printf "%.4f", ns * 1e-9 }'
}

for file in "$here"/*.mlir "$root"/examples/causal_forward.mlir "$root"/examples/alibi_sink.mlir "$root"/examples/window_softcap.mlir; do
  name=$(basename "$file" .mlir)
  for ((run = 0; run < runs; ++run)); do
    "${one_core[@]}" "$fa4c" --target=sm_100a "$file" -o "$out" | awk '$1 == "seconds" { print $2, $3 }'
  done > "$out/times"
  for stage in $(awk '!seen[$1]++ { print $1 }' "$out/times"); do
    record "$name" "$stage" "$(awk -v stage="$stage" '$1 == stage && (best == "" || $2 < best) { best = $2 } END { print best }' "$out/times")"
  done
  record "$name" text-to-ptx "$(seconds "$fa4c" --target=sm_100a "$file" --emit=ptx -o "$out/x.ptx")"
  if [ -f "$out/$name.cubin" ]; then
    record "$name" text-to-cubin "$(seconds "$fa4c" --target=sm_100a "$file" --emit=cubin -o "$out/x.cubin")"
  fi
done
