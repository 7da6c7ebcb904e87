//===- cluster_reduce.cu - sums through distributed shared memory -*- CUDA -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Four CTAs of a cluster sum one row: each its quarter, by shuffles; every CTA
// then reads the partial sums of all ranks, in rank order, and scales its quarter
// by the total. A counter in rank 0 is raised by remote atomics as well.
//
//===----------------------------------------------------------------------===//

#include <cooperative_groups.h>
#include <cstdint>

namespace cg = cooperative_groups;

constexpr int kRanks = 4;

extern "C" __global__ void __cluster_dims__(kRanks, 1, 1)
    cluster_reduce(const float *x, float *y, int *counts, int columns) {
  cg::cluster_group cluster = cg::this_cluster();
  __shared__ float warpSums[8], partial;
  __shared__ int arrivals;
  unsigned rank = cluster.block_rank();
  int row = blockIdx.x / kRanks, quarter = (columns + kRanks - 1) / kRanks;
  int begin = rank * quarter, end = min(begin + quarter, columns);
  const float *in = x + size_t(row) * columns;
  float *out = y + size_t(row) * columns;
  if (threadIdx.x == 0) {
    arrivals = 0;
  }

  float sum = 0;
  for (int i = begin + int(threadIdx.x); i < end; i += blockDim.x) {
    sum += in[i];
  }
  for (int distance = 16; distance; distance /= 2) {
    sum += __shfl_xor_sync(~0u, sum, distance);
  }
  if (threadIdx.x % 32 == 0) {
    warpSums[threadIdx.x / 32] = sum;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    partial = 0;
    for (unsigned w = 0; w < blockDim.x / 32; ++w) {
      partial += warpSums[w];
    }
  }
  cluster.sync();

  float total = 0;
  for (int r = 0; r < kRanks; ++r) {
    total += *cluster.map_shared_rank(&partial, r);
  }
  if (threadIdx.x < 32) {
    atomicAdd(cluster.map_shared_rank(&arrivals, 0), 1);
  }
  for (int i = begin + int(threadIdx.x); i < end; i += blockDim.x) {
    out[i] = in[i] / total;
  }
  cluster.sync();
  if (rank == 0 && threadIdx.x == 0) {
    counts[row] = arrivals;
  }
}
