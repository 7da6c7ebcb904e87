// RUN: rm -rf %t && fa4c --target=sm_100a %s -o %t --ptxas=%S/Inputs/ptxas | FileCheck %s --check-prefix=SAID
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t/nvvm-bundle.json
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t/nvvm-bundle.ptx
// RUN: rm -rf %t.b && fa4c --target=sm_100a %s -o %t.b --ptxas=%S/Inputs/ptxas | FileCheck %s --check-prefix=SAID
// RUN: diff -r %t %t.b
// RUN: fa4-sim %t/nvvm-bundle.json --arg=arg0=random:300x4 --arg=arg1=0.5 --processors=2 --out=arg0=%t.half.npy
// RUN: fa4-sim %t/nvvm-bundle.json --arg=arg0=random:300x4 --arg=arg1=1.0 --processors=1 --out=arg0=%t.whole.npy
// RUN: %python %S/Inputs/compare.py %t.half.npy %t.whole.npy 0.5 | FileCheck %s --check-prefix=SAME
// RUN: fa4-sim %t/nvvm-bundle.json --arg=arg0=random:0x4 --arg=arg1=1.0 --speed | FileCheck %s --check-prefix=EMPTY
// RUN: not fa4-sim %t/nvvm-bundle.json --arg=arg0=random:300x8 --arg=arg1=1.0 2>&1 | FileCheck %s --check-prefix=EXTENT
// RUN: fa4c --target=sm_100a --run --shape arg0=300x4 --scalar arg1=2 --processors=2 --output arg0=%t.twice.npy %s | FileCheck %s --check-prefix=RAN
// RUN: fa4c --target=sm_100a --run --shape arg0=300x4 --scalar arg1=1 --processors=3 --output arg0=%t.once.npy %s | FileCheck %s --check-prefix=RAN
// RUN: %python %S/Inputs/compare.py %t.twice.npy %t.once.npy 2 | FileCheck %s --check-prefix=SAME
// RUN: fa4c --target=sm_100a --emit=llvm %s | FileCheck %s --check-prefix=LLVM
// RUN: fa4c --target=sm_100a --emit=cubin --ptxas=%S/Inputs/ptxas %s | FileCheck %s --check-prefix=CUBIN
// RUN: not fa4c --target=sm_100a --emit=cubin --ptxas=%t.none %s 2>&1 | FileCheck %s --check-prefix=NOPTXAS

// A kernel of the machine's dialects with a hand-written launch: one CTA of 128
// threads per 128 rows of four, persistent. The assembler is a script that says
// what the real one would of a bad kernel.

// SAID: wrote {{.*}}nvvm-bundle.json
// SAID: wrote {{.*}}nvvm-bundle.ptx
// SAID: wrote {{.*}}nvvm-bundle.cubin
// SAID: ptxas     scale: registers 41, stack bytes 8, spill stores 12, spill loads 16
// SAID: ptxas     note: {{.*}}(C7508) Potential Performance Loss
// SAID: seconds   optimize
// SAID: seconds   ptxas

// JSON: "target": "sm_100a"
// JSON: "ptx": "nvvm-bundle.ptx"
// JSON: "name": "arg0"
// JSON: "access": "read_write"
// JSON: "expected": "extent 1 of 'arg0' to be 4"

// LLVM: call void asm sideeffect "bar.warp.sync 0xffffffff;", ""() #[[ATTR:[0-9]+]]
// LLVM: attributes #[[ATTR]] = { {{.*}}convergent
// PTX: .target sm_100a{{$}}
// PTX: .visible .entry scale(
// PTX: .reqntid 128
// PTX: .loc

// RAN: compiled to PTX in {{.*}} s, simulated {{[23]}} clusters
// SAME: equal
// EMPTY: 0 clusters
// EXTENT: error: expected extent 1 of 'arg0' to be 4, but got 8
// CUBIN: cubin of sm_100a
// NOPTXAS: error: expected {{.*}}none to assemble

module attributes {fa4.target = #fa4.target<"sm_100a">} {
  llvm.func @scale(%x: !llvm.ptr<1> {fa4.param = #fa4.param<pointer of 0>},
                   %stride: i64 {fa4.param = #fa4.param<stride of 0 dim 0>},
                   %rows: i32 {fa4.param = #fa4.param<extent of 0 dim 0>},
                   %tiles: i32 {fa4.param = #fa4.param<scalar of 2>},
                   %by: f32 {fa4.param = #fa4.param<scalar of 1>})
      attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>, nvvm.minctasm = 1 : i32,
                  fa4.launch = #fa4.launch<threads = 128, smem_bytes = 0, cluster = 1, tiles = 2, persistent = true>} {
    %c128 = llvm.mlir.constant(128 : i32) : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %first = nvvm.read.ptx.sreg.ctaid.x : i32
    %step = nvvm.read.ptx.sreg.nctaid.x : i32
    llvm.br ^head(%first : i32)
  ^head(%tile: i32):
    %more = llvm.icmp "slt" %tile, %tiles : i32
    llvm.cond_br %more, ^body, ^exit
  ^body:
    nvvm.inline_ptx "bar.warp.sync 0xffffffff;"
    %row0 = llvm.mul %tile, %c128 : i32
    %row = llvm.add %row0, %tid : i32
    %next = llvm.add %tile, %step : i32
    %inside = llvm.icmp "slt" %row, %rows : i32
    llvm.cond_br %inside, ^store, ^head(%next : i32)
  ^store:
    %wide = llvm.sext %row : i32 to i64
    %offset = llvm.mul %wide, %stride : i64
    %at = llvm.getelementptr %x[%offset] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
    %old = llvm.load %at {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %none = llvm.mlir.poison : vector<4xf32>
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %one = llvm.insertelement %by, %none[%c0 : i32] : vector<4xf32>
    %all = llvm.shufflevector %one, %none [0, 0, 0, 0] : vector<4xf32>
    %new = llvm.fmul %old, %all : vector<4xf32>
    llvm.store %new, %at {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    llvm.br ^head(%next : i32)
  ^exit:
    llvm.return
  }

  func.func @main(%x: memref<?x4xf32>, %by: f32) {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %rows = memref.dim %x, %c0 : memref<?x4xf32>
    %n = arith.ceildivsi %rows, %c128 : index
    %tiles = arith.index_cast %n : index to i32
    tile.launch @scale(%x, %by, %tiles) : memref<?x4xf32>, f32, i32
    return
  }
}
