//===- async_softmax.cu - row softmax with cp.async ---------------*- CUDA -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One CTA walks over rows; the next row is copied while the current one is
// reduced, two buffers deep. Columns are a multiple of 4 and at most kColumns.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

constexpr int kColumns = 2048;

__device__ float reduceMax(float value, float *scratch) {
  for (int distance = 16; distance; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(~0u, value, distance));
  }
  if (threadIdx.x % 32 == 0) {
    scratch[threadIdx.x / 32] = value;
  }
  __syncthreads();
  value = scratch[0];
  for (unsigned w = 1; w < blockDim.x / 32; ++w) {
    value = fmaxf(value, scratch[w]);
  }
  __syncthreads();
  return value;
}

__device__ float reduceSum(float value, float *scratch) {
  for (int distance = 16; distance; distance /= 2) {
    value += __shfl_down_sync(~0u, value, distance);
  }
  if (threadIdx.x % 32 == 0) {
    scratch[threadIdx.x / 32] = value;
  }
  __syncthreads();
  value = 0;
  for (unsigned w = 0; w < blockDim.x / 32; ++w) {
    value += scratch[w];
  }
  __syncthreads();
  return value;
}

extern "C" __global__ void __launch_bounds__(128)
    async_softmax(const float *x, __half *y, int rows, int columns) {
  __shared__ __align__(16) float buffer[2][kColumns];
  __shared__ float scratch[4];
  auto fetch = [&](int row, int slot) {
    if (row < rows) {
      for (int i = threadIdx.x * 4; i < columns; i += blockDim.x * 4) {
        __pipeline_memcpy_async(&buffer[slot][i], x + size_t(row) * columns + i, 16);
      }
    }
    __pipeline_commit();
  };
  int slot = 0;
  fetch(blockIdx.x, slot);
  for (int row = blockIdx.x; row < rows; row += gridDim.x, slot ^= 1) {
    fetch(row + gridDim.x, slot ^ 1);
    __pipeline_wait_prior(1);
    __syncthreads();
    float top = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
      top = fmaxf(top, buffer[slot][i]);
    }
    top = reduceMax(top, scratch);
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
      float e = __expf(buffer[slot][i] - top);
      buffer[slot][i] = e;
      sum += e;
    }
    sum = reduceSum(sum, scratch);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
      y[size_t(row) * columns + i] = __float2half(buffer[slot][i] / sum);
    }
    __syncthreads();
  }
}
