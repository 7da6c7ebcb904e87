#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Processor seconds per stage of the compiler on one core, best of RUNS, of forward
# kernels for sm_100a: a table, and bench/results/compile.csv. All extents but the
# head dimension are open. Processor time, not the wall's: other work on the machine
# does not count. Stages are those that fa4c prints, and
#   start            of a process that compiles nothing
#   proof            both of tile-verify-protocol
#   ptx-unproved     from text to PTX without them, and without `start`
#   text-to-ptx      with them
#   text-to-cubin    with ptxas, too (left out where there is none)
# Settings:
#   FA4C  the binary (default: build/bin/fa4c)
#   RUNS  how often each case is compiled (default: 3)
#   CASES a regular expression for the names of cases (default: all)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
fa4c=${FA4C:-$root/build/bin/fa4c}
runs=${RUNS:-3}
csv=$root/bench/results/compile.csv
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

one_core=()
if command -v taskset > /dev/null; then one_core=(taskset -c 0); fi

# module NAME D MASK SCORE: writes $out/NAME.mlir.
module() {
  local head="memref<?x?x?x$2xbf16>" lse="memref<?x?x?xf32>"
  local parameters="" clauses="" regions=""
  case $3 in
    none) ;;
    causal) clauses="mask [#attn.causal]" ;;
    window) clauses="mask [#attn.window<left = 500, right = 30>]" ;;
    document)
      parameters=", %dq: memref<?x?xi32>, %dk: memref<?x?xi32>"
      clauses="document_ids(%dq, %dk : memref<?x?xi32>, memref<?x?xi32>)"
      ;;
    predicate)
      regions=" predicate {
    ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
      %n = arith.constant 7 : i32
      %zero = arith.constant 0 : i32
      %s = arith.addi %i, %j : i32
      %r = arith.remsi %s, %n : i32
      %p = arith.cmpi ne, %r, %zero : i32
      attn.yield %p : i1
    }"
      ;;
  esac
  case $4 in
    plain) ;;
    softcap)
      regions=" score {
    ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32):
      %cap = arith.constant 15.0 : f32
      %x = arith.divf %s, %cap : f32
      %y = math.tanh %x : f32
      %z = arith.mulf %y, %cap : f32
      attn.yield %z : f32
    }$regions"
      ;;
    alibi)
      parameters="$parameters, %slopes: memref<?xf32>"
      regions=" score captures(%slopes : memref<?xf32>) {
    ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %c: memref<?xf32>):
      %slope = attn.fetch %c[%h] : memref<?xf32>
      %d = arith.subi %j, %i : i32
      %x = arith.sitofp %d : i32 to f32
      %y = arith.mulf %x, %slope : f32
      %z = arith.addf %s, %y : f32
      attn.yield %z : f32
    }$regions"
      ;;
  esac
  cat > "$out/$1.mlir" << END
module attributes {fa4.target = #fa4.target<"sm_100a">} {
  func.func @main(%q: $head, %k: $head, %v: $head, %o: $head, %lse: $lse$parameters) {
    attn.forward ins(%q, %k, %v : $head, $head, $head) outs(%o, %lse : $head, $lse)
        layout(bshd) $clauses$regions
    return
  }
}
END
}

# record CASE STAGE SECONDS
record() { printf 'fa4,%s,%s,%.4f\n' "$1" "$2" "$3" >> "$csv"; }

# Processor seconds of a command; its output goes to the file $out/log.
processor_seconds() {
  local TIMEFORMAT='%U %S'
  { time "${one_core[@]}" "$@" > "$out/log"; } 2>&1 | awk '{ print $1 + $2 }'
}

# measure CASE: all stages of $out/CASE.mlir, and its line of the table.
measure() {
  local run
  : > "$out/times"
  for ((run = 0; run < runs; ++run)); do
    "${one_core[@]}" "$fa4c" --target=sm_100a "$out/$1.mlir" -o "$out/bundle" > "$out/log"
    awk '$1 == "seconds" {
           print $2, $3
           if ($2 ~ /^proof/) proof += $3; else if ($2 == "ptxas") ptxas = $3; else ptx += $3
         }
         END {
           print "proof", proof; print "ptx-unproved", ptx; print "text-to-ptx", ptx + proof
           if (ptxas != "") print "text-to-cubin", ptx + proof + ptxas
         }' "$out/log" >> "$out/times"
  done
  awk '!($1 in best) { order[++count] = $1; best[$1] = $2 }
       $2 < best[$1] { best[$1] = $2 }
       END { for (k = 1; k <= count; ++k) print order[k], best[order[k]] }' "$out/times" > "$out/best"
  while read -r stage seconds; do record "$1" "$stage" "$seconds"; done < "$out/best"
  awk -v name="$1" '{ best[$1] = $2 }
       END {
         printf "%-24s %8.3f %12.3f %11.3f", name, best["proof"], best["ptx-unproved"], best["text-to-ptx"]
         printf "text-to-cubin" in best ? " %13.3f\n" : " %13s\n", ("text-to-cubin" in best) ? best["text-to-cubin"] : "-"
       }' "$out/best"
}

mkdir -p "$(dirname "$csv")"
echo "impl,case,stage,seconds" > "$csv"
start=""
for ((run = 0; run < runs; ++run)); do
  seconds=$(processor_seconds "$fa4c" --version)
  if [ -z "$start" ] || awk "BEGIN { exit !($seconds < $start) }"; then start=$seconds; fi
done
record process start "$start"
printf '%-24s %8s %12s %11s %13s\n' "case (processor seconds)" proof ptx-unproved text-to-ptx text-to-cubin
for dim in 64 96 128; do
  for mask in none causal window document predicate; do
    for score in plain softcap alibi; do
      name=${mask}_${score}_d$dim
      if [[ ! $name =~ ${CASES:-.} ]]; then continue; fi
      module "$name" "$dim" "$mask" "$score"
      measure "$name"
    done
  done
done
printf '%-24s %8.3f\n' "start of the process" "$start"
