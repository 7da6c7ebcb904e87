//===- copy_primitives.h - barriers and tensor copies for peers -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The few instructions that CUDA C++ has no portable spelling for, as inline PTX.
// Used by the peers that nvcc builds; nothing here is shared with the compiler,
// so that an error of ours cannot cancel out against itself.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_PEERS_COPY_PRIMITIVES_H
#define FA4_TEST_PEERS_COPY_PRIMITIVES_H

#include <cstdint>
#include <cuda.h>

__device__ inline uint32_t sharedAddress(const void *p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ inline void barrierInit(uint64_t *barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(barrier)), "r"(count)
               : "memory");
}

__device__ inline void barrierInitFence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void barrierExpect(uint64_t *barrier, uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sharedAddress(barrier)),
      "r"(bytes)
      : "memory");
}

/// Arrives at the barrier of the CTA with rank `cta` in the cluster.
__device__ inline void barrierArriveAt(uint64_t *barrier, uint32_t cta) {
  asm volatile("{\n"
               ".reg .b32 remote;\n"
               "mapa.shared::cluster.u32 remote, %0, %1;\n"
               "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n"
               "}\n" ::"r"(sharedAddress(barrier)),
               "r"(cta)
               : "memory");
}

__device__ inline void barrierWait(uint64_t *barrier, uint32_t parity) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "again:\n"
               "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra again;\n"
               "}\n" ::"r"(sharedAddress(barrier)),
               "r"(parity)
               : "memory");
}

__device__ inline void loadBox(void *to, const CUtensorMap *map, uint64_t *barrier, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
               "complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(sharedAddress(to)),
               "l"(map), "r"(sharedAddress(barrier)), "r"(x), "r"(y)
               : "memory");
}

__device__ inline void loadBoxMulticast(void *to, const CUtensorMap *map, uint64_t *barrier, int x,
                                        int y, uint16_t ctas) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
               "complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], "
               "[%2], %5;" ::"r"(sharedAddress(to)),
               "l"(map), "r"(sharedAddress(barrier)), "r"(x), "r"(y), "h"(ctas)
               : "memory");
}

__device__ inline void storeBox(const CUtensorMap *map, const void *from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group "
               "[%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(sharedAddress(from)), "r"(x), "r"(y)
               : "memory");
}

/// The 64-bit matrix descriptor of a K-major operand in 128-byte swizzled rows:
/// address and stride in units of 16 bytes, 8 rows of 128 bytes per group.
__device__ inline uint64_t swizzledRows(const void *p) {
  uint64_t address = (sharedAddress(p) & 0x3FFFF) >> 4;
  return address | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32;
}

#endif // FA4_TEST_PEERS_COPY_PRIMITIVES_H
