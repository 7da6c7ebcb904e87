// RUN: fa4-opt %s --tile-pipeline-loop | FileCheck %s
// RUN: fa4-opt %s --tile-pipeline-loop --tile-pipeline-loop | FileCheck %s
// RUN: fa4-opt %s --tile-pipeline-loop --tile-verify-t0 --verify-roundtrip | FileCheck %s

#t = #fa4.target<"sm_100a">
!x = !tile.frag<16x16xf32>
!g = !tile.global<16x16xf32>

tile.def @load(%G: !g, %i: i32) -> !x {
  %x = tile.load %G[%i] : !g -> !x
  tile.yield %x : !x
}
tile.def @one(%x: !x, %first: i1) -> !x {
  tile.yield %x : !x
}
tile.def @two(%x: !x, %y: !x) -> !x {
  %z = tile.map (%a = %x, %b = %y) : (!x, !x) -> !x {
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  }
  tile.yield %z : !x
}
tile.def @store(%x: !x, %G: !g, %i: i32) {
  tile.store %x to %G[%i] : !x, !g
}

// Blackwell's order in small: @two of block i-1 before @one of block i. What
// @one makes crosses the back edge (%s); the accumulator stays with its step.
#blackwell = #fa4.schedule<forward, tile = 16 x 16, order = [two at 1, load at 0, one at 0]>
// CHECK-LABEL: tile.kernel @blackwell
// CHECK: tile.for_each_tile (%[[J0:.+]], %[[N:.+]], %[[NE:.+]]) in @work
// CHECK-DAG: %[[C0:.+]] = arith.constant 0 : i32
// CHECK-DAG: %[[C1:.+]] = arith.constant 1 : i32
// CHECK-DAG: %[[TRUE:.+]] = arith.constant true
// CHECK-DAG: %[[FALSE:.+]] = arith.constant false
// CHECK: %[[Z:.+]] = tile.splat
// CHECK: %[[K0:.+]] = tile.step @load(%{{.+}}, %[[J0]])
// CHECK: %[[S0:.+]] = tile.step @one(%[[K0]], %[[TRUE]])
// CHECK: %[[LOOP:.+]]:2 = scf.for %[[I:.+]] = %[[C1]] to %[[N]] step %[[C1]] iter_args(%[[ACC:.+]] = %[[Z]], %[[S:.+]] = %[[S0]])
// CHECK-NEXT: %[[FIRST:.+]] = arith.cmpi eq, %[[I]], %[[C1]]
// CHECK-NEXT: %[[ACC1:.+]] = tile.step @two(%[[ACC]], %[[S]]) unless(%[[FIRST]])
// CHECK-NEXT: %[[J:.+]] = arith.subi %[[J0]], %[[I]]
// CHECK-NEXT: %[[K:.+]] = tile.step @load(%{{.+}}, %[[J]])
// CHECK-NEXT: %[[S1:.+]] = tile.step @one(%[[K]], %[[FALSE]])
// CHECK-NEXT: scf.yield %[[ACC1]], %[[S1]]
// CHECK: %[[LAST:.+]] = arith.cmpi eq, %[[N]], %[[C1]]
// CHECK-NEXT: %[[R:.+]] = tile.step @two(%[[LOOP]]#0, %[[LOOP]]#1) unless(%[[LAST]])
// CHECK-NEXT: tile.step @store(%[[R]],
tile.kernel @blackwell(%nt: i32, %nb: i32, %G: !g, %O: !g) target(#t) schedule(#blackwell) {
  tile.work @work(%t) tiles(%nt : i32) uses(%nb : i32) -> (%j0, %n, %ne) facts(1 <= %n) {
    tile.yield %t, %nb, %nb : i32, i32, i32
  }
  tile.for_each_tile (%j0, %n, %ne) in @work {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> !x
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (!x) : i32 {
      %first = arith.cmpi eq, %i, %c0 : i32
      %j = arith.subi %j0, %i : i32
      %k = tile.step @load(%G, %j) : (!g, i32) -> !x
      %s = tile.step @one(%k, %first) : (!x, i1) -> !x
      %acc1 = tile.step @two(%acc, %s) unless(%first) : (!x, !x) -> !x
      scf.yield %acc1 : !x
    }
    tile.step @store(%r, %O, %j0) : (!x, !g, i32) -> ()
  }
}

// Hopper's order in small: the step of stage 1 stands between two of stage 0.
// The rescaling ([0], unless first) follows the product of the block before and
// never the zero start: its test folds away, in the prologue with the step.
#hopper = #fa4.schedule<forward, tile = 16 x 16, stages = 2, order = [load at 0, two[1] at 1, two[0] at 0]>
// CHECK-LABEL: tile.kernel @hopper
// CHECK: tile.for_each_tile (%[[J0:.+]], %[[N:.+]]) in @work
// CHECK: %[[Z:.+]] = tile.splat
// CHECK: %[[K0:.+]] = tile.step @load(%{{.+}}, %[[J0]])
// CHECK-NEXT: %[[LOOP:.+]]:2 = scf.for %[[I:.+]] = %[[C1:.+]] to %[[N]] step %{{.+}} iter_args(%[[PK:.+]] = %[[K0]], %[[PR:.+]] = %[[Z]])
// CHECK-NEXT: %[[J:.+]] = arith.subi %[[J0]], %[[I]]
// CHECK-NEXT: %[[K:.+]] = tile.step @load(%{{.+}}, %[[J]])
// CHECK-NEXT: %[[W:.+]] = tile.step @two[1](%[[PR]], %[[PK]])
// CHECK-NEXT: %[[R:.+]] = tile.step @two[0](%[[W]], %[[K]]) :
// CHECK-NEXT: scf.yield %[[K]], %[[R]]
// CHECK: %[[END:.+]] = tile.step @two[1](%[[LOOP]]#1, %[[LOOP]]#0)
// CHECK-NEXT: tile.step @store(%[[END]],
tile.kernel @hopper(%nt: i32, %nb: i32, %G: !g, %O: !g) target(#t) schedule(#hopper) {
  tile.work @work(%t) tiles(%nt : i32) uses(%nb : i32) -> (%j0, %n) facts(1 <= %n) {
    tile.yield %t, %nb : i32, i32
  }
  tile.for_each_tile (%j0, %n) in @work {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> !x
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (!x) : i32 {
      %first = arith.cmpi eq, %i, %c0 : i32
      %j = arith.subi %j0, %i : i32
      %k = tile.step @load(%G, %j) : (!g, i32) -> !x
      %s = tile.step @two[0](%acc, %k) unless(%first) : (!x, !x) -> !x
      %acc1 = tile.step @two[1](%s, %k) : (!x, !x) -> !x
      scf.yield %acc1 : !x
    }
    tile.step @store(%r, %O, %j0) : (!x, !g, i32) -> ()
  }
}

// Two stages deep: what @load makes is read two trips later, so it is carried
// twice. A step in front of the loop moves to where it is first read.
#deep = #fa4.schedule<forward, tile = 16 x 16, stages = 2, order = [two at 2, one at 1, load[0] at 0]>
// CHECK-LABEL: tile.kernel @deep
// CHECK: tile.for_each_tile (%[[J0:.+]], %[[N:.+]]) in @work
// CHECK: %[[Z:.+]] = tile.splat
// Trip 0 and trip 1.
// CHECK: %[[K0:.+]] = tile.step @load[0](%{{.+}}, %c0_i32)
// CHECK: %[[S0:.+]] = tile.step @one(%[[K0]], %{{.+}})
// CHECK-NEXT: %[[K1:.+]] = tile.step @load[0](%{{.+}}, %[[C1:[a-z0-9_]+]])
// CHECK: %[[Q:.+]] = tile.step @load[1]
// CHECK-NEXT: %[[LOOP:.+]]:3 = scf.for %[[I:.+]] = %[[C2:.+]] to %[[N]] step %[[C1]] iter_args(%[[ACC:.+]] = %[[Q]], %[[S:.+]] = %[[S0]], %[[K:.+]] = %[[K1]])
// CHECK-NEXT: %[[ACC1:.+]] = tile.step @two(%[[ACC]], %[[S]])
// CHECK: %[[SN:.+]] = tile.step @one(%[[K]], %{{.+}})
// CHECK: %[[KN:.+]] = tile.step @load[0](%{{.+}}, %[[I]])
// CHECK-NEXT: scf.yield %[[ACC1]], %[[SN]], %[[KN]]
// Trips n and n + 1.
// CHECK: %[[A:.+]] = tile.step @two(%[[LOOP]]#0, %[[LOOP]]#1)
// CHECK: %[[SE:.+]] = tile.step @one(%[[LOOP]]#2, %{{.+}})
// CHECK-NEXT: %[[B:.+]] = tile.step @two(%[[A]], %[[SE]])
// CHECK-NEXT: tile.step @store(%[[B]],
tile.kernel @deep(%nt: i32, %nb: i32, %G: !g, %O: !g) target(#t) schedule(#deep) {
  tile.work @work(%t) tiles(%nt : i32) uses(%nb : i32) -> (%j0, %n) facts(2 <= %n) {
    tile.yield %t, %nb : i32, i32
  }
  tile.for_each_tile (%j0, %n) in @work {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> !x
    %q = tile.step @load[1](%G, %j0) : (!g, i32) -> !x
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %q) -> (!x) : i32 {
      %first = arith.cmpi slt, %i, %c1 : i32
      %k = tile.step @load[0](%G, %i) : (!g, i32) -> !x
      %s = tile.step @one(%k, %first) : (!x, i1) -> !x
      %acc1 = tile.step @two(%acc, %s) : (!x, !x) -> !x
      scf.yield %acc1 : !x
    }
    tile.step @store(%r, %O, %j0) : (!x, !g, i32) -> ()
  }
}

// Carried twice in the original too: @two of block i reads what @load made of
// block i-2; from stage 1 it is three trips old.
#history = #fa4.schedule<forward, tile = 16 x 16, order = [load at 0, two at 1]>
// CHECK-LABEL: tile.kernel @history
// CHECK: tile.for_each_tile (%[[J0:.+]], %[[N:.+]]) in @work
// CHECK: %[[Z:.+]] = tile.splat
// CHECK: %[[O:.+]] = tile.splat
// CHECK: %[[K0:.+]] = tile.step @load(
// CHECK-NEXT: %[[LOOP:.+]]:4 = scf.for %[[I:.+]] = %{{.+}} to %[[N]] step %{{.+}} iter_args(%[[A1:.+]] = %[[K0]], %[[A2:.+]] = %[[O]], %[[OLD:.+]] = %[[Z]], %[[ACC:.+]] = %[[Z]])
// CHECK: %[[K:.+]] = tile.step @load(
// CHECK: %[[ACC1:.+]] = tile.step @two(%[[ACC]], %[[OLD]])
// CHECK-NEXT: scf.yield %[[K]], %[[A1]], %[[A2]], %[[ACC1]]
// CHECK: tile.step @two(%[[LOOP]]#3, %[[LOOP]]#2)
tile.kernel @history(%nt: i32, %nb: i32, %G: !g, %O: !g) target(#t) schedule(#history) {
  tile.work @work(%t) tiles(%nt : i32) uses(%nb : i32) -> (%j0, %n) facts(1 <= %n) {
    tile.yield %t, %nb : i32, i32
  }
  tile.for_each_tile (%j0, %n) in @work {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %z = tile.splat %zero : f32 -> !x
    %o = tile.splat %one : f32 -> !x
    %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%last = %o, %before = %z, %acc = %z) -> (!x, !x, !x) : i32 {
      %k = tile.step @load(%G, %i) : (!g, i32) -> !x
      %acc1 = tile.step @two(%acc, %before) : (!x, !x) -> !x
      scf.yield %k, %last, %acc1 : !x, !x, !x
    }
    tile.step @store(%r#2, %O, %j0) : (!x, !g, i32) -> ()
  }
}

// One stage: the order inside the trip changes, nothing crosses.
#flat = #fa4.schedule<forward, tile = 16 x 16, stages = 2, order = [load[1] at 0, load[0] at 0, two at 0]>
// CHECK-LABEL: tile.kernel @flat
// CHECK: scf.for %[[I:.+]] = %[[C0:.+]] to %{{.+}} step %{{.+}} iter_args(%[[ACC:.+]] = %{{.+}})
// CHECK-NEXT: %[[B:.+]] = tile.step @load[1](%{{.+}}, %[[I]])
// CHECK-NEXT: %[[A:.+]] = tile.step @load[0](%{{.+}}, %[[I]])
// CHECK-NEXT: %[[S:.+]] = tile.step @two(%[[A]], %[[B]])
// CHECK-NEXT: scf.yield %[[S]]
tile.kernel @flat(%nt: i32, %nb: i32, %G: !g, %O: !g) target(#t) schedule(#flat) {
  tile.work @work(%t) tiles(%nt : i32) uses(%nb : i32) -> (%j0, %n) {
    tile.yield %t, %nb : i32, i32
  }
  tile.for_each_tile (%j0, %n) in @work {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> !x
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (!x) : i32 {
      %a = tile.step @load[0](%G, %i) : (!g, i32) -> !x
      %b = tile.step @load[1](%G, %i) : (!g, i32) -> !x
      %s = tile.step @two(%a, %b) : (!x, !x) -> !x
      scf.yield %s : !x
    }
    tile.step @store(%r, %O, %j0) : (!x, !g, i32) -> ()
  }
}

// Nothing promises a trip: the loop stays beside its rotated form.
#short = #fa4.schedule<forward, tile = 16 x 16, order = [two at 1, load at 0]>
// CHECK-LABEL: tile.kernel @short
// CHECK: tile.for_each_tile (%{{.+}}, %[[N:.+]]) in @work
// CHECK: %[[ENOUGH:.+]] = arith.cmpi sge, %[[N]], %c1_i32{{.*}}
// CHECK: %[[R:.+]] = scf.if %[[ENOUGH]]
// CHECK:   tile.step @load(
// CHECK:   scf.for
// CHECK:     tile.step @two(
// CHECK:     tile.step @load(
// CHECK:   %[[E:.+]] = tile.step @two(
// CHECK:   scf.yield %[[E]]
// CHECK: } else {
// CHECK:   %[[P:.+]] = scf.for
// CHECK:     tile.step @load(
// CHECK:     tile.step @two(
// CHECK:   scf.yield %[[P]]
// CHECK: tile.step @store(%[[R]],
tile.kernel @short(%nt: i32, %nb: i32, %G: !g, %O: !g) target(#t) schedule(#short) {
  tile.work @work(%t) tiles(%nt : i32) uses(%nb : i32) -> (%j0, %n) facts(0 <= %n) {
    tile.yield %t, %nb : i32, i32
  }
  tile.for_each_tile (%j0, %n) in @work {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant 0.0 : f32
    %z = tile.splat %zero : f32 -> !x
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (!x) : i32 {
      %a = tile.step @load(%G, %i) : (!g, i32) -> !x
      %s = tile.step @two(%acc, %a) : (!x, !x) -> !x
      scf.yield %s : !x
    }
    tile.step @store(%r, %O, %j0) : (!x, !g, i32) -> ()
  }
}

// No order, no change.
#none = #fa4.schedule<forward, tile = 16 x 16>
// CHECK-LABEL: tile.kernel @unordered
// CHECK: tile.for_each_tile
// CHECK-NEXT: %[[X:.+]] = tile.step @load(
// CHECK-NEXT: tile.step @store(%[[X]],
tile.kernel @unordered(%nt: i32, %G: !g, %O: !g) target(#t) schedule(#none) {
  tile.work @work(%t) tiles(%nt : i32) -> (%j0) {
    tile.yield %t : i32
  }
  tile.for_each_tile (%j0) in @work {
    %x = tile.step @load(%G, %j0) : (!g, i32) -> !x
    tile.step @store(%x, %O, %j0) : (!x, !g, i32) -> ()
  }
}
