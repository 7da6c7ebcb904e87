#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Fuzzes parser, verifiers and passes for SECONDS (default 600), from the lit
# tests as seeds. Ends non-zero at the first crash, whose input it names.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
seconds=${1:-600}

configure fuzz build-fuzz
ninja -C "$root/build-fuzz" -j "$(jobs)" fa4-fuzz
corpus=$root/build-fuzz/corpus
mkdir -p "$corpus" "$root/build-fuzz/crashes"
python3 "$root/test/Fuzz/make_corpus.py" "$root" "$corpus"
# Debian's libMLIR.so is not instrumented and shares allocators with our code;
# contexts that are dropped while it holds caches look like leaks.
export ASAN_OPTIONS=allow_user_poisoning=0:detect_leaks=0
exec "$root/build-fuzz/bin/fa4-fuzz" "$corpus" -max_total_time="$seconds" -max_len=20000 \
  -timeout=60 -rss_limit_mb=6000 -print_final_stats=1 \
  -artifact_prefix="$root/build-fuzz/crashes/"
