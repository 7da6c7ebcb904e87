//===- wgmma_gemm.cu - C = A * B^T on Hopper ----------------------*- CUDA -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pair of CTAs shares the columns of B by multicast; a producer warp keeps four
// stages in flight for two warpgroups that each own 64 rows. A is MxK, B is NxK,
// both bf16 with K contiguous; C is MxN f32. M, N need not be multiples of the
// tile: boxes are clipped by the tensor maps.
//
//===----------------------------------------------------------------------===//

#include "copy_primitives.h"
#include <cuda_bf16.h>

constexpr int kTileM = 128, kTileN = 128, kTileK = 64, kStages = 4;
constexpr int kBytesA = kTileM * kTileK * 2, kBytesB = kTileN * kTileK * 2;
constexpr int kHalfB = kBytesB / 2;

__device__ inline void multiply(float (&d)[64], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
               "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
               "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
               "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
               "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63},"
               " %64, %65, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                 "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]),
                 "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]),
                 "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
                 "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]),
                 "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]),
                 "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]),
                 "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
                 "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]),
                 "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]),
                 "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
               : "l"(a), "l"(b));
}

__device__ inline uint32_t rankInCluster() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1)
    wgmma_gemm(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
               float *c, int m, int n, int k) {
  extern __shared__ __align__(1024) uint8_t smem[];
  uint8_t *tilesA = smem, *tilesB = smem + kStages * kBytesA;
  __shared__ uint64_t full[kStages], empty[kStages];

  uint32_t rank = rankInCluster();
  int row = blockIdx.x * kTileM, column = blockIdx.y * kTileN;
  int steps = (k + kTileK - 1) / kTileK;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrierInit(&full[s], 1);
      // Two consumer warpgroups in each of two CTAs.
      barrierInit(&empty[s], 4);
    }
    barrierInitFence();
  }
  asm volatile("barrier.cluster.arrive.release.aligned;\n"
               "barrier.cluster.wait.acquire.aligned;" ::
                   : "memory");

  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) {
      for (int i = 0; i < steps; ++i) {
        int s = i % kStages;
        uint32_t round = i / kStages;
        barrierWait(&empty[s], (round & 1) ^ 1);
        barrierExpect(&full[s], kBytesA + kBytesB);
        loadBox(tilesA + s * kBytesA, &mapA, &full[s], i * kTileK, row);
        // Each CTA brings half of the rows of B, to both.
        loadBoxMulticast(tilesB + s * kBytesB + rank * kHalfB, &mapB, &full[s], i * kTileK,
                         column + rank * (kTileN / 2), 3);
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    int group = threadIdx.x / 128 - 1, lane = threadIdx.x % 128;
    float d[64];
    for (int i = 0; i < 64; ++i) {
      d[i] = 0;
    }
    for (int i = 0; i < steps; ++i) {
      int s = i % kStages;
      barrierWait(&full[s], (i / kStages) & 1);
      uint64_t a = swizzledRows(tilesA + s * kBytesA + group * kBytesA / 2);
      uint64_t b = swizzledRows(tilesB + s * kBytesB);
      a |= uint64_t(1) << 62, b |= uint64_t(1) << 62;
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      for (int kk = 0; kk < kTileK / 16; ++kk) {
        multiply(d, a + kk * 2, b + kk * 2);
      }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      if (lane < 2) {
        barrierArriveAt(&empty[s], lane);
      }
    }
    int r = row + group * 64 + lane / 32 * 16 + lane % 32 / 4;
    for (int i = 0; i < 64; ++i) {
      int rr = r + (i / 2 % 2) * 8, cc = column + i / 4 * 8 + lane % 4 * 2 + i % 2;
      if (rr < m && cc < n) {
        c[size_t(rr) * n + cc] = d[i];
      }
    }
  }
  // A CTA must not end while its peer still multicasts into it.
  asm volatile("barrier.cluster.arrive.release;\n"
               "barrier.cluster.wait.acquire;" ::
                   : "memory");
}
