//===- tcgen05_gemm.cu - C = A * B^T on Blackwell -----------------*- CUDA -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One CTA per 128x128 tile: warp 0 copies, warp 1 owns tensor memory and issues
// the multiplications, warps 4 to 7 read the accumulator back and store it by
// tensor copies. A is MxK, B is NxK, f16 with K contiguous; C is MxN f32.
//
//===----------------------------------------------------------------------===//

#include "copy_primitives.h"
#include <cuda_fp16.h>

constexpr int kTile = 128, kTileK = 64, kStages = 3;
constexpr int kBytes = kTile * kTileK * 2;
constexpr int kBoxColumns = 32;
// PTX ISA, instruction descriptor of kind::f16: f32 accumulator (1 << 4), f16
// operands, N / 8 from bit 17, M / 16 from bit 24.
constexpr uint32_t kInstruction = 1u << 4 | (kTile / 8) << 17 | (kTile / 16) << 24;
// PTX ISA, shared memory descriptor: fixed 0b001 from bit 46, 128-byte swizzle = 2
// from bit 61.
constexpr uint64_t kDescriptorMode = uint64_t(1) << 46 | uint64_t(2) << 61;

__device__ inline void multiply(uint32_t d, uint64_t a, uint64_t b, bool onto) {
  asm volatile("{\n"
               ".reg .pred onto;\n"
               "setp.ne.b32 onto, %4, 0;\n"
               "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, onto;\n"
               "}\n" ::"r"(d),
               "l"(a), "l"(b), "r"(kInstruction), "r"(uint32_t(onto))
               : "memory");
}

__device__ inline void commit(uint64_t *barrier) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one."
               "shared::cluster.b64 [%0];" ::"r"(sharedAddress(barrier))
               : "memory");
}

__device__ inline void readColumns(float (&d)[32], uint32_t address) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 {"
               "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
               "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, [%32];\n"
               "tcgen05.wait::ld.sync.aligned;"
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]),
                 "=f"(d[7]), "=f"(d[8]), "=f"(d[9]), "=f"(d[10]), "=f"(d[11]), "=f"(d[12]),
                 "=f"(d[13]), "=f"(d[14]), "=f"(d[15]), "=f"(d[16]), "=f"(d[17]), "=f"(d[18]),
                 "=f"(d[19]), "=f"(d[20]), "=f"(d[21]), "=f"(d[22]), "=f"(d[23]), "=f"(d[24]),
                 "=f"(d[25]), "=f"(d[26]), "=f"(d[27]), "=f"(d[28]), "=f"(d[29]), "=f"(d[30]),
                 "=f"(d[31])
               : "r"(address)
               : "memory");
}

extern "C" __global__ void __launch_bounds__(256, 1)
    tcgen05_gemm(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
                 const __grid_constant__ CUtensorMap mapC, int k) {
  extern __shared__ __align__(1024) uint8_t smem[];
  uint8_t *tilesA = smem, *tilesB = smem + kStages * kBytes;
  float *staging = reinterpret_cast<float *>(smem + 2 * kStages * kBytes);
  __shared__ uint64_t full[kStages], empty[kStages], done;
  __shared__ uint32_t accumulator;

  int warp = threadIdx.x / 32, steps = (k + kTileK - 1) / kTileK;
  int row = blockIdx.y * kTile, column = blockIdx.x * kTile;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrierInit(&full[s], 1), barrierInit(&empty[s], 1);
    }
    barrierInit(&done, 1);
    barrierInitFence();
  }
  if (warp == 1) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], "
                 "128;\n"
                 "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::"r"(
                     sharedAddress(&accumulator))
                 : "memory");
  }
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  __syncthreads();
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
  uint32_t d = accumulator;

  if (threadIdx.x == 0) {
    for (int i = 0; i < steps; ++i) {
      int s = i % kStages;
      barrierWait(&empty[s], ((i / kStages) & 1) ^ 1);
      barrierExpect(&full[s], 2 * kBytes);
      loadBox(tilesA + s * kBytes, &mapA, &full[s], i * kTileK, row);
      loadBox(tilesB + s * kBytes, &mapB, &full[s], i * kTileK, column);
    }
  } else if (threadIdx.x == 32) {
    for (int i = 0; i < steps; ++i) {
      int s = i % kStages;
      barrierWait(&full[s], (i / kStages) & 1);
      asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
      uint64_t a = swizzledRows(tilesA + s * kBytes) | kDescriptorMode;
      uint64_t b = swizzledRows(tilesB + s * kBytes) | kDescriptorMode;
      for (int kk = 0; kk < kTileK / 16; ++kk) {
        multiply(d, a + kk * 2, b + kk * 2, i + kk > 0);
      }
      commit(&empty[s]);
    }
    commit(&done);
  } else if (warp >= 4) {
    barrierWait(&done, 0);
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    int lane = threadIdx.x - 128;
    for (int part = 0; part < kTile / kBoxColumns; ++part) {
      float values[kBoxColumns];
      // Warp w of a warpgroup reaches lanes 32 w to 32 w + 31 of tensor memory.
      readColumns(values, d + (uint32_t(lane / 32 * 32) << 16) + part * kBoxColumns);
      float4 *line = reinterpret_cast<float4 *>(staging + lane * kBoxColumns);
      for (int i = 0; i < kBoxColumns / 4; ++i) {
        line[i ^ (lane & 7)] =
            make_float4(values[4 * i], values[4 * i + 1], values[4 * i + 2], values[4 * i + 3]);
      }
      asm volatile("fence.proxy.async.shared::cta;\n"
                   "bar.sync 1, 128;" ::
                       : "memory");
      if (lane == 0) {
        storeBox(&mapC, staging, column + part * kBoxColumns, row);
        asm volatile("cp.async.bulk.commit_group;\n"
                     "cp.async.bulk.wait_group.read 0;" ::
                         : "memory");
      }
      asm volatile("bar.sync 1, 128;" ::: "memory");
    }
    if (lane == 0) {
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
  }
  __syncthreads();
  if (warp == 1) {
    asm volatile("tcgen05.fence::after_thread_sync;\n"
                 "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 128;" ::"r"(d)
                 : "memory");
  }
}
