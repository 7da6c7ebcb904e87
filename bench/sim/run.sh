#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Speed of the simulator on one core (processor time), as a table and as
# bench/results/sim.csv.
#   FA4_SIM    the binary (default: build/bin/fa4-sim)
#   FA4_PEERS  folder with the bundles that check-fa4-peers built; without it the
#              line of FlashAttention-4's kernel is left out
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
sim=${FA4_SIM:-$root/build/bin/fa4-sim}
peers=${FA4_PEERS:-$root/build/test/Peers/kernels}
csv=$root/bench/results/sim.csv
mkdir -p "$(dirname "$csv")"
echo "case,races,seconds,warp_instructions_per_s,mma_gflops" > "$csv"
printf '%-28s %6s %9s %18s %12s\n' case races seconds "warp instr. M/s" "MMA GFLOP/s"

# races=on looks for unordered accesses too, as others' tcgen05 allows (see
# docs/Simulator-races.md).
races=off
measure() {
  local name=$1 line
  shift
  if [ "$races" = on ]; then
    set -- --races --lenient-tcgen05 "$@"
  fi
  line=$("$sim" --jobs=1 --speed "$@" | grep '^seconds')
  # seconds S, processor seconds P; per processor second: R M warp instructions, F …
  awk -v name="$name" -v races="$races" -v csv="$csv" '{
    gsub(/[;,:]/, "")
    printf "%-28s %6s %9.3f %18.2f %12.2f\n", name, races, $5, $9, $13
    printf "%s,%s,%s,%.0f,%s\n", name, races, $5, $9 * 1e6, $13 >> csv
  }' <<< "$line"
}

measure alu --ptx "$here/alu.ptx" --block 32 --param buffer=out:1024 --param u32=1000000
for mode in exact f32 f64; do
  measure "tcgen05-$mode" --ptx "$here/tcgen05.ptx" --smem 32784 --param u32=100 --mma "$mode"
done
# FlashAttention-4's kernel. With 256 queries against 4096 keys it is two CTAs, one
# per head, and each must take at most 5 s of a core: so must both.
attention() {
  local name=$1 queries=$2 fa4=$peers/$3
  if [ -f "$fa4.json" ]; then
    measure "$name" "$fa4.json" --arg=q="$fa4.q.npy" --arg=k="$fa4.k.npy" --arg=v="$fa4.v.npy" \
      "--arg=o=empty:1x${queries}x2x128" "--arg=lse=empty:1x2x$queries"
  else
    echo "$name: left out, no $fa4.json (ninja check-fa4-peers builds it)"
  fi
}
# The same of our own compiler, in bundles that it makes here.
fa4c=${FA4C:-$root/build/bin/fa4c}
own() {
  local target=$1 folder
  folder=$(mktemp -d)
  "$fa4c" "--target=$target" --emit=bundle "$here/causal-$target.mlir" -o "$folder" > /dev/null 2>&1
  measure "own-$target-256x4096" "$folder/causal-$target.json" --arg=q=random:1x256x1x128 \
    --arg=k=random:1x4096x1x128 --arg=v=random:1x4096x1x128 --arg=o=empty:1x256x1x128 --arg=lse=empty:1x1x256
  rm -r "$folder"
}
for races in off on; do
  attention fa4-forward-s1000 1000 flash_attention_sm_100a_causal_s1000
  attention fa4-forward-256x4096 256 flash_attention_sm_100a_causal_s256_keys4096
  own sm_100a
  own sm_90a
done
# Looking for races may take four times as long, and 20 s.
awk -F, '$1 ~ /256x4096/ && $2 == "off" { plain[$1] = $3; if ($3 > 5) bad = $1 " in 5 s, but it took " $3 }
  $1 ~ /256x4096/ && $2 == "on" && ($3 > 20 || $3 > 4 * plain[$1]) {
    bad = $1 " with races in 20 s and 4 times " plain[$1] " s, but it took " $3 }
  END { if (bad != "") { print "error: expected " bad " s"; exit 1 } }' "$csv"
