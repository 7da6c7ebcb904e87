#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Fuzzes the simulator's front end and executor for SECONDS each (default 600),
# from the simulator's tests as seeds. Ends non-zero at the first crash.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
seconds=${1:-600}

configure fuzz build-fuzz
ninja -C "$root/build-fuzz" -j "$(jobs)" fa4-sim-parse-fuzz fa4-sim-run-fuzz
mkdir -p "$root/build-fuzz/crashes"
export ASAN_OPTIONS=allow_user_poisoning=0
for part in parse run; do
  corpus=$root/build-fuzz/corpus-sim-$part
  mkdir -p "$corpus"
  find "$root/test/Simulator" "$root/bench/sim" -name '*.ptx' -size -20k | while read -r seed; do
    cp -n "$seed" "$corpus/$(echo "${seed#"$root"/}" | tr / _)"
  done
  "$root/build-fuzz/bin/fa4-sim-$part-fuzz" "$corpus" -max_total_time="$seconds" -max_len=20000 \
    -timeout=30 -rss_limit_mb=4000 -print_final_stats=1 \
    -artifact_prefix="$root/build-fuzz/crashes/sim-$part-"
done
