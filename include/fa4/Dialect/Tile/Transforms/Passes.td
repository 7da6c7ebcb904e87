//===- Passes.td - passes on the tile dialect ------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define FA4_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Phase verifiers. They stand on any op and look at every kernel and def below
// it, so one may follow each pass of a pipeline.
//===----------------------------------------------------------------------===//

def TileVerifyT0 : Pass<"tile-verify-t0"> {
  let summary = "Check that kernels are single-threaded programs of tile values";
  let description = [{
    *Requires* nothing. *Ensures*, for every kernel and def below:

    * (V1) only T0 ops, `arith`, `math` and `scf` stand in it;
    * (V2) no tile has a layout;
    * (V3) one tile loop, directly in the kernel, over the kernel's work;
    * (V4) steps, loads and stores of a kernel stand in its tile loop.

    *Fails when* one of these does not hold, with an error at the op.
  }];
}

def TileVerifyT1 : Pass<"tile-verify-t1"> {
  let summary = "Check that kernels are isolated roles joined by channels";
  let description = [{
    *Requires* nothing. *Ensures*, for every kernel below:

    * (T1.P) directly in it stand work, memory, channels, roles without a place,
      set-up and tear-down, the last two with scalar ops only; only T1 ops, `arith`,
      `math` and `scf` stand below;
    * (T1.L) every tile has a layout;
    * (T1.C) a role acquires, waits and settles only at its end of a channel, by an
      element that exists and that a tie allows;
    * (T1.K) every token ends exactly once on every path, is not used afterwards, and
      stays with its channel when carried;
    * (T1.A) a view is reached by a token of a channel that carries it, by name only
      if none does, with the tile it has;
    * (T1.M) extents of matrix products agree;
    * (T1.S) the roles at a channel's ends acquire and wait.

    *Fails when* one of these does not hold, with an error at the op.
  }];
}

def TileVerifyT2 : Pass<"tile-verify-t2"> {
  let summary = "Check that kernels are placed: bytes, columns, barriers, counts, warps";
  let description = [{
    *Requires* nothing. *Ensures*, for every kernel below:

    * (T2.P) directly in it stand work, placed memory, views, barriers, roles with
      place and registers, set-up and tear-down that allocate, free, fence and
      meet; only T2 ops, `arith`, `math` and `scf` stand below;
    * (T2.L) every tile has a layout;
    * (T2.D) regions and barriers lie in the target's memories, aligned for their
      views, and none overlaps another;
    * (T2.W) roles have different warps, and registers that the target gives;
    * (T2.A) views are addressed by an element and a cursor of their ring, with the
      tile they have, and the extents of products agree;
    * (T2.B) barriers are addressed by an element that exists and a cursor of their
      depth; only one lane commits; another CTA's are named in roles of pairs only;
    * (T2.C) every barrier's count is the number of arrivals at it;
    * (T2.X) the bytes announced are those that the next loads or sends bring;
    * (T2.S) every barrier is waited for, and arrived at;
    * (T2.N) named barriers have ids of the target, differ, and join as many
      threads as use them;
    * (T2.G) a group wait leaves as many groups open as were committed later;
    * (T2.T) tensor memory is allocated and freed, exactly if some is placed, up to
      its last column; all warps meet after the allocation, both CTAs of a pair
      before it and before they free.

    *Fails when* one of these does not hold, with an error at the op.
  }];
}

//===----------------------------------------------------------------------===//
// T0 to T0: each carries out one clause of the kernel's schedule, and leaves a
// kernel alone whose schedule does not have the clause.
//===----------------------------------------------------------------------===//

def TileSplitExp2 : Pass<"tile-split-exp2", "::fa4::tile::KernelOp"> {
  let summary = "Compute a share of the exponentials by a polynomial";
  let description = [{
    *Requires* a T0 kernel whose steps call defs of its own.

    *Ensures* that every `tile.exp2` has the schedule's `exp2` share. Which
    elements are computed by the polynomial depends on their place in the tile
    only; no other op changes. A second run changes nothing.

    *Fails when* an exponential has another share already.
  }];
  let statistics = [Statistic<"numExponentials", "num-exponentials", "exponentials given a share">];
}

def TileLazyRescale : Pass<"tile-lazy-rescale", "::fa4::tile::KernelOp"> {
  let summary = "Let the reference of the online softmax lag behind the maximum";
  let description = [{
    *Requires* a T0 kernel whose steps call defs of its own.

    *Ensures* that every `tile.online_max` has the schedule's
    `rescale_log2_threshold` as its lag, and that every `tile.scale_rows` by a
    factor of one says `likely_one`. The results stay exact: sum, output and
    statistic refer to the same reference, however old it is. A second run
    changes nothing.

    *Fails when* a statistic has another lag already.
  }];
  let statistics = [
    Statistic<"numStatistics", "num-statistics", "statistics given a lag">,
    Statistic<"numScalings", "num-scalings", "scalings marked as likely one">,
  ];
}

def TileSplitMma : Pass<"tile-split-mma", "::fa4::tile::KernelOp"> {
  let summary = "Hand over the computed operand of a product in parts";
  let description = [{
    *Requires* a T0 kernel whose steps call defs of its own.

    *Ensures* that every `tile.mma` whose `a` is computed, not loaded, and has as
    many columns as `split_p` adds up to, is a chain of products over those parts
    of k. If nothing but such products uses the tile, it leaves the def that
    computes it as one result per part, and casts and exponentials are done per
    part; sums of its rows become chains in the order of the parts. Everything
    but those sums (and the order of products inside the tensor core) keeps its
    bits. A second run changes nothing.

    *Fails when* a step calls a def outside of the kernel.
  }];
  let statistics = [
    Statistic<"numProducts", "num-products", "products cut along k">,
    Statistic<"numResults", "num-results", "step results handed over in parts">,
  ];
}

def TilePairCtas : Pass<"tile-pair-ctas", "::fa4::tile::KernelOp"> {
  let summary = "Make the program of a pair that of each of its CTAs";
  let description = [{
    *Requires* a T0 kernel for `ctas = 2`, written as one thread for both: tiles have
    twice the rows of the schedule's.

    *Ensures* that tiles with a row per query have the rows of one CTA, and that each
    CTA loads, of every second operand of a product, the half of the product's columns
    that the unit reads there (`tile.mma ... pair`). `tile.cta_rank` says which CTA
    computes: it enters where positions do, in coordinates, masks and maps at a
    position. The work is the same for both. A second run changes nothing.

    ```mlir
    %q = tile.load %Q[%b, %i, %h] : !tile.global<1x256x1x128xbf16> -> !tile.frag<256x128xbf16>
    %k = tile.load %K[%b, %j, %h] : !tile.global<1x128x1x128xbf16> -> !tile.frag<128x128xbf16>
    // becomes, with %i2 = 2 %i + %rank and %j2 = 2 %j + %rank,
    %q = tile.load %Q[%b, %i2, %h] : !tile.global<1x128x1x128xbf16> -> !tile.frag<128x128xbf16>
    %k = tile.load %K[%b, %j2, %h] : !tile.global<1x64x1x128xbf16> -> !tile.frag<64x128xbf16>
    ```

    *Fails when* a product has other rows, its second operand is computed or has an odd
    extent, or a tile is part of a packed tensor or of one used in part.
  }];
  let statistics = [Statistic<"numKernels", "num-kernels", "kernels of pairs">];
}

def TilePipelineLoop : Pass<"tile-pipeline-loop", "::fa4::tile::KernelOp"> {
  let summary = "Rotate the loop of steps as the schedule orders it";
  let description = [{
    *Requires* a T0 kernel with one loop of steps, counting up by 1, in which each
    step of the schedule's `order` stands once.

    *Ensures* that stage k of trip t works on iteration t - k, and that inside a
    trip the steps stand in list order: a prologue, the loop, an epilogue. A value
    that is read d trips after it was made is carried d times. Tests for the first
    iteration are folded where they are known, and steps in front of the loop move
    to their first user. The kernel is the same function, bit for bit. If the work
    does not promise as many trips as there are stages, the loop is kept beside
    its rotated form, under a test. A kernel whose steps stand in several blocks is
    rotated already and stays as it is.

    *Fails when* the order misses a step or names one that is not there, or puts a
    step before one that it depends on; the error names both.
  }];
  let statistics = [Statistic<"numLoops", "num-loops", "loops rotated">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// T0 with channels to T1: roles.
//===----------------------------------------------------------------------===//

def TilePartitionRoles : Pass<"tile-partition-roles", "::fa4::tile::KernelOp"> {
  let summary = "Turn a sequential kernel with channels into roles";
  let description = [{
    *Requires* a kernel after tile-insert-channels: inlined steps, values kept in and
    used from views, tokens. *Ensures* a T1 kernel with the same hand-overs in the
    same order, role by role, in the order of their first steps. A role has what
    its effects need: its steps, the channel ops at its ends, loops and
    conditionals with one of these inside, carried values that something uses,
    and scalars. A kept product is an asynchronous one into its view, a kept load a
    copy, rows scaled where they lie a rescale, any other kept value a write; a
    used value is a place of a product or copy, or a read. A product that is not kept
    gives its value in registers, awaited where it is used first; its slots are given
    back, and its registers filled anew, behind that. Tiles are spread over
    the role's threads. A loop that rotation had taken apart becomes plain again
    where the role has only steps that moved together, and replicas that do the
    same become one text. A home that no channel reaches is not needed: its value
    stays in registers. Kernels with roles stay as they are.

    *Fails when* a step has no role, a value crosses roles other than through a
    channel, what decides about channel ops is not computed from the tile's scalars
    alone (rule W), a product has no home, a role has too few threads for its tiles,
    or replicas differ.
  }];
  let statistics = [
    Statistic<"numRoles", "num-roles", "roles made">,
    Statistic<"numRerolled", "num-rerolled", "rotated loops made plain">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileSplitRange : Pass<"tile-split-range", "::fa4::tile::KernelOp"> {
  let summary = "Cut loops of roles where a condition inside changes";
  let description = [{
    *Requires* a T1 kernel. *Ensures*, for every loop of a role that counts by 1:
    no `scf.if` in it asks whether the trip is before or after a number of the
    tile, or is the first or the last. The loop is cut there, and each part
    knows the answer: masked and unmasked blocks become two loops, a first trip
    stands in front of the loop. Facts of the work say which parts have no trip,
    and where a number must be clamped to the loop's bounds. Order and number of
    all other ops of a trip stay. A second run changes nothing.

    *Fails when* channel ops stay under a condition on a trip.
  }];
  let statistics = [Statistic<"numCuts", "num-cuts", "loops cut in two">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// T2 to T2: barriers, fences.
//===----------------------------------------------------------------------===//

def TileSimplifyBarriers : Pass<"tile-simplify-barriers", "::fa4::tile::KernelOp"> {
  let summary = "Drop waits that are implied, and merge barriers";
  let description = [{
    *Requires* a T2 kernel free of deadlock, in which every half of a channel is a
    barrier, before fences.

    *Ensures* that no order between accesses is lost, with fewer waits, arrivals and
    barriers:

    * R1: a wait goes if everything that its arrivals report precedes it without it;
      waits for empty slots are tried first, then the others in the order of the
      text, each against what the ones before left;
    * R2: arrivals go whose generation nobody waits for any more, and the cursors
      count those that are left;
    * R3: two barriers of one waiter become one that counts both, if their waits
      stand together, for the same generations, threads arrive, and none of them
      can be a generation early;
    * R4: if one of the two starts with credit, its releasers arrive once at the
      head of their roles instead;
    * R5: two barriers of one waiter and count that are waited for in turn become
      one;
    * R9: a role that waits with credit for commits of the matrix unit also waits
      for the last ones, behind its tile loop: they land before the CTA may exit.

    What must hold is asked of the happens-before graphs of all runs that decide
    for all lengths. Cursors that nothing is addressed by go, equal ones become
    one, and the barriers are placed anew. A second run changes nothing.

    *Fails when* the kernel cannot be unrolled, or waits in a cycle.
  }];
  let options = [ListOption<"without", "without", "int64_t", "numbers of rules to leave out">];
  let statistics = [
    Statistic<"numWaits", "num-waits", "waits dropped">,
    Statistic<"numArrivals", "num-arrivals", "arrivals dropped">,
    Statistic<"numBarriers", "num-barriers", "barriers saved">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileInsertFences : Pass<"tile-insert-fences", "::fa4::tile::KernelOp"> {
  let summary = "Insert the fences that hand-overs of memory need";
  let description = [{
    *Requires* a T2 kernel whose barriers order all conflicting accesses.

    *Ensures* that on every path of hand-overs between two conflicting accesses
    each hop carries the order:

    * tensor memory: loads and stores are waited for (`tmem_loads`, `tmem_stores`)
      and a `before` stands behind them before the hand-over, an `after` between the
      hand-over and the next access or hand-over of the receiver, also where the
      receiver only passes the order on, unless all runs hold without that; a
      commit pays for its products;
    * one thread's loads and stores of the same columns are waited for in between;
    * generic writes that an engine reads or overwrites have a `proxy` fence before
      they are handed over;
    * products on registers that were touched have a `wgmma` fence;
    * barriers are made visible (`init`) before the CTA meets in set-up.

    Fences that are there count; a second run changes nothing.

    *Fails when* a kernel with barriers has no set-up.
  }];
  let statistics = [Statistic<"numFences", "num-fences", "fences inserted">];
}

def TileVerifyTarget : Pass<"tile-verify-target", "::fa4::tile::KernelOp"> {
  let summary = "Check that the target has an instruction for every op";
  let description = [{
    *Requires* a kernel that tile-verify-t2 passes. *Ensures*, on the kernel's target:

    * (X.F) products, fences, commits, pairs of CTAs and cluster launch control are
      features of the target;
    * (X.M) rows, columns, k and element types of products are legal;
    * (X.W) warps that issue products onto registers, or access tensor memory, are
      whole warpgroups;
    * (X.G) roles that share a warpgroup have the same registers;
    * (X.T) tensor memory is allocated in the target's granules, and shared memory,
      tensor memory, warps and registers fit (T2.D, T2.W, T2.T);
    * (X.B) counts and bytes of barriers are in range.

    *Fails when* one of these does not hold, with an error at the op that names
    both numbers.
  }];
}

//===----------------------------------------------------------------------===//
// T0 to the form between T0 and T1: memory, channels.
//===----------------------------------------------------------------------===//

def TileAssignMemory : Pass<"tile-assign-memory", "::fa4::tile::KernelOp"> {
  let summary = "Give memory to what an engine or another role takes";
  let description = [{
    *Requires* a T0 kernel after tile-pipeline-loop, with a schedule that has roles.

    *Ensures* that steps are inlined, and that every matrix result and operand, all
    that products add onto, and what a step of another role takes is kept in a view
    (`tile.keep`). Homes are the schedule's; the default is tensor memory for matrix
    results and for first operands that threads make, shared memory for the rest.
    Copies of a step, and values handed on as each other, have one home. The layout
    of a view follows from the products that take it; parts that they slice off have
    views of their own. The kernel is the same function of values.
    On a target without tensor memory, matrix results, what products add onto, and
    operands that threads make stay in registers, in the role that issues the
    products; there an accumulator that starts as zeros is added onto from the first
    trip on. What such a role stores itself is kept where the schedule lists a place.

    *Fails when* a home is in a memory that its engine cannot use, when a product and
    what takes its result are of one role (with tensor memory) or of two (without), or
    when the order of steps has two values
    live together whose views overlap; the error names both.
  }];
  let statistics = [
    Statistic<"numKept", "num-kept", "values kept in memory">,
    Statistic<"numHomes", "num-homes", "homes that they share">,
  ];
}

def TileInsertChannels : Pass<"tile-insert-channels", "::fa4::tile::KernelOp"> {
  let summary = "Pass what crosses roles through channels";
  let description = [{
    *Requires* a kernel after tile-assign-memory.

    *Ensures* that every value that another role takes goes through a channel: one
    for each allocation, role that fills and role that takes, and apart where views
    lie side by side. Depth, grain and realisation are the schedule's. A slot is
    acquired just before its first write and committed after the last, waited for
    just before its first read and released after the last; what the taker writes in
    place goes back with the slot. Where views that overlap change hands outside of
    a channel, the writer settles, or a channel that carries nothing orders them.
    `early_acquire` and `stagger` move tokens as the schedule asks; `turn` makes the
    replicas of a role pass a turn round, which each holds from the first to the last
    step named. Where all replicas take one ring, each takes every slot, in its own
    steps. What a role stores itself lies over a slot that it took, and goes back with
    it. The kernel is still one thread and the same function of values.

    *Fails when* the one thread would wait for ever: a depth is too small; the error
    names the ring and the depth it needs. Also when two roles take one value, or a
    clause of the schedule speaks of nothing that is there.
  }];
  let statistics = [
    Statistic<"numChannels", "num-channels", "channels inserted">,
    Statistic<"numHandOvers", "num-hand-overs", "places that hand values over">,
  ];
}

//===----------------------------------------------------------------------===//
// T1 to T2: barriers.
//===----------------------------------------------------------------------===//

def TileLowerChannels : Pass<"tile-lower-channels", "::fa4::tile::KernelOp"> {
  let summary = "Turn channels and tokens into barriers, cursors and places";
  let description = [{
    *Requires* a T1 kernel whose memory is placed and whose roles have
    warps and registers. *Ensures*: no channel and no token is left.

    * R0: channel `c` gives the barriers `c.full` and `c.empty`, one per element and
      slot; arrivals are counted from the ops that commits and releases name, or from
      the channel's grain. A full half by named barrier (R6) becomes one.
    * An acquire waits for the empty half with a cursor that starts with credit, a
      wait for the full half with one that does not. Cursors that step together are one.
    * A load announces its bytes and signals the full half; a commit or release after
      products is a `barrier.commit` right behind the last of them; after a store
      the role awaits the store, then one lane arrives.
    * Slots that `starts` says are full get their arrivals at the head of the producer.
    * A product on registers closes a group; its await waits for all groups, until
      tile-lower-async counts. Between the CTAs of a pair, barriers are where those run
      who wait: arrivals and copies go to the leader, or commits to both.
    * `settle` waits for as many releases as the channel has slots.
    * Set-up allocates tensor memory and lets the CTA meet; tear-down frees it after
      its users met at `@tmem_users`. A pair meets before both, too. Roles of one warp that issue are `one_lane`.

    *Fails when* a half mixes engines and threads, a named barrier would need
    several phases, an op has no lowering, or barriers do not fit.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TileLowerAsync : Pass<"tile-lower-async", "::fa4::tile::KernelOp"> {
  let summary = "Turn stores and their completion into bulk groups; role barriers";
  let description = [{
    *Requires* a kernel without tokens. *Ensures*: each `async_store` is an
    `issue_store` that closes a bulk group, each await of one a `group.wait` that
    leaves open as many groups as are closed after it on every path; waits for
    products on registers are counted alike. A store that nothing awaits is waited
    for at the end of the loop it stands in. R7: where an access conflicts with an
    earlier one by another warp of its role, a `role_sync` stands between.

    *Fails when* the completion of a store is used by anything but an await.
  }];
  let statistics = [
    Statistic<"numStores", "num-stores", "stores issued">,
    Statistic<"numRoleBarriers", "num-role-barriers", "role barriers inserted">,
  ];
}

//===----------------------------------------------------------------------===//
// T1 to T2: placement, then barriers.
//===----------------------------------------------------------------------===//

def TilePlaceTmem : Pass<"tile-place-tmem", "::fa4::tile::KernelOp"> {
  let summary = "Give each allocation of tensor memory its columns";
  let description = [{
    *Requires* a T1 kernel. *Ensures* that every `tile.alloc` of tensor memory is a
    `tile.placed_alloc`, and that the independent check of `tile-verify-t2` (T2.D)
    accepts the places. *Fails when* the target has too few columns, or none: the
    error names both numbers, what each allocation takes, and what would fit.
  }];
}

def TilePlaceSmem : Pass<"tile-place-smem", "::fa4::tile::KernelOp"> {
  let summary = "Give each allocation of shared memory its bytes";
  let description = [{
    *Requires* a T1 kernel. *Ensures* that every `tile.alloc` of shared memory is a
    `tile.placed_alloc` on the alignment that the layouts of its views need, and
    that the independent check of `tile-verify-t2` (T2.D) accepts the places.
    *Fails when* the target has too few bytes: the error names both numbers, what
    each allocation takes, and a ring whose depth would make it fit.
  }];
}

def TileAssignRegisters : Pass<"tile-assign-registers", "::fa4::tile::KernelOp"> {
  let summary = "Give each role its warps and registers";
  let description = [{
    *Requires* a T1 kernel whose roles are those of its schedule. *Ensures* that each
    role has the first warp and the registers of the schedule, or, where it states
    none, an even share of what the others leave, and that the independent check of
    `tile-verify-t2` (T2.W) accepts them. *Fails when* the schedule does not say
    where a role is or says another number of warps, when warps overlap, or when the
    target has too few registers.
  }];
}

//===----------------------------------------------------------------------===//
// The protocol proof.
//===----------------------------------------------------------------------===//

def TileVerifyProtocol : Pass<"tile-verify-protocol"> {
  let summary = "Prove that roles neither deadlock nor race, for all lengths";
  let description = [{
    *Requires* kernels at T1 or T2 that pass their phase's verifier.

    *Ensures*, for every kernel with roles below, for every sequence of tiles and
    trips (docs/Dialects/Tile/Protocol.md says why the runs looked at are enough):

    * (P.1) every wait ends, and every phase gets its arrivals and bytes;
    * (P.2) conflicting accesses to memory are ordered, nothing is read before it is
      written, and no value passes from one tile to another;
    * (P.3) T2: a wait's parity names one phase: the one before is over when it
      starts, the one after is not when it ends;
    * (P.4) T2: a phase is seen by a wait before the next arrival at its barrier;
    * (P.5) asynchronous ops are done before their CTA ends;
    * (P.6) T2: arrivals of engines and of the other CTA are seen before the
      barrier's CTA ends;
    * (P.7) T2: fences carry the order of accesses between proxies and to tensor memory;
    * (P.8) T2: barriers are published before their use;
    * (P.9) T2: tensor memory is freed after its last access.

    Matrix products whose order rests on the target's `mma_issue_order` are named in
    remarks of this pass; without it they are errors.

    *Fails when* one of these does not hold, with the shortest run that breaks it, and
    when the loops or conditions around protocol ops follow from more than the work's
    results.
  }];
  let options = [
    Option<"maxRuns", "max-runs", "int64_t", "20000", "Give up on a kernel that needs more runs">,
  ];
}

//===----------------------------------------------------------------------===//
// Rows that pass through registers.
//===----------------------------------------------------------------------===//

def TileStreamRows : Pass<"tile-stream-rows", "::fa4::tile::KernelOp"> {
  let summary = "Let rows pass from tensor memory to other memory in pieces";
  let description = [{
    A tile that is read from tensor memory, changed column by column and written need
    not be held as a whole, if nothing else happens between: the acquire of what is
    written moves before the read, the release of what was read after the write.

    ```mlir
    %x = tile.read %o as @O : !S              %s = tile.acquire @out
    tile.release %o                           %x = tile.read %o as @O : !S
    %y = tile.cast %x : !S -> !T        ->    %y = tile.cast %x : !S -> !T
    %s = tile.acquire @out                    tile.write %y to %s as @Out : !T
    tile.write %y to %s as @Out : !T          tile.release %o
    ```

    *Requires* a T1 kernel. *Ensures* that such chains are free of hand-overs where
    the only ones between are these two. `tile-verify-protocol` must hold afterwards:
    memory is held longer.
  }];
}

//===----------------------------------------------------------------------===//
// Blocks that a replica sees whole, or not at all.
//===----------------------------------------------------------------------===//

def TileSkipHidden : Pass<"tile-skip-hidden", "::fa4::tile::KernelOp"> {
  let summary = "Compute no probabilities of blocks that no row of a replica sees";
  let description = [{
    The trips at a tile's edge are those of all its rows; a replica has some of them.

    ```mlir
    %y = tile.mask %s block(%i, %j) [..] ..      %d1, %a, %p = scf.if %some -> .. {
    %t = tile.row_max %y ..                        %y = scf.if %all { %s } else { tile.mask .. }
    %d1, %use, %a = tile.online_max %t ..   ->     ..
    %x = tile.map (%y, %use) ..                    scf.yield %d1, %a, %p
    %p = tile.exp2 %x                            } else { scf.yield %d, ones, zeros }
    ```

    *Requires* a T2 kernel. *Ensures* the same results, bit for bit. Does nothing on
    targets with tensor memory, where a row's parts are handed over in between.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// Tiles that are drawn while the kernel runs.
//===----------------------------------------------------------------------===//

def TileDrawTiles : Pass<"tile-draw-tiles", "::fa4::tile::KernelOp"> {
  let summary = "Ask for the next tile while this one is computed";
  let description = [{
    Where the schedule's work is dynamic, the role that loads asks for the next tile
    behind the loads of one, and every role learns it through one channel at the end
    of its own: equal numbers of tiles by construction.

    ```mlir
    tile.alloc @next_mem : smem 16 bytes
    tile.view @Next of @next_mem : 4xi32, #tile.smem<linear>
    tile.channel @next depth(1) from(@load) to(@load, @mma) carries(@Next) empty(warp)
    tile.role @load ... {
      tile.for_each_tile ... {
        ...
        %t = tile.acquire @next
        %e = tile.async_next to %t as @Next
        tile.commit %t after(%e)
        %u = tile.wait @next
        %n = tile.read %u as @Next : i32
        tile.release %u
        tile.next_tile %n
      }
    }
    ```

    One answer is open at a time: the loads of a tile may be done while others still
    compute the one before.

    *Requires* a T1 kernel of single CTAs, and a role with loads in its tile loop.
    *Ensures* a `tile.next_tile` in each tile loop exactly if the work is dynamic.
    *Fails when* dynamic work meets a pair of CTAs or a kernel without loads.
  }];
}

#endif // FA4_DIALECT_TILE_TRANSFORMS_PASSES_TD
