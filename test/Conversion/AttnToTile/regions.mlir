// RUN: fa4-opt %s --convert-attn-to-tile --cse | FileCheck %s --implicit-check-not="attn.forward" --implicit-check-not="attn.fetch" --implicit-check-not="attn.merge"
// RUN: fa4-opt %s --convert-attn-to-tile | fa4-opt --verify-roundtrip --tile-verify-t0 | FileCheck %s --check-prefix=ROUND

// Score region, then the mask of lengths, then documents, then the predicate;
// the sink in the denominator.

#one = #fa4.schedule<forward, tile = 128 x 128, stages = 1, work = static_persistent>
module attributes {fa4.target = #fa4.target<"sm_100a">} {

// CHECK-LABEL: tile.kernel @regions_attn0(
// CHECK-SAME: %[[Q:[^:]+]]: !tile.global<1x1x128x64xbf16>
// CHECK-SAME: %[[KDQ:[^:]+]]: !tile.global<1x128xi32>, %[[KDK:[^:]+]]: !tile.global<1x1xi32>, %[[SINK:[^:]+]]: !tile.global<1xf32>, %[[KBIAS:[^:]+]]: !tile.global<1x1x1xf32>, %[[KLIM:[^:]+]]: i32, %[[B0:[^:]+]]: i32, %[[H0:[^:]+]]: i32

// CHECK: tile.def @load_q(%[[G:.+]]: !tile.global<1x1x128x64xbf16>, %[[B:.+]]: i32, %[[I:.+]]: i32, %[[H:.+]]: i32)
// CHECK: tile.load %[[G]][%[[B]], %[[H]], %[[I]]]

// CHECK: tile.def @softmax(%[[S:[^:]+]]: !tile.frag<128x128xf32>, %{{[^:]+}}: !tile.frag<128xf32>, %{{[^:]+}}: !tile.frag<128xf32>, %[[QI:[^:]+]]: i32, %[[J:[^:]+]]: i32, %[[ROWS:[^:]+]]: i32, %[[COLS:[^:]+]]: i32, %[[EDGE:[^:]+]]: i1, %[[B:[^:]+]]: i32, %[[H:[^:]+]]: i32, %[[BO:[^:]+]]: i32, %[[HO:[^:]+]]: i32, %[[DQ:[^:]+]]: !tile.global<1x128xi32>, %[[DK:[^:]+]]: !tile.global<1x1xi32>, %[[BIAS:[^:]+]]: !tile.global<1x1x1xf32>, %[[LIM:[^:]+]]: i32)
// CHECK: %[[NINF:.+]] = arith.constant 0xFF800000 : f32
// CHECK: %[[BATCH:.+]] = arith.addi %[[B]], %[[BO]]
// CHECK: %[[HEAD:.+]] = arith.addi %[[H]], %[[HO]]
// CHECK: %[[SCALE:.+]] = arith.constant -5.000000e-01 : f32
// CHECK: %[[ROW0:.+]] = arith.muli %[[QI]], %c128_i32
// CHECK: %[[COL0:.+]] = arith.muli %[[J]], %c128_i32
// CHECK: %[[X:.+]] = tile.map (%[[E:.+]] = %[[S]]) at(%[[I:.+]] = %[[ROW0]], %[[C:.+]] = %[[COL0]])
// CHECK:   %[[SCALED:.+]] = arith.mulf %[[E]], %[[SCALE]]
// CHECK:   %[[BE:.+]] = tile.fetch %[[BIAS]][%[[HEAD]], %[[I]], %[[C]]]
// CHECK:   %[[TANH:.+]] = math.tanh %[[SCALED]] fastmath<afn>
// CHECK:   %[[SUM:.+]] = arith.addf %[[TANH]], %[[BE]] : f32
// CHECK:   tile.yield %[[SUM]]
// CHECK: %[[MASKED:.+]] = scf.if %[[EDGE]]
// CHECK:   tile.mask %[[X]] block(%[[QI]], %[[J]]) [] extents(%[[ROWS]], %[[COLS]])
// CHECK: %[[IDS:.+]] = tile.load %[[DQ]][%[[B]], %[[QI]]] : !tile.global<1x128xi32> -> !tile.frag<128xi32>
// CHECK: %[[DOC:.+]] = tile.map (%[[E:.+]] = %[[MASKED]], %[[ID:.+]] = %[[IDS]]) at(%{{.+}} = %[[ROW0]], %[[C:.+]] = %[[COL0]])
// CHECK:   %[[KID:.+]] = tile.fetch %[[DK]][%[[B]], %[[C]]]
// CHECK:   %[[SAME:.+]] = arith.cmpi eq, %[[ID]], %[[KID]]
// CHECK:   arith.select %[[SAME]], %[[E]], %[[NINF]]
// CHECK: %[[PRED:.+]] = tile.map (%[[E:.+]] = %[[DOC]]) at(%[[I:.+]] = %[[ROW0]], %[[C:.+]] = %[[COL0]])
// CHECK:   %[[M:.+]] = arith.muli %[[I]], %[[LIM]]
// CHECK:   %[[END:.+]] = arith.addi %[[M]], %[[BATCH]]
// CHECK:   %[[KEEP:.+]] = arith.cmpi slt, %[[C]], %[[END]]
// CHECK:   arith.select %[[KEEP]], %[[E]], %[[NINF]]
// A score region has the scale: only log2(e) is left for exp2.
// CHECK: %[[LOG2E:.+]] = arith.constant 1.44269502 : f32
// CHECK: tile.row_max %[[PRED]]
// CHECK: tile.online_max %{{.+}} from(%{{.+}}) scale(%[[LOG2E]])

// CHECK: tile.def @finish({{.*}}, %[[H:[^:]+]]: i32, %{{[^:]+}}: i32, %[[SINK:[^:]+]]: !tile.global<1xf32>)
// CHECK: %[[LOGIT:.+]] = tile.fetch %[[SINK]][%[[H]]]
// CHECK: tile.map (%[[D:.+]] = %{{.+}}, %[[SUM:.+]] = %{{.+}})
// CHECK: %[[EMPTY:.+]] = arith.cmpf oeq, %[[SUM]], %[[ZERO:.+]] :
// CHECK: %[[OFFSET:.+]] = arith.select %{{.+}}, %{{.+}}, %[[D]]
// CHECK: %[[LOG2:.+]] = arith.mulf %[[LOGIT]],
// CHECK: %[[EXTRA:.+]] = arith.addf %[[LOG2]], %[[OFFSET]]
// CHECK: %[[TOP:.+]] = arith.maximumf %[[EXTRA]], %[[ZERO]]
// CHECK: %[[DOWN:.+]] = arith.subf %[[ZERO]], %[[TOP]]
// CHECK: %[[SHRINK:.+]] = math.exp2 %[[DOWN]]
// CHECK: %[[KEYS:.+]] = arith.mulf %[[SUM]], %[[SHRINK]]
// CHECK: %[[DIST:.+]] = arith.subf %[[EXTRA]], %[[TOP]]
// CHECK: %[[ONE:.+]] = math.exp2 %[[DIST]]
// CHECK: %[[TOTAL:.+]] = arith.addf %[[KEYS]], %[[ONE]]
// CHECK: %[[Q:.+]] = arith.divf %[[SHRINK]], %[[TOTAL]]
// CHECK: %[[INV:.+]] = arith.select %[[EMPTY]], %[[ZERO]], %[[Q]]
// CHECK: %[[LSE:.+]] = arith.select %[[EMPTY]], %[[LOGIT]],
// CHECK: tile.yield %[[INV]], %[[LSE]]

// CHECK: tile.step @softmax[0]({{.*}}, %[[B:.+]], %[[H:.+]], %[[B0]], %[[H0]], %[[KDQ]], %[[KDK]], %[[KBIAS]], %[[KLIM]])
// ROUND-LABEL: tile.kernel @regions_attn0(
func.func @regions(%q: memref<2x10x300x64xbf16>, %k: memref<2x5x200x64xbf16>, %v: memref<2x5x200x64xbf16>,
                   %o: memref<2x10x300x64xbf16>, %lse: memref<2x10x300xf32>, %dq: memref<2x300xi32>, %dk: memref<2x200xi32>,
                   %sink: memref<10xf32>, %bias: memref<10x300x200xf32>, %lim: i32, %b0: index, %h0: index) {
  attn.forward ins(%q, %k, %v : memref<2x10x300x64xbf16>, memref<2x5x200x64xbf16>, memref<2x5x200x64xbf16>)
      outs(%o, %lse : memref<2x10x300x64xbf16>, memref<2x10x300xf32>) layout(bhsd) scale(-0.5)
      document_ids(%dq, %dk : memref<2x300xi32>, memref<2x200xi32>)
      sink(%sink : memref<10xf32>) origin(%b0, %h0) schedule(#one) fast
      score captures(%bias : memref<10x300x200xf32>) {
      ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: memref<10x300x200xf32>):
        %x = attn.fetch %t[%h, %i, %j] : memref<10x300x200xf32>
        %th = math.tanh %s : f32
        %y = arith.addf %th, %x : f32
        attn.yield %y : f32
      } predicate captures(%lim : i32) {
      ^bb0(%b: i32, %h: i32, %i: i32, %j: i32, %l: i32):
        %m = arith.muli %i, %l : i32
        %n = arith.addi %m, %b : i32
        %p = arith.cmpi slt, %j, %n : i32
        attn.yield %p : i1
      }
  return
}

// A scale that is not positive cannot go into exp2 behind the maximum.
// CHECK-LABEL: tile.kernel @negative_attn0(
// CHECK: tile.def @softmax(%[[S:[^:]+]]:
// CHECK: %[[SCALE:.+]] = arith.constant -2.500000e-01 : f32
// CHECK: %[[X:.+]] = tile.map (%[[E:.+]] = %[[S]]) :
// CHECK: arith.mulf %[[E]], %[[SCALE]]
// CHECK: tile.mask %[[X]]
// ROUND-LABEL: tile.kernel @negative_attn0(
func.func @negative(%q: memref<?x?x?x64xf16>, %k: memref<?x?x?x64xf16>, %v: memref<?x?x?x64xf16>, %o: memref<?x?x?x64xf16>) {
  attn.forward ins(%q, %k, %v : memref<?x?x?x64xf16>, memref<?x?x?x64xf16>, memref<?x?x?x64xf16>)
      outs(%o : memref<?x?x?x64xf16>) scale(-0.25) schedule(#one)
  return
}
}
