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
printf '%-28s %9s %18s %12s\n' case seconds "warp instr. M/s" "MMA GFLOP/s"

measure() {
  local name=$1 line
  shift
  line=$("$sim" --jobs=1 --speed "$@" | grep '^seconds')
  # seconds S, processor seconds P; per processor second: R M warp instructions, F …
  awk -v name="$name" -v csv="$csv" '{
    gsub(/[;,:]/, "")
    printf "%-28s %9.3f %18.2f %12.2f\n", name, $5, $9, $13
    printf "%s,off,%s,%.0f,%s\n", name, $5, $9 * 1e6, $13 >> csv
  }' <<< "$line"
}

measure alu --ptx "$here/alu.ptx" --block 32 --param buffer=out:1024 --param u32=1000000
for mode in exact f32 f64; do
  measure "tcgen05-$mode" --ptx "$here/tcgen05.ptx" --smem 32784 --param u32=100 --mma "$mode"
done
fa4=$peers/flash_attention_sm_100a_s1000
if [ -f "$fa4.json" ]; then
  # 256 query rows against 4096 keys, no mask to cut: the last block of a causal
  # sequence is closest in the peers' set, so the whole of S = 1000 is measured.
  measure fa4-forward-s1000 "$fa4.json" --arg=q="$fa4.q.npy" --arg=k="$fa4.k.npy" \
    --arg=v="$fa4.v.npy" --arg=o=empty:1x1000x2x128 --arg=lse=empty:1x2x1000
fi
