// RUN: fa4-opt %s --convert-attn-to-tile | FileCheck %s --implicit-check-not="attn.forward" --implicit-check-not="attn.fetch" --implicit-check-not="attn.merge"
// RUN: fa4-opt %s --convert-attn-to-tile --cse | fa4-opt --verify-roundtrip --tile-verify-t0 | FileCheck %s --check-prefix=HOST

// The plain causal kernel: two stages of 128 rows, longest tiles first.

#fwd = #fa4.schedule<forward, tile = 128 x 128, stages = 2, work = static_persistent<longest_first>>
module attributes {fa4.target = #fa4.target<"sm_100a">} {

// CHECK-LABEL: tile.kernel @causal_attn0(
// CHECK-SAME: %[[Q:[^:]+]]: !tile.global<1x128x1x128xbf16>, %[[K:[^:]+]]: !tile.global<1x128x1x128xbf16>, %[[V:[^:]+]]: !tile.global<1x128x1x64xbf16>, %[[O:[^:]+]]: !tile.global<1x128x1x64xbf16>, %[[L:[^:]+]]: !tile.global<1x1x128xf32>
// CHECK-SAME: %[[SQ:[^:]+]]: i32, %[[SK:[^:]+]]: i32, %[[NB:[^:]+]]: i32, %[[HQ:[^:]+]]: i32, %[[GROUP:[^:]+]]: i32, %[[TILES:[^:]+]]: i32)

// CHECK: tile.def @load_k(%[[G:.+]]: !tile.global<1x128x1x128xbf16>, %[[B:.+]]: i32, %[[I:.+]]: i32, %[[H:.+]]: i32)
// CHECK: tile.load %[[G]][%[[B]], %[[I]], %[[H]]]

// CHECK: tile.def @qk(%[[A:.+]]: !tile.frag<128x128xbf16>, %[[B:.+]]: !tile.frag<128x128xbf16>)
// CHECK: %[[T:.+]] = tile.transpose %[[B]]
// CHECK: %[[S:.+]] = tile.mma a(%[[A]]) b(%[[T]]) :
// CHECK: tile.yield %[[S]]

// CHECK: tile.def @softmax(%[[S:.+]]: !tile.frag<128x128xf32>, %[[D:.+]]: !tile.frag<128xf32>, %[[SUM:.+]]: !tile.frag<128xf32>, %[[QI:.+]]: i32, %[[J:.+]]: i32, %[[ROWS:.+]]: i32, %[[COLS:.+]]: i32, %[[EDGE:.+]]: i1)
// CHECK: %[[NINF:.+]] = arith.constant 0xFF800000 : f32
// CHECK: %[[X:.+]] = scf.if %[[EDGE]]
// CHECK:   %[[M:.+]] = tile.mask %[[S]] block(%[[QI]], %[[J]]) [#attn.causal] extents(%[[ROWS]], %[[COLS]]) :
// CHECK:   scf.yield %[[M]]
// CHECK: } else {
// CHECK:   scf.yield %[[S]]
// The scale, 1/sqrt(128), in the log2 domain.
// CHECK: %[[C:.+]] = arith.constant 0.127517432 : f32
// CHECK: %[[NONE:.+]] = tile.splat %[[NINF]]
// CHECK: %[[TOP:.+]] = tile.row_max %[[X]] init(%[[NONE]])
// CHECK: %[[D1:.+]], %[[USE:.+]], %[[A:.+]] = tile.online_max %[[TOP]] from(%[[D]]) scale(%[[C]])
// CHECK: %[[Z:.+]] = tile.map (%[[E:.+]] = %[[X]], %[[U:.+]] = %[[USE]])
// CHECK:   math.fma %[[E]], %[[C]], %[[U]]
// CHECK: %[[P:.+]] = tile.exp2 %[[Z]] :
// CHECK: %[[PB:.+]] = tile.cast %[[P]]
// CHECK: %[[LA:.+]] = tile.map (%[[OLD:.+]] = %[[SUM]], %[[F:.+]] = %[[A]])
// CHECK:   arith.mulf %[[OLD]], %[[F]]
// CHECK: %[[L1:.+]] = tile.row_sum %[[P]] init(%[[LA]])
// CHECK: tile.yield %[[PB]], %[[A]], %[[D1]], %[[L1]]

// CHECK: tile.def @rescale(%[[OO:.+]]: !tile.frag<128x64xf32>, %[[A:.+]]: !tile.frag<128xf32>)
// CHECK: tile.scale_rows %[[OO]] by %[[A]]

// CHECK: tile.def @pv(%[[P:.+]]: !tile.frag<128x128xbf16>, %[[VV:.+]]: !tile.frag<128x64xbf16>, %[[OO:.+]]: !tile.frag<128x64xf32>, %[[FIRST:.+]]: i1)
// CHECK: tile.mma a(%[[P]]) b(%[[VV]]) onto(%[[OO]]) unless(%[[FIRST]])

// CHECK: tile.def @finish(%[[OO:.+]]: !tile.frag<128x64xf32>, %[[D:.+]]: !tile.frag<128xf32>, %[[SUM:.+]]: !tile.frag<128xf32>, %[[LL:.+]]: !tile.global<1x1x128xf32>, %[[B:.+]]: i32, %[[H:.+]]: i32, %[[QI:.+]]: i32)
// CHECK: %[[INV:.+]], %[[LSE:.+]] = tile.map (%[[DE:.+]] = %[[D]], %[[SE:.+]] = %[[SUM]])
// CHECK: %[[EMPTY:.+]] = arith.cmpf oeq, %[[SE]], %[[ZERO:.+]] : f32
// CHECK: %[[R:.+]] = arith.divf %{{.+}}, %[[SE]] fastmath<afn>
// CHECK: %[[INVE:.+]] = arith.select %[[EMPTY]], %[[ZERO]], %[[R]]
// The exponent of the sum joins the offset before the logarithm of the rest does.
// CHECK: %[[BITS:.+]] = arith.bitcast %[[SE]] : f32 to i32
// CHECK: %[[EXP:.+]] = arith.andi %[[BITS]], %{{.+}} : i32
// CHECK: %[[DOWN:.+]] = arith.subi %{{.+}}, %[[EXP]] : i32
// CHECK: %[[POWER:.+]] = arith.bitcast %[[DOWN]] : i32 to f32
// CHECK: %[[REST:.+]] = arith.mulf %[[SE]], %[[POWER]]
// CHECK: %[[LOG:.+]] = math.log2 %[[REST]] fastmath<afn>
// CHECK: %[[WIDE:.+]] = arith.sitofp %[[EXP]] : i32 to f32
// CHECK: %[[WHOLE:.+]] = math.fma %[[WIDE]],
// CHECK: %[[DIFF:.+]] = arith.subf %[[WHOLE]], %[[DE]]
// CHECK: %[[BASE2:.+]] = arith.addf %[[DIFF]], %[[LOG]]
// CHECK: %[[LSEE:.+]] = arith.mulf %[[BASE2]],
// CHECK: tile.yield %[[INVE]], %[[LSEE]]
// CHECK: %[[Y:.+]] = tile.scale_rows %[[OO]] by %[[INV]]
// CHECK: %[[YB:.+]] = tile.cast %[[Y]]
// CHECK: tile.store %[[LSE]] to %[[LL]][%[[B]], %[[H]], %[[QI]]]
// CHECK: tile.yield %[[YB]]

// CHECK: tile.work @work(%[[T:.+]]) tiles(%[[TILES]] : i32) uses(%[[SQ]], %[[SK]], %[[NB]], %[[HQ]], %[[GROUP]] :
// CHECK-SAME: -> (%q0, %q1, %h, %kvh, %b, %j0, %n, %ne) facts(1 <= %n, 1 <= %ne, %ne <= %n) {
// The last block of rows of a section of heads comes first.
// CHECK: %[[BLOCKS:.+]] = arith.ceildivsi %[[SQ]], %c256_i32
// CHECK: %[[HEADS:.+]] = arith.muli %[[NB]], %[[HQ]]
// CHECK: %[[FITTING:.+]] = arith.divui %c52428800_i64, %{{.+}} : i64
// CHECK: arith.muli %[[FITTING]], %{{.+}} : i64
// CHECK: %[[MOST:.+]] = arith.trunci %{{.+}} : i64 to i32
// As many sections as that takes, of equal size.
// CHECK: %[[BUTONE:.+]] = arith.subi %[[HEADS]], %c1_i32
// CHECK: %[[WHOLE:.+]] = arith.divui %[[BUTONE]], %[[MOST]]
// CHECK: %[[COUNT:.+]] = arith.addi %[[WHOLE]], %c1_i32
// CHECK: %[[SECTIONS:.+]] = arith.maxsi %[[COUNT]], %c1_i32
// CHECK: %[[SHARE:.+]] = arith.divui %{{.+}}, %[[SECTIONS]]
// CHECK: %[[ROUNDED:.+]] = arith.addi %[[SHARE]], %c1_i32
// CHECK: %[[SIZE:.+]] = arith.maxsi %[[ROUNDED]], %c1_i32
// CHECK: %[[SECTION:.+]] = arith.muli %[[SIZE]], %[[BLOCKS]]
// CHECK: %[[NUMBER:.+]] = arith.divui %[[T]], %[[SECTION]]
// CHECK: %[[FIRST:.+]] = arith.muli %[[NUMBER]], %[[SIZE]]
// CHECK: %[[INSIDE:.+]] = arith.remui %[[T]], %[[SECTION]]
// CHECK: %[[REST:.+]] = arith.remui %[[HEADS]], %[[SIZE]]
// CHECK: %[[LAST:.+]] = arith.maxsi %[[REST]], %c1_i32
// CHECK: %[[WHOLE:.+]] = arith.cmpi sle, %{{.+}}, %[[HEADS]]
// CHECK: %[[MINE:.+]] = arith.select %[[WHOLE]], %[[SIZE]], %[[LAST]]
// CHECK: %[[A:.+]] = arith.divui %[[INSIDE]], %[[SIZE]]
// CHECK: %[[B:.+]] = arith.divui %[[INSIDE]], %[[LAST]]
// CHECK: %[[OUTER:.+]] = arith.select %[[WHOLE]], %[[A]], %[[B]]
// CHECK: %[[BEFORE:.+]] = arith.muli %[[OUTER]], %[[MINE]]
// CHECK: %[[OFFSET:.+]] = arith.subi %[[INSIDE]], %[[BEFORE]]
// CHECK: %[[INNER:.+]] = arith.addi %[[FIRST]], %[[OFFSET]]
// CHECK: %[[H:.+]] = arith.remui %[[INNER]], %[[HQ]]
// CHECK: %[[B:.+]] = arith.divui %[[INNER]], %[[HQ]]
// CHECK: %[[KVH:.+]] = arith.divui %[[H]], %[[GROUP]]
// CHECK: %[[AGAIN:.+]] = arith.ceildivsi %[[SQ]], %c256_i32
// CHECK: %[[LAST:.+]] = arith.subi %[[AGAIN]], %c1_i32
// CHECK: %[[BLOCK:.+]] = arith.subi %[[LAST]], %[[OUTER]]
// CHECK: %[[Q0:.+]] = arith.muli %[[BLOCK]], %c2_i32
// CHECK: %[[Q1:.+]] = arith.addi %[[Q0]], %c1_i32
// CHECK: tile.yield %[[Q0]], %[[Q1]], %[[H]], %[[KVH]], %[[B]],

// CHECK: tile.for_each_tile (%[[Q0:.+]], %[[Q1:.+]], %[[H:.+]], %[[KVH:.+]], %[[B:.+]], %[[J0:.+]], %[[N:.+]], %[[NE:.+]]) in @work {
// CHECK: %[[ZO:.+]] = tile.splat %{{.+}} -> !tile.frag<128x64xf32>
// CHECK: %[[QA:.+]] = tile.step @load_q[0](%[[Q]], %[[B]], %[[Q0]], %[[H]])
// CHECK: %[[QB:.+]] = tile.step @load_q[1](%[[Q]], %[[B]], %[[Q1]], %[[H]])
// CHECK: scf.for %[[I:.+]] = %[[C0:.+]] to %[[N]] step %{{.+}} iter_args(%[[OA:.+]] = %[[ZO]], %[[OB:.+]] = %[[ZO]], %[[DA:.+]] = %[[INF:.+]], %[[DB:.+]] = %[[INF]], %[[LA:.+]] = %[[ZL:.+]], %[[LB:.+]] = %[[ZL]])
// CHECK: %[[FIRST:.+]] = arith.cmpi eq, %[[I]], %[[C0]]
// CHECK: %[[EDGE:.+]] = arith.cmpi slt, %[[I]], %[[NE]]
// CHECK: %[[J:.+]] = arith.subi %[[J0]], %[[I]]
// CHECK: %[[KT:.+]] = tile.step @load_k(%[[K]], %[[B]], %[[J]], %[[KVH]])
// CHECK: %[[VT:.+]] = tile.step @load_v(%[[V]], %[[B]], %[[J]], %[[KVH]])
// CHECK: %[[S:.+]] = tile.step @qk[0](%[[QA]], %[[KT]])
// CHECK: %[[P:.+]], %[[A:.+]], %[[D1:.+]], %[[L1:.+]] = tile.step @softmax[0](%[[S]], %[[DA]], %[[LA]], %[[Q0]], %[[J]], %[[SQ]], %[[SK]], %[[EDGE]])
// CHECK: %[[R:.+]] = tile.step @rescale[0](%[[OA]], %[[A]]) unless(%[[FIRST]])
// CHECK: %[[W:.+]] = tile.step @pv[0](%[[P]], %[[VT]], %[[R]], %[[FIRST]])
// CHECK: %[[S:.+]] = tile.step @qk[1](%[[QB]], %[[KT]])
// CHECK: tile.step @softmax[1](%[[S]], %[[DB]], %[[LB]], %[[Q1]], %[[J]], %[[SQ]], %[[SK]], %[[EDGE]])
// CHECK: scf.yield %[[W]], %{{.+}}, %[[D1]], %{{.+}}, %[[L1]],
// CHECK: %[[RESULT:.+]] = tile.step @finish[0](%{{.+}}#0, %{{.+}}#2, %{{.+}}#4, %[[L]], %[[B]], %[[H]], %[[Q0]])
// CHECK: tile.step @store[0](%[[RESULT]], %[[O]], %[[B]], %[[Q0]], %[[H]])
// CHECK: tile.step @finish[1](%{{.+}}#1, %{{.+}}#3, %{{.+}}#5, %[[L]], %[[B]], %[[H]], %[[Q1]])

// HOST-LABEL: func.func @causal(
// HOST-SAME: %[[Q:[^:]+]]: memref<?x?x?x128xbf16>, %[[K:[^:]+]]: memref<?x?x?x128xbf16>, %[[V:[^:]+]]: memref<?x?x?x64xbf16>, %[[O:[^:]+]]: memref<?x?x?x64xbf16>, %[[L:[^:]+]]: memref<?x?x?xf32>
// HOST-DAG: %[[HQ:.+]] = memref.dim %[[Q]], %c2
// HOST-DAG: %[[HKV:.+]] = memref.dim %[[K]], %c2
// HOST-DAG: %[[SOME:.+]] = arith.maxsi %[[HKV]], %c1
// HOST-DAG: %[[GROUP:.+]] = arith.divui %[[HQ]], %[[SOME]]
// HOST-DAG: %[[B:.+]] = memref.dim %[[Q]], %c0
// HOST-DAG: %[[SQ:.+]] = memref.dim %[[Q]], %c1
// HOST-DAG: %[[SK:.+]] = memref.dim %[[K]], %c1
// HOST-DAG: %[[HEADS:.+]] = arith.muli %[[B]], %[[HQ]]
// HOST-DAG: %[[BLOCKS:.+]] = arith.ceildivsi %[[SQ]], %c256
// HOST-DAG: %[[TILES:.+]] = arith.muli %[[HEADS]], %[[BLOCKS]]
// HOST-DAG: %[[SQ32:.+]] = arith.index_cast %[[SQ]]
// HOST-DAG: %[[SK32:.+]] = arith.index_cast %[[SK]]
// HOST-DAG: %[[B32:.+]] = arith.index_cast %[[B]]
// HOST-DAG: %[[HQ32:.+]] = arith.index_cast %[[HQ]]
// HOST-DAG: %[[GROUP32:.+]] = arith.index_cast %[[GROUP]]
// HOST-DAG: %[[TILES32:.+]] = arith.index_cast %[[TILES]]
// HOST: tile.launch @causal_attn0(%[[Q]], %[[K]], %[[V]], %[[O]], %[[L]], %[[SQ32]], %[[SK32]], %[[B32]], %[[HQ32]], %[[GROUP32]], %[[TILES32]])
func.func @causal(%q: memref<?x?x?x128xbf16>, %k: memref<?x?x?x128xbf16>, %v: memref<?x?x?x64xbf16>,
                  %o: memref<?x?x?x64xbf16>, %lse: memref<?x?x?xf32>) {
  attn.forward ins(%q, %k, %v : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x64xbf16>)
      outs(%o, %lse : memref<?x?x?x64xbf16>, memref<?x?x?xf32>) mask [#attn.causal] schedule(#fwd)
  return
}
}
